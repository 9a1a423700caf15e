"""Accepted requests of several windows together, as a report shows them (docs/semantics.md#of-several-windows)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import duckdb
import numpy as np

from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import sql_file
from measure.interval_drill import goodput_windows
from measure.interval_drill.goodput_windows import Run, Scenario
from measure.interval_drill.line import Lines, Trial, decided, line

PERIODS = 1000
_SHOWN = """SELECT a.low, a.high, a.accepted - coalesce(e.excess, 0) AS accepted
FROM period_accepted AS a LEFT JOIN unlabelled_excess AS e USING (period) ORDER BY period"""


@dataclass(frozen=True)
class Period:
    """Periods of so many windows, each window as in a scenario."""

    windows: int
    each: Scenario
    is_thin: bool = False  # some windows have no label, and so bounds

    @property
    def name(self) -> str:
        """What the scenario is called."""
        return f"{self.windows} windows of {self.each.name}"

    def run(self, seed: int) -> Trial:
        """Draw the periods with a seed, measure their windows and add them up."""
        run = replace(self.each, windows=PERIODS * self.windows).run(seed)
        truth = run.drawn.truth(PERIODS * self.windows).reshape(PERIODS, -1).sum(axis=1)
        each = self.windows * sum(cell.requests for cell in self.each.cells)
        return Trial(*self._added_up(run), truth, each)

    def _added_up(self, run: Run) -> Sequence[np.ndarray]:
        starts = run.overall["window_start"].to_list()
        length = self.each.window_s
        ends = [*starts[self.windows :: self.windows], datetime.fromtimestamp(starts[-1].timestamp() + length, UTC)]
        shown = [
            {"period": f"{number:06}", "from_at": begin, "until_at": end, "whole_s": length, "drawn_s": length}
            for number, (begin, end) in enumerate(zip(starts[:: self.windows], ends, strict=True))
        ]
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("goodput", run.measured.to_arrow())
            register(connection, "shown_periods", as_rows("shown_periods", *shown))
            register(connection, "shown_slices", as_rows("shown_slices", {"choice": 0, "slice": "overall"}))
            gates = [{"workload": name, "gate": "quality", "unlabelled": "estimate"} for name in self.each.workloads]
            register(connection, "workloads", as_rows("workloads", *gates))
            for name in ("period_windows", "period_accepted", "unlabelled_excess"):
                connection.execute(f"CREATE TEMP TABLE {name} AS {sql_file(name).text}")
            found = connection.execute(_SHOWN).fetchnumpy()
        return [np.asarray(found[name], float) for name in ("low", "high", "accepted")]


SCENARIOS = (
    Period(1, goodput_windows.one(200, 0.9, 0.3)),
    Period(7, goodput_windows.one(200, 0.9, 0.1)),
    Period(7, goodput_windows.one(200, 0.99, 0.1)),
    Period(28, goodput_windows.one(50, 0.5, 0.1)),
    Period(28, goodput_windows.one(50, 0.95, 0.1)),
    Period(28, goodput_windows.one(200, 0.99, 0.1)),
    Period(7, goodput_windows.one(200, 0.8, 0.3, spread=0.1)),
    Period(7, goodput_windows.many(8, 40, 0.8, 0.1)),
    Period(7, goodput_windows.sessions(200, 0.3, by_session=True)),
    Period(7, goodput_windows.mixed()),
    Period(11, goodput_windows.one(14, 0.95, 0.3)),
    Period(48, goodput_windows.one(5, 0.9, 0.3), is_thin=True),
    Period(48, goodput_windows.one(20, 0.8, 0.1), is_thin=True),
    Period(24, goodput_windows.sessions(12, 0.3, by_session=True), is_thin=True),
)


def lines() -> Lines:
    """Every scenario: widths by one seed, coverage by another."""
    for number, period in enumerate(SCENARIOS):
        yield from decided(partial(_lines, period), 9000 + 2 * number)


def _lines(period: Period, seed: int) -> Lines:
    bound = period.each.bound or period.is_thin
    yield line("periods", period.name, period.run(seed), period.run(seed + 1), bound=bound)
