"""The chart of price: what an accepted answer cost over time."""

import altair as alt

from goodput.report.chart import Chart, Column, Picture, Rows, clock, dollars, observed_whole
from goodput.report.looks import PURPLE, rows, time


def _answer(found: Rows) -> str:
    known = observed_whole(found)
    dearest, cheapest = max(known, key=lambda row: row["price_usd"]), min(known, key=lambda row: row["price_usd"])
    if len(known) == 1:
        return f"An accepted answer cost {dollars(dearest['price_usd'])}, idle time and shared cost included."
    return (
        f"From {dollars(cheapest['price_usd'])} at {clock(cheapest['at'])} to {dollars(dearest['price_usd'])} at "
        f"{clock(dearest['at'])} UTC an accepted answer, idle time and shared cost included."
    )


def _spec() -> Picture:
    chart = alt.Chart(rows())
    # the top of a window in which hardly anything was accepted has no end, and would flatten all others
    top = "isValid(datum.high_usd) ? min(datum.high_usd, 3 * datum.price_usd) : datum.price_usd"
    band = (
        chart.transform_calculate(top=top)
        .mark_area(color=PURPLE, opacity=0.25)
        .encode(time(), alt.Y("low_usd:Q"), alt.Y2("top:Q"))
    )
    line = chart.mark_line(color=PURPLE, point={"color": PURPLE, "size": 14}).encode(
        time(),
        alt.Y("price_usd:Q", axis=alt.Axis(title=None, format="$~f", tickCount=5)),
        tooltip=[
            alt.Tooltip("at:T", title="window from", format="%d %b %H:%M"),
            alt.Tooltip("price_usd:Q", title="per accepted", format="$.5~g"),
            alt.Tooltip("low_usd:Q", title="from", format="$.5~g"),
            alt.Tooltip("high_usd:Q", title="to", format="$.5~g"),
            alt.Tooltip("cost_usd:Q", title="spent", format="$,.2f"),
        ],
    )
    return alt.layer(band, line).properties(height=200)


CHART = Chart(
    name="price_over_time",
    place=6,
    question="What does an accepted answer cost?",
    answer=_answer,
    empty="No price is known: either no cost (settings, `[costs]`), or nothing was accepted.",
    spec=_spec,
    leads_to="window",
    columns=(
        Column("at", "Window from", "time"),
        Column("price_usd", "Per accepted", "usd"),
        Column("low_usd", "95 % from", "usd"),
        Column("high_usd", "to", "usd"),
        Column("cost_usd", "Spent", "usd"),
    ),
)
