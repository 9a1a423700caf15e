"""The part of `make drill-alarms` on counts: how often their alarms are wrong, and how soon they are right."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from goodput.monitor.counts import RATE, RATIO, Law
from goodput.settings.metrics import AlarmMetric
from goodput.settings.watched import metrics
from monitor.count_noise import (
    CALM,
    CHANCE,
    NOISY,
    NORMAL,
    Stray,
    counts_fired,
    events,
    moved,
    onsets,
    rate_events,
    scored,
    strayed,
    trials,
)
from monitor.drifts import found
from monitor.line import Line
from monitor.line import rate as rate_line

SERIES, DAYS, LEARNING, A_DAY = 300, 42, 7, 24
_FAILED: AlarmMetric = metrics()["failed"]
PAGE, TICKET = _FAILED.page, _FAILED.ticket
FIVE_PERCENT, IN_A_WEEK_AND_MORE = (100 * np.log(1.05), 100.0), 14.0 * A_DAY
HALF_AS_MANY_HITS = np.log(0.6 / 0.4) - np.log(0.15 / 0.85)  # misses from 15 to 60 of 100


@dataclass(frozen=True)
class Cell:
    """Series of one kind with what moves them: `half` and `nine` are the promised hours to the page at p50 and p90."""

    what: str
    per_hour: float
    usual: float
    stray: Stray
    change: tuple[float, float]
    half: float
    nine: float
    most: float = 1.0
    within_72_h: float = 1.0


CELLS = (
    Cell("quality, 20 judged/h, failures doubled", 20, 0.05, CALM, (np.log(2), 1), 40, 110, within_72_h=0.75),
    Cell("quality, 100 judged/h, failures doubled", 100, 0.05, CALM, (np.log(2), 1), 10, 17),
    Cell("failed 0.2 % of 1,000/h, tripled", 1000, 0.002, NORMAL, (np.log(3), 1), 6, 13),
    Cell("failed 0.2 % of 10,000/h, 5 %/h", 10_000, 0.002, NORMAL, FIVE_PERCENT, 14, 18),
    Cell("retried 3 % of 1,000/h, tenfold", 1000, 0.03, NORMAL, (np.log(10), 1), 4, 6, most=1.5),
    Cell("retried 3 % of 10,000/h, noisy, 5 %/h", 10_000, 0.03, NOISY, FIVE_PERCENT, 24, 32),
    Cell(
        "hit ratio 85 to 40 % in 14 days, strays by 0.1",
        *(1000, 0.15, Stray(0.05, 0.08, 0.03), (HALF_AS_MANY_HITS, IN_A_WEEK_AND_MORE), 60, 78),
        within_72_h=0.85,
    ),
    Cell(
        "hit ratio 85 to 40 % in 14 days, strays by 0.15",
        *(1000, 0.15, NOISY, (HALF_AS_MANY_HITS, IN_A_WEEK_AND_MORE), 84, 108),
        within_72_h=0.3,
    ),
)


@dataclass(frozen=True)
class Preempted:
    """A rate an hour, what it strays, the variance of its bursts, and how many times as many come."""

    what: str
    per_hour: float
    stray: Stray
    bursts: float
    times: float
    half: float
    most: float = 1.0


RATES = (
    Preempted("preemptions, 2/h, tripled", 2, NORMAL, 0, 3, 7),
    Preempted("preemptions, 1 in 5 h, five times", 0.2, CHANCE, 0, 5, 14),
    Preempted("preemptions, 1 in 50 h, then 1/h", 0.02, CHANCE, 0, 50, 5),
    Preempted("preemptions, never, then 1/h", 1e-9, CHANCE, 0, 1e9, 4),
    Preempted("preemptions in bursts, 5/h, noisy, tripled", 5, NOISY, 1, 3, 26, most=2.0),
)


def count_lines() -> Iterator[Line]:
    """Every kind of count: false pages and tickets, and hours to the page."""
    tickets, days = 0, 0
    for seed, cell in enumerate(CELLS):
        calm, onset = ratio(cell, 500 + seed, 0.0), onsets(600 + seed, SERIES)
        tickets, days = tickets + _count(calm, TICKET), days + SERIES * (DAYS - LEARNING)
        yield rate_line(f"false pages, {cell.what}", _count(calm, PAGE), SERIES * (DAYS - LEARNING), cell.most)
        yield _delay(cell, ratio(cell, 500 + seed, moved(DAYS * A_DAY, onset, *cell.change)), onset)
    yield rate_line("false tickets, all of these ratios", tickets, days, 10.0)
    for seed, one in enumerate(RATES):
        onset = onsets(700 + seed, SERIES)
        calm = rate(one, 800 + seed, 0.0)
        yield rate_line(f"false pages, {one.what}", _count(calm, PAGE), SERIES * (DAYS - LEARNING), one.most)
        later = rate(one, 800 + seed, moved(DAYS * A_DAY, onset, np.log(one.times)))
        known = found(counts_fired(later, PAGE), onset)
        figure = f"{known.percentile(0.5):.0f}/{known.percentile(0.9):.0f} h of {len(known.delays)}"
        yield Line(f"{one.what}: p50/p90", figure, f"p50 <= {one.half:g} h", known.percentile(0.5) <= one.half)
    yield from estimated()
    yield from quarter_hours()


def ratio(cell: Cell, seed: int, change: np.ndarray | float) -> np.ndarray:
    """Scores of series of a cell."""
    rng = np.random.default_rng(seed)
    n = trials(rng, SERIES, DAYS, cell.per_hour)
    return scored(events(rng, n, cell.usual, strayed(rng, SERIES, DAYS, cell.stray) + change), n)


def rate(one: Preempted, seed: int, change: np.ndarray | float, law: Law = RATE) -> np.ndarray:
    """Scores of series that count events in time."""
    rng = np.random.default_rng(seed)
    logarithm = strayed(rng, SERIES, DAYS, one.stray) + change
    return scored(rate_events(rng, one.per_hour, logarithm, one.bursts), np.ones(logarithm.shape), law)


def estimated() -> Iterator[Line]:
    """Goodput of 1,000 requests an hour of which a tenth is judged: ten requests stray by the label of one."""
    onset = onsets(900, SERIES)
    calm, failing = (_goodput(901, change) for change in (0.0, moved(DAYS * A_DAY, onset, np.log(2))))
    days = SERIES * (DAYS - LEARNING)
    yield rate_line("false pages, goodput by the labels of a tenth", _count(calm, PAGE), days, 1.5)
    known = found(counts_fired(failing, PAGE), onset)
    figure = f"{known.percentile(0.5):.0f}/{known.percentile(0.9):.0f} h of {len(known.delays)}"
    kept = known.percentile(0.5) <= 10
    yield Line("goodput by the labels of a tenth, failures doubled: p50/p90", figure, "p50 <= 10 h", kept)


def _goodput(seed: int, change: np.ndarray | float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    offered = trials(rng, SERIES, DAYS, 1000)
    judged = rng.binomial(offered.astype(np.int64), 0.1)
    bad = events(rng, judged.astype(float), 0.05, strayed(rng, SERIES, DAYS, CALM) + change)
    return scored(offered * bad / np.maximum(judged, 1), np.where(judged > 0, offered, 0.0))


def quarter_hours() -> Iterator[Line]:
    """The same thresholds with windows of 15 minutes."""
    cell, few = CELLS[2], 100
    onset = 4 * onsets(950, few)
    scores = []
    for change in (0.0, moved(4 * DAYS * A_DAY, onset, np.log(3))):
        rng = np.random.default_rng(951)
        n = trials(rng, few, DAYS, cell.per_hour, 4)
        x = events(rng, n, cell.usual, strayed(rng, few, DAYS, cell.stray, 4) + change)
        scores.append(scored(x, n, RATIO, 4))
    what = f"{cell.what}, windows of 15 minutes"
    yield rate_line(f"false pages, {what}", _count(scores[0], PAGE), few * (DAYS - LEARNING), 2.0)
    known = found(counts_fired(scores[1], PAGE), onset)
    p50, p90 = known.percentile(0.5) / 4, known.percentile(0.9) / 4
    yield Line(f"{what}: p50/p90", f"{p50:.1f}/{p90:.1f} h of {len(known.delays)}", "p50 <= 6 h", p50 <= 6)


def _delay(cell: Cell, scores: np.ndarray, onset: np.ndarray) -> Line:
    known = found(counts_fired(scores, PAGE), onset)
    p50, p90, share = known.percentile(0.5), known.percentile(0.9), known.within(72)
    figure = f"{p50:.0f}/{p90:.0f} h, {100 * share:.1f} % in 72 h of {len(known.delays)}"
    promised = f"p50 <= {cell.half:g} h, p90 <= {cell.nine:g} h, {100 * cell.within_72_h:g} % in 72 h"
    kept = p50 <= cell.half and p90 <= cell.nine and share >= cell.within_72_h
    return Line(f"{cell.what}: p50/p90", figure, promised, kept)


def _count(scores: np.ndarray, threshold: float) -> int:
    return sum(map(len, counts_fired(scores, threshold)))
