"""`make drill-alarms`: how often trend alarms are wrong and how soon they are right, over thousands of seeded series.

Prints every figure with its interval, and fails where one is worse than what is promised.
"""

import sys
import time
from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from goodput.monitor.detector import score
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.grid import Grid
from goodput.monitor.shape import onset_of, shape_of
from goodput.monitor.tail_chart import LevelAndTailChart
from goodput.settings.metrics import QUARTER_HOURLY
from goodput.settings.model import Settings
from monitor.count_drill import count_lines
from monitor.drifts import P99, PAGE, TICKET, fired, found, of_p99, pages
from monitor.fleet_drill import fleet_lines
from monitor.latencies import Fleet, latencies
from monitor.latency_drill import LEARNING, SLOW, latency_lines
from monitor.line import Line, rate
from monitor.noise import hourly_p99, kv_utilisation, ramp
from monitor.rows import MONDAY, goodput_rows
from monitor.silences import AT_NIGHT, EVENLY, traffic, watched
from monitor.silences import DAYS as SILENT_DAYS
from monitor.thin_drill import thin_lines

A_DAY = 24


def main() -> None:
    """Print all lines; exit with 1 where a promise is broken."""
    kept = True
    for line in lines():
        kept &= line.kept
        print(f"{line.what:<64} {line.figure:<60} {line.promised:<32} {'ok' if line.kept else 'BROKEN'}", flush=True)
    sys.exit(not kept)


def lines() -> Iterator[Line]:
    yield from speed()
    yield from latency_lines()
    yield false_alarms_of_kv()
    yield from silences()
    yield one_outlier()
    yield kv()
    yield shapes()
    yield from quarter_hours()
    yield from thin_lines()
    yield from count_lines()
    yield from fleet_lines()


def speed() -> Iterator[Line]:
    """All charts of a fleet's latencies, and all of an evaluation."""
    inputs = of_p99(latencies(np.random.default_rng(7101), Fleet(), 1000, 35))
    began = time.process_time()
    score(inputs, LevelAndTailChart(P99))
    took = time.process_time() - began
    yield Line("1,000 series x 5 weeks, every window scored", f"{took:.1f} CPU s", "<= 10 CPU s", took <= 10)
    rows = goodput_rows(*hourly_p99(np.random.default_rng(2), 143, 28))
    began = time.process_time()
    evaluation = Evaluation(Evidence({"goodput": rows}, Settings()), MONDAY + timedelta(days=28))
    alarms, _ = evaluation.alarms(), evaluation.new_events([])
    took = time.process_time() - began
    what = f"from rows to events ({len(alarms):,} alarms of 1,001 series, 4 weeks)"
    yield Line(what, f"{took:.1f} CPU s", "<= 10 CPU s", took <= 10)


def false_alarms_of_kv() -> Line:
    share = kv_utilisation(np.random.default_rng(206), 400, 35)
    count = sum(map(len, fired(np.log(share / (1 - share)), PAGE, 0.05)))
    return rate("false pages, KV utilisation", count, 400 * (35 - LEARNING), 1.0)


def silences() -> Iterator[Line]:
    """Pools of which hours are empty by chance, of which no silence is to be reported."""
    for what, share, sticky, most in (
        ("a sixth of the hours empty", EVENLY, 1.0, 1.0),
        ("a fifth of the night's hours empty", AT_NIGHT, 1.0, 1.0),
        ("empty hours in clusters", EVENLY, 2.0, 3.0),
    ):
        judged = watched(traffic(share, sticky))
        false = sum(episode.firing is not None for one in judged for episode in one.episodes)
        yield rate(f"false silences, {what}", false, len(judged) * (SILENT_DAYS - LEARNING), most)


def quarter_hours() -> Iterator[Line]:
    """The same promises with windows of 15 minutes, each of a quarter of the requests."""
    days = 35
    seen = latencies(np.random.default_rng(7401), Fleet(), 400, days, an_hour=4)
    for name, usual, most in (("page", PAGE, 1.0), ("ticket", TICKET, 10.0)):
        count = sum(map(len, pages(seen, QUARTER_HOURLY[usual], an_hour=4)))
        yield rate(f"false {name}s, windows of 15 minutes", count, 400 * (days - LEARNING), most)
    onset = np.random.default_rng(7402).integers(4 * 28 * A_DAY, 4 * 33 * A_DAY, 400)
    for what, per_hour, most, half in (
        ("drifting 5 %/h", 0.05, np.inf, 7),
        ("drifting 10 %/h", 0.10, np.inf, 6),
        ("920 to 1480 ms in 36 h", SLOW, 1480 / 920 - 1, 16),
    ):
        drifting = seen.moved(ramp(4 * days * A_DAY, onset, (1 + per_hour) ** 0.25 - 1, most))
        known = found(pages(drifting, QUARTER_HOURLY[PAGE], an_hour=4), onset)
        p50, p90 = known.percentile(0.5) / 4, known.percentile(0.9) / 4
        figure = f"{p50:.1f}/{p90:.1f} h of {len(known.delays)}"
        yield Line(f"{what}, windows of 15 minutes: p50/p90", figure, f"p50 <= {half} h", p50 <= half)


def one_outlier() -> Line:
    seen = latencies(np.random.default_rng(7305), Fleet(), 400, 35)
    onset = np.random.default_rng(7306).integers(28 * A_DAY, 33 * A_DAY, 400)
    spike = np.where(np.arange(35 * A_DAY) == onset[:, None], np.log(10), 0.0)
    share = found(pages(seen.moved(spike, 1.0)), onset).within(3)
    return Line("one hour at ten times the latency pages", f"{100 * share:.2f} %", "<= 1 %", share <= 0.01)


def kv() -> Line:
    days = 35
    share = kv_utilisation(np.random.default_rng(307), 400, days)
    calm = np.log(share / (1 - share))
    onset = np.random.default_rng(308).integers(28 * A_DAY, 33 * A_DAY, len(calm))
    climb = np.log(0.97 / 0.03) - np.log(0.55 / 0.45)
    values = calm + climb * np.clip(np.arange(1, days * A_DAY + 1) - onset[:, None], 0, 24) / 24
    known = found(fired(values, PAGE, 0.05), onset)
    full = [np.flatnonzero(row[at:] >= np.log(19))[0] + 1 for row, at in zip(values, onset, strict=True)]
    if len(full) != len(known.delays):
        return Line("KV utilisation to saturation in 24 h", "fired before the onset", "never", False)
    lead = np.array(full) - known.delays
    figure = f"{known.percentile(0.5):.0f} h p50; lead {np.median(lead):.0f} h p50, {np.quantile(lead, 0.05):.0f} h p5"
    return Line("KV utilisation to saturation in 24 h", figure, "lead >= 8 h p50", float(np.median(lead)) >= 8)


def shapes() -> Line:
    """How often the shape at the alarm is right, for ramps of 5 %/h and steps of 40 % of the whole law."""
    days, right = 35, []
    seen = latencies(np.random.default_rng(7309), Fleet(), 300, days)
    onset = np.random.default_rng(7310).integers(28 * A_DAY, 33 * A_DAY, 300)
    for kind, change in (
        ("ramp", ramp(days * A_DAY, onset, 0.05)),
        ("step", np.where(np.arange(days * A_DAY) >= onset[:, None], np.log(1.4), 0.0)),
    ):
        moved = seen.moved(change, 1.0)
        residual = score(of_p99(moved), LevelAndTailChart(P99)).residual
        pairs = zip(residual, pages(moved), onset, strict=True)
        since_onset = [(row, [e for e in known if e.firing >= at]) for row, known, at in pairs]
        fired = [row[: known[0].firing + 1] for row, known in since_onset if known]
        named = [shape_of(row, Grid(0, 1), onset_of(row, Grid(0, 1))).kind for row in fired]
        right.append(100 * float(np.mean([name == kind for name in named])))
    figure = f"ramps {right[0]:.0f} %, steps {right[1]:.0f} %"
    return Line("shapes called by their name at the alarm", figure, ">= 60 %", min(right) >= 60)


if __name__ == "__main__":
    main()
