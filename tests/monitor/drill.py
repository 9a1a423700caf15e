"""`make drill-alarms`: how often trend alarms are wrong and how soon they are right, over thousands of seeded series.

Prints every figure with its interval, and fails where one is worse than what is promised.
"""

import sys
import time
from collections.abc import Iterator
from datetime import timedelta

import numpy as np
from scipy.stats import chi2

from goodput.monitor.calendar import calendar
from goodput.monitor.detector import score
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs
from goodput.monitor.level_chart import LevelChart
from goodput.monitor.shape import shape_of
from goodput.settings.metrics import QUARTER_HOURLY
from goodput.settings.model import Settings
from monitor.drifts import MONDAY_S, absolute_fired, fired, found
from monitor.fleet_drill import fleet_lines
from monitor.line import Line
from monitor.noise import CALM, NORMAL, ROUGH, Profile, hourly_p99, kv_utilisation, ramp
from monitor.rows import MONDAY, goodput_rows
from monitor.silences import AT_NIGHT, EVENLY, traffic, watched
from monitor.silences import DAYS as SILENT_DAYS

A_DAY, LEARNING = 24, 7
PAGE, TICKET, KV_PAGE = 2.8, 2.3, 3.2
SLOW = (1480 / 920) ** (1 / 36) - 1


def main() -> None:
    """Print all lines; exit with 1 where a promise is broken."""
    kept = True
    for line in lines():
        kept &= line.kept
        print(f"{line.what:<64} {line.figure:<60} {line.promised:<32} {'ok' if line.kept else 'BROKEN'}", flush=True)
    sys.exit(not kept)


def lines() -> Iterator[Line]:
    yield speed()
    yield speed_of_all()
    yield from false_alarms()
    yield fourteen_weeks()
    yield false_alarms_of_kv()
    yield from silences()
    yield from delays()
    yield against_absolute()
    yield one_outlier()
    yield kv()
    yield shapes()
    yield from quarter_hours()
    yield from fleet_lines()


def stable(seed: int, series: int, days: int, profile: Profile = NORMAL, **more: float) -> np.ndarray:
    return np.log(hourly_p99(np.random.default_rng(seed), series, days, profile=profile, **more)[0])


def speed() -> Line:
    values = stable(1, 1000, 28)
    grid = Grid(MONDAY_S, 28)
    began = time.perf_counter()
    score(Inputs(grid, calendar(grid), values, 0.02), LevelChart())
    took = time.perf_counter() - began
    return Line("1,000 series x 4 weeks, every window scored", f"{took:.2f} s", "< 5 s", took < 5)


def speed_of_all() -> Line:
    rows = goodput_rows(*hourly_p99(np.random.default_rng(2), 143, 28))
    began = time.perf_counter()
    evaluation = Evaluation(Evidence({"goodput": rows}, Settings()), MONDAY + timedelta(days=28))
    alarms, _ = evaluation.alarms(), evaluation.new_events([])
    took = time.perf_counter() - began
    what = f"the same from rows to events ({len(alarms):,} alarms of 1,001 series)"
    return Line(what, f"{took:.2f} s", "< 5 s", took < 5)


def false_alarms() -> Iterator[Line]:
    count = {PAGE: 0, TICKET: 0}
    days = 0
    for seed in range(100, 110):
        values = stable(seed, 500, 35)
        days += 500 * (35 - LEARNING)
        for threshold in count:
            count[threshold] += sum(len(alarms) for alarms in fired(values, threshold))
    for name, threshold, most in (("page", PAGE, 1.0), ("ticket", TICKET, 10.0)):
        yield _rate(f"false {name}s, normal noise, 10k requests/h", count[threshold], days, most)
    for name, more, profile, most in (
        ("calm noise", {}, CALM, 1.0),
        ("rough noise", {}, ROUGH, 5.0),
        ("1k requests/h", {"per_hour": 1000}, NORMAL, 1.0),
        ("weekends at a fifth", {"weekend": 0.2}, NORMAL, 2.0),
    ):
        values = stable(201, 200, 35, profile, **more)
        yield _rate(f"false pages, {name}", sum(map(len, fired(values, PAGE))), 200 * 28, most)
    values = stable(202, 200, 35)
    values[np.random.default_rng(203).random(values.shape) < 0.1] = np.nan
    yield _rate("false pages, a tenth of the windows missing", sum(map(len, fired(values, PAGE))), 200 * 28, 2.0)


def fourteen_weeks() -> Line:
    """Spikes and weekends are in the noise; a tenth of the windows and half a day are missing."""
    rng = np.random.default_rng(204)
    values = stable(205, 200, 14 * 7)
    values[rng.random(values.shape) < 0.1] = np.nan
    for row, gap in zip(values, rng.integers(0, values.shape[1] - 12, len(values)), strict=True):
        row[gap : gap + 12] = np.nan
    pages = [len(found_in) for found_in in fired(values, PAGE)]
    silent = 1 - np.count_nonzero(pages) / len(pages)
    figure = f"{100 * silent:.1f} % of {len(pages)} silent throughout, {sum(pages)} pages in {len(pages) * 91:,} days"
    # at 1 page in 1,000 series-days exp(-0.091), 91.3 %, would be
    return Line("14 stable weeks with spikes, weekends and gaps", figure, ">= 91.3 % silent", silent >= np.exp(-0.091))


def false_alarms_of_kv() -> Line:
    share = kv_utilisation(np.random.default_rng(206), 400, 35)
    count = sum(map(len, fired(np.log(share / (1 - share)), KV_PAGE, 0.05)))
    return _rate("false pages, KV utilisation", count, 400 * (35 - LEARNING), 1.0)


def silences() -> Iterator[Line]:
    """Pools of which hours are empty by chance, of which no silence is to be reported."""
    for what, share, sticky, most in (
        ("a sixth of the hours empty", EVENLY, 1.0, 1.0),
        ("a fifth of the night's hours empty", AT_NIGHT, 1.0, 1.0),
        ("empty hours in clusters", EVENLY, 2.0, 3.0),
    ):
        judged = watched(traffic(share, sticky))
        false = sum(episode.firing is not None for one in judged for episode in one.episodes)
        yield _rate(f"false silences, {what}", false, len(judged) * (SILENT_DAYS - LEARNING), most)


def _rate(what: str, events: int, days: int, most: float) -> Line:
    low = chi2.ppf(0.025, 2 * events) / 2 if events else 0.0
    high = chi2.ppf(0.975, 2 * events + 2) / 2
    rate, low, high = (1000 * n / days for n in (events, low, high))
    figure = f"{rate:.2f} [{low:.2f}, {high:.2f}] per 1,000 of {days:,}"
    return Line(what, figure, f"<= {most:g} per 1,000 series-days", rate <= most)


def delays() -> Iterator[Line]:
    days = 35
    values = stable(301, 400, days)
    onset = np.random.default_rng(302).integers(28 * A_DAY, 33 * A_DAY, len(values))
    cases = (
        ("600 ms drifting 5 %/h", 0.05, np.inf, PAGE, 10, None),
        ("600 ms drifting 5 %/h, ticket", 0.05, np.inf, TICKET, 9, None),
        ("600 ms drifting 10 %/h", 0.10, np.inf, PAGE, 7, None),
        ("920 to 1480 ms in 36 h", SLOW, 1480 / 920 - 1, PAGE, 21, 25),
        ("5 %/h that stops at +20 %, ticket", 0.05, 0.2, TICKET, 14, None),
    )
    for what, per_hour, most, threshold, half, nine in cases:
        known = found(fired(values + ramp(days * A_DAY, onset, per_hour, most), threshold), onset)
        p50, p90 = known.percentile(0.5), known.percentile(0.9)
        figure = f"{p50:.0f}/{p90:.0f} h, {100 * known.within(48):.1f} % in 48 h of {len(known.delays)}"
        promised = f"p50 <= {half} h" + ("" if nine is None else f", p90 <= {nine} h")
        yield Line(f"{what}: p50/p90", figure, promised, p50 <= half and (nine is None or p90 <= nine))


def quarter_hours() -> Iterator[Line]:
    """The same promises with windows of 15 minutes, each of a quarter of the requests."""
    days = 35
    values = stable(401, 400, days, an_hour=4)
    for name, usual, most in (("page", PAGE, 1.0), ("ticket", TICKET, 10.0)):
        count = sum(map(len, fired(values, QUARTER_HOURLY[usual], an_hour=4)))
        yield _rate(f"false {name}s, windows of 15 minutes", count, 400 * (days - LEARNING), most)
    onset = np.random.default_rng(402).integers(4 * 28 * A_DAY, 4 * 33 * A_DAY, len(values))
    for what, per_hour, most, half in (
        ("drifting 5 %/h", 0.05, np.inf, 10),
        ("drifting 10 %/h", 0.10, np.inf, 7),
        ("920 to 1480 ms in 36 h", SLOW, 1480 / 920 - 1, 21),
    ):
        drifting = values + ramp(4 * days * A_DAY, onset, (1 + per_hour) ** 0.25 - 1, most)
        known = found(fired(drifting, QUARTER_HOURLY[PAGE], an_hour=4), onset)
        p50, p90 = known.percentile(0.5) / 4, known.percentile(0.9) / 4
        figure = f"{p50:.1f}/{p90:.1f} h of {len(known.delays)}"
        yield Line(f"{what}, windows of 15 minutes: p50/p90", figure, f"p50 <= {half} h", p50 <= half)


def against_absolute() -> Line:
    days = 35
    calm = stable(303, 400, days)
    onset = np.random.default_rng(304).integers(28 * A_DAY, 33 * A_DAY, len(calm))
    false = sum(map(len, fired(calm, PAGE)))
    later = calm[:, LEARNING * A_DAY :]
    bounds = np.log(0.6) + np.log(np.arange(1.2, 4, 0.02))
    equal = next(bound for bound in bounds if sum(map(len, absolute_fired(later, bound))) <= false)
    known = found(absolute_fired(calm + ramp(days * A_DAY, onset, SLOW, 1480 / 920 - 1), equal), onset)
    figure = f"{known.percentile(0.5):.0f} h p50, {100 * known.within(25):.0f} % in 25 h"
    return Line(
        f"the same with a bound as rarely wrong ({false} in {400 * 28:,} days)", figure, "later", known.within(25) < 0.5
    )


def one_outlier() -> Line:
    values = stable(305, 400, 35)
    onset = np.random.default_rng(306).integers(28 * A_DAY, 33 * A_DAY, len(values))
    values[np.arange(len(values)), onset] += np.log(10)
    share = found(fired(values, PAGE), onset).within(3)
    return Line("one hour at ten times the latency pages", f"{100 * share:.2f} %", "<= 1 %", share <= 0.01)


def kv() -> Line:
    days = 35
    share = kv_utilisation(np.random.default_rng(307), 400, days)
    calm = np.log(share / (1 - share))
    onset = np.random.default_rng(308).integers(28 * A_DAY, 33 * A_DAY, len(calm))
    climb = np.log(0.97 / 0.03) - np.log(0.55 / 0.45)
    values = calm + climb * np.clip(np.arange(1, days * A_DAY + 1) - onset[:, None], 0, 24) / 24
    known = found(fired(values, KV_PAGE, 0.05), onset)
    full = [np.flatnonzero(row[at:] >= np.log(19))[0] + 1 for row, at in zip(values, onset, strict=True)]
    if len(full) != len(known.delays):
        return Line("KV utilisation to saturation in 24 h", "fired before the onset", "never", False)
    lead = np.array(full) - known.delays
    figure = f"{known.percentile(0.5):.0f} h p50; lead {np.median(lead):.0f} h p50, {np.quantile(lead, 0.05):.0f} h p5"
    return Line("KV utilisation to saturation in 24 h", figure, "lead >= 8 h p50", float(np.median(lead)) >= 8)


def shapes() -> Line:
    """How often the shape at the alarm is right, for ramps of 5 %/h and steps of 40 %."""
    days, right = 35, []
    values = stable(309, 300, days)
    onset = np.random.default_rng(310).integers(28 * A_DAY, 33 * A_DAY, len(values))
    hours = np.arange(days * A_DAY)
    grid = Grid(MONDAY_S, days)
    for kind, change in (
        ("ramp", ramp(days * A_DAY, onset, 0.05)),
        ("step", np.where(hours >= onset[:, None], np.log(1.4), 0.0)),
    ):
        residual = score(Inputs(grid, calendar(grid), values + change, 0.02), LevelChart()).residual
        pairs = zip(residual, fired(values + change, PAGE), onset, strict=True)
        since_onset = [(row, [e for e in known if e.firing >= at]) for row, known, at in pairs]
        named = [shape_of(row[: known[0].firing + 1], 1).kind for row, known in since_onset if known]
        right.append(100 * float(np.mean([name == kind for name in named])))
    figure = f"ramps {right[0]:.0f} %, steps {right[1]:.0f} %"
    return Line("shapes called by their name at the alarm", figure, ">= 60 %", min(right) >= 60)


if __name__ == "__main__":
    main()
