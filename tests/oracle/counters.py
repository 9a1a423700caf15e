"""Readings as series, what counters rose by, and when processes began anew: docs/semantics.md#cache-and-replicas."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from oracle.fleet import Fleet, Row, S, exact
from oracle.spans import Span

OF_PROCESSES = ("http_requests", "process_started_s")  # whatever runs in them


@dataclass(frozen=True)
class Point:
    """A reading of one series."""

    replica: str
    metric: str
    reason: str | None
    at: int
    value: float
    kind: str  # gauge, counter, histogram
    increase: float | None = None
    interval_ns: int | None = None
    reset: bool = False
    total: float | None = None
    counts: tuple[float, ...] = ()  # of a histogram up to each bound, cumulative
    added: tuple[float, ...] | None = None  # by how much these rose
    added_total: float | None = None

    @property
    def layer(self) -> str:
        """Whether an engine or any process reports it."""
        return "process" if self.metric in OF_PROCESSES else "engine"


class Samples:
    """Every reading of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self.stale_ns = int(exact(fleet.settings.get("staleness_s", 300)) * S)  # type: ignore[operator]
        raw: dict[tuple[str, str, str | None], list[tuple[Row, Row]]] = defaultdict(list)
        for reading in sorted(fleet.readings, key=lambda row: row["at"]):
            for metric, reason, seen in _series(reading):
                raw[reading["replica"], metric, reason].append((reading, seen))
        self.series = {key: list(self._points(key, of)) for key, of in raw.items()}
        self.points = [point for of in self.series.values() for point in of]

    @cached_property
    def by_replica(self) -> dict[str, list[Point]]:
        """Readings of each replica."""
        found: dict[str, list[Point]] = defaultdict(list)
        for point in self.points:
            found[point.replica].append(point)
        return dict(found)

    def of(self, replica: str, metric: str) -> list[Point]:
        """Readings of a replica's metric, of all its reasons."""
        return [point for point in self.by_replica.get(replica, []) if point.metric == metric]

    @cached_property
    def outages(self) -> dict[str, list[Span]]:
        """Between which readings the process of each replica began anew."""
        found: dict[str, list[Span]] = defaultdict(list)
        for replica, points in self.by_replica.items():
            instants = sorted({point.at for point in points})
            anew = {point.at for point in points if point.reset}
            started = {point.at: point.value for point in points if point.metric == "process_started_s"}
            for before, at in pairwise(instants):
                if at in anew or started.get(at, 0) * S > before:
                    found[replica].append((before, at))
        return dict(found)

    def _points(self, key: tuple[str, str, str | None], readings: list[tuple[Row, Row]]) -> Iterator[Point]:
        last: tuple[Row, Row] | None = None
        for reading, seen in readings:
            known = {"replica": key[0], "metric": key[1], "reason": key[2], "at": reading["at"], **seen}
            if seen["kind"] == "gauge":
                yield Point(**known)
            elif reading["delta"]:
                since = None if reading["began"] is None else reading["at"] - reading["began"]
                added = {"added": seen.get("counts"), "added_total": seen.get("total")}
                yield Point(**known, increase=seen["value"], interval_ns=since, **added)
            else:
                yield Point(**known, **self._rise(reading, seen, last))
            last = reading, seen

    def _rise(self, reading: Row, seen: Row, last: tuple[Row, Row] | None) -> Row:
        """What a cumulative reading adds to the one before it."""
        if last is None:
            return {}
        before, was = last
        at, began = reading["at"], reading["began"]
        follows = at - before["at"] <= self.stale_ns
        is_told = began is not None and before["at"] < began < at and at - began <= self.stale_ns
        counts = zip(seen.get("counts", ()), was.get("counts", ()), strict=True)
        fell = seen["value"] < was["value"] or any(now < then for now, then in counts)
        if is_told or (follows and fell):
            since = at - began if is_told else at - before["at"]
            new = {"increase": seen["value"], "added": seen.get("counts"), "added_total": seen.get("total")}
            return {**new, "interval_ns": since, "reset": follows}
        if not follows:
            return {}
        pairs = zip(seen.get("counts", ()), was.get("counts", ()), strict=True)
        return {
            "increase": seen["value"] - was["value"],
            "interval_ns": at - before["at"],
            "added": tuple(now - then for now, then in pairs),
            "added_total": None if "total" not in seen else seen["total"] - was["total"],
        }


def _series(reading: Row) -> Iterator[tuple[str, str | None, Row]]:
    """What a scrape says of each series."""
    for name, value in reading["gauges"].items():
        yield name, None, {"kind": "gauge", "value": value}
    for (name, reason), value in reading["counters"].items():
        yield name, reason, {"kind": "counter", "value": value}
    for name, one in reading["histograms"].items():
        *counts, observed = accumulate(one["counts"])
        yield name, None, {"kind": "histogram", "value": observed, "counts": tuple(counts), "total": one["sum"]}
