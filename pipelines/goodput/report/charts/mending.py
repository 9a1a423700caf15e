"""The chart of what is worth mending: where dollars bought nothing that was accepted, the largest first."""

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Row, Rows, dollars, percent
from goodput.report.looks import ORANGE, rows, with_room

_LOSSES = {  # each bucket in words, and what would mend it
    "idle": ("idle replicas", "fewer of them at hours below the peak would save at most this"),
    "slow": ("slow answers", "more room at the peak, or a looser gate, would have them count"),
    "rejected": ("rejected answers", "better ones would count, more machines would not help"),
    "failed": ("failed requests", "to mend what fails would save it"),
    "over_budget": ("requests with too many tries", "to mend what makes callers try again would save it"),
    "retry": ("retries", "to mend what makes callers try again would save it"),
    "abandoned": ("abandoned answers", "to cancel work when a client goes away would save it"),
    "preemption": ("preempted work", "more KV memory, or fewer long prompts at once, would save it"),
    "speculation": ("rejected drafts", "a better draft model, or fewer draft tokens, would save it"),
    "overhead": ("overhead", "shared cost that no request has for itself"),
    "unattributed": ("machines without telemetry", "theirs would show what they did"),
    "ungated": ("requests of no workload", "a workload of the settings has to match them"),
    "unevaluable": ("requests that no gate could judge", "telemetry has to measure what the gate judges"),
}
_NAMED = 3  # in the sentence; the chart has all
_OFF_PEAK = 0.5  # of the dollars of idle replicas, in quiet windows: from here on it is said when they were idle


def _answer(found: Rows) -> str:
    parts = [_one(row, "Then" if place else "First") for place, row in enumerate(found[:_NAMED])]
    return f"{'. '.join(parts)}. By dollars alone: what it takes to mend is not in telemetry."


def _one(row: Row, nth: str) -> str:
    words, remedy = _LOSSES.get(row["bucket"], (row["bucket"], "it bought nothing that was accepted"))
    of = f" of {row['divided_by']} {row['part']}" if row["part"] is not None else ""
    said = f"{nth} {words}{of}, {dollars(row['usd'])} ({percent(row['share'])} of all spent)"
    quiet = row["quiet_share"]
    if row["bucket"] == "idle" and quiet is not None and quiet >= _OFF_PEAK:
        some = f"{dollars(quiet * row['usd'])} of it while its pools had at most half of the requests of their peak"
        return f"{said}, {some}: fewer replicas then would save at most that{_at_peak(row)}"
    return f"{said}: {remedy}"


def _at_peak(row: Row) -> str:
    """Whoever reads that a pool idles must not take from it what its peak needs."""
    needed, most = row["needed_replicas"], row["most_replicas"]
    if needed is None or most is None or needed < most:
        return ""
    return f"; none can go at the peak, which needs {needed} where there were {most}"


def _spec() -> Picture:
    order = alt.EncodingSortField("usd", op="max", order="descending")
    base = (
        alt.Chart(rows())
        .transform_calculate(
            name="(datum.part === null ? '' : datum.part + ': ') + replace(datum.bucket, '_', ' ')",
            written="format(datum.usd, datum.usd >= 1 ? '$,.2f' : '$.3r')",
        )
        .encode(alt.Y("name:N", sort=order, title=None))
    )
    bars = base.mark_bar(height={"band": 0.7}, color=ORANGE).encode(
        alt.X("usd:Q", axis=alt.Axis(title="US dollars", format="$,~f", tickCount=5)),
        tooltip=[
            alt.Tooltip("name:N", title="loss"),
            alt.Tooltip("usd:Q", format="$,.4f"),
            alt.Tooltip("low_usd:Q", title="from", format="$,.4f"),
            alt.Tooltip("high_usd:Q", title="to", format="$,.4f"),
            alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("quiet_share:Q", title="at quiet times", format=".0%"),
        ],
    )
    text = base.mark_text(align="left", dx=4).encode(alt.X("usd:Q"), alt.Text("written:N"))
    return alt.layer(bars, text, with_room(base, "datum.usd", "US dollars")).properties(height=alt.Step(22))


CHART = Chart(
    name="worth_mending",
    place=7,
    question="What is worth mending first?",
    answer=_answer,
    empty="Nothing is known to be lost here: no cost is known of this period, or all of it went into answers that were "
    "accepted or are not judged yet.",
    spec=_spec,
    columns=(
        Column("bucket", "Bucket"),
        Column("part", "Of"),
        Column("usd", "US dollars", "usd"),
        Column("low_usd", "95 % from", "usd"),
        Column("high_usd", "to", "usd"),
        Column("share", "Share of all spent", "share"),
        Column("quiet_share", "of which at quiet times", "share"),
        Column("needed_replicas", "Replicas its peak needs", "count"),
        Column("most_replicas", "and had", "count"),
        Column("estimated", "In part estimated"),
    ),
)
