"""The chart of what is worth mending: where dollars bought nothing that was accepted, the largest first."""

from collections.abc import Mapping

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Row, Rows, dollars, percent
from goodput.report.looks import ORANGE, rows, with_room

_LOSSES = {  # each bucket in words, and what would mend it
    "idle": ("idle replicas", "fewer of them at hours below the peak would save at most this"),
    "slow": (
        "slow answers",
        "shorter queues would mend the wait, fewer timeouts the tries, caching or shorter prompts the prompts, smaller "
        "batches or a looser gate the rest",
    ),
    "rejected": ("rejected answers", "better ones would count, more machines would not help"),
    "failed": ("failed requests", "to mend what fails would make it count"),
    "over_budget": ("requests with too many tries", "to mend what makes callers try again would save it"),
    "retry": ("retries", "to mend what makes callers try again would save it"),
    "abandoned": ("abandoned answers", "what ran on after the client had left would be saved by cancelling it"),
    "preemption": ("preempted work", "more KV memory, or fewer long prompts at once, would save it"),
    "speculation": ("rejected drafts", "a better draft model, or fewer draft tokens, would save it"),
    "overhead": ("overhead", "shared cost that no request has for itself"),
    "unattributed": (
        "bills that no telemetry explains",
        "of machines without any, of names that nothing is called by, or of hours without; "
        "`goodput reconcile --by-day` shows which",
    ),
    "ungated": ("requests of no workload", "a workload of the settings has to match them"),
    "unevaluable": ("requests that no gate could judge", "telemetry has to measure what the gate judges"),
}
_BORNE = "in windows that fewer replicas would bear at the knee, {headroom} headroom included"
_QUIET = "had at most half of the requests of their peak"
_SPARE = {
    "knee": _BORNE,
    "quiet": f"while its pools {_QUIET}, what fewer replicas would bear being unknown",
    "both": f"{_BORNE}, or in which pools without a knee {_QUIET}",
    "short": "is spare: at no load seen did the gates of its pool hold",
}
_DOLLARS = "US dollars; pale: idle, and not spare"
_BEYOND = "What to try, and what speaks for it, is asked next."
_NAMED = 3  # in the sentence; the chart has all
_SURE = 0.9  # of idle dollars: where less is sure the sentence names it
_NOTHING = 0.005  # of the dollars of idle replicas: less than this nobody would mend


def _answer(found: Rows) -> str:
    named, late = found[:_NAMED], {row["part"]: _is_mostly_prompts(row) for row in found if _is_late_anyway(row)}
    first = {str(row["bucket"]): place for place, row in reversed(list(enumerate(named)))}  # a remedy once
    parts = [
        _one(row, "Then" if place else "First", is_again=first[row["bucket"]] < place) + _vain(row, late)
        for place, row in enumerate(named)
    ]
    largest = max(found, key=lambda row: row["usd"])
    if not any(row is largest for row in named):
        parts.append(_one(largest, "The largest loss is", is_again=False) + _vain(largest, late))
    return "\n".join([f"{part}." for part in parts] + [f"{_in_all(found)}{_BEYOND}"])


def _one(row: Row, nth: str, *, is_again: bool) -> str:
    words, remedy = _LOSSES.get(row["bucket"], (row["bucket"], "it bought nothing that was accepted"))
    of = f" of {row['divided_by']} {row['part']}" if row["part"] is not None else ""
    whole = " of all spent" if nth == "First" else ""
    loss = f"{nth} {words}{of}, {dollars(row['usd'])} ({percent(row['share'])}{whole})"
    if (idle := _idle(row)) is not None:
        return f"{loss}: {idle}{_at_peak(row)}{_unplaced(row)}"
    parts = [_late(row), None if is_again else f"{remedy}{_unreported(row)}{_unplaced(row)}"]
    return ": ".join([loss, *(part for part in parts if part is not None)])


def _in_all(found: Rows) -> str:
    """What there is to win: whoever adds up the losses adds what nobody can mend, and what is no money."""
    all_of = f"All {len(found)} of the chart come"
    if any(row["bucket"] == "unattributed" for row in found):  # what it paid for is to be found out first
        found, all_of = [row for row in found if row["bucket"] != "unattributed"], "What else is in the chart comes"
    if len(found) < 2:
        return ""
    mendable = sum(row["mendable_usd"] if row["bucket"] == "idle" else _most(row) for row in found)
    idle = [row for row in found if row["bucket"] == "idle"]
    off_the_bill, low, high = (_sum_of(idle, name) for name in ("mendable_usd", "spare_low_usd", "spare_high_usd"))
    ends = f" ({dollars(low)} to {dollars(high)})" if low is not None and high is not None else ""
    rest = "the rest is work that could have counted, or been avoided"
    of = f": {dollars(off_the_bill)}{ends} off the bill, {rest}" if off_the_bill else ""
    return f"{all_of} to at most about {dollars(mendable)} that can be mended{of}. "


def _most(row: Row) -> float:
    """The upper end of a loss, where it has one."""
    return float(row["usd"] if row["high_usd"] is None else row["high_usd"])


def _sum_of(found: Rows, name: str) -> float | None:
    """The sum of a column, None where a row has none."""
    values = [row[name] for row in found]
    return None if None in values else sum(values)


def _idle(row: Row) -> str | None:
    """How much of it fewer replicas would save: by the knee, and without one by the times that were quiet."""
    if (spare := row["spare_usd"]) is None:
        return None
    if row["spare_by"] == "short":
        return f"none of it {_SPARE['short']}"
    some = dollars(spare) if spare >= _NOTHING * row["usd"] else "none"
    if some == "none" and row["spare_by"] == "quiet":
        return "none of it at a quiet time with more than one replica, what fewer would bear being unknown"
    ends = (
        f" ({dollars(row['spare_low_usd'])} to {dollars(row['spare_high_usd'])})" if row["spare_by"] != "quiet" else ""
    )
    saved = ", the most that fewer then would save" if row["spare_by"] == "quiet" and some != "none" else ""
    kept = "; the rest is room that the gates need" if row["spare_by"] == "knee" else ""
    return f"{some}{ends} of it {_SPARE[row['spare_by']].format(headroom=_headroom(row))}{saved}{kept}"


def _headroom(row: Row) -> str:
    return percent((row["headroom"] or 1) - 1, 0)


def _late(row: Row) -> str | None:
    """Which remedy slow answers need: shorter queues mend what waited, and nothing that is late without any wait."""
    names = ("queue_late", "retries_late", "prefill_late", "work_late", "wait_unknown")
    queue, retries, prefill, work, unknown = (row[f"{name}_usd"] for name in names)
    if not _is_wait_known(row):
        return None
    is_some = [usd >= _NOTHING * row["usd"] for usd in (queue, retries, prefill, work, unknown)]
    parts = [
        f"{dollars(queue)} of it for their wait in a queue alone",
        f"{dollars(retries)} for tries that came before",
        f"{dollars(prefill)} for prompts that alone took longer to read than the gate allows",
        f"{dollars(work)} late without any of these",
        f"no source reports the wait of {dollars(unknown)}",
    ]
    return ", ".join(part for part, is_there in zip(parts, is_some, strict=True) if is_there)


def _is_wait_known(row: Row) -> bool:
    """Whether of anything it is known what made it late."""
    known = [row[f"{name}_late_usd"] for name in ("queue", "retries", "prefill", "work")]
    return None not in known and sum(known) >= _NOTHING * row["usd"]


def _is_late_anyway(row: Row) -> bool:
    """Whether most of a part's slow answers would be late in an empty pool, as far as that is known."""
    if not _is_wait_known(row):
        return False
    anyway = row["prefill_late_usd"] + row["work_late_usd"]
    return bool(anyway > row["queue_late_usd"] + row["retries_late_usd"])


def _is_mostly_prompts(row: Row) -> bool:
    """Whether prompts alone made late more than all else together."""
    others = row["queue_late_usd"] + row["retries_late_usd"] + row["work_late_usd"]
    return bool(row["prefill_late_usd"] > others)


def _vain(row: Row, late: Mapping[str | None, bool]) -> str:
    """More replicas are no remedy for what they do not mend, whatever the knee says."""
    if row["bucket"] != "idle" or row["at_peak"] is None or row["part"] not in late:
        return ""
    if late[row["part"]]:
        why = "have prompts that alone take longer than the gate allows: no replica mends that"
        return f"; yet most slow answers here {why}"
    return "; yet most slow answers here are late without any wait, which more replicas alone need not mend"


def _unreported(row: Row) -> str:
    is_asked = row["bucket"] == "slow" and not _is_wait_known(row)
    return "; no source reports `queue_s`, which would say how much is which" if is_asked else ""


def _unplaced(row: Row) -> str:
    """How much of idle time is so for sure: what no record places on a replica may have run on one."""
    low = row["low_usd"]
    if row["bucket"] != "idle" or low is None or low > _SURE * row["usd"]:
        return ""
    sure = dollars(max(0, low))
    return f"; only {sure} of it is idle for sure: requests that no record places on a replica may have run there"


def _at_peak(row: Row) -> str:
    """Whoever reads that a pool idles must not take from it what its peak needs."""
    needs = row["at_peak"]
    return f"; none can go at the peak: {needs}" if needs is not None else ""


def _spec() -> Picture:
    order = alt.EncodingSortField("place", op="min", order="ascending")
    base = (
        alt.Chart(rows())
        .transform_window(place="row_number()", sort=[alt.SortField("mendable_usd", order="descending")])
        .transform_calculate(
            name="(datum.part === null ? '' : datum.part + ': ') + replace(datum.bucket, '_', ' ')",
            written="format(datum.usd, datum.usd >= 1 ? '$,.2f' : '$.3r')",
            rest="datum.usd - datum.mendable_usd > 0.005 * datum.usd ? datum.usd : null",
            says="datum.rest === null ? datum.written "
            ": format(datum.mendable_usd, datum.mendable_usd >= 1 ? '$,.2f' : '$.3r') + ' of ' + datum.written",
        )
        .encode(alt.Y("name:N", sort=order, title=None))
    )
    tooltip = [
        alt.Tooltip("name:N", title="loss"),
        alt.Tooltip("usd:Q", format="$,.4f"),
        alt.Tooltip("low_usd:Q", title="from", format="$,.4f"),
        alt.Tooltip("high_usd:Q", title="to", format="$,.4f"),
        alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("spare_usd:Q", title="of which spare", format="$,.4f"),
        alt.Tooltip("queue_late_usd:Q", title="late only for its queue", format="$,.4f"),
        alt.Tooltip("retries_late_usd:Q", title="late for earlier tries", format="$,.4f"),
        alt.Tooltip("prefill_late_usd:Q", title="late for its prompt", format="$,.4f"),
        alt.Tooltip("work_late_usd:Q", title="late without these", format="$,.4f"),
    ]
    axis = alt.Axis(title=_DOLLARS, format="$,~f", tickCount=5)
    whole = base.mark_bar(height={"band": 0.7}, color=ORANGE, opacity=0.3).encode(
        alt.X("usd:Q", axis=axis), tooltip=tooltip
    )
    bars = base.mark_bar(height={"band": 0.7}, color=ORANGE).encode(
        alt.X("mendable_usd:Q", title=_DOLLARS), tooltip=tooltip
    )
    # both figures need more room than there is beyond a long bar, and its pale end has it
    is_within = "datum.rest !== null && datum.usd > 0.5 * datum.most"
    value = base.transform_joinaggregate(most="max(usd)").encode(alt.X("usd:Q", title=_DOLLARS), alt.Text("says:N"))
    beyond = value.transform_filter(f"!({is_within})").mark_text(align="left", dx=4)
    within = value.transform_filter(is_within).mark_text(align="right", dx=-4)
    layers = alt.layer(whole, bars, beyond, within, with_room(base, "datum.usd", _DOLLARS))
    return layers.properties(height=alt.Step(22))


CHART = Chart(
    name="worth_mending",
    place=7,
    question="Which losses are largest, and what would mend them?",
    answer=_answer,
    empty="Nothing is known to be lost here: no cost is known of this period, or all of it went into answers that were "
    "accepted or are not judged yet.",
    spec=_spec,
    columns=(
        ChartColumn("bucket", "Bucket"),
        ChartColumn("part", "Of"),
        ChartColumn("usd", "US dollars", "usd"),
        ChartColumn("low_usd", "95 % from", "usd"),
        ChartColumn("high_usd", "to", "usd"),
        ChartColumn("share", "Share of all spent", "share"),
        ChartColumn("spare_usd", "of which spare", "usd"),
        ChartColumn("spare_low_usd", "spare from", "usd"),
        ChartColumn("spare_high_usd", "spare to", "usd"),
        ChartColumn("spare_by", "Spare by"),
        ChartColumn("queue_late_usd", "Late only for its queue", "usd"),
        ChartColumn("retries_late_usd", "Late for earlier tries", "usd"),
        ChartColumn("prefill_late_usd", "Late for its prompt", "usd"),
        ChartColumn("work_late_usd", "Late without these", "usd"),
        ChartColumn("at_peak", "At the peak"),
        ChartColumn("estimated", "In part estimated", "flag"),
    ),
)
