"""The chart of verdicts: what became of each request."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Rows, counted, percent
from goodput.report.looks import BLUE, COUNTS, GREEN, ORANGE, VERDICTS, rows, with_room

_WORDS = {
    "accepted": "passed every gate, and a judge said so where one is asked",
    "unlabelled": "passed every other gate and were judged by nobody",
    "rejected": "failed the quality gate",
    "slow": "came too late",
    "over_budget": "needed too many tries",
    "failed": "got no complete answer",
    "ungated": "match no workload of the settings",
    "unevaluable": "lack a measurement that a gate needs",
}


def _answer(found: Rows) -> str:
    offered = sum(row["requests"] for row in found)
    lost = [row for row in found if row["verdict"] not in ("accepted", "unlabelled") and row["requests"]]
    if not lost:
        return f"Of {counted(offered, 'request')} none failed a gate."
    worst = max(lost, key=lambda row: row["expected"])
    judged = f" ({percent(worst['share'])} judged so)"
    estimated = f", as estimated{judged}" if worst["expected"] > worst["requests"] + 0.5 else ""
    share = percent(worst["expected"] / offered)
    text = f"Of {counted(offered, 'request')}, {share} {_WORDS[worst['verdict']]}{estimated}: the largest loss."
    if any(row["verdict"] == "over_budget" for row in lost):
        text += " Those that needed too many tries count as over_budget, however late they came."
    unjudged = next((row for row in found if row["verdict"] == "unlabelled" and row["requests"]), None)
    if unjudged is not None:
        text += f" {percent(unjudged['share'])} {_WORDS['unlabelled']}{_fate(found, unjudged['requests'], offered)}."
    return text


def _fate(found: Rows, unjudged: int, offered: int) -> str:
    """How many of the answers that nobody judged count as accepted, and with them of all requests."""
    accepted = next((row for row in found if row["verdict"] == "accepted"), None)
    if accepted is None or accepted["expected"] <= accepted["requests"]:
        return ""
    share = percent((accepted["expected"] - accepted["requests"]) / unjudged)
    return f": {share} of these count as accepted, so that {percent(accepted['expected'] / offered)} of all do"


def _spec() -> Picture:
    order = alt.EncodingSortField("place", op="min", order="ascending")
    base = (
        alt.Chart(rows())
        .transform_calculate(place=f"indexof({list(VERDICTS)}, datum.verdict)")
        .encode(alt.Y("name:N", sort=order, title=None))
    )
    bars = base.mark_bar(height={"band": 0.7}).encode(
        alt.X("requests:Q", axis=alt.Axis(title="requests", format=COUNTS, tickCount=5)),
        alt.Color(
            "verdict:N",
            scale=alt.Scale(domain=list(VERDICTS), range=[GREEN, BLUE, *[ORANGE] * 6]),
            legend=None,
        ),
        tooltip=[
            alt.Tooltip("name:N", title="verdict"),
            alt.Tooltip("requests:Q", format=","),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
    text = (
        base.transform_filter("datum.requests > 0")
        .mark_text(align="left", dx=4)
        .encode(alt.X("requests:Q"), alt.Text("share:Q", format=".1%"))
    )
    return alt.layer(bars, text, with_room(base, "datum.requests", "requests")).properties(height=200)


CHART = Chart(
    name="verdict_totals",
    place=2,
    question="What became of each request?",
    answer=_answer,
    empty="No request ended in this period: `goodput sources` shows what was read.",
    spec=_spec,
    leads_to="verdict",
    columns=(
        ChartColumn("verdict", "Verdict"),
        ChartColumn("requests", "Requests", "count"),
        ChartColumn("share", "Share", "share"),
        ChartColumn("expected", "As estimated", "count"),
    ),
)
