"""The chart of slices: whose answers cost most, tenant by tenant or route by route."""

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Rows, dollars, percent, within
from goodput.report.looks import ORANGE, PURPLE, rows


def _answer(found: Rows) -> str:
    priced = [row for row in found if row["price_usd"] is not None]
    if not priced:
        worst = min(found, key=lambda row: 1 if row["ratio"] is None else row["ratio"])
        return f"No cost is known; fewest were accepted of {worst['name']}: {percent(worst['ratio'])}."
    dearest = max(priced, key=lambda row: row["price_usd"])
    text = f"An accepted answer of {dearest['name']} costs most: {dollars(dearest['price_usd'])}."
    leaking = max(priced, key=lambda row: row["wasted_usd"] or 0)
    if leaking["wasted_usd"]:
        text += (
            f" Most is lost at {leaking['name']}: {dollars(leaking['wasted_usd'])} of {dollars(leaking['cost_usd'])}"
        )
        text += f", {percent(leaking['ratio'])}{within(leaking['low'], leaking['high'])} of its requests accepted."
    return text


def _spec() -> Picture:
    base = alt.Chart(rows()).transform_filter("isValid(datum.price_usd)").encode(alt.Y("name:N", sort="-x", title=None))
    price = alt.X("price_usd:Q", axis=alt.Axis(title="US dollars per accepted answer", format="$~f", tickCount=5))
    bars = base.mark_bar(height={"band": 0.6}, color=PURPLE).encode(
        price,
        tooltip=[
            alt.Tooltip("name:N", title="slice"),
            alt.Tooltip("price_usd:Q", title="per accepted", format="$.5~g"),
            alt.Tooltip("cost_usd:Q", title="spent", format="$,.2f"),
            alt.Tooltip("wasted_usd:Q", title="wasted", format="$,.2f"),
            alt.Tooltip("ratio:Q", title="accepted", format=".1%"),
            alt.Tooltip("offered:Q", title="requests", format=","),
        ],
    )
    ends = base.mark_rule(color=ORANGE, strokeWidth=2).encode(alt.X("low_usd:Q"), alt.X2("high_usd:Q"))
    return alt.layer(bars, ends).properties(height=alt.Step(26))


CHART = Chart(
    name="slice_totals",
    place=7,
    question="Whose answers cost most?",
    answer=_answer,
    empty="No slice has a request in this period.",
    spec=_spec,
    chosen_by=("workload", "route"),
    columns=(
        Column("name", "Slice"),
        Column("offered", "Offered", "count"),
        Column("ratio", "Accepted", "share"),
        Column("low", "95 % from", "share"),
        Column("high", "to", "share"),
        Column("cost_usd", "Spent", "usd"),
        Column("wasted_usd", "Wasted", "usd"),
        Column("price_usd", "Per accepted", "usd"),
    ),
)
