"""The first chart: the share of requests accepted over time, with its interval and what was done to the fleet."""

import altair as alt

from goodput.report.chart import (
    Chart,
    ChartColumn,
    Picture,
    Rows,
    clock,
    observed_whole,
    of_many,
    of_whole,
    percent,
    within,
)
from goodput.report.looks import BLUE, MUTED, in_the_middle, rings, rows, share_axis, time

_HEIGHT = 220
_NAMED = 20  # operations: of more, names would cover each other, and the next chart has them


def _answer(found: Rows) -> str:
    estimated = [row for row in found if row["ratio"] is not None]
    known, of = observed_whole(estimated), of_whole(estimated)
    if not known:
        low, high = min(row["low"] for row in found), max(row["high"] for row in found)
        return f"Nobody drew the labels at random, so there is no estimate: between {percent(low)} and {percent(high)}."
    many, beside = of_many(known, "offered")
    worst, best = min(many, key=lambda row: row["ratio"]), max(many, key=lambda row: row["ratio"])
    if len(many) == 1:
        ends, when = within(worst["low"], worst["high"]), f" at {clock(worst['at'])} UTC" if len(known) > 1 else ""
        return f"{percent(worst['ratio'])}{ends} were accepted{when}{of}{beside}. The band is the 95 % interval."
    low, high = (
        f"{percent(row['ratio'])}{within(row['low'], row['high'])} at {clock(row['at'])}" for row in (worst, best)
    )
    drawn = "The band is the 95 % interval of each window; vertical lines are operations."
    return f"From {low} to {high} UTC{of}{beside}. {drawn}"


def _spec() -> Picture:
    chart = in_the_middle(alt.Chart(rows()))
    share = alt.Y("ratio:Q", axis=share_axis(), scale=alt.Scale(domain=[0, 1]))
    band = chart.mark_area(color=BLUE, opacity=0.25).encode(
        time(of="middle"), alt.Y("low:Q", title=None), alt.Y2("high:Q")
    )
    line = chart.mark_line(color=BLUE, point={"color": BLUE, "size": 14}).encode(
        time(of="middle"),
        share,
        tooltip=[
            alt.Tooltip("at:T", title="window from", format="%d %b %H:%M"),
            alt.Tooltip("offered:Q", title="requests", format=","),
            alt.Tooltip("ratio:Q", title="accepted", format=".1%"),
            alt.Tooltip("low:Q", title="from", format=".1%"),
            alt.Tooltip("high:Q", title="to", format=".1%"),
        ],
    )
    operations = alt.Chart(rows("operations_done"))
    done = operations.mark_rule(color=MUTED, strokeDash=[4, 3]).encode(
        time(),
        tooltip=[
            alt.Tooltip("at:T", title="at", format="%d %b %H:%M"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("pool:N"),
        ],
    )
    # upright above the plot, where no curve is
    names = (
        operations.transform_joinaggregate(operations="count()")
        .transform_filter(f"datum.operations <= {_NAMED}")
        .transform_calculate(name="replace(datum.kind, /_/g, ' ') + (datum.pool ? ' ' + datum.pool : '')")
        .mark_text(angle=270, align="left", baseline="middle", dx=4, limit=110, color=MUTED, fill=MUTED)
        .encode(time(), y=alt.value(0), text="name:N")
    )
    return alt.layer(band, done, line, rings(chart, "ratio"), names).properties(height=_HEIGHT)


CHART = Chart(
    name="accepted_over_time",
    place=1,
    question="How much was accepted, and how sure is that?",
    answer=_answer,
    empty="No request ended in this period: `goodput sources` shows what was read.",
    spec=_spec,
    draws=("ratio", "low"),
    leads_to="window",
    also=("operations_done",),
    is_wide=True,
    columns=(
        ChartColumn("at", "Window from", "time"),
        ChartColumn("offered", "Offered", "count"),
        ChartColumn("ratio", "Accepted", "share"),
        ChartColumn("low", "95 % from", "share"),
        ChartColumn("high", "to", "share"),
        ChartColumn("definition", "By"),
    ),
)
