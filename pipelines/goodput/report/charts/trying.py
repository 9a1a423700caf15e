"""The chart of changes: what to try first, what it would gain, and the cheapest test of it."""

import re
import shlex
from datetime import UTC, datetime

import altair as alt

from goodput.report.chart import (
    Chart,
    ChartColumn,
    Picture,
    Row,
    Rows,
    clock,
    counted,
    dollars,
    dollars_within,
    sentence,
)
from goodput.report.looks import BLUE, ORANGE, PURPLE, rows

_NAMED = 3  # of each sort in the sentence; the chart has all
_PLAIN = re.compile(r"[\w./: -]+")  # a name that a quoted command takes as it is
_SHOWN = ("compared", "computed")
_APART = ("route", "model", "pool")  # what serves a workload at the same time as another of its kind
_CHANGES = {
    "replica": "make replica {name} of pool {pool} as fast as the others",
    "replicas": "route around a replica of pool {pool} that is slow, as {name} was from {when} UTC on",
    "spare": "run pool {pool} with fewer replicas off its peak",
    "revision": "undo the {done} of pool {pool} at {when} UTC, after which {other} passed less often",
    "operation": "cut what a {done} of pool {pool} costs, as at {when} UTC",
    "queue": "shorten the queue of workload {workload}",
    "tries": "have fewer tries of workload {workload} fail first",
    "prompts": "have more of the prompts of workload {workload} in a cache, or shorter ones",
    "work": "find what slows the answers of workload {workload} once they run",
    "failed": "mend what fails or is cancelled of workload {workload}",
    "unmeasured": "measure what the gates of workload {workload} need",
    "quality": "make answers of workload {workload} better",
}
_TESTS = {
    "replica": "restart it, or move it to another machine; what it stays slow with is the cause",
    "spare": "take one replica out in the quietest hour and watch the gates of what the pool serves",
    "revision": "`goodput labels plan --width 0.05 --since {since}` draws answers to be judged",
    "operation": "do the next one off the peak, or with one more replica from before it until after it",
}
_WHEN = (
    '`goodput query "select time_bucket(interval 5 minute, ended_at) as began, replica, count(*) as late from requests '
    "where {{of}}late_by = '{cause}' group by all order by late desc\"` shows when and where"
)
_LOOKS = {  # at what, and what that shows
    "replicas": "its share of the requests of that time shows whether the router noticed",
    "tries": "`goodput query \"from requests where {of}(late_by = 'retries' or verdict = 'over_budget')\"` lists them",
    "prompts": '`goodput query "select session_id, replica, input_tokens, cached_input_tokens from requests '
    "where {of}late_by = 'prefill' order by session_id, arrived_at\"` shows whether turns of a session went to "
    "replicas that had not cached it; if so, session affinity helps",
    "queue": _WHEN.format(cause="queue"),
    "work": f"{_WHEN.format(cause='work')}: a slow replica, or an operation",
    "failed": '`goodput query "select outcome, error_type, count(*) from requests '
    "where {of}verdict = 'failed' group by all\"` shows what fails, and what clients cancel",
    "unmeasured": "`goodput query \"from requests where {of}verdict = 'unevaluable'\"` lists them",
    "quality": '`goodput query "select request_key, evaluator, score, label from quality_labels '
    'where {of}passed = false and current"` lists those that were judged',
}


def _answer(found: Rows) -> str:
    shown, chance, bounds = ([row for row in found if row["basis"] in of] for of in (_SHOWN, ("chance",), ("bound",)))
    lines = [f"{'Then' if nth else 'First'} {_one(row)}" for nth, row in enumerate(shown[:_NAMED])]
    if not shown:
        lines.append("No change has evidence for it: nothing here could be shown to do better than another.")
    if chance:
        lines.append(f"What may be chance, and is cheap to settle: {_one(chance[0])}")
    if bounds:
        lines.append("Of other losses the cause is known, not how much of them can be recovered:")
        lines += [sentence(_one(row)) for row in bounds[:_NAMED]]
    overlap = "These overlap: do not add them up." if len(found) > 1 else ""
    return "\n".join([*lines, f"{overlap}{_worth(found)}"]).strip()


def _one(row: Row) -> str:
    return f"{_change(row)}: {_gain(row)}. {_next(row)}."


def _change(row: Row) -> str:
    if row["kind"] in _APART:
        return f"serve workload {row['workload']} by {row['kind']} {row['other']} instead of {row['name']}"
    words = {
        "pool": row["pool"] or "of any name",
        "done": str(row["name"]).replace("_", " "),
        "when": None if row["occurred_at"] is None else clock(row["occurred_at"]),
    }
    return _CHANGES[row["kind"]].format_map({**row, **words})


def _gain(row: Row) -> str:
    """Answers with what they are worth, or dollars off the bill; where only the most is known, that."""
    if row["kind"] == "spare":
        hours = f"off the bill, in {row['spare_s'] / 3600:,.1f} h"
        if row["usd"] is None:
            return f"at most {dollars(row['high_usd'])} {hours} with at most half of its peak; its limit is not known"
        return f"about {dollars(row['usd'])}{dollars_within(row['low_usd'], row['high_usd'])} {hours}"
    most = f"{counted(row['high_answers'], 'more accepted answer')}"
    if row["kind"] == "operation":
        paid = (
            "" if row["high_worth_usd"] is None else f", and {dollars(row['high_worth_usd'])} with what was paid beyond"
        )
        return f"at most {most} each time{paid}"
    if row["basis"] == "bound":
        alone = "" if row["kind"] == "replicas" else " by that alone"
        return f"at most {most}{alone}{_valued(row['high_worth_usd'])}"
    ends = f" ({row['low_answers']:,.0f} to {row['high_answers']:,.0f})"
    worth = _valued(row["worth_usd"], dollars_within(row["low_worth_usd"], row["high_worth_usd"]))
    return f"about {counted(row['answers'], 'more accepted answer')}{ends}{worth}{_going_on(row)}"


def _going_on(row: Row) -> str:
    times = row["times_a_period"]
    if times is None:
        return ""
    return f"; so many since then, and {times * row['answers']:,.0f} in a whole period like this if it stays"


def _valued(usd: float | None, ends: str = "") -> str:
    return "" if usd is None else f", worth {dollars(usd)}{ends}"


def _next(row: Row) -> str:
    """The cheapest test of a change, or what to look at before there can be one."""
    if row["kind"] in _APART:
        sides = " ".join(shlex.quote(text) for text in (row["kind"], row["other"], row["name"]))
        command = f"`goodput compare --by {sides} --workload {shlex.quote(row['workload'])} --since DAY`"
        return (
            f"Test: move more of these requests over, keep some as they are, and after days with busy hours {command}"
        )
    if row["kind"] in _TESTS:
        return f"Test: {_TESTS[row['kind']].format(since=_written(row['occurred_at']))}"
    return f"Look at: {_LOOKS[row['kind']].format(of=_of(row['workload']))}{_capacity(row)}"


def _of(workload: str | None) -> str:
    """What bounds a query to a workload, where its name can stand in a quoted command."""
    return f"workload = '{workload}' and " if workload is not None and _PLAIN.fullmatch(workload) else ""


def _written(epoch_ms: float | None) -> str | None:
    """An instant as a command takes it."""
    return None if epoch_ms is None else f"{datetime.fromtimestamp(epoch_ms / 1000, UTC):%Y-%m-%dT%H:%M:%S}"


def _capacity(row: Row) -> str:
    if row["kind"] != "queue" or row["replica_hour_usd"] is None:
        return ""
    return f"; one more replica for those times costs {dollars(row['replica_hour_usd'])} an hour"


def _worth(found: Rows) -> str:
    if not any(row["kind"] != "spare" and row["high_worth_usd"] is not None for row in found):
        return ""
    return (
        " Late and rejected answers are worth what was spent on them, others what as many requests cost by themselves: "
        "no money off the bill."
    )


def _spec() -> Picture:
    base = (
        alt.Chart(rows())
        .transform_filter("datum.high_worth_usd !== null")
        .transform_calculate(
            evidence="datum.basis === 'bound' ? 'at most' : datum.basis === 'chance' ? 'may be chance' : 'by evidence'",
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
        scale=alt.Scale(domain=["by evidence", "may be chance", "at most"], range=[ORANGE, PURPLE, BLUE]),
        legend=alt.Legend(title=None, columns=3),
    )
    tooltip = [
        alt.Tooltip("action:N", title="change"),
        alt.Tooltip("answers:Q", title="accepted answers more", format=",.0f"),
        alt.Tooltip("low_answers:Q", title="from", format=",.0f"),
        alt.Tooltip("high_answers:Q", title="to", format=",.0f"),
        alt.Tooltip("usd:Q", title="off the bill", format="$,.4f"),
        alt.Tooltip("high_worth_usd:Q", title="worth at most", format="$,.4f"),
    ]
    axis = alt.Axis(title="US dollars in this period", format="$~f", tickCount=5)
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
        ChartColumn("action", "Change"),
        ChartColumn("basis", "Known by"),
        ChartColumn("answers", "Accepted answers", "count"),
        ChartColumn("low_answers", "95 % from", "count"),
        ChartColumn("high_answers", "to, or at most", "count"),
        ChartColumn("usd", "Off the bill", "usd"),
        ChartColumn("low_usd", "95 % from", "usd"),
        ChartColumn("high_usd", "to", "usd"),
        ChartColumn("worth_usd", "Worth", "usd"),
        ChartColumn("low_worth_usd", "from", "usd"),
        ChartColumn("high_worth_usd", "to, or at most", "usd"),
    ),
)
