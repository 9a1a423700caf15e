"""A picture of one alarm as Vega-Lite: its series with gaps, usual and bound, onset, operation, and its score.

Series are drawn as on the page (`alarm_layers`), marks are in `alarm_marks`; `draw_pictures` makes a PNG of it.
"""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import altair as alt

from goodput.notify.chart import AlarmChart
from goodput.report.alarm_layers import KINDS, fired_band, series_lines
from goodput.report.alarm_marks import ends, epoch_ms, placed, printable, shown, shown_marks
from goodput.report.looks import BLUE, GRID, INK, MUTED, RED, config, rows, time

SCALE = 1.2  # pixels of each unit below
_WIDTH, _HEIGHT = 1000, 540  # of the picture
_EDGE, _LEFT = 12, 62  # around the axes: labels and title of an axis stand to their left
_SCORES, _GAP, _LINE = 84, 14, 13  # height of the scores, what is between them and the series, a line of text
_LABEL_FROM = 0.06  # share of the axis from which on a gap has room for words
_TITLE_COLUMNS, _TITLE_LINES = 118, 3
_FONT = "Liberation Sans"  # comes with what draws: the same letters everywhere


def described(chart: AlarmChart) -> dict[str, Any]:
    """The chart as Vega-Lite, with its data."""
    title = textwrap.wrap(printable(chart.title), _TITLE_COLUMNS, max_lines=_TITLE_LINES, placeholder=" …") or [" "]
    has_scores = any(score is not None for score in chart.score)
    lines = 1 + max((line for _, line, _ in placed(chart)), default=0)
    below = _SCORES + _GAP if has_scores else 0
    height = _HEIGHT - 2 * _EDGE - 34 - 18 * len(title) - _LINE * lines - 24 - below  # 34: labels and title of time
    series = _series(chart, lines, is_last=not has_scores).properties(width=_axis_width(), height=height)
    panels = [series]
    if has_scores:
        panels.append(_scores(chart).properties(width=_axis_width(), height=_SCORES))
    whole = alt.vconcat(*panels, spacing=_GAP).resolve_scale(color="independent", strokeDash="independent")
    heading = alt.TitleParams(title, anchor="start", frame="bounds", fontSize=14, lineHeight=18, color=INK, offset=10)
    lite: dict[str, Any] = whole.properties(title=heading, padding=_EDGE).to_dict()
    lite["config"] = config() | {"font": _FONT, "background": "var(--paper)"}
    lite["datasets"] |= {"rows": _rows(chart), "gaps": [_gap(chart, *ends) for ends in _gaps(chart)]}
    return lite


def _axis_width() -> int:
    return _WIDTH - 2 * _EDGE - _LEFT


def _series(chart: AlarmChart, label_lines: int, *, is_last: bool) -> alt.LayerChart:
    kinds = [kind for kind, known in zip(KINDS, (chart.value, chart.usual, chart.bound), strict=True) if _any(known)]
    at = _time(chart, is_labelled=is_last)
    axis = _numbers(printable(chart.quantity), 5)
    legend = alt.Legend(offset=_LINE * label_lines + 4, symbolSize=300, padding=0)
    base = alt.Chart(rows())
    gaps = alt.Chart(rows("gaps"))
    layers = [
        gaps.mark_rect(color=GRID, opacity=0.6).encode(alt.X("from:T"), alt.X2("to:T")),
        gaps.mark_text(color=MUTED, fill=MUTED).encode(alt.X("middle:T"), text="label:N", y=alt.value(12)),
        fired_band(base),
    ]
    if _any(chart.usual) and _any(chart.bound):
        room = alt.Y("usual:Q", axis=axis, scale=alt.Scale(zero=False, padding=6))
        layers.append(base.mark_area(color=GRID, opacity=0.6).encode(at, room, alt.Y2("bound:Q")))
    if kinds:
        layers.append(series_lines(base, at, axis, kinds, legend))
        seen = alt.Y("value:Q", axis=axis, scale=alt.Scale(zero=False, padding=6))
        layers.append(base.mark_point(color=BLUE, filled=True, size=9, opacity=1).encode(at, seen))
    return alt.LayerChart(layer=[*layers, *_marks(chart, at), *_labels(chart, at)])


def _scores(chart: AlarmChart) -> alt.LayerChart:
    at, axis = _time(chart, is_labelled=True), _numbers("score", 3)
    score = alt.Y("score:Q", axis=axis, scale=alt.Scale(zero=False, padding=6))
    layers = [*_marks(chart, at), alt.Chart(rows()).mark_line(color=BLUE, strokeWidth=1.5).encode(at, score)]
    if chart.threshold is not None:
        limit = alt.Chart(alt.InlineData([{"threshold": chart.threshold}]))
        layers.append(limit.mark_rule(color=RED, strokeDash=[2, 2]).encode(alt.Y("threshold:Q", axis=axis)))
        label = limit.mark_text(color=RED, fill=RED, align="left", dx=4, dy=-6, fontSize=11)
        text = alt.value(f"fires at {chart.threshold:.3g}")
        layers.append(label.encode(alt.Y("threshold:Q", axis=axis), x=alt.value(0), text=text))
    return alt.LayerChart(layer=layers)


def _marks(chart: AlarmChart, at: alt.X) -> Iterator[alt.Chart]:
    for mark, colour, dash in shown_marks(chart):
        data = alt.Chart(alt.InlineData([{"at": epoch_ms(mark.at)}]))
        yield data.mark_rule(color=colour, strokeDash=dash, strokeWidth=1.2).encode(at)


def _labels(chart: AlarmChart, at: alt.X) -> Iterator[alt.Chart]:
    """The names of the marks above the axes."""
    colours = {mark: colour for mark, colour, _ in shown_marks(chart)}
    for mark, line, is_before in placed(chart):
        data = alt.Chart(alt.InlineData([{"at": epoch_ms(mark.at)}]))
        side: dict[str, Any] = {"align": "right", "dx": -2} if is_before else {"align": "left", "dx": 2}
        text = data.mark_text(color=colours[mark], fill=colours[mark], baseline="bottom", fontSize=11, **side)
        label = f"{printable(mark.what)} {mark.at.astimezone(UTC):%d %b %H:%M}"
        yield text.encode(at, y=alt.value(-2 - _LINE * line), text=alt.value(label))


def _time(chart: AlarmChart, *, is_labelled: bool) -> alt.X:
    first, last = map(epoch_ms, shown(chart))
    return time(title="UTC" if is_labelled else None, is_labelled=is_labelled, domain=[first, last])


def _numbers(title: str, ticks: int) -> alt.Axis:
    fixed: Any = {"minExtent": _LEFT - 16, "maxExtent": _LEFT - 16, "titleLimit": 320}
    return alt.Axis(title=title, tickCount=ticks, format=".3~g", **fixed)


def _rows(chart: AlarmChart) -> list[dict[str, Any]]:
    """The windows by their ends, with one that has nothing in each gap, so that no line crosses it."""
    first, last = shown(chart)
    over = last if chart.over_at is None else min(chart.over_at, last)
    fired: dict[str, Any] = {
        "alarm": "",
        "nth": 1,
        "fired_at": epoch_ms(max(chart.fired_at, first)),
        "over_at": epoch_ms(over),
    }
    columns = zip(ends(chart), chart.value, chart.usual, chart.bound, chart.score, strict=True)
    names = ("value", "usual", "bound", "score")
    found = [fired | {"at": epoch_ms(at)} | dict(zip(names, numbers, strict=True)) for at, *numbers in columns]
    between = [
        fired | {"at": epoch_ms(since + (until - since) / 2)} | dict.fromkeys(names) for since, until in _absent(chart)
    ]
    return sorted(found + between, key=lambda row: row["at"])


def _gap(chart: AlarmChart, since: datetime, until: datetime) -> dict[str, Any]:
    first, last = shown(chart)
    label = "no data" if (until - since) / (last - first) > _LABEL_FROM else ""
    middle = epoch_ms(since + (until - since) / 2)
    return {"from": epoch_ms(since), "to": epoch_ms(until), "middle": middle, "label": label}


def _gaps(chart: AlarmChart) -> Iterator[tuple[datetime, datetime]]:
    """Spans without a value between windows that have one."""
    yield from _apart([at for at, value in zip(ends(chart), chart.value, strict=True) if value is not None], chart)


def _absent(chart: AlarmChart) -> Iterator[tuple[datetime, datetime]]:
    """Spans of which there are no windows at all."""
    yield from _apart(ends(chart), chart)


def _apart(instants: Sequence[datetime], chart: AlarmChart) -> Iterator[tuple[datetime, datetime]]:
    most = timedelta(seconds=1.5 * chart.window_s)
    yield from ((before, after) for before, after in pairwise(instants) if after - before > most)


def _any(numbers: Sequence[float | None]) -> bool:
    return any(number is not None for number in numbers)
