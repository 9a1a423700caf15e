"""Which cells of `goodput` have to be measured again, and from which joined parts.

A cell is an hour (windows of at most an hour) or a day (longer windows).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from goodput.join.staleness import JoinInputs
from goodput.measure.windows import RELATIONS, SLICES
from goodput.plumbing.contracts import contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, day_of, epoch_hour, hours_of_day, neighbours, shifted
from goodput.plumbing.lake import Lake, inputs_of
from goodput.plumbing.sql_files import sql_file

HOUR_S = 3600


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


@dataclass(frozen=True)
class MeasureInputs:
    """Everything that measured cells are computed from, as it lies in the lake now."""

    join: JoinInputs

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @cached_property
    def _joined(self) -> dict[str, str]:
        parts = self.lake.parts("joined", "requests")
        return {hour: inputs_of(paths[0]) or "" for hour, paths in parts.items()}

    @cached_property
    def _covered(self) -> dict[str, str]:
        parts = self.lake.parts("measured", "coverage")
        return {hour: inputs_of(paths[0]) or "" for hour, paths in parts.items()}

    @cached_property
    def _rules(self) -> str:
        texts = [sql_file(name).text for name in ("macros", *RELATIONS)]
        return fingerprint(texts, str(contract("goodput")), SLICES, self.join.rules)

    def files(self, cell: Cell) -> list[str]:
        """Joined parts of every request that completed or arrived in the cell."""
        near = sorted(neighbours(cell.hours, 0, self.join.reach))
        return [str(self.lake.part("joined", "requests", f"hour={hour}")) for hour in near if hour in self._joined]

    def coverage_files(self, cell: Cell) -> list[str]:
        """Measured parts of the coverage of the cell's hours."""
        return [str(self.lake.part("measured", "coverage", f"hour={h}")) for h in cell.hours if h in self._covered]

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
        grains = self.join.settings.windows_s
        short = tuple(grain for grain in grains if grain <= HOUR_S)
        long = tuple(grain for grain in grains if grain > HOUR_S)
        paid = {cell.removeprefix("hour=") for cell in self._wasted if cell.startswith("hour=")}
        hours = sorted(neighbours(self._joined, self.join.reach, 0) | paid)
        if short:
            yield from (self._cell(f"hour={hour}", (hour,), short) for hour in hours)
        if long:
            days = sorted({day_of(hour) for hour in hours})
            yield from (self._cell(f"day={day}", tuple(hours_of_day(day)), long) for day in days)

    def _cell(self, name: str, hours: tuple[str, ...], grains: tuple[int, ...]) -> Cell:
        until = shifted(hours[-1], 1)
        edges = [min(max(ns, epoch_hour(hours[0]) * HOUR_NS), epoch_hour(until) * HOUR_NS) for ns in self.join.observed]
        used = [self._joined.get(hour, "") for hour in sorted(neighbours(hours, 0, self.join.reach))]
        covered = [self._covered.get(hour, "") for hour in hours]
        return Cell(name, hours, grains, fingerprint(self._rules, grains, used, covered, edges, self._wasted.get(name)))

    def stale_cells(self) -> list[Cell]:
        """Cells whose file was not made from what lies in the lake now."""
        return [c for c in self.cells() if inputs_of(self.lake.part("measured", "goodput", c.name)) != c.inputs]
