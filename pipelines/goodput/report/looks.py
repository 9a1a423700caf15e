"""How all charts look: colours by name, time axes, the configuration that they share.

Colours are variables of the page's stylesheet, so that light, dark and print need no other chart.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

# Okabe and Ito's colours, told apart by the colour-blind; the stylesheet has each twice, for light and dark.
INK, MUTED, GRID = "var(--ink)", "var(--muted)", "var(--grid)"
BLUE, GREEN, ORANGE, PURPLE, RED, SKY = (
    f"var(--{name})" for name in ("blue", "green", "orange", "purple", "red", "sky")
)
FONT = 'system-ui, "DejaVu Sans", sans-serif'  # as in the stylesheet; drawing has to measure it
HEAT = [f"var(--heat-{number})" for number in range(1, 6)]  # from cold to warm, a fifth each
COUNTS = ",.0f"
VEGA_LITE = "6.4"  # the version whose charts assets/vega.js draws
SERIES = [BLUE, ORANGE, GREEN, PURPLE, RED, SKY]  # of names that telemetry gives

VERDICTS = ("accepted", "unlabelled", "rejected", "slow", "over_budget", "failed", "ungated", "unevaluable")


def time(
    title: str | None = None,
    domain: Sequence[int] | None = None,
    *,
    of: str = "at",
    is_labelled: bool = True,
    **more: Any,
) -> alt.X:
    """The axis of time, UTC, with labels that never overlap; `domain` has both ends in milliseconds since 1970."""
    day, minute = "utchours(datum.value) == 0 && utcminutes(datum.value) == 0", "utcseconds(datum.value) == 0"
    axis = alt.Axis(
        title=title,
        labels=is_labelled,
        labelExpr=f"{minute} ? utcFormat(datum.value, {day} ? '%d %b' : '%H:%M') : ''",
        labelOverlap=True,
        labelFlush=False,
        labelSeparation=12,
        grid=False,
        tickCount=8,
    )
    ends: dict[str, Any] = {} if domain is None else {"domain": list(domain), "nice": False}
    return alt.X(f"{of}:T", scale=alt.Scale(type="utc", **ends), axis=axis, **more)


def in_the_middle(chart: alt.Chart) -> alt.Chart:
    """Each window at its `middle`: what was done within it does not stand after what it did to it."""
    made: alt.Chart = chart.transform_calculate(middle="datum.at + 500 * datum.window_s")
    return made


def rings(chart: alt.Chart, value: str) -> alt.Chart:
    """A ring around the point of each window that was observed in part."""
    made: alt.Chart = (
        chart.transform_filter("datum.partial")
        .mark_point(filled=False, color=MUTED, size=90, strokeWidth=1.5, opacity=1)
        .encode(time(of="middle"), alt.Y(f"{value}:Q"), tooltip=alt.value("observed in part"))
    )
    return made


def replica_heat(shade: alt.Color, *tooltip: alt.Tooltip) -> alt.LayerChart | alt.FacetChart:
    """Windows of each replica in a row of its own, shaded; rows have `at`, `window_s` and `replica`."""
    windows = alt.Tooltip("at:T", title="window from", format="%d %b %H:%M")
    chart = alt.Chart(rows()).transform_calculate(until="datum.at + 1000 * datum.window_s")
    cells = chart.mark_rect(stroke=GRID, strokeWidth=0.5).encode(
        time(),
        alt.X2("until:T"),
        alt.Y("replica:N", title=None),
        shade,
        tooltip=["replica:N", windows, *tooltip],
    )
    return alt.layer(cells).properties(height=alt.Step(16))


def with_room(base: alt.Chart, end: str, field: str) -> alt.Chart:
    """Points that nobody sees, a little beyond the longest bar, so that the text at its end has room.

    `end` is an expression of where a bar ends, `field` the scale's own.
    """
    beyond = f"1.16 * ({end})"
    hidden = base.transform_calculate(room=beyond).mark_point(opacity=0, tooltip=None)
    made: alt.Chart = hidden.encode(alt.X("room:Q", title=field))
    return made


def ticks() -> alt.ExprRef:
    """How many ticks an axis has room for whose labels are as wide as dollars; on a phone few."""
    return alt.ExprRef("clamp(round(width / 75), 2, 5)")


def share_axis() -> alt.Axis:
    """An axis of shares, without a title: the question says of what."""
    return alt.Axis(title=None, format="~%", tickCount=5)


def rows(name: str = "rows") -> alt.NamedData:
    """Data that the page gives by name."""
    return alt.NamedData(name=name)


def config() -> dict[str, Any]:
    """The configuration of every chart."""
    text = {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    }
    return {
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {"gridColor": GRID, "domainColor": GRID, "tickColor": GRID, **text},
        "axisY": {"domain": False, "ticks": False},
        "legend": {
            "orient": "top",
            "title": None,
            "symbolStrokeWidth": 2,
            "columns": 4,
            "labelColor": INK,
            "titleColor": MUTED,
            "labelFontSize": 11,
        },
        "header": {"labelColor": INK, "labelFontSize": 12, "labelAnchor": "start", "title": None},
        "line": {"strokeWidth": 2},
        "text": {"fill": INK, "fontSize": 11},
    }
