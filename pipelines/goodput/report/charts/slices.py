"""The chart of slices: whose answers cost most, tenant by tenant or route by route."""

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Row, Rows, dollars, percent, within
from goodput.report.looks import ORANGE, PURPLE, rows


def _answer(found: Rows) -> str:
    priced = [row for row in found if row["price_usd"] is not None]
    if not priced:
        worst = min(found, key=lambda row: 1 if row["ratio"] is None else row["ratio"])
        return f"No cost is known; fewest were accepted of {worst['name']}: {percent(worst['ratio'])}."
    dearest = max(priced, key=lambda row: row["price_usd"])
    said = f"{dollars(dearest['price_usd'])}{_ends(dearest)}"
    text = f"An accepted answer of {dearest['name']} costs {'most: ' if len(found) > 1 else ''}{said}."
    if any(row["unpriced"] for row in found):
        text += " A part of the work had no price, so that some cost more."
    if dearest["divided_by"] == "tenant" and len(found) > 1:
        text += (
            " What each asks for is in its price: `goodput compare --by tenant A B --workload W` sets two side by side."
        )
    leaking = max(priced, key=lambda row: row["wasted_usd"] or 0)
    if leaking["wasted_usd"]:
        lost = f"{dollars(leaking['wasted_usd'])} of {dollars(leaking['cost_usd'])}"
        share = f" ({percent(leaking['wasted_usd'] / leaking['cost_usd'])})"
        text += f" {'Most is lost' if len(found) > 1 else 'Lost'} at {leaking['name']}: {lost}{share}"
        text += f", {percent(leaking['ratio'])}{within(leaking['low'], leaking['high'])} of its requests accepted."
    return text


def _ends(row: Row) -> str:
    low, high = row["low_usd"], row["high_usd"]
    return f" ({dollars(low)} to {dollars(high)})" if low is not None and high is not None else ""


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
    place=9,
    question="Whose answers cost most?",
    answer=_answer,
    empty="Nothing is published to set side by side here: costs are told apart by tenant (or workload and route) of "
    "all requests, and by route of a workload. Choose one of these, or a period that has requests.",
    spec=_spec,
    draws=("price_usd",),
    chosen_by=("scope", "workload", "route"),
    columns=(
        Column("name", "Slice"),
        Column("offered", "Offered", "count"),
        Column("ratio", "Accepted", "share"),
        Column("low", "95 % from", "share"),
        Column("high", "to", "share"),
        Column("cost_usd", "Spent", "usd"),
        Column("wasted_usd", "Wasted", "usd"),
        Column("price_usd", "Per accepted", "usd"),
        Column("unpriced", "Parts without a price", "count"),
    ),
)
