"""The chart of what alarms saw: each series beside what was usual and where its rule fires, since before it fired."""

import altair as alt

from goodput.report.alarm_layers import fired_band, series_lines
from goodput.report.chart import Chart, ChartColumn, Picture, Rows, clock, counted
from goodput.report.looks import rows, time


def _answer(found: Rows) -> str:
    newest = min(found, key=lambda row: row["nth"])
    mine = [row for row in found if row["alarm_id"] == newest["alarm_id"]]
    known = [row for row in mine if row["value"] is not None]
    shown = f"{counted(len({row['alarm_id'] for row in found}), 'alarm')} shown"
    if not known:
        return f"{shown}. {newest['alarm']} has fired since {clock(newest['fired_at'])} UTC, for want of data."
    last = max(known, key=lambda row: row["at"])
    usual = "" if last["usual"] is None else f", where {last['usual']:.3g} is usual"
    text = f"{newest['alarm']} fired at {clock(newest['fired_at'])} UTC: its {newest['quantity']} came to"
    return f"{shown}. {text} {last['value']:.3g} by {clock(last['at'])}{usual}."


def _spec() -> Picture:
    chart = alt.Chart(rows())
    numbers = alt.Axis(title=None, tickCount=4, format=".3~g")
    lines = series_lines(chart, time(), numbers).encode(
        tooltip=[
            alt.Tooltip("alarm:N"),
            alt.Tooltip("at:T", title="window from", format="%d %b %H:%M"),
            alt.Tooltip("quantity:N"),
            alt.Tooltip("value:Q", format=".4~g"),
            alt.Tooltip("usual:Q", format=".4~g"),
            alt.Tooltip("bound:Q", title="fires beyond", format=".4~g"),
        ],
    )
    made: Picture = (
        alt.layer(fired_band(chart), lines)
        .properties(height=120)
        .facet(
            row=alt.Row(
                "alarm:N",
                sort=alt.EncodingSortField("nth", op="min", order="ascending"),
                header=alt.Header(title=None, labelOrient="top", labelAnchor="start", labelPadding=2),
            ),
            spacing=26,
        )
        .resolve_scale(y="independent", x="independent")
    )
    return made


CHART = Chart(
    name="alarm_windows",
    place=20,
    question="What did the alarms see?",
    answer=_answer,
    empty="No alarm fired in this period whose series is kept: alarm_series has it for 28 days.",
    spec=_spec,
    chosen_by=("workload", "pool"),
    none_is_all=True,
    is_tall=True,
    columns=(
        ChartColumn("alarm", "Alarm"),
        ChartColumn("at", "Window from", "time"),
        ChartColumn("quantity", "Of"),
        ChartColumn("value", "Seen", "number"),
        ChartColumn("usual", "Usual", "number"),
        ChartColumn("bound", "Fires beyond", "number"),
    ),
)
