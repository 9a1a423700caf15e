"""How far the money of a window may be off: docs/semantics.md#stated-errors."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from oracle.divide import Share
from oracle.fleet import Row
from oracle.slices import DIMENSIONS, SLICES, UNKNOWN, WITHIN, Key, Slices

FREE = ("idle", "overhead", "unattributed")
POOL = 1 + DIMENSIONS.index("pool")
Group = tuple[Any, ...]  # value of the slice, workload, model, pool, route


@dataclass
class Doubt:
    """What is uncertain of some rows together."""

    variance: float = 0.0
    common: float = 0.0
    is_bounded: bool = True
    estimated: bool = False
    unpriced: int = 0

    def add(self, other: "Doubt", part: float = 1.0) -> None:
        """Add a part of another."""
        self.variance += other.variance * part**2
        self.common += other.common * part
        self.is_bounded &= other.is_bounded
        self.estimated |= other.estimated
        self.unpriced += other.unpriced

    @property
    def usd(self) -> float | None:
        """What is common adds up; the rest is independent. None: nobody knows."""
        return self.common + sqrt(self.variance) if self.is_bounded else None


@dataclass
class Pair:
    """Doubts of a bucket by verdicts as they are, and with unlabelled cost divided."""

    measured: Doubt = field(default_factory=Doubt)
    divided: Doubt = field(default_factory=Doubt)


class Doubts:
    """Of a window: by slice and bucket."""

    def __init__(
        self, rows: list[Row], slices: Slices, window: tuple[int, int], shares: dict[Key, dict[str, Share]]
    ) -> None:
        self.slices, self.window, self.shares = slices, window, shares
        self.found: dict[tuple[Key, str], Pair] = defaultdict(Pair)
        for cut in (None, *slices.by):
            self._cut(rows, cut)

    def _cut(self, rows: list[Row], cut: str | None) -> None:
        groups = self._groups(rows, cut)
        gpu_s: dict[Group, float] = defaultdict(float)
        for row in rows:
            if row["bucket"] not in FREE:
                gpu_s[self._group(row, cut)] += float(row["gpu_s"])
        for (group, bucket), doubt in groups.items():
            for carrier, part in _carriers(group, bucket, gpu_s):
                self._tell(carrier, cut, bucket, doubt, part)

    def _groups(self, rows: list[Row], cut: str | None) -> dict[tuple[Group, str], Doubt]:
        """Doubts by group and bucket; errors of one replica and step in a group have one cause."""
        causes: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
        found: dict[tuple[Group, str], Doubt] = defaultdict(Doubt)
        for row in rows:
            if row["bucket"] == "overhead":
                continue
            group, error = self._group(row, cut), row["error_usd"]
            doubt = found[group, row["bucket"]]
            doubt.estimated |= row["estimated"]
            doubt.unpriced += row["usd"] is None and bool(row["gpu_s"] or row["tokens"])
            doubt.is_bounded &= row["usd"] is None or error is not None
            value = None if cut is None else self.slices.value(row, cut)
            cause = causes[row["step_ns"], row["replica"], value, group, row["bucket"]]
            cause[0] += error or 0.0
            cause[1] += row["common_error_usd"] or 0.0
        for (*_, group, bucket), (error, common) in causes.items():
            found[group, bucket].variance += (error - common) ** 2
            found[group, bucket].common += common
        return found

    def _group(self, row: Row, cut: str | None) -> Group:
        value = None if cut is None else self.slices.kept_value(row, cut, *self.window)
        kept = DIMENSIONS if cut is None else ("workload", "pool")
        return value, *((row[name] or UNKNOWN) if name in kept else UNKNOWN for name in DIMENSIONS)

    def _tell(self, group: Group, cut: str | None, bucket: str, doubt: Doubt, part: float) -> None:
        for key in self._keys(group, cut):
            share = self.shares.get(key, {}).get(group[1]) if bucket == "unlabelled" else None
            self.found[key, bucket].measured.add(doubt, part)
            if share is None:
                self.found[key, bucket].divided.add(doubt, part)
                continue
            accepted = float(share.share or 0)
            rejected = 0.0 if share.share is None else 1 - accepted
            parts = {"accepted": accepted, "rejected": rejected, bucket: 1 - accepted - rejected}
            for name, of in parts.items():
                self.found[key, name].divided.add(doubt, of)

    def _keys(self, group: Group, cut: str | None) -> Iterator[Key]:
        if cut is not None:
            yield *self.window, cut, group[0], group[1] if cut.startswith(WITHIN) else None, None, None, None
            return
        for name, kept in SLICES.items():
            own = zip(DIMENSIONS, group[1:], strict=True)
            values = (self.slices.name(value, d, *self.window) if d in kept else None for d, value in own)
            yield *self.window, name, None, *values


def _carriers(group: Group, bucket: str, gpu_s: dict[Group, float]) -> Iterator[tuple[Group, float]]:
    """Who carries a group: idle time those whom its pool served, by GPU time, if there are any."""
    served = {other: time for other, time in gpu_s.items() if other[POOL] == group[POOL] and time > 0}
    if bucket != "idle" or not served:
        yield group, 1.0
        return
    total = sum(served.values())
    yield from ((other, time / total) for other, time in served.items())
