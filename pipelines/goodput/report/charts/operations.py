"""The chart of operations: what each deployment, scaling or fault cost."""

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Rows, clock, counted, dollars
from goodput.report.looks import MUTED, ORANGE, rows

# What a price was reckoned from, where windows of the same load were too few: the difference is the load's as well.
_BESIDE = {
    "nearest": " Steady is the nearest windows: too few had its load, and a load that changed is in the difference.",
    "undisturbed": " Steady is undisturbed windows at any load, and a load that changed is in the difference.",
}


def _answer(found: Rows) -> str:
    priced = [row for row in found if row["excess_cost_usd"] is not None]
    if not priced:
        return f"{counted(len(found), 'operation')}; none can be priced: cost or an undisturbed baseline is not known."
    dearest = max(priced, key=lambda row: row["excess_cost_usd"])
    ends = (
        f" ({dollars(dearest['low_usd'])} to {dollars(dearest['high_usd'])})" if dearest["low_usd"] is not None else ""
    )
    lost = dearest["lost_accepted"]
    beside = _BESIDE.get(dearest["baseline"], "")
    return (
        f"Dearest of {counted(len(found), 'operation')}: {dearest['kind']} of {dearest['pool'] or 'the fleet'} at "
        f"{clock(dearest['at'])} UTC, {dollars(dearest['excess_cost_usd'])}{ends} more than steady"
        + (f", {counted(lost, 'accepted answer')} lost." if lost and lost > 0.5 else ".")
        + beside
    )


def _spec() -> Picture:
    named = "datum.kind + ' ' + (datum.pool || 'fleet') + ' ' + utcFormat(datum.at, '%d %b %H:%M')"
    base = (
        alt.Chart(rows())
        .transform_calculate(name=named)
        .encode(
            alt.Y(
                "name:N", title=None, sort=alt.EncodingSortField("at", order="ascending"), axis=alt.Axis(labelLimit=260)
            )
        )
    )
    bars = base.mark_bar(height={"band": 0.6}, color=ORANGE).encode(
        alt.X("excess_cost_usd:Q", axis=alt.Axis(title="US dollars more than steady", format="$~f", tickCount=5)),
        tooltip=[
            alt.Tooltip("name:N", title="operation"),
            alt.Tooltip("excess_cost_usd:Q", title="cost", format="$.4~g"),
            alt.Tooltip("lost_accepted:Q", title="accepted answers lost", format=",.0f"),
            alt.Tooltip("duration_s:Q", title="seconds", format=",.0f"),
            alt.Tooltip("ended_by:N", title="ended by"),
        ],
    )
    ends = base.mark_rule(color=MUTED, strokeWidth=2).encode(alt.X("low_usd:Q"), alt.X2("high_usd:Q"))
    return alt.layer(bars, ends).properties(height=alt.Step(26))


CHART = Chart(
    name="operations_done",
    place=11,
    question="What did each deployment cost?",
    answer=_answer,
    empty="No deployment, scaling or fault is known in this period: `[events]` in the settings says what is read.",
    spec=_spec,
    chosen_by=("pool",),
    columns=(
        Column("at", "At", "time"),
        Column("kind", "Operation"),
        Column("pool", "Pool"),
        Column("revision", "Revision"),
        Column("duration_s", "Lasted", "seconds"),
        Column("ended_by", "Ended by"),
        Column("lost_accepted", "Accepted lost", "count"),
        Column("excess_cost_usd", "More than steady", "usd"),
        Column("low_usd", "95 % from", "usd"),
        Column("high_usd", "to", "usd"),
        Column("baseline", "Compared with"),
        Column("baseline_windows", "Windows", "count"),
    ),
)
