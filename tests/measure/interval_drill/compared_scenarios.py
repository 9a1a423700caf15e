"""Scenarios of `goodput compare`: the clusterings of labels and windows, without a difference and with one."""

from measure.interval_drill.compared_sides import Compared
from measure.interval_drill.line import Lines, decided
from measure.interval_drill.populations import Cell

_Three = tuple[float, float, float]


def _workloads(label_rates: _Three, pass_rates: _Three = (0.97, 0.85, 0.6)) -> list[Cell]:
    rates = zip("abc", pass_rates, label_rates, strict=True)
    return [Cell(40, pass_rate, label_rate, workload=name) for name, pass_rate, label_rate in rates]


ALIKE = (
    Compared("random labels 30 %", [Cell(50, 0.85, 0.3)]),
    Compared("sessions alike, all labelled", [Cell(50, 0.85, 1.0, session=5)]),
    Compared("sessions alike, labels by session 30 %", [Cell(50, 0.85, 0.3, session=5, by_session=True)]),
    Compared("2 sessions a window, judged whole 50 %", [Cell(10, 0.8, 0.5, session=5, by_session=True)], windows=24),
    Compared(
        "4 sessions a window, partly alike, judged whole 30 %",
        [Cell(20, 0.8, 0.3, session=5, alike=0.7, by_session=True)],
        windows=24,
    ),
    Compared("windows alike, all labelled", [Cell(50, 0.85, 1.0, spread=0.1)]),
    Compared("windows and sessions alike, 30 %", [Cell(50, 0.85, 0.3, session=5, spread=0.1)]),
    Compared("3 workloads of other rates, labels 60, 20, 5 %", _workloads((0.6, 0.2, 0.05))),
    Compared("failures cost three times as much, 30 %", [Cell(50, 0.85, 0.3, tokens_if_failed=3)]),
    Compared(
        "failures cost more, sessions and windows alike",
        [Cell(50, 0.85, 0.5, session=5, spread=0.1, tokens_if_failed=3)],
    ),
    Compared("hardly any failure, 10 %", [Cell(50, 0.99, 0.1)], few_failures=True),
    Compared("3 windows, 30 %", [Cell(100, 0.85, 0.3)], windows=3),
    Compared("3 windows alike, all labelled", [Cell(100, 0.85, 1.0, spread=0.1)], windows=3),
    Compared("4 windows, sessions alike, 30 %", [Cell(100, 0.85, 0.3, session=5)], windows=4),
    Compared("6 windows, 30 %", [Cell(100, 0.85, 0.3)], windows=6),
    Compared("6 windows alike, 30 %", [Cell(100, 0.85, 0.3, spread=0.1)], windows=6),
    Compared("half as much money for idle time, 30 %", [Cell(50, 0.85, 0.3)], idle=0.5),
    # what happens in a window happens to both sides
    Compared("a window's fate is both sides', all labelled", [Cell(50, 0.85, 1.0, spread=0.1)], alike=0.9),
    Compared("a window's fate is both sides', 30 %", [Cell(50, 0.85, 0.3, spread=0.1)], alike=0.9),
    Compared("fate is half both sides', 24 windows", [Cell(50, 0.85, 1.0, spread=0.1)], windows=24, alike=0.5),
    Compared("a window's fate is both sides', idle time", [Cell(50, 0.85, 0.5, spread=0.1)], alike=0.9, idle=0.5),
    Compared("what one side gains the other loses", [Cell(50, 0.85, 1.0, spread=0.1)], alike=-0.9),
    Compared("3 windows, fate is both sides'", [Cell(100, 0.85, 1.0, spread=0.1)], windows=3, alike=0.9),
    Compared("4 windows, fate is both sides', 30 %", [Cell(100, 0.85, 0.3, spread=0.1)], windows=4, alike=0.9),
    Compared("5 windows, fate is half both sides'", [Cell(100, 0.85, 1.0, spread=0.1)], windows=5, alike=0.5),
    Compared("4 windows, what one gains the other loses", [Cell(100, 0.85, 1.0, spread=0.1)], windows=4, alike=-0.9),
    Compared("4 of 12 windows shared, fate is both sides'", [Cell(50, 0.85, 1.0, spread=0.1)], alike=0.9, later=8),
    Compared("4 of 12 windows shared, one gains, one loses", [Cell(50, 0.85, 1.0, spread=0.1)], alike=-0.9, later=8),
)
APART = (
    Compared(
        "2 workloads, labels by the other's rate",
        [Cell(40, 0.95, 0.5, workload="a"), Cell(40, 0.6, 0.05, workload="b")],
        [Cell(40, 0.95, 0.05, workload="a"), Cell(40, 0.6, 0.5, workload="b")],
    ),
    Compared(
        "2 routes in a workload, labels by the other's rate",
        [Cell(40, 0.95, 0.5), Cell(40, 0.6, 0.1, route="r2")],
        [Cell(40, 0.95, 0.1), Cell(40, 0.6, 0.5, route="r2")],
    ),
    Compared(
        "2 workloads in another mix",
        [Cell(40, 0.95, 0.3, workload="a"), Cell(20, 0.6, 0.3, workload="b")],
        [Cell(20, 0.95, 0.3, workload="a"), Cell(40, 0.6, 0.3, workload="b")],
    ),
    Compared("B passes 7 % less, 30 %", [Cell(50, 0.85, 0.3)], [Cell(50, 0.78, 0.3)]),
    Compared("B passes 7 % less, idle time, 30 %", [Cell(50, 0.85, 0.3)], [Cell(50, 0.78, 0.3)], idle=0.5),
    Compared(
        "B passes less, failures cost more, windows alike",
        [Cell(50, 0.85, 0.3, spread=0.1, tokens_if_failed=3)],
        [Cell(50, 0.7, 0.3, spread=0.1, tokens_if_failed=3)],
    ),
    Compared(
        "B passes 5 % less, a window's fate is both sides'",
        [Cell(50, 0.85, 1.0, spread=0.1)],
        [Cell(50, 0.8, 1.0, spread=0.1)],
        alike=0.9,
    ),
    Compared(
        "B passes 15 % less, 5 windows, fate is both sides', 30 %",
        [Cell(100, 0.85, 0.3, spread=0.1)],
        [Cell(100, 0.7, 0.3, spread=0.1)],
        windows=5,
        alike=0.9,
    ),
    Compared("B worse in 1 of 3 workloads", _workloads((0.6, 0.2, 0.1)), _workloads((0.3, 0.3, 0.3), (0.97, 0.7, 0.6))),
)


def lines() -> Lines:
    """Every scenario."""
    for number, scenario in enumerate(ALIKE + APART):
        yield from decided(scenario.run, 7000 + 10 * number)
