"""The slices of a window and to which of them a row belongs: docs/semantics.md#slices."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from oracle.fleet import Fleet, Row, S

SLICES = {
    "overall": (),
    "model": ("model",),
    "pool": ("pool",),
    "workload": ("workload",),
    "workload_model": ("workload", "model"),
    "workload_pool": ("workload", "pool"),
    "workload_route": ("workload", "route"),
    "finest": ("workload", "model", "pool", "route"),
}
DIMENSIONS = ("workload", "model", "pool", "route")
UNKNOWN, OTHER = "unknown", "(other)"
WITHIN = "workload_"  # in front of a slice by tenant or attribute that is cut by workload too

Key = tuple[Any, ...]  # window in Unix seconds, its length, slice, slice_value, workload, model, pool, route


def window_of(ns: int, window_s: int) -> int:
    """Start of the window that holds a moment, in Unix seconds."""
    return ns // S // window_s * window_s


def windows_between(first_ns: int, last_ns: int, window_s: int) -> Iterable[int]:
    """Starts of all windows from the one that holds a moment to the one that holds another."""
    return range(window_of(first_ns, window_s), window_of(last_ns, window_s) + 1, window_s)


class Slices:
    """The slices of a fleet, with the values that crowded windows keep apart."""

    def __init__(self, fleet: Fleet, requests: Iterable[Row]) -> None:
        asked = fleet.settings.get("slices", {})
        self.by: list[str] = asked.get("by", [])
        self.requests = {row["request_key"]: row for row in requests}
        cuts = sorted({name.removeprefix(WITHIN) for name in self.by})
        self.kept = self._kept(fleet.settings["windows_s"], cuts, asked.get("max_values", 1000))
        self.names = self._kept(fleet.settings["windows_s"], ["model", "pool", "route"], asked.get("max_names", 1000))

    def keys(self, row: Row, start: int, window_s: int) -> Iterator[Key]:
        """Every slice of a window that a row is in."""
        for name, cut in SLICES.items():
            names = (self.name(row[d], d, start, window_s) if d in cut else None for d in DIMENSIONS)
            yield start, window_s, name, None, *names
        for name in self.by:
            workload = (row["workload"] or UNKNOWN) if name.startswith(WITHIN) else None
            yield start, window_s, name, self.kept_value(row, name, start, window_s), workload, None, None, None

    def name(self, name: str | None, dimension: str, start: int, window_s: int) -> str:
        """What a name counts as in a window: OTHER, of a model, pool or route beyond those that are kept apart."""
        kept = self.names.get((start, window_s, dimension))
        return (name or UNKNOWN) if kept is None or name in (None, UNKNOWN) or name in kept else OTHER

    def kept_value(self, row: Row, name: str, start: int, window_s: int) -> str:
        """What a row counts as in a slice of a window: OTHER beyond the values that are kept apart."""
        value, kept = self.value(row, name), self.kept.get((start, window_s, name.removeprefix(WITHIN)))
        return OTHER if value != UNKNOWN and kept is not None and value not in kept else value

    def value(self, row: Row, name: str) -> str:
        """Value of a row: its request's, of what is no request's the tenant that it names."""
        column = name.removeprefix(WITHIN).removeprefix("attributes.")
        return (self.requests.get(row.get("request_key") or "", row).get(column)) or UNKNOWN

    def _kept(self, windows_s: list[int], of: list[str], most: int) -> dict[tuple[int, int, str], set[str]]:
        """Of windows with too many values those of most requests, of as many the first by name; never OTHER."""
        ended: dict[tuple[int, int, str], Counter[str]] = defaultdict(Counter)
        for row in self.requests.values():
            for window_s in windows_s if row["ended_at"] is not None else ():
                for name in of:
                    if (value := self.value(row, name)) != UNKNOWN:
                        ended[window_of(row["ended_at"], window_s), window_s, name][value] += 1
        return {
            place: set(sorted(counts, key=lambda value, counts=counts: (value == OTHER, -counts[value], value))[:most])  # type: ignore[misc]
            for place, counts in ended.items()
            if len(counts) > most
        }
