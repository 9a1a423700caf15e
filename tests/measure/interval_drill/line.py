"""One line of the drill: how often an interval held the truth, and how wide it was beside one that would just hold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import beta

HELD = (0.93, 0.97)
WIDER = 1.25  # what an interval that holds too often may be wider than a valid one
# The same of tokens and dollars, as docs/semantics.md states: of few labels the longest answers are mostly unseen.
WIDER_TOKENS = 1.6


@dataclass(frozen=True)
class Trial:
    """Intervals of many windows with the truth of each: arrays of one length, in one unit."""

    low: np.ndarray
    high: np.ndarray
    point: np.ndarray
    truth: np.ndarray
    scale: float = 1.0  # the unit is divided by this for printing
    exact: tuple[np.ndarray, np.ndarray] | None = None  # by the exact distribution of counts, where it is known

    @property
    def held(self) -> np.ndarray:
        """Whether each interval holds its truth, to rounding."""
        return self._holds(self.low, self.high)

    def _holds(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        slack = 1e-9 * (1 + np.abs(self.truth))
        return (low <= self.truth + slack) & (high >= self.truth - slack)

    @property
    def width(self) -> float:
        """Mean width."""
        return float(np.mean(self.high - self.low)) / self.scale

    @property
    def valid_width(self) -> float:
        """Mean width of the exact interval if it holds, else at least of one width around the point that just does."""
        constant = float(2 * np.quantile(np.abs(self.point - self.truth), 0.95, method="higher")) / self.scale
        if self.exact is None:
            return constant
        exact = float(np.mean(self.exact[1] - self.exact[0])) / self.scale
        return exact if self._holds(*self.exact).mean() >= HELD[0] else max(exact, constant)


@dataclass(frozen=True)
class Line:
    """Coverage on the test seed, width against the calibration seed's."""

    relation: str
    scenario: str
    held: int
    runs: int
    width: float
    valid_width: float | None  # None: the interval is a bound, and holds always
    promised: tuple[float, float] = HELD
    widest: float = WIDER

    @property
    def coverage(self) -> float:
        """Share of the windows whose interval holds the truth."""
        return self.held / self.runs

    @property
    def wider(self) -> float | None:
        """Width as a multiple of a valid interval's."""
        return self.width / self.valid_width if self.valid_width else None

    @property
    def kept(self) -> bool:
        """Whether coverage is as promised; more only where the interval is not too wide."""
        low, high = self.promised
        if not low <= self.coverage <= high and self.valid_width is not None:
            return self.coverage > high and self.width <= self.widest * self.valid_width + 1e-9
        return self.coverage >= low

    @property
    def is_open(self) -> bool:
        """Whether the promise is missed by no more than chance can explain, so that more runs have to decide."""
        low, high = exact_interval(self.held, self.runs)
        return not self.kept and low <= self.promised[1] and high >= self.promised[0]

    def with_more(self, other: "Line") -> "Line":
        """The line of both lines' runs, of one scenario."""
        runs = self.runs + other.runs
        width = (self.width * self.runs + other.width * other.runs) / runs
        return replace(self, held=self.held + other.held, runs=runs, width=width)

    def __str__(self) -> str:
        low, high = exact_interval(self.held, self.runs)
        valid = "" if self.wider is None else f"{self.valid_width:9.4g} {self.wider:5.2f}"
        return (
            f"{self.relation:<16} {self.scenario:<58} {100 * self.coverage:5.1f} ({100 * low:5.1f}..{100 * high:5.1f})"
            f" {self.width:9.4g} {valid:<15} {'ok' if self.kept else 'BROKEN'}"
        )


HEADING = f"{'relation':<16} {'scenario':<58} {'held the truth, %':<20} {'width':>9} {'valid':>9} {'ratio':>5}"


def exact_interval(held: int, runs: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share."""
    low = 0.0 if held == 0 else float(beta.ppf(0.025, held, runs - held + 1))
    high = 1.0 if held == runs else float(beta.ppf(0.975, held + 1, runs - held))
    return low, high


def line(
    relation: str, scenario: str, calibration: Trial, test: Trial, *, bound: bool = False, widest: float = WIDER
) -> Line:
    """Judge the test by itself and by the width that the calibration calls for."""
    valid = None if bound else calibration.valid_width
    return Line(relation, scenario, int(test.held.sum()), len(test.held), test.width, valid, widest=widest)


Lines = Iterator[Line]
_AGAIN = (100_000, 200_000, 300_000)  # added to a scenario's seed, far from those of others


def decided(lines: Callable[[int], Lines], seed: int) -> Lines:
    """The lines of a scenario; one that chance may have put outside its promise is drawn thrice more, and all decide.

    Of some three hundred lines of intervals that hold 95 % of the time one or two fall short of 93 % in 1,000 runs.
    """
    found = list(lines(seed))
    if any(one.is_open for one in found):
        for more in _AGAIN:
            found = [one.with_more(other) for one, other in zip(found, lines(seed + more), strict=True)]
    yield from found
