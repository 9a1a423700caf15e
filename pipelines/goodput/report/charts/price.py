"""The chart of price: what an accepted answer cost over time."""

import altair as alt

from goodput.report.chart import (
    Chart,
    ChartColumn,
    Picture,
    Rows,
    clock,
    counted,
    dollars,
    observed_whole,
    of_many,
    of_whole,
)
from goodput.report.looks import PURPLE, in_the_middle, rings, rows, time

_UNPRICED = {
    "cost_unknown": "no bill or price covers them",
    "nothing_accepted": "nothing was accepted",
    "labels_not_drawn": "nobody drew the labels at random",
}


def _answer(found: Rows) -> str:
    priced = [row for row in found if row["price_usd"] is not None]
    why = [_UNPRICED[row["no_price"]] for row in found if row["price_usd"] is None]
    causes = ", ".join(f"{counted(why.count(cause), 'window')}: {cause}" for cause in sorted(set(why)))
    if not priced:
        return f"No window has a price ({causes})."
    partly = sum(row["unpriced"] > 0 for row in priced)
    why_more = "a part of the work had no price, so that it may have cost more"
    more = f" In {counted(partly, 'window')} {why_more}." if partly else ""
    return _range(priced) + more + (f" Without a price ({causes})." if causes else "")


def _range(priced: Rows) -> str:
    known, of = observed_whole(priced), of_whole(priced)
    many, beside = of_many(known, "offered")
    dearest, cheapest = max(many, key=lambda row: row["price_usd"]), min(many, key=lambda row: row["price_usd"])
    if len(many) == 1:
        when = f" at {clock(dearest['at'])} UTC" if len(known) > 1 else ""
        price = dollars(dearest["price_usd"])
        return f"An accepted answer cost {price}{when}, idle time and shared cost included{of}{beside}."
    return (
        f"From {dollars(cheapest['price_usd'])} at {clock(cheapest['at'])} to {dollars(dearest['price_usd'])} at "
        f"{clock(dearest['at'])} UTC an accepted answer, idle time and shared cost included{of}{beside}."
    )


def _spec() -> Picture:
    chart = in_the_middle(alt.Chart(rows()))
    # the top of a window in which hardly anything was accepted has no end, and would flatten all others
    top = "isValid(datum.high_usd) ? min(datum.high_usd, 3 * datum.price_usd) : datum.price_usd"
    band = (
        chart.transform_calculate(top=top)
        .mark_area(color=PURPLE, opacity=0.25)
        .encode(time(of="middle"), alt.Y("low_usd:Q"), alt.Y2("top:Q"))
    )
    line = chart.mark_line(color=PURPLE, point={"color": PURPLE, "size": 14}).encode(
        time(of="middle"),
        alt.Y("price_usd:Q", axis=alt.Axis(title=None, format="$~f", tickCount=5)),
        tooltip=[
            alt.Tooltip("at:T", title="window from", format="%d %b %H:%M"),
            alt.Tooltip("price_usd:Q", title="per accepted", format="$.5~g"),
            alt.Tooltip("low_usd:Q", title="from", format="$.5~g"),
            alt.Tooltip("high_usd:Q", title="to", format="$.5~g"),
            alt.Tooltip("cost_usd:Q", title="spent", format="$,.2f"),
        ],
    )
    return alt.layer(band, line, rings(chart, "price_usd")).properties(height=200)


CHART = Chart(
    name="price_over_time",
    place=12,
    question="What does an accepted answer cost?",
    answer=_answer,
    empty="No price is known: no cost is (settings, `[costs]`).",
    spec=_spec,
    draws=("price_usd",),
    leads_to="window",
    columns=(
        ChartColumn("at", "Window from", "time"),
        ChartColumn("price_usd", "Per accepted", "usd"),
        ChartColumn("low_usd", "95 % from", "usd"),
        ChartColumn("high_usd", "to", "usd"),
        ChartColumn("cost_usd", "Spent", "usd"),
        ChartColumn("unpriced", "Parts without a price", "count"),
        ChartColumn("no_price", "No price because"),
    ),
)
