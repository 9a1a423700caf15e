"""Scenarios of `goodput`: one workload, totals over many, sessions, strata and biased labels, all of it measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from scipy.stats import hypergeom

from goodput.settings.model import Quality, Settings, Workload
from measure.interval_drill.line import WIDER_TOKENS, Lines, Trial, decided, line
from measure.interval_drill.populations import Cell, Population, population
from river import START_S, Parts, Stretch, at_ns, measure

WINDOWS = 1000
KISH = math.exp(0.8**2)  # how many requests of lognormal length are worth one of equal length


@dataclass(frozen=True)
class Scenario:
    """What each window holds, its length, and how its labels are declared to be drawn."""

    name: str
    cells: Sequence[Cell]
    window_s: int = 300
    windows: int = WINDOWS
    sampling: Literal["random", "session", "none"] = "random"
    bound: bool = False
    is_exact_known: bool = True  # not where sessions fare alike in part, nor where strata are not the cells

    @property
    def workloads(self) -> list[str]:
        """Their names."""
        return list(dict.fromkeys(cell.workload for cell in self.cells))

    def run(self, seed: int) -> "Run":
        """Draw the windows with a seed and measure them."""
        drawn = population(seed, self.windows, self.window_s, self.cells)
        with TemporaryDirectory() as folder:
            file = str(Path(folder) / "requests.parquet")
            pq.write_table(drawn.requests, file)
            return Run(self, drawn, self._measured(file))

    def _measured(self, file: str) -> pl.DataFrame:
        quality = Quality(sampling=self.sampling)
        settings = Settings(workloads={name: Workload(quality=quality) for name in self.workloads})
        stretch = Stretch(START_S, START_S + self.windows * self.window_s, (at_ns(-86400), at_ns(10**8)))
        return measure(settings, Parts([file]), (self.window_s,), stretch).goodput


@dataclass(frozen=True)
class Run:
    """Measured windows beside their truth."""

    scenario: Scenario
    drawn: Population
    measured: pl.DataFrame

    @cached_property
    def overall(self) -> pl.DataFrame:
        """Rows of the slice `overall`, one a window."""
        rows = self.measured.filter(slice="overall").sort("window_start")
        assert rows.height == self.scenario.windows
        return rows

    def _column(self, name: str) -> np.ndarray:
        return self.overall[name].cast(pl.Float64).fill_null(np.nan).to_numpy() * self.scenario.window_s

    def requests(self) -> Trial:
        """Accepted requests."""
        columns = ("goodput_ci_low_rps", "goodput_ci_high_rps", "goodput_rps")
        each = sum(cell.requests for cell in self.scenario.cells)
        truth = self.drawn.truth(self.scenario.windows)
        exact = self.exact() if self.scenario.is_exact_known else None
        return Trial(*map(self._column, columns), truth, each, exact)

    def tokens(self) -> Trial:
        """Output tokens of accepted requests."""
        columns = ("output_token_goodput_ci_low_tps", "output_token_goodput_ci_high_tps", "output_token_goodput_tps")
        each = float(self.drawn.tokens.sum()) / self.scenario.windows
        truth = self.drawn.token_truth(self.scenario.windows)
        if not self.scenario.is_exact_known or any(cell.tokens_if_failed != 1 for cell in self.scenario.cells):
            return Trial(*map(self._column, columns), truth, each)
        windows = self.scenario.windows
        mean = np.bincount(self.drawn.window, weights=self.drawn.tokens, minlength=windows)
        mean = mean / np.bincount(self.drawn.window, minlength=windows)
        low, high = self.exact(KISH)
        return Trial(*map(self._column, columns), truth, each, (low * mean, high * mean))

    def exact(self, unequal: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Mid-P intervals cell by cell, their distances in quadrature; what has no label from none to all.

        Of requests that count unequally, `unequal` are worth one.
        """
        windows = self.scenario.windows
        below, above, point = np.zeros(windows), np.zeros(windows), np.zeros(windows)
        unknown = np.zeros(windows)
        for number, cell in enumerate(self.scenario.cells):
            unit = (cell.session if cell.by_session else 1) * unequal
            mine = self.drawn.cell == number
            window = self.drawn.window[mine]
            good = (self.drawn.labelled & self.drawn.passed)[mine]
            passed = np.bincount(window, weights=good, minlength=windows)
            labels = np.bincount(window, weights=self.drawn.labelled[mine], minlength=windows)
            labelled = np.ceil(labels / unit)
            passed = np.round(labelled * passed / np.maximum(labels, 1))
            each = math.ceil(cell.requests / unit)
            ends = np.array([mid_p(each, int(m), int(a)) for m, a in zip(labelled, passed, strict=True)]) * unit
            here = cell.requests * passed / np.maximum(labelled, 1)
            known = labelled > 0
            unknown += np.where(known, 0, cell.requests)
            point += np.where(known, here, 0)
            below += np.where(known, here - ends[:, 0], 0) ** 2
            above += np.where(known, ends[:, 1] - here, 0) ** 2
        return point - np.sqrt(below), point + np.sqrt(above) + unknown


def one(n: int, pass_rate: float, label_rate: float, *, spread: float = 0.0, longer: float = 1.0) -> Scenario:
    """A single workload, labelled at random; failures may be longer, windows fare alike."""
    name = (
        f"n {n}, p {pass_rate:g}, labels {100 * label_rate:g} %{', windows alike' if spread else ''}{_longer(longer)}"
    )
    return Scenario(name, [Cell(n, pass_rate, label_rate, spread=spread, tokens_if_failed=longer)])


def many(workloads: int, n: int, pass_rate: float, label_rate: float, *, longer: float = 1.0) -> Scenario:
    """As many workloads alike."""
    name = f"{workloads} workloads x n {n}, p {pass_rate:g}, labels {100 * label_rate:g} %{_longer(longer)}"
    cells = [Cell(n, pass_rate, label_rate, workload=f"w{i}", tokens_if_failed=longer) for i in range(workloads)]
    return Scenario(name, cells)


def thin_beside_large(longer: float) -> Scenario:
    """A workload with many labels beside six with four each."""
    cells = [Cell(40, 0.6, 0.1, workload=f"w{i}", tokens_if_failed=longer) for i in range(6)]
    large = Cell(600, 0.9, 0.3, workload="large", tokens_if_failed=longer)
    return Scenario(f"n 600 beside 6 workloads x n 40, labels 10 %{_longer(longer)}", [large, *cells])


def _longer(times: float) -> str:
    return "" if times == 1 else f", failures {times:g} x as long"


def unlabelled() -> Scenario:
    """Five workloads without a label: nothing but bounds."""
    cells = [Cell(40, 0.5, 0.0, workload=f"w{i}") for i in range(5)]
    return Scenario("5 workloads without a label, p 0.5", cells, bound=True)


def mixed() -> Scenario:
    """One workload is labelled, one is not."""
    cells = [Cell(200, 0.9, 0.3, workload="labelled"), Cell(40, 0.5, 0.0, workload="not")]
    return Scenario("a labelled workload beside one without a label", cells, bound=True)


def sessions(n: int, label_rate: float, *, by_session: bool, alike: float = 1.0, pass_rate: float = 0.8) -> Scenario:
    """Sessions of five requests with one fate."""
    how = "by session" if by_session else "by request"
    name = f"n {n}, sessions of 5 alike {alike:g}, labels {how} {100 * label_rate:g} %, p {pass_rate:g}"
    cells = [Cell(n, pass_rate, label_rate, session=5, by_session=by_session, alike=alike)]
    return Scenario(name, cells, is_exact_known=alike == 1)


def routes(n: int, rates: Sequence[float] = (0.6, 0.1), passes: Sequence[float] = (0.6, 0.95)) -> Scenario:
    """Two routes of one workload with label rates of their own."""
    cells = [
        Cell(n // 2, passed, rate, route=f"r{i}") for i, (rate, passed) in enumerate(zip(rates, passes, strict=True))
    ]
    return Scenario(f"n {n}, two routes, labels {rates}, p {passes}", cells)


def routes_all_hour(n: int) -> Scenario:
    """The same in each part of an hour: so few requests that their cells have a label or none."""
    cells = [
        Cell(n // 48, passed, rate, route=route, ends_s=150 * part + 1)
        for part in range(24)
        for route, rate, passed in (("r0", 0.4, 0.6), ("r1", 0.05, 0.95))
    ]
    name = f"n {n} over an hour, two routes, labels (0.4, 0.05), p (0.6, 0.95)"
    return Scenario(name, cells, window_s=3600, is_exact_known=False)


def minutes() -> Scenario:
    """Label rate and pass rate change every ten minutes of an hour."""
    rates = zip((0.05, 0.1, 0.2, 0.3, 0.4, 0.5), (0.95, 0.9, 0.85, 0.75, 0.65, 0.6), strict=True)
    cells = [Cell(100, passed, rate, ends_s=600 * i + 1) for i, (rate, passed) in enumerate(rates)]
    return Scenario("an hour whose label rate changes every 10 minutes", cells, window_s=3600)


def judged_more(bias: float, n: int = 200) -> Scenario:
    """Failures are judged more often than what passes, and the settings say that nobody drew the labels."""
    name = f"n {n}, failures judged {bias:g} x as often, sampling none"
    return Scenario(name, [Cell(n, 0.8, 0.1, bias=bias)], sampling="none", bound=True)


SCENARIOS = (
    *(one(n, p, f) for n in (30, 200) for p in (0.5, 0.9, 0.99) for f in (0.05, 0.3)),
    one(600, 0.9, 0.1),
    one(600, 0.999, 0.1),
    one(30, 0.999, 0.3),
    one(200, 0.9, 1.0),
    one(200, 0.5, 0.01),
    many(5, 30, 0.9, 0.3),
    many(20, 20, 0.9, 0.3),
    many(5, 30, 0.99, 0.3),
    many(20, 20, 0.9, 0.05),
    many(8, 40, 0.6, 0.1),
    unlabelled(),
    mixed(),
    sessions(60, 0.3, by_session=True),
    sessions(200, 0.3, by_session=True),
    sessions(100, 0.3, by_session=False),
    sessions(100, 0.6, by_session=True, alike=0.5, pass_rate=0.9),
    sessions(400, 0.1, by_session=True, pass_rate=0.95),
    sessions(100, 0.3, by_session=False, alike=0.5, pass_rate=0.9),
    routes(60),
    routes(100, (0.2, 0.4)),
    routes(100, (0.3, 0.3)),
    routes(400, (0.3, 0.03)),
    routes(200),
    routes_all_hour(96),
    routes_all_hour(240),
    minutes(),
    judged_more(1.5),
    judged_more(3),
    judged_more(10),
    one(200, 0.85, 0.3, spread=0.1),
    one(200, 0.8, 0.3, longer=3),
    one(200, 0.95, 0.3, longer=3),
    one(600, 0.9, 0.1, longer=3),
    one(30, 0.9, 0.3, longer=3),
    one(200, 0.8, 0.3, longer=10),
    one(200, 0.8, 0.3, longer=0.3),
    many(5, 30, 0.9, 0.3, longer=3),
    many(20, 20, 0.9, 0.3, longer=3),
    many(8, 40, 0.6, 0.1, longer=3),
    one(200, 0.8, 0.3, longer=0.1),
    many(8, 40, 0.6, 0.1, longer=0.3),
    thin_beside_large(3),
)


@cache
def mid_p(population: int, drawn: int, passed: int) -> tuple[int, int]:
    """95 % interval of how many of a population pass when `passed` of `drawn` do: hypergeometric, mid-P."""
    totals = np.arange(passed, population - drawn + passed + 1)
    at, up_to = (f(passed, population, totals, drawn) for f in (hypergeom.pmf, hypergeom.cdf))
    inside = totals[(up_to - at / 2 > 0.025) & (1 - up_to + at / 2 > 0.025)]
    return int(inside.min()), int(inside.max())


def lines(scenarios: Sequence[Scenario]) -> Lines:
    """Every scenario measured twice: widths by one seed, coverage by another."""
    for number, scenario in enumerate(scenarios):
        yield from decided(partial(_lines, scenario), 1000 + 2 * number)


def _lines(scenario: Scenario, seed: int) -> Lines:
    calibration, test = scenario.run(seed), scenario.run(seed + 1)
    held, bound = (calibration.requests(), test.requests()), scenario.bound
    yield line("goodput", scenario.name, *held, bound=bound)
    held = (calibration.tokens(), test.tokens())
    yield line("output tokens", scenario.name, *held, bound=bound, widest=WIDER_TOKENS)
