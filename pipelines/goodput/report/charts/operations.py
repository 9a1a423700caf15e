"""The chart of operations: what each deployment, scaling or fault cost."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Row, Rows, clock, counted, dollars
from goodput.report.looks import INK, ORANGE, rows, ticks, with_room
from goodput.report.quality_change import quality_changes

# Why an operation has no price, in words, and what would give it one.
_UNPRICED = {
    "load_unmatched": (
        "no undisturbed window before had its load",
        "one done at a load of the 7 days before has a price",
    ),
    "partly_observed": (
        "telemetry does not have all of its windows",
        "a later `goodput run` prices it, once files of that time land",
    ),
    "few_windows": ("too few undisturbed windows came before", "more telemetry from before it would give a price"),
    "cost_unknown": (
        "no bill or price covers all of it, or of enough of the undisturbed windows",
        "`goodput reconcile` shows which days are billed",
    ),
    "nothing_accepted": ("nothing was accepted at its load", "the gates, or the labels, of that time say why"),
    "price_unmatched": (
        "the price of replicas before cannot be told from their use",
        "bills by replica, or rates of GPUs, would tell",
    ),
}
_UNKNOWN = ("its cost is not known", "`goodput reconcile` shows what is billed")
_NAMED = 3  # of the operations of one reason
_NOTHING_USD = 0.005


def _answer(found: Rows) -> str:
    priced = [row for row in found if row["excess_cost_usd"] is not None]
    causes = _unpriced([row for row in found if row["excess_cost_usd"] is None])
    if not priced:
        return f"{counted(len(found), 'operation')}; none can be priced: {causes}.{quality_changes(found, _named)}"
    dearest = max(priced, key=lambda row: row["excess_cost_usd"])
    lost = dearest["lost_accepted"]
    return (
        f"Dearest of {counted(len(priced), 'priced operation')}: {_named(dearest)} UTC, {_beside_steady(dearest)}"
        + (f", {counted(lost, 'accepted answer')}{_answers(dearest)} lost." if lost and lost > 0.5 else ".")
        + _of_which(dearest)
        + _at_its_cap(dearest)
        + _grown(dearest)
        + _beside(dearest)
        + _not_added([row for row in priced if row["overlapping_events"]])
        + (f"\nNot priced: {causes}." if causes else "")
        + quality_changes(found, _named)
    )


def _named(row: Row) -> str:
    return f"{row['kind'].replace('_', ' ')} of {row['pool'] or 'the fleet'} at {clock(row['at'])}"


def _unpriced(found: Rows) -> str:
    """Each reason with the operations that it is of: the one that did the damage may be among them."""
    by_cause: dict[tuple[str, str], list[str]] = {}
    for row in found:
        by_cause.setdefault(_UNPRICED.get(row["no_interval"], _UNKNOWN), []).append(_named(row))
    return "; ".join(f"{cause} ({_some(names)}): {remedy}" for (cause, remedy), names in sorted(by_cause.items()))


def _some(names: list[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


def _beside_steady(row: Row) -> str:
    usd, low, high = row["excess_cost_usd"], row["low_usd"], row["high_usd"]
    ends = ""
    if low is not None and high is not None:
        ends = f" ({dollars(low)} to {dollars(high)})" if low >= 0 else f" ({_signed(low)} to {_signed(high)})"
    by = f", by {counted(windows, 'window')}" if (windows := row["priced_windows"]) else ""
    return f"{dollars(abs(usd))}{ends} {'less' if usd < 0 else 'more'} than its accepted answers cost when steady{by}"


def _signed(usd: float) -> str:
    return f"{dollars(abs(usd))} {'less' if usd < 0 else 'more'}"


def _of_which(row: Row) -> str:
    """Money that was paid, told from the price of answers that did not come: one is on a bill, the other is not."""
    lost, paid = row["lost_usd"], row["paid_usd"]
    if lost is None or paid is None or min(lost, paid) < _NOTHING_USD:
        return ""
    return f" {dollars(paid)} of it was paid beyond, {dollars(lost)} is what the answers lost cost when steady."


def _at_its_cap(row: Row) -> str:
    """What was not over at the end of the time that is looked at may have cost more."""
    if row["ended_by"] != "cap":
        return ""
    minutes = f"{row['duration_s'] / 60:,.0f} min"
    back = "its cache hits and first tokens were not both back"
    return f" After {minutes}, the longest that is looked at, {back}: what came later is not in this."


def _grown(row: Row) -> str:
    """Replicas that came meanwhile cost as well: whether the operation is why they came, telemetry does not say."""
    before, most = row["replicas_before"], row["replicas_most"]
    if before is None or most is None or round(most) <= round(before):
        return ""
    return f" Its pool went from {before:.0f} to {most:.0f} replicas meanwhile: what these cost is in it."


def _beside(row: Row) -> str:
    """What lies in the same windows is in the price of each: they must not be added up, nor one be blamed."""
    others = row["overlapping_events"]
    return f" {counted(others, 'other operation')} overlapped it: what it shows is of all of them." if others else ""


def _answers(row: Row) -> str:
    low, high = row["lost_accepted_ci_low"], row["lost_accepted_ci_high"]
    return f" ({low:,.0f} to {high:,.0f})" if low is not None and high is not None else ""


def _not_added(overlapping: Rows) -> str:
    """Each of these shares its time with another; the same dollars may be in both."""
    if len(overlapping) < 2:
        return ""
    return f"\nNot to be added up, since each overlaps another: {_some([_named(row) for row in overlapping])}."


def _spec() -> Picture:
    named = "replace(datum.kind, /_/g, ' ') + ' ' + (datum.pool || 'fleet') + ' ' + utcFormat(datum.at, '%d %b %H:%M')"
    base = (
        alt.Chart(rows())
        .transform_calculate(name=named)
        .encode(
            alt.Y(
                "name:N",
                title=None,
                sort=alt.EncodingSortField("at", op="min", order="ascending"),
                axis=alt.Axis(labelLimit=260),
            )
        )
    )
    bars = base.mark_bar(height={"band": 0.6}, color=ORANGE).encode(
        alt.X("excess_cost_usd:Q", axis=alt.Axis(title="US dollars more than steady", format="$~f", tickCount=ticks())),
        tooltip=[
            alt.Tooltip("name:N", title="operation"),
            alt.Tooltip("excess_cost_usd:Q", title="cost", format="$.4~g"),
            alt.Tooltip("lost_accepted:Q", title="accepted answers lost", format=",.0f"),
            alt.Tooltip("duration_s:Q", title="seconds", format=",.0f"),
            alt.Tooltip("ended_by:N", title="ended by"),
        ],
    )
    ends = base.mark_rule(color=INK, strokeWidth=2).encode(alt.X("low_usd:Q"), alt.X2("high_usd:Q"))
    end = "max(0, datum.excess_cost_usd || 0, datum.high_usd || 0)"
    priced = base.transform_calculate(
        end=end,
        priced="isValid(datum.excess_cost_usd) ? format(datum.excess_cost_usd, '$,.2f') : 'not priced'",
    )
    text = priced.mark_text(align="left", dx=6, color=INK).encode(alt.X("end:Q"), alt.Text("priced:N"))
    return alt.layer(bars, ends, text, with_room(base, end, "US dollars more than steady")).properties(
        height=alt.Step(26)
    )


CHART = Chart(
    name="operations_done",
    place=17,
    question="What did each deployment cost?",
    answer=_answer,
    empty="No deployment, scaling or fault lies in this period. Of one that should, `[events]` in the settings says "
    "what is read; one at another time is in a longer period, or in relation disruptions.",
    spec=_spec,
    chosen_by=("pool",),
    none_is_all=True,
    draws=("excess_cost_usd",),
    columns=(
        ChartColumn("at", "At", "time"),
        ChartColumn("kind", "Operation"),
        ChartColumn("pool", "Pool"),
        ChartColumn("revision", "Revision"),
        ChartColumn("duration_s", "Lasted", "seconds"),
        ChartColumn("ended_by", "Ended by"),
        ChartColumn("lost_accepted", "Accepted lost", "count"),
        ChartColumn("lost_accepted_ci_low", "95 % from", "count"),
        ChartColumn("lost_accepted_ci_high", "to", "count"),
        ChartColumn("excess_cost_usd", "More than steady", "usd"),
        ChartColumn("low_usd", "95 % from", "usd"),
        ChartColumn("high_usd", "to", "usd"),
        ChartColumn("paid_usd", "of it paid beyond", "usd"),
        ChartColumn("lost_usd", "price of answers lost", "usd"),
        ChartColumn("priced_windows", "Windows of its load", "count"),
        ChartColumn("replicas_before", "Replicas before", "count"),
        ChartColumn("replicas_most", "at most meanwhile", "count"),
        ChartColumn("overlapping_events", "Overlap with others", "count"),
        ChartColumn("no_interval", "Not priced because"),
        ChartColumn("judge", "Judged by"),
        ChartColumn("before_ratio", "Passed before", "share"),
        ChartColumn("before_low", "95 % from", "share"),
        ChartColumn("before_high", "to", "share"),
        ChartColumn("after_ratio", "after", "share"),
        ChartColumn("after_low", "95 % from", "share"),
        ChartColumn("after_high", "to", "share"),
        ChartColumn("is_apart", "Surely another", "flag"),
    ),
)
