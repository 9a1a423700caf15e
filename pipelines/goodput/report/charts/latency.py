"""The chart of latency: percentiles over time beside the gate that judges them."""

import altair as alt

from goodput.report.chart import FEWEST, Chart, ChartColumn, Picture, Rows, clock, counted, observed_whole, of_whole
from goodput.report.looks import BLUE, GREEN, ORANGE, RED, in_the_middle, rows, time

_NAMES = {"ttft": "first token", "tpot": "each further token", "e2e": "whole answer"}


def _answer(found: Rows) -> str:
    first = [row for row in found if row["metric"] == "ttft"] or list(found)
    sure = [row for row in observed_whole(first) if row["n"] >= FEWEST]
    worst = max(sure or first, key=lambda row: row["p99"])
    name, bound = _NAMES[worst["metric"]], worst["bound"]
    many = [row for row in first if row["n"] >= FEWEST]
    of = f", of windows with at least {FEWEST} answers" if 0 < len(many) < len(first) else ""
    whole = of_whole(many, mark="")
    few = "" if sure else f", of {counted(worst['n'], 'answer')}, which is few for a p99"
    figures = f"p99 {worst['p99']:.3g} s, median {worst['p50']:.3g} s{few}{of}{whole}"
    text = f"The {name} was slowest at {clock(worst['at'])} UTC: {figures}."
    highest = max(first, key=lambda row: row["p99"])
    if highest is not worst:
        thin = counted(highest["n"], "answer")
        text += f" Of {thin} at {clock(highest['at'])} it was {highest['p99']:.3g} s, which says little."
    if bound is None:
        return text + (
            " Choose a workload to see its gates."
            if worst["workload"] is None
            else f" Workload {worst['workload']} has no gate on it."
        )
    return f"{text} That p99 was above the gate of {bound:g} s in {_over(first, bound)}."


def _over(found: Rows, bound: float) -> str:
    """In how many windows a p99 was above its gate; of few answers it says little, and is reported apart."""
    sure = [row for row in found if row["n"] >= FEWEST]
    thin = [row for row in found if row["n"] < FEWEST]
    parts = [
        f"{sum(row['p99'] > bound for row in some)} of {counted(len(some), 'window')} {of}"
        for some, of in (
            (sure, f"with at least {FEWEST} answers"),
            (thin, "with fewer, of which a p99 says little"),
        )
        if some
    ]
    return (
        " and ".join(parts) if thin else f"{sum(row['p99'] > bound for row in sure)} of {counted(len(sure), 'window')}"
    )


def _spec() -> Picture:
    chart = in_the_middle(alt.Chart(rows()))
    lines = (
        chart.transform_fold(["p50", "p95", "p99"], as_=["percentile", "seconds"])
        .mark_line()
        .encode(
            time(of="middle"),
            alt.Y("seconds:Q", axis=alt.Axis(title="seconds", tickCount=4, format="~f")),
            alt.Color("percentile:N", scale=alt.Scale(domain=["p50", "p95", "p99"], range=[GREEN, BLUE, ORANGE])),
            alt.StrokeDash(
                "percentile:N", scale=alt.Scale(domain=["p50", "p95", "p99"], range=[[1, 0], [6, 3], [2, 2]])
            ),
            tooltip=[
                alt.Tooltip("at:T", title="window from", format="%d %b %H:%M"),
                "percentile:N",
                alt.Tooltip("seconds:Q", format=".3~g"),
                alt.Tooltip("n:Q", title="answers", format=","),
            ],
        )
    )
    gate = (
        chart.transform_filter("isValid(datum.bound)")
        .mark_line(color=RED, strokeWidth=1)
        .encode(time(of="middle"), alt.Y("bound:Q"))
    )
    named = (
        chart.transform_filter("isValid(datum.bound)")
        .transform_aggregate(bound="max(bound)", groupby=["metric"])
        .transform_calculate(says="'gate ' + format(datum.bound, '~g') + ' s'")
        .mark_text(color=RED, align="left", baseline="bottom", dx=3, dy=-2)
        .encode(alt.X(value=0), alt.Y("bound:Q"), alt.Text("says:N"))
    )
    layers = alt.layer(lines, gate, named).properties(height=145)
    made: Picture = (
        layers.transform_calculate(
            what="{ttft: 'first token', tpot: 'each further token', e2e: 'whole answer'}[datum.metric]",
            nth="{ttft: 1, tpot: 2, e2e: 3}[datum.metric]",
        )
        .facet(
            row=alt.Row(
                "what:N",
                sort=alt.EncodingSortField("nth", op="min", order="ascending"),
                header=alt.Header(title=None, labelOrient="top", labelAnchor="start", labelPadding=2),
            ),
            spacing=26,
        )
        .resolve_scale(y="independent")
    )
    return made


CHART = Chart(
    name="latency_over_time",
    place=5,
    question="How long did users wait, beside their gates?",
    answer=_answer,
    empty="No answer of this period has a latency: traces or logs with times of the first token are needed.",
    spec=_spec,
    leads_to="window",
    is_tall=True,
    columns=(
        ChartColumn("at", "Window from", "time"),
        ChartColumn("metric", "Latency"),
        ChartColumn("n", "Answers", "count"),
        ChartColumn("p50", "p50", "seconds"),
        ChartColumn("p95", "p95", "seconds"),
        ChartColumn("p99", "p99", "seconds"),
        ChartColumn("bound", "Gate", "seconds"),
    ),
)
