"""Plots of alarms: what is seen in them, the same bytes for the same alarm, whatever telemetry is called.

And that nobody waits for, or fails with, the process that draws.
"""

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import asdict, replace
from datetime import timedelta
from io import BytesIO
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
import pytest
import vl_convert
from PIL import Image

from goodput.errors import NotDrawn
from goodput.notify.chart import AlarmChart, Mark, chart_of
from goodput.notify.plot import draw, draw_one
from goodput.report.draw_pictures import in_light, picture
from notify.alarms import NOON, event, windows

BLUE, RED, TINT, VIOLET = (0x1F, 0x62, 0xAD), (0xC2, 0x2A, 0x2A), (0xF5, 0xE7, 0xDD), (0x7B, 0x3F, 0xA0)
LEFT, RIGHT = 74 * 1.2, (1000 - 12) * 1.2  # of the axes, in pixels: 12 around, 62 for numbers


@pytest.fixture(scope="module")
def chart() -> AlarmChart:
    """A week of 0.6 s that doubles at noon of the last day, with a gap of a day in its middle."""
    facts = {"onset_at": "2026-11-21T02:00:00Z"}
    operation = {"kind": "salt_rotation", "occurred_at": "2026-11-21T01:00:00Z", "pool": None}
    row = event("f", explanation=json.dumps({**facts, "last_operation": operation}))
    series = windows("trend-ttft-chat", NOON + timedelta(hours=6), 168)
    for window in series[72:96]:
        window |= {"value": None, "score": None}
    return chart_of(row, series)


def pixels(png: bytes, colour: tuple[int, int, int]) -> np.ndarray:
    """Columns of the picture, from 0 to 1 of the axes, in which a colour is seen: below the title and the legend."""
    seen = np.asarray(Image.open(BytesIO(png)).convert("RGB"))[130:].astype(int)
    near, least = {TINT: (6, 99), VIOLET: (48, 60)}.get(colour, (48, 1))  # the edges of a thin line are paler
    return (np.flatnonzero((abs(seen - colour) <= near).all(axis=2).sum(axis=0) >= least) - LEFT) / (RIGHT - LEFT)


def test_a_chart_takes_its_words_and_times_from_the_alarm(chart: AlarmChart) -> None:
    assert chart.title == "p99 of ttft of chat is 49 % above its usual 0.6 s"
    assert (chart.quantity, chart.window_s, len(chart.starts)) == ("p99 TTFT (s)", 3600, 168)
    assert (chart.fired_at, chart.over_at, chart.onset_at) == (NOON, None, NOON - timedelta(hours=10))
    assert chart.operation == Mark(NOON - timedelta(hours=11), "salt rotation")


def test_the_gap_is_a_gap_and_the_onset_the_operation_and_the_firing_are_where_they_were(chart: AlarmChart) -> None:
    drawn = picture(chart)
    assert Image.open(BytesIO(drawn)).size[0] == pytest.approx(1200, abs=10)
    # the series takes 50 of 51 parts of the axes, from the beginning of its first window
    where = [share * 50 / 51 for share in (72 / 168, 97 / 168, 151 / 168, 162 / 168)]
    line = pixels(drawn, BLUE)
    assert not ((line > where[0] + 0.01) & (line < where[1] - 0.01)).any()
    assert ((line > where[1]) & (line < where[1] + 0.02)).any()
    assert pixels(drawn, TINT).min() == pytest.approx(where[3], abs=0.006)
    assert pixels(drawn, VIOLET).mean() == pytest.approx(where[2], abs=0.004)
    over = picture(replace(chart, over_at=NOON + timedelta(hours=3), operation=None))
    assert pixels(over, TINT).max() < pixels(drawn, TINT).max() - 0.01
    assert not len(pixels(over, VIOLET))


def texts(chart: AlarmChart) -> list[tuple[str, float, float, str]]:
    """Every text of a picture, as the drawing library places it: words, x, y, how it is aligned."""
    found: list[tuple[str, float, float, str]] = []

    def walk(item: object, x: float, y: float, role: str) -> None:
        if isinstance(item, list):
            for one in item:
                walk(one, x, y, role)
        elif isinstance(item, dict):
            here = (x + item.get("x", 0), y + item.get("y", 0)) if "items" in item else (x, y)
            if role == "text" and isinstance(item.get("text"), str):
                found.append((item["text"], x + item.get("x", 0), y + item.get("y", 0), item.get("align", "left")))
            walk(item.get("items", []), *here, item.get("marktype", role))

    walk(vl_convert.vegalite_to_scenegraph(in_light(chart), vl_version="6.4")["scenegraph"], 0, 0, "")
    return found


def test_the_names_of_marks_that_lie_close_together_do_not_cover_each_other(chart: AlarmChart) -> None:
    at = [NOON + timedelta(hours=hour) for hour in (-2, -1, 2, 4)]
    close = replace(chart, operation=Mark(at[0], "salt rotation"), onset_at=at[1], fired_at=at[2], over_at=at[3])
    names = ("salt rotation", "onset", "page", "over")
    shown = [one for one in texts(close) if one[0].startswith(names)]
    assert sorted(text for text, *_ in shown) == [
        "onset 21 Nov 11:00",
        "over 21 Nov 16:00",
        "page 21 Nov 14:00",
        "salt rotation 21 Nov 10:00",
    ]
    for (_, x, y, side), (_, other_x, other_y, other_side) in combinations(shown, 2):
        assert abs(y - other_y) >= 11 or (abs(x - other_x) > 150 and side == other_side)


def test_without_a_baseline_there_is_the_bound_alone(chart: AlarmChart) -> None:
    nothing = [None] * len(chart.starts)
    bounded = replace(chart, usual=nothing, score=nothing)
    assert len(pixels(picture(bounded), RED))
    said = [text for text, *_ in texts(bounded)]
    assert "fires beyond" in said
    assert "usual" not in said
    assert "usual" in [text for text, *_ in texts(chart)]
    assert picture(replace(bounded, bound=nothing)) != picture(bounded)


def test_the_same_alarm_is_the_same_picture_wherever_it_is_drawn(
    chart: AlarmChart, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = draw_one(chart)
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert draw_one(chart) == drawn


def test_what_telemetry_says_does_not_break_a_picture(chart: AlarmChart) -> None:
    hostile = replace(
        chart, title="$\\frac{ \x1b[2J 日本 </svg>" + "x" * 5000, quantity="$_{\n", operation=Mark(NOON, "$^")
    )
    width, height = Image.open(BytesIO(picture(hostile))).size
    assert width == pytest.approx(1200, abs=10)
    assert height == pytest.approx(648, abs=50)
    one = {name: [1.0] for name in ("value", "usual", "bound", "score")}
    none = {name: [None] for name in ("value", "usual", "bound", "score")}
    odd = {name: [float("inf")] for name in ("value", "usual", "bound", "score")}
    for few in (one, none, odd):
        assert draw_one(replace(chart, starts=[NOON], **few)).startswith(b"\x89PNG")


def test_several_pictures_are_drawn_by_one_process_and_one_that_cannot_be_costs_no_other(chart: AlarmChart) -> None:
    broken = replace(chart, starts=[])  # a series of no window has no axis
    (first, none, last), said = draw([chart, broken, replace(chart, title="another")], 60)
    assert first == picture(chart)
    assert none is None
    assert last is not None
    assert last != first
    assert chart.title in said


def instead(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Let a script of the shell stand for what draws."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(program))


def test_nobody_waits_for_what_hangs_or_fails_with_what_crashes(
    chart: AlarmChart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, tmp_path, "exec sleep 60")
    began = time.monotonic()
    assert draw([chart], 0.5) == ([None], "pictures are not drawn within 0.5 s")
    assert time.monotonic() - began < 20
    instead(monkeypatch, tmp_path, "kill -SEGV $$")
    assert draw([chart], 20) == ([None], "what draws pictures ended by itself (-11)")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    (missing,), said = draw([chart], 20)
    assert missing is None
    assert "does not start" in said
    with pytest.raises(NotDrawn, match="does not start"):
        draw_one(chart)


def test_what_draws_ends_by_itself_where_nobody_waits_any_more(chart: AlarmChart, tmp_path: Path) -> None:
    """A run that is killed leaves nothing behind that goes on drawing."""
    asked = {"folder": str(tmp_path), "within_s": 1, "charts": []}
    code = "import time, goodput.report.draw_pictures as d; d.picture = lambda chart: time.sleep(600); d.main()"
    body = msgspec.json.encode(asked | {"charts": [asdict(chart)]})
    done = subprocess.run([sys.executable, "-c", code], input=body, timeout=120, check=False, env=dict(os.environ))
    assert done.returncode == -14  # SIGALRM
