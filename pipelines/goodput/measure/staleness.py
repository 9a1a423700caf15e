"""Which cells of `goodput` have to be measured again, and from which joined parts.

A cell is an hour (windows of at most an hour) or a day (longer windows).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

from goodput.join.staleness import JoinInputs
from goodput.measure.windows import RELATIONS, SLICES, Parts, session_reach_h
from goodput.plumbing.contracts import contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, day_of, epoch_hour, hours_of_day, neighbours, shifted
from goodput.plumbing.lake import Lake, inputs_of
from goodput.plumbing.sql_files import sql_file

HOUR_S = 3600
TABLES = ("goodput", "gate_failures", "load_windows")


@dataclass(frozen=True)
class Cell:
    """One file of measured windows: its name in the lake, the hours that it covers, its windows and its inputs."""

    name: str  # "hour=2026-11-20T09" or "day=2026-11-20"
    hours: tuple[str, ...]
    grains: tuple[int, ...]
    inputs: str

    @property
    def from_s(self) -> int:
        """Start in Unix seconds."""
        return epoch_hour(self.hours[0]) * HOUR_S

    @property
    def until_s(self) -> int:
        """End in Unix seconds."""
        return (epoch_hour(self.hours[-1]) + 1) * HOUR_S


class CellInputs(Protocol):
    """Everything that the cells of some measured tables are computed from, as it lies in the lake now."""

    @property
    def lake(self) -> Lake:
        """The lake."""

    @property
    def made(self) -> Collection[str]:
        """The tables of which the parts of a cell are written together."""

    def cells(self) -> Iterable[Cell]:
        """Every cell that the inputs call for."""


def stale_cells(inputs: CellInputs) -> list[Cell]:
    """Cells whose files were not made from what lies in the lake now."""
    lake, tables = inputs.lake, inputs.made
    return [cell for cell in inputs.cells() if not lake.is_made_from("measured", tables, cell.name, cell.inputs)]


def cell_name(hours: Sequence[str]) -> str:
    """What the cell of an hour, or of all hours of a day, is called in the lake."""
    return f"hour={hours[0]}" if len(hours) == 1 else f"day={day_of(hours[0])}"


def cells_of(
    hours: Iterable[str], windows_s: Sequence[int], inputs_of_hours: Callable[[Sequence[str], Sequence[int]], str]
) -> Iterator[Cell]:
    """The cells of `hours`: each hour with the windows that it holds, each day with the longer ones."""
    short, long = (tuple(w for w in windows_s if (w <= HOUR_S) is is_short) for is_short in (True, False))
    known = sorted(hours)
    days = sorted({day_of(hour) for hour in known})
    stretches = [((hour,), short) for hour in known] + [(tuple(hours_of_day(day)), long) for day in days]
    for covered, grains in stretches:
        if grains:
            yield Cell(cell_name(covered), covered, grains, inputs_of_hours(covered, grains))


@dataclass(frozen=True)
class MeasureInputs:
    """Everything that measured cells are computed from, as it lies in the lake now."""

    join: JoinInputs
    made: ClassVar = TABLES

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @cached_property
    def _joined(self) -> dict[str, str]:
        return self.lake.made_from("joined", "requests")

    @cached_property
    def _covered(self) -> dict[str, str]:
        return self.lake.made_from("measured", "coverage")

    @cached_property
    def _rules(self) -> str:
        texts = [sql_file(name).text for name in ("macros", *RELATIONS)]
        settings = self.join.settings
        counted = (min(settings.windows_s), self._session_reach)
        return fingerprint(texts, [str(contract(table)) for table in TABLES], SLICES, counted, self.join.rules)

    @cached_property
    def _session_reach(self) -> int:
        """Hours around a cell whose sessions count in it: none where no workload counts sessions."""
        settings = self.join.settings
        by_session = any(workload.unit == "session" for workload in settings.workloads.values())
        return session_reach_h(settings) if by_session else 0

    def parts(self, cells: Sequence[Cell]) -> Parts:
        """Parts of all requests that completed or arrived in the cells, of sessions around them, and their coverage."""
        hours = {hour for cell in cells for hour in cell.hours}
        near = neighbours(hours, 0, self.join.reach)
        around = neighbours(hours, self._session_reach, self._session_reach) if self._session_reach else set()
        covered = sorted(hours.intersection(self._covered))
        return Parts(
            requests=self._files("requests", near),
            attempts=self._files("attempts", near),
            session_hours=self._files("session_hours", around),
            coverage=[str(self.lake.part("measured", "coverage", f"hour={hour}")) for hour in covered],
            waste=sorted({file for cell in cells for file in self.waste_files(cell)}),
        )

    def _files(self, table: str, hours: Iterable[str]) -> list[str]:
        known = [hour for hour in sorted(hours) if hour in self._joined]
        return [str(self.lake.part("joined", table, f"hour={hour}")) for hour in known]

    @cached_property
    def _wasted(self) -> dict[str, str]:
        """What the measured waste of each cell was made from."""
        paths = sorted((self.lake.root / "measured" / "waste").glob("*=*/part.parquet"))
        return {path.parent.name: inputs_of(path) or "" for path in paths}

    def waste_files(self, cell: Cell) -> list[str]:
        """Measured part of what the cell's windows cost."""
        return [str(self.lake.part("measured", "waste", cell.name))] if cell.name in self._wasted else []

    def cells(self) -> Iterator[Cell]:
        """Every cell that the joined parts call for: an arrival may lie in an hour before its completion."""
        paid = {cell.removeprefix("hour=") for cell in self._wasted if cell.startswith("hour=")}
        hours = neighbours(self._joined, self.join.reach, 0) | paid
        return cells_of(hours, self.join.settings.windows_s, self._inputs_of)

    def _inputs_of(self, hours: Sequence[str], grains: Sequence[int]) -> str:
        until = shifted(hours[-1], 1)
        edges = [min(max(ns, epoch_hour(hours[0]) * HOUR_NS), epoch_hour(until) * HOUR_NS) for ns in self.join.observed]
        around = neighbours(hours, self._session_reach, max(self.join.reach, self._session_reach))
        used = [self._joined.get(hour, "") for hour in sorted(around)]
        covered = [self._covered.get(hour, "") for hour in hours]
        wasted = self._wasted.get(cell_name(hours))
        return fingerprint(self._rules, grains, used, covered, edges, wasted)
