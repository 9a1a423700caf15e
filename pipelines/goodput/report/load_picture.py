"""The picture of the chart of load: what fails the gate that judges each limit, by load, beside what may fail it.

What a limit is, is the work of `frontier`; the sentence is that of charts/loads.py.
"""

from collections.abc import Sequence

import altair as alt

from goodput.report.chart import Picture
from goodput.report.looks import RED, SERIES, rows

_TICKS = (0, 0.01, 0.03, 0.1, 0.3, 1)


def loads() -> Picture:
    """A curve for each pool or route; it crosses its bound about where the limit is."""
    by = "datum.knee_gate == 'goodput' ? 'not accepted' : 'fails ' + datum.knee_gate"
    chart = (
        alt.Chart(rows())
        .transform_filter("isValid(datum.knee_gate)")
        .transform_calculate(curve=f"datum.name + ': ' + ({by})")
    )
    load = alt.X("load_rps:Q", axis=alt.Axis(title="arrivals per second and replica", format="~f", tickCount=6))
    # as much room for 0 to 3 % as for all above: of a gate 1 % may fail
    scale = alt.Scale(type="symlog", constant=0.005, domain=[0, 1], nice=False)
    share = alt.Y(
        "fail_ratio:Q",
        scale=scale,
        axis=alt.Axis(
            title="share that fails, small ones spread out", format="~%", values=_TICKS, tickCount=len(_TICKS)
        ),
    )
    shade = alt.Color("curve:N", scale=alt.Scale(range=SERIES), legend=alt.Legend(columns=2, labelLimit=200))
    points = chart.mark_point(filled=True, opacity=0.8).encode(
        load,
        share,
        shade,
        size=alt.Size("arrivals:Q", scale=alt.Scale(range=[12, 90]), legend=None),
        tooltip=[
            alt.Tooltip("curve:N", title="of"),
            alt.Tooltip("load_rps:Q", title="load", format=".3~g"),
            alt.Tooltip("fail_ratio:Q", title="share", format=".2%"),
            alt.Tooltip("arrivals:Q", title="requests", format=","),
            alt.Tooltip("ratio:Q", title="accepted", format=".1%"),
            alt.Tooltip("windows:Q", title="windows"),
        ],
    )
    pooled = chart.mark_line().encode(load, alt.Y("pooled:Q"), shade, alt.StrokeDash("curve:N", legend=None))
    return alt.layer(pooled, points, *_bounds(chart), *_knees(chart, shade)).properties(height=200)


def _bounds(chart: alt.Chart) -> Sequence[alt.Chart]:
    """How much may fail."""
    bounds = chart.transform_aggregate(bound="max(bound)", groupby=["name"]).transform_aggregate(groupby=["bound"])
    says = "format(datum.bound, '.2~p') + ' may'"
    named = bounds.transform_calculate(says=says).mark_text(color=RED, align="right", baseline="bottom", dy=-2)
    rule = bounds.mark_rule(color=RED).encode(alt.Y("bound:Q"), tooltip=alt.value(None))
    return rule, named.encode(alt.X(value="width"), alt.Y("bound:Q"), alt.Text("says:N"))


def _knees(chart: alt.Chart, shade: alt.Color) -> Sequence[alt.Chart]:
    """Where each curve crosses its bound, and between which loads that is."""
    known = chart.transform_filter("isValid(datum.knee_rps) && !datum.knee_censored")
    knee = known.transform_aggregate(
        knee_rps="max(knee_rps)",
        knee_ci_low_rps="max(knee_ci_low_rps)",
        knee_ci_high_rps="max(knee_ci_high_rps)",
        bound="max(bound)",
        groupby=["curve"],
    ).encode(
        color=shade,
        tooltip=[
            alt.Tooltip("curve:N", title="of"),
            alt.Tooltip("knee_rps:Q", title="limit", format=".3~g"),
            alt.Tooltip("knee_ci_low_rps:Q", title="from", format=".3~g"),
            alt.Tooltip("knee_ci_high_rps:Q", title="to", format=".3~g"),
        ],
    )
    at = alt.X("knee_rps:Q")
    lines = knee.mark_rule(strokeDash=[4, 3]).encode(at)
    marks = knee.mark_point(shape="diamond", filled=True, opacity=1, size=90).encode(at, alt.Y("bound:Q"))
    within = knee.transform_filter("isValid(datum.knee_ci_low_rps) && isValid(datum.knee_ci_high_rps)")
    spans = within.mark_rule(strokeWidth=4, opacity=0.6).encode(
        alt.X("knee_ci_low_rps:Q"), alt.X2("knee_ci_high_rps:Q"), alt.Y("bound:Q")
    )
    names = knee.mark_text(align="left", baseline="top", dx=4).encode(
        at, alt.Y(value=2), alt.Text("knee_rps:Q", format=".2~g")
    )
    return lines, spans, marks, names
