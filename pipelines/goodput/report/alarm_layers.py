"""How a series that an alarm watches is drawn, on the page and in pictures: what was seen beside usual and bound.

Rows are those of sql/report/alarm_windows.sql. What else stands in a chart is the chart's matter.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from goodput.report.looks import BLUE, MUTED, ORANGE, RED

_KINDS = {"seen": (BLUE, [1, 0]), "usual": (MUTED, [6, 3]), "fires beyond": (RED, [2, 2])}
KINDS = tuple(_KINDS)


def fired_band(chart: alt.Chart) -> alt.Chart:
    """The time for which an alarm fired."""
    once = chart.transform_aggregate(fired="min(fired_at)", over="max(over_at)", groupby=["alarm", "nth"])
    band: alt.Chart = once.mark_rect(color=ORANGE, opacity=0.14).encode(alt.X("fired:T"), alt.X2("over:T"))
    return band


def series_lines(
    chart: alt.Chart,
    at: alt.X,
    number: alt.Axis,
    kinds: Sequence[str] = KINDS,
    legend: Any = alt.Undefined,
) -> alt.Chart:
    """A line for each of `kinds`, by the axis of time and the axis of numbers."""
    colours, dashes = zip(*(_KINDS[kind] for kind in kinds), strict=True)
    lines: alt.Chart = (
        chart.transform_calculate(seen="datum.value", beyond="datum.bound")
        .transform_fold(["seen", "usual", "beyond"], as_=["line", "number"])
        .transform_calculate(kind="{seen: 'seen', usual: 'usual', beyond: 'fires beyond'}[datum.line]")
        .transform_filter(alt.FieldOneOfPredicate("kind", list(kinds)))
        .mark_line()
        .encode(
            at,
            alt.Y("number:Q", axis=number, scale=alt.Scale(zero=False, padding=6)),
            alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=list(colours)), legend=legend),
            alt.StrokeDash("kind:N", scale=alt.Scale(domain=list(kinds), range=list(dashes)), legend=legend),
        )
    )
    return lines
