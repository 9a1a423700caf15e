"""The chart of changes: what to try first, what it would gain, and the cheapest test of it."""

import shlex

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Row, Rows, clock, counted, dollars, dollars_within
from goodput.report.looks import BLUE, ORANGE, rows

_NAMED = 3  # of each sort in the sentence; the chart has all
_APART = ("route", "model", "pool")  # what serves a workload at the same time as another of its kind
_CHANGES = {
    "replica": "have replica {name} of pool {pool} as fast as the others",
    "replicas": "route around a replica of pool {pool} that is slow, as {name} was from {when} UTC on",
    "spare": "run pool {pool} with fewer replicas off its peak",
    "revision": "undo the {done} of pool {pool} at {when} UTC, after which {other} passed less",
    "operation": "do the next {done} of pool {pool} more gently than that at {when} UTC",
    "queue": "shorten the queue of workload {workload}",
    "tries": "let fewer tries of workload {workload} come to nothing",
    "prompts": "bring more of the prompts of workload {workload} into a cache, or shorten them",
    "work": "make answers of workload {workload} faster, or its gates looser",
    "failed": "mend what fails of workload {workload}",
    "unmeasured": "measure what the gates of workload {workload} need",
    "quality": "make answers of workload {workload} better",
}
_TESTS = {
    "replica": "restart it, or move it to another machine: whichever it stays slow with is why",
    "replicas": "its share of requests at the same time says whether the router noticed",
    "spare": "take one out in the quietest hour, watch the gates of what it serves, and put it back",
    "revision": "`goodput labels plan` says how many labels would tell, `goodput compare --by model_revision` sets "
    "both side by side",
    "operation": "one replica at a time, each with a warm cache before it serves, and this chart after it",
    "tries": "`goodput query \"from requests where late_by = 'retries' or verdict = 'over_budget'\"` has them, "
    "`goodput explain` of one its tries",
    "prompts": "`goodput query \"from requests where late_by = 'prefill' order by input_tokens desc\"` has them: what "
    "they begin with alike can be cached",
    "work": "a smaller batch on one replica for an hour, beside the others of its pool",
    "failed": "`goodput query \"select error_type, count(*) from requests where verdict = 'failed' group by all\"` "
    "says what fails",
    "unmeasured": "`goodput explain` of one says which measurement is missing",
    "quality": "`goodput query \"from requests where verdict = 'rejected'\"` has those that were judged",
}


def _answer(found: Rows) -> str:
    shown = [row for row in found if row["basis"] != "bound"]
    bounds = [row for row in found if row["basis"] == "bound"]
    lines = [f"{_first(nth)} {_one(row)}" for nth, row in enumerate(shown[:_NAMED])]
    if not shown:
        lines.append("There is evidence for no change: nothing did surely better than another at the same time.")
    if bounds:
        lines.append("Beyond that it is known what a cause took, and not what of it can be had back:")
        lines += [_sentence(_one(row)) for row in bounds[:_NAMED]]
    return "\n".join([*lines, _overlap(found)])


def _first(nth: int) -> str:
    return "First" if nth == 0 else "Then"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _one(row: Row) -> str:
    return f"{_change(row)}: {_gain(row)}. To be sure: {_test(row)}."


def _change(row: Row) -> str:
    if row["kind"] in _APART:
        return f"serve workload {row['workload']} by {row['kind']} {row['other']} instead of {row['name']}"
    at = row["occurred_at"]
    return _CHANGES[row["kind"]].format_map(
        {
            **row,
            "pool": row["pool"] or "of any name",
            "done": str(row["name"]).replace("_", " "),
            "when": None if at is None else clock(at),
        }
    )


def _gain(row: Row) -> str:
    """Answers with what they are worth, or dollars off the bill; where only the most is known, that."""
    if row["usd"] is not None:
        return f"about {dollars(row['usd'])}{dollars_within(row['low_usd'], row['high_usd'])} off the bill"
    if row["basis"] == "bound":
        worth = "" if row["high_worth_usd"] is None else f", worth {dollars(row['high_worth_usd'])} at today's price"
        return f"at most {counted(row['high_answers'], 'more accepted answer', 'more accepted answers')}{worth}"
    ends = f" ({row['low_answers']:,.0f} to {row['high_answers']:,.0f})"
    answers = f"about {counted(row['answers'], 'more accepted answer', 'more accepted answers')}{ends}"
    if row["worth_usd"] is None:
        return answers
    worth = f"{dollars(row['worth_usd'])}{dollars_within(row['low_worth_usd'], row['high_worth_usd'])}"
    return f"{answers}, worth {worth} at today's price"


def _test(row: Row) -> str:
    if row["kind"] in _APART:
        sides = " ".join(shlex.quote(text) for text in (row["kind"], row["other"], row["name"]))
        return (
            f"give {row['other']} half of these requests for a busy hour, then "
            f"`goodput compare --by {sides} --workload {shlex.quote(row['workload'])}`"
        )
    if row["kind"] == "queue":
        cost = "" if row["replica_hour_usd"] is None else f" ({dollars(row['replica_hour_usd'])})"
        return f"one replica more in the busiest hour{cost} shows how much of it is capacity"
    return _TESTS[row["kind"]]


def _overlap(found: Rows) -> str:
    priced = any(row["answers"] is not None or row["usd"] is None for row in found)
    worth = " An answer is valued at what one of its workload or pool cost here; no bill falls by it." if priced else ""
    return f"They overlap: what one mends, another cannot mend again, so that they must not be added up.{worth}"


def _spec() -> Picture:
    base = (
        alt.Chart(rows())
        .transform_window(place="row_number()")
        .transform_filter("datum.high_worth_usd !== null")
        .transform_calculate(
            evidence="datum.basis === 'bound' ? 'at most' : 'by evidence'",
            low="datum.low_worth_usd === null ? 0 : datum.low_worth_usd",
            value="datum.basis === 'bound' ? null : datum.worth_usd",
        )
        .encode(
            alt.Y(
                "action:N",
                title=None,
                sort=alt.EncodingSortField("place", op="min", order="ascending"),
                axis=alt.Axis(labelLimit=260),
            )
        )
    )
    shade = alt.Color(
        "evidence:N",
        scale=alt.Scale(domain=["by evidence", "at most"], range=[ORANGE, BLUE]),
        legend=alt.Legend(title=None, columns=2),
    )
    tooltip = [
        alt.Tooltip("action:N", title="change"),
        alt.Tooltip("answers:Q", title="accepted answers more", format=",.0f"),
        alt.Tooltip("low_answers:Q", title="from", format=",.0f"),
        alt.Tooltip("high_answers:Q", title="to", format=",.0f"),
        alt.Tooltip("usd:Q", title="off the bill", format="$,.4f"),
        alt.Tooltip("high_worth_usd:Q", title="worth at most", format="$,.4f"),
    ]
    axis = alt.Axis(title="US dollars, an answer at today's price", format="$~f", tickCount=5)
    ends = base.mark_bar(height={"band": 0.4}, opacity=0.55).encode(
        alt.X("low:Q", axis=axis), alt.X2("high_worth_usd:Q"), shade, tooltip=tooltip
    )
    points = (
        base.transform_filter("datum.value !== null")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(alt.X("value:Q", axis=axis), shade, tooltip=tooltip)
    )
    return alt.layer(ends, points).properties(height=alt.Step(26))


CHART = Chart(
    name="worth_trying",
    place=8,
    question="What is worth trying first?",
    answer=_answer,
    empty="Nothing was lost here that telemetry knows a cause of.",
    spec=_spec,
    draws=("high_worth_usd",),
    chosen_by=("workload", "pool"),
    none_is_all=True,
    is_wide=True,
    columns=(
        Column("action", "Change"),
        Column("basis", "Known by"),
        Column("answers", "Accepted answers", "count"),
        Column("low_answers", "95 % from", "count"),
        Column("high_answers", "to, or at most", "count"),
        Column("usd", "Off the bill", "usd"),
        Column("low_usd", "95 % from", "usd"),
        Column("high_usd", "to", "usd"),
        Column("worth_usd", "Worth", "usd"),
        Column("low_worth_usd", "from", "usd"),
        Column("high_worth_usd", "to, or at most", "usd"),
    ),
)
