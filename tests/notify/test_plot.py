"""Plots of alarms: what is seen in them, the same bytes for the same alarm, whatever telemetry is called."""

import json
import time
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from goodput.notify.chart import Chart, Mark, chart_of
from goodput.notify.plot import _compose, draw
from notify.alarms import NOON, event, windows

BLUE, ORANGE, TINT, VIOLET = (0x1F, 0x5F, 0xA8), (0xC2, 0x41, 0x0C), (0xFD, 0xE3, 0xD8), (0x6D, 0x28, 0xD9)


@pytest.fixture(scope="module")
def chart() -> Chart:
    """A week of 0.6 s that doubles at noon of the last day, with a gap of a day in its middle."""
    facts = {"onset_at": "2026-11-21T02:00:00Z"}
    operation = {"kind": "salt_rotation", "occurred_at": "2026-11-21T01:00:00Z", "pool": None}
    row = event("f", explanation=json.dumps({**facts, "last_operation": operation}))
    series = windows("trend-ttft-chat", NOON + timedelta(hours=6), 168)
    for window in series[72:96]:
        window |= {"value": None, "score": None}
    return chart_of(row, series)


def pixels(picture: bytes, colour: tuple[int, int, int]) -> np.ndarray:
    """Columns of the picture, from 0 to 1, in which a colour is seen in the axes: below the title and the legend."""
    seen = np.asarray(Image.open(BytesIO(picture)).convert("RGB"))[160:].astype(int)
    near, least = (8, 99) if colour == TINT else (48, 1)  # the edges of a thin line are paler
    return np.flatnonzero((abs(seen - colour) <= near).all(axis=2).sum(axis=0) >= least) / seen.shape[1]


def test_a_chart_takes_its_words_and_times_from_the_alarm(chart: Chart) -> None:
    assert chart.title == "p99 of ttft of chat is 49 % above its usual 0.6 s"
    assert (chart.quantity, chart.window_s, len(chart.starts)) == ("p99 TTFT (s)", 3600, 168)
    assert (chart.fired_at, chart.over_at, chart.onset_at) == (NOON, None, NOON - timedelta(hours=10))
    assert chart.operation == Mark(NOON - timedelta(hours=11), "salt rotation")


def test_the_gap_is_a_gap_and_the_onset_the_operation_and_the_firing_are_where_they_were(chart: Chart) -> None:
    picture = draw(chart)
    assert Image.open(BytesIO(picture)).size == (1200, 648)
    left, right = 0.075, 0.985  # of the axes; the series takes 50 of 51 parts of them
    where = [left + (right - left) * share * 50 / 51 for share in (72.5 / 168, 96.5 / 168, 161 / 168, 162 / 168)]
    line = pixels(picture, BLUE)
    assert not ((line > where[0] + 0.01) & (line < where[1] - 0.01)).any()
    assert ((line > where[1]) & (line < where[1] + 0.02)).any()
    assert pixels(picture, TINT).min() == pytest.approx(where[3], abs=0.006)
    assert pixels(picture, VIOLET).mean() == pytest.approx(left + (right - left) * (151 / 168) * 50 / 51, abs=0.004)
    over = draw(replace(chart, over_at=NOON + timedelta(hours=3), operation=None))
    assert pixels(over, TINT).max() < pixels(picture, TINT).max() - 0.01
    assert not len(pixels(over, VIOLET))


def test_the_names_of_marks_that_lie_close_together_do_not_cover_each_other(chart: Chart) -> None:
    at = [NOON + timedelta(hours=hour) for hour in (-2, -1, 2, 4)]
    close = replace(chart, operation=Mark(at[0], "salt rotation"), onset_at=at[1], fired_at=at[2], over_at=at[3])
    figure = Figure(figsize=(10, 5.4))
    _compose(figure, close)
    shown = [text.get_window_extent() for text in figure.axes[0].texts] + [figure.legends[0].get_window_extent()]
    assert len(shown) == 5
    assert not [pair for pair in combinations(shown, 2) if pair[0].overlaps(pair[1])]


def test_without_a_baseline_there_is_the_bound_alone(chart: Chart) -> None:
    nothing = [None] * len(chart.starts)
    bounded = draw(replace(chart, usual=nothing, score=nothing))
    assert len(pixels(bounded, ORANGE))
    assert draw(replace(chart, usual=nothing, bound=nothing, score=nothing)) != bounded


def test_the_same_alarm_is_the_same_picture_wherever_it_is_drawn(chart: Chart, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = draw(chart)
    assert b"Software" not in picture
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    monkeypatch.setitem(mpl.rcParams, "lines.linewidth", 9.0)
    monkeypatch.setitem(mpl.rcParams, "timezone", "Europe/Berlin")
    try:
        assert draw(chart) == picture
    finally:
        monkeypatch.undo()
        time.tzset()
    assert mpl.rcParams["text.parse_math"]  # nobody else's pictures are changed


def test_what_telemetry_says_does_not_break_a_picture(chart: Chart) -> None:
    hostile = replace(chart, title="$\\frac{ \x1b[2J 日本 " + "x" * 5000, quantity="$_{\n", operation=Mark(NOON, "$^"))
    assert Image.open(BytesIO(draw(hostile))).size == (1200, 648)
    one = {name: [1.0] for name in ("value", "usual", "bound", "score")}
    assert draw(replace(chart, starts=[NOON], **one))
    none = {name: [None] for name in ("value", "usual", "bound", "score")}
    assert draw(replace(chart, starts=[NOON], **none))
