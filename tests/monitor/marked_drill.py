"""Pages where deployments are known and move a series by no more than is allowed, and nobody accepts that."""

from collections.abc import Iterator

import numpy as np

from goodput.monitor.causes import OpsEvent
from goodput.monitor.detector import score
from goodput.monitor.follow import Followable, Terms, follow
from goodput.monitor.marks import allowed_steps
from goodput.monitor.panel import Panel
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.monitor.states import Debounce
from goodput.monitor.tail_chart import LevelAndTailChart
from goodput.settings.alarms import Alarms, Rule
from monitor.drifts import P99, PAGE, of_p99
from monitor.latencies import Fleet, Latencies, latencies
from monitor.line import Line, rate

SERIES, DAYS, LEARNING = 1200, 35, 7
LABELS = (("pool", "chat"),)
ALLOWED = Alarms().allowed_step_ratio


def marked() -> Line:
    """Those that are delivered."""
    seen = latencies(np.random.default_rng(7251), Fleet(deploys=0.25, step=ALLOWED), SERIES, DAYS)
    pages = sum(map(len, delivered(seen)))
    return rate("false pages, by up to what is allowed (20 %), marked", pages, SERIES * (DAYS - LEARNING), 2.0)


def delivered(seen: Latencies) -> Iterator[list[int]]:
    """When pages that were not held back by what is allowed began, by series."""
    inputs, chart = of_p99(seen), LevelAndTailChart(P99)
    scores = score(inputs, chart)
    quiet = np.zeros(inputs.grid.windows, dtype=np.bool_)
    terms = Terms(PAGE, Debounce(1, 3), quiet)
    every = [Followable(inputs.of(row), scores.of(row), terms) for row in range(len(seen.p99))]
    panel = Panel("p99_ttft_s", inputs.grid, (LABELS,) * len(every), seen.p99, inputs.requests, None)
    rule = Rule(metric="p99_ttft_s", severity="page")
    for row, found in enumerate(follow(chart, every)):
        parts = ("p99_ttft_s_page", rule.kind, rule.severity, rule.metric, LABELS, PAGE, found.scores.score[0])
        one = RuleSeries(*parts, seen.p99[row], found.episodes, trend=found.scores, panel=panel, row=row)
        at_s = inputs.grid.start_s + 3600.0 * np.flatnonzero(seen.deployed[row])
        steps = allowed_steps(one, inputs.grid, [OpsEvent(at, "deployment", "chat") for at in at_s], ALLOWED)
        held = {(step.from_s, step.until_s) for step in steps}
        yield [begins for _, begins, ends in spans(one, inputs.grid) if (begins, ends or np.inf) not in held]
