"""The charts of latencies: by a second computation from the text, and what load, body and few requests do to them."""

from dataclasses import replace

import numpy as np
import pytest

from goodput.monitor.calendar import calendar
from goodput.monitor.detector import score
from goodput.monitor.grid import Grid
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.level_chart import LevelChart
from goodput.monitor.tail_chart import LevelAndTailChart
from goodput.settings.metrics import Quantile
from monitor import charted_by_hand as by_hand
from monitor.drifts import MONDAY_S, of_p99
from monitor.latencies import Fleet, Latencies, latencies

DAY = 24
CHART = LevelAndTailChart(Quantile(0.01, 0.05))


def scored(seen: Latencies) -> Scores:
    return score(of_p99(seen), CHART)


def fleet(seed: int, series: int, days: int, **more: float) -> Latencies:
    return latencies(np.random.default_rng(seed), Fleet(**more), series, days)


def test_level_and_tail_are_those_of_the_text() -> None:
    seen = fleet(1, 1, 31, tail=0.4, load=0.3, missing=0.05)
    value, body, n = (
        [None if np.isnan(x) else float(x) for x in row[0]]
        for row in (np.log(seen.p99), np.log(seen.p95), seen.requests.astype(float))
    )
    found = scored(seen)
    today = slice(30 * DAY, 31 * DAY)
    logs = [np.log(x) for x in n]
    level, strays = by_hand.chart(value, [n, logs], (body, n, 100.0), 30)
    tail, tail_strays = by_hand.chart(value, [body], (body, n, 80.0), 30)
    parts = {name: part[0, today] for name, part in found.judged.items()}
    assert parts["usual"] + parts["load"] == pytest.approx([w.expected for w in level])
    assert parts["scale"] == pytest.approx([w.sigma for w in level])
    assert parts["strays"][0] == pytest.approx(strays)
    known = np.isfinite(parts["tail_usual"]) & np.isfinite(found.residual[0, today])
    assert parts["tail_usual"][known] == pytest.approx(np.array([w.expected for w in tail])[known])
    assert parts["tail_scale"] == pytest.approx([w.sigma for w in tail])
    assert parts["tail_strays"][0] == pytest.approx(tail_strays)


def test_the_score_is_the_greater_of_the_two_averages() -> None:
    seen = fleet(2, 3, 31)
    found = scored(seen)
    value = np.log(seen.p99)
    expected = []
    for usual, scale in (("usual", "scale"), ("tail_usual", "tail_scale")):
        parts = found.judged
        load = parts["load"] if usual == "usual" else 0.0
        z = np.clip((value - parts[usual] - load) / parts[scale], -4, 4)
        expected.append(sum(0.3 * 0.7**back * z[:, 30 * DAY + 5 - back] for back in range(24)))
    assert found.score[:, 30 * DAY + 5] == pytest.approx(np.maximum(*expected))


def test_what_the_load_explains_is_no_alarm() -> None:
    """Traffic that surges for hours, in series whose latency follows it: with requests beside them, and without."""
    seen = of_p99(fleet(3, 60, 35, load=0.35, sensitivity=0.5))
    without = Inputs(seen.grid, seen.calendar, seen.values, 0.02)
    charts = (seen, LevelChart(Quantile(0.01, 0.05))), (without, LevelChart())
    told, blind = (np.nanmean(score(inputs, chart).score >= 2.4) for inputs, chart in charts)
    assert told < blind / 3


def test_a_tail_that_grows_alone_is_found_hours_before_its_level_is() -> None:
    seen = fleet(4, 60, 30)
    by = np.where(np.arange(30 * DAY) >= 28 * DAY, np.log(1.3), 0.0)
    whole, tail = (scored(seen.moved(by, body)) for body in (1.0, 0.0))
    first = [(one.score[:, 28 * DAY :] >= 3.0).argmax(axis=1) + 1 for one in (whole, tail)]
    assert np.median(first[1]) == 4  # at the clip the average is 1.2, 2.0, 2.6, 3.04
    assert np.median(first[0]) > 8 or not (whole.score[:, 28 * DAY :] >= 3.0).any(axis=1).all()


def test_fewer_than_four_windows_make_no_page_of_a_quiet_series() -> None:
    """At the clip the average of the first three is 1.2, 2.04, 2.63, and what was there before is added."""
    seen = fleet(5, 40, 30)
    by = np.zeros(30 * DAY)
    by[29 * DAY : 29 * DAY + 3] = np.log(20)
    found = scored(seen.moved(by, 1.0)).score[:, 29 * DAY : 29 * DAY + 3]
    assert np.median(found, axis=0) == pytest.approx([1.2, 2.04, 2.63], abs=0.2)
    assert (found[:, :2] < 3.0).mean() > 0.95


def test_the_tail_is_charted_only_where_the_body_explains_it() -> None:
    """Where all noise is the tail's own, p95 says little of p99; where none is, nearly all."""
    armed = []
    for tail in (0.0, 1.0):
        parts = scored(fleet(6, 60, 30, tail=tail)).judged
        known = np.isfinite(parts["tail_scale"][:, -1])
        assert np.array_equal(known, parts["share"][:, -1] >= 0.3)
        armed.append(known.mean())
    assert armed == [1.0, 0.0]


def test_a_series_whose_noise_is_slower_is_believed_to_stray_more() -> None:
    """By hand: the average of independent noise has rms sqrt(0.3**2 / (1 - 0.7**2)) = 0.42, of 0.65 that is 0.65."""
    rng = np.random.default_rng(7)
    grid = Grid(MONDAY_S, 35)
    noise = rng.normal(0, 0.1, (50, grid.windows))
    slow = noise.copy()
    for at in range(1, grid.windows):
        slow[:, at] = 0.8 * slow[:, at - 1] + 0.6 * noise[:, at]
    # AR(1) with phi = 0.8: variance of the average is 0.3 / 1.7 * (1 + 0.7 * 0.8) / (1 - 0.7 * 0.8), so rms 0.79
    strays = [score(Inputs(grid, calendar(grid), x, 0.02), LevelChart()).judged["strays"][:, -1] for x in (noise, slow)]
    assert np.median(strays[0]) == pytest.approx(0.88)  # not below it, whatever three quiet weeks say
    assert np.median(strays[1]) == pytest.approx(0.79 / 0.65, rel=0.1)


def test_windows_with_less_traffic_are_wider() -> None:
    seen = fleet(8, 1, 30)
    few = seen.requests.copy()
    few[0, 29 * DAY + 3] = 500
    plain, found = scored(seen), scored(replace(seen, requests=few))
    index = np.median(np.log(seen.p99 / seen.p95)[0, 48:552]) / np.log(5)  # days 2 to 22 are the history of day 29
    usual = np.median(seen.requests[0, 24:528])
    more = index**2 * 100 / usual * (usual / 500 - 1)
    at = 29 * DAY + 3
    strays = found.judged["strays"][0, at]
    assert found.scale[0, at] > plain.scale[0, at]
    assert found.scale[0, at] ** 2 == pytest.approx(
        strays**2 * ((plain.scale[0, at - 3] / strays) ** 2 + more), rel=0.1
    )
