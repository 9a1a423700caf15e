"""The chart of verdicts: what became of each request."""

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Rows, counted, percent
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
    worst = max(lost, key=lambda row: row["requests"])
    text = f"Of {counted(offered, 'request')}, {percent(worst['share'])} {_WORDS[worst['verdict']]}: the largest loss."
    unjudged = next((row for row in found if row["verdict"] == "unlabelled" and row["requests"]), None)
    if unjudged is not None:
        text += f" {percent(unjudged['share'])} {_WORDS['unlabelled']}: their share is estimated from those that were."
    return text


def _spec() -> Picture:
    base = alt.Chart(rows()).encode(alt.Y("verdict:N", sort=list(VERDICTS), title=None))
    bars = base.mark_bar(height={"band": 0.7}).encode(
        alt.X("requests:Q", axis=alt.Axis(title="requests", format=COUNTS, tickCount=5)),
        alt.Color(
            "verdict:N",
            scale=alt.Scale(domain=list(VERDICTS), range=[GREEN, BLUE, *[ORANGE] * 6]),
            legend=None,
        ),
        tooltip=["verdict:N", alt.Tooltip("requests:Q", format=","), alt.Tooltip("share:Q", format=".1%")],
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
    columns=(Column("verdict", "Verdict"), Column("requests", "Requests", "count"), Column("share", "Share", "share")),
)
