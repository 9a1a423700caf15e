"""Pages where deployments are known: steps by no more than is allowed, which nobody accepts, and drifts from one on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from goodput.monitor.causes import OpsEvent
from goodput.monitor.detector import score
from goodput.monitor.follow import Followable, Terms, follow
from goodput.monitor.marks import allowed_steps
from goodput.monitor.panel import Panel
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.monitor.states import Debounce, Episode
from goodput.monitor.tail_chart import LevelAndTailChart
from goodput.settings.alarms import Alarms
from goodput.settings.rule import Rule
from monitor.drifts import P99, PAGE, found, of_p99
from monitor.latencies import Fleet, Latencies, latencies
from monitor.line import Line, rate
from monitor.noise import ramp

A_DAY, SERIES, DRIFTING, DAYS, LEARNING = 24, 1200, 400, 35, 7
LABELS = (("pool", "chat"),)
ALLOWED = Alarms().allowed_step_ratio


def marked_lines() -> Iterator[Line]:
    """False pages of steps that are allowed, and how soon drifts are found that begin with a deployment."""
    seen = latencies(np.random.default_rng(7251), Fleet(deploys=0.25, step=ALLOWED), SERIES, DAYS)
    pages = sum(map(len, delivered(seen)))
    yield rate("false pages, by up to what is allowed (20 %), marked", pages, SERIES * (DAYS - LEARNING), 2.0)
    onset = np.random.default_rng(7282).integers(28 * A_DAY, 33 * A_DAY, DRIFTING)
    calm = latencies(np.random.default_rng(7281), Fleet(tail=0.5), DRIFTING, DAYS)
    deployed = np.arange(DAYS * A_DAY) == onset[:, None]
    for per_hour, half in ((0.05, 10), (0.10, 8)):
        drifting = replace(calm.moved(ramp(DAYS * A_DAY, onset, per_hour)), deployed=deployed)
        known = found(list(delivered(drifting)), onset)
        p50, p90 = known.percentile(0.5), known.percentile(0.9)
        what = f"p99 drifts {per_hour:.0%}/h from a deployment on: p50/p90"
        yield Line(what, f"{p50:.0f}/{p90:.0f} h of {len(known.delays)}", f"p50 <= {half} h", p50 <= half)


def delivered(seen: Latencies) -> Iterator[list[Episode]]:
    """Pages that were delivered, from then on, by series."""
    inputs, chart = of_p99(seen), LevelAndTailChart(P99)
    grid, scores = inputs.grid, score(inputs, chart)
    quiet = np.zeros(grid.windows, dtype=np.bool_)
    terms = Terms(PAGE, Debounce(1, 3), quiet)
    every = [Followable(inputs.of(row), scores.of(row), terms) for row in range(len(seen.p99))]
    panel = Panel("p99_ttft_s", grid, (LABELS,) * len(every), seen.p99, inputs.requests, None)
    rule = Rule(metric="p99_ttft_s", severity="page")
    for row, followed in enumerate(follow(chart, every)):
        parts = ("p99_ttft_s_page", rule.kind, rule.severity, rule.metric, LABELS, PAGE, followed.scores.score[0])
        more = {"trend": followed.scores, "chart": chart, "inputs": inputs, "panel": panel, "row": row, "grid": grid}
        one = RuleSeries(*parts, seen.p99[row], followed.episodes, **more)
        operations = [
            OpsEvent(grid.start_s + 3600.0 * at, "deployment", "chat") for at in np.flatnonzero(seen.deployed[row])
        ]
        held = {step.from_s: step.until_s for step in allowed_steps(one, operations, ALLOWED)}
        yield list(_begun(spans(one), held, grid.start_s))


def _begun(
    every: Iterable[tuple[Episode, int, int | None]], held: Mapping[int, float], start_s: int
) -> Iterator[Episode]:
    for episode, begins_s, ends_s in every:
        free_s = held.get(begins_s, begins_s)
        if free_s < (ends_s or np.inf):
            yield replace(episode, firing=episode.firing + int(free_s - begins_s) // 3600)
