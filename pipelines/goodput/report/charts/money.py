"""The chart of money: from the bill to what was accepted, bucket by bucket."""

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Rows, dollars, percent
from goodput.report.looks import BLUE, GREEN, ORANGE, rows, with_room

_REMEDIES = {
    "idle": "fewer replicas at quiet hours would save it",
    "slow": "more room at the peak, or a looser gate, would save it",
    "rejected": "better answers would save it, more machines would not",
    "failed": "to mend what fails would save it",
    "over_budget": "to mend what makes callers try again would save it",
    "retry": "to mend what makes callers try again would save it",
    "abandoned": "to cancel work when a client goes away would save it",
    "preemption": "more KV memory, or fewer long prompts at once, would save it",
    "speculation": "a better draft model, or fewer draft tokens, would save it",
    "overhead": "shared cost that no request has for itself",
    "unattributed": "telemetry of these machines would show what they did",
    "ungated": "a workload of the settings has to match these requests",
    "unevaluable": "telemetry has to measure what the gate judges",
}


def _answer(found: Rows) -> str:
    total = sum(row["usd"] for row in found)
    leaks = sorted((row for row in found if row["bucket"] in _REMEDIES and row["usd"] > 0), key=lambda row: -row["usd"])
    if not leaks:
        return f"All of {dollars(total)} went into answers that were accepted or are not judged yet."
    parts = [
        f"{row['bucket'].replace('_', ' ')} {dollars(row['usd'])} ({_REMEDIES[row['bucket']]})" for row in leaks[:3]
    ]
    lost = sum(row["usd"] for row in leaks)
    share = percent(lost / total if total else None)
    return f"Of {dollars(total)}, {share} was not for accepted answers. Largest: {'; '.join(parts)}."


def _spec() -> Picture:
    order = alt.EncodingSortField("place", order="ascending")
    base = alt.Chart(rows()).encode(alt.Y("bucket:N", sort=order, title=None))
    bars = base.mark_bar(height={"band": 0.7}).encode(
        alt.X("from_usd:Q", axis=alt.Axis(title="US dollars, laid end to end", format="$,~f", tickCount=5)),
        alt.X2("until_usd:Q"),
        alt.Color(
            "kind:N",
            scale=alt.Scale(domain=["accepted", "not judged yet", "the rest"], range=[GREEN, BLUE, ORANGE]),
        ),
        tooltip=["bucket:N", alt.Tooltip("usd:Q", format="$,.4f"), alt.Tooltip("share:Q", format=".1%")],
    )
    text = base.mark_text(align="left", dx=4).encode(alt.X("until_usd:Q"), alt.Text("written:N"))
    written = "format(datum.usd, abs(datum.usd) >= 1 ? '$,.2f' : '$.3~r')"
    kind = "{accepted: 'accepted', unlabelled: 'not judged yet'}[datum.bucket] || 'the rest'"
    return (
        alt.layer(bars, text, with_room(base, "datum.until_usd", "US dollars, laid end to end"))
        .transform_calculate(kind=kind, written=written)
        .properties(height=alt.Step(22))
    )


CHART = Chart(
    name="money_totals",
    place=5,
    question="Where did the money go?",
    answer=_answer,
    empty="No cost is known of this period: give bills, rates or prices in the settings (`[costs]`).",
    spec=_spec,
    columns=(
        Column("bucket", "Bucket"),
        Column("usd", "US dollars", "usd"),
        Column("share", "Share", "share"),
        Column("estimated", "In part estimated"),
    ),
)
