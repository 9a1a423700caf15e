"""The chart of money: from the bill to what was accepted, bucket by bucket."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Rows, counted, dollars, dollars_within, percent
from goodput.report.looks import BLUE, GREEN, ORANGE, rows, ticks, with_room

_KEPT = ("accepted", "unlabelled")  # buckets of what was accepted, or may be


def _answer(found: Rows) -> str:
    unpriced = found[0]["unpriced"]
    if not unpriced:
        return _leaks(found)
    parts = counted(unpriced, "part")
    return f"{_leaks(found)} {parts} of the work had no price and may have cost more: shares leave them out."


def _leaks(found: Rows) -> str:
    total = sum(row["usd"] for row in found)
    leaks = sorted(
        (row for row in found if row["bucket"] not in _KEPT and row["usd"]), key=lambda row: -abs(row["usd"])
    )
    if not leaks:
        return f"All of {dollars(total)} went into answers that were accepted or are not judged yet."
    parts = [
        f"{row['bucket'].replace('_', ' ')} {dollars(row['usd'])}{dollars_within(row['low_usd'], row['high_usd'])}"
        for row in leaks[:3]
    ]
    return f"Of {dollars(total)}, {_share(found, leaks, total)}. Largest: {', '.join(parts)}."


def _share(found: Rows, leaks: Rows, total: float) -> str:
    """The share that was not for accepted answers; of money that credits are part of, dollars."""
    lost = sum(row["usd"] for row in leaks)
    if any(row["usd"] < 0 for row in found):
        return f"credits included, {dollars(lost)} was not for accepted answers"
    unjudged = sum(row["usd"] for row in found if row["bucket"] == "unlabelled")
    least = "at least " if percent(unjudged / total) != percent(0) else ""
    return f"{least}{percent(lost / total)} was not for accepted answers"


def _spec() -> Picture:
    order = alt.EncodingSortField("place", order="ascending")
    base = alt.Chart(rows()).encode(alt.Y("bucket:N", sort=order, title=None))
    # its edge keeps a bar of less than a pixel in sight
    bars = base.mark_bar(height={"band": 0.7}, strokeWidth=2).encode(
        alt.X("from_usd:Q", axis=alt.Axis(title="US dollars, laid end to end", format="$,~f", tickCount=ticks())),
        alt.X2("until_usd:Q"),
        alt.Color(
            "kind:N",
            scale=alt.Scale(range=alt.FieldRange(field="shade")),  # of kinds that have a bar alone
        ),
        alt.Stroke("shade:N", scale=None),
        tooltip=[
            "bucket:N",
            alt.Tooltip("usd:Q", format="$,.4f"),
            alt.Tooltip("low_usd:Q", title="from", format="$,.4f"),
            alt.Tooltip("high_usd:Q", title="to", format="$,.4f"),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
    # beyond the end of a bar, and before it where the axis ends soon
    is_late = "datum.from_usd > 0.5 * datum.all_usd"
    after = base.transform_filter(f"!({is_late})").mark_text(align="left", dx=4).encode(alt.X("until_usd:Q"))
    before = base.transform_filter(is_late).mark_text(align="right", dx=-4).encode(alt.X("from_usd:Q"))
    text = [side.encode(alt.Text("written:N")) for side in (after, before)]
    written = "format(datum.usd, abs(datum.usd) >= 1 ? '$,.2f' : '$.3r')"
    kind = "{accepted: 'accepted', unlabelled: 'not judged yet'}[datum.bucket] || 'the rest'"
    shade = f"{{accepted: '{GREEN}', 'not judged yet': '{BLUE}', 'the rest': '{ORANGE}'}}[datum.kind]"
    return (
        alt.layer(bars, *text, with_room(base, "datum.until_usd", "US dollars, laid end to end"))
        .transform_joinaggregate(all_usd="max(until_usd)")
        .transform_calculate(kind=kind, written=written)
        .transform_calculate(shade=shade)
        .properties(height=alt.Step(22))
    )


CHART = Chart(
    name="money_totals",
    place=6,
    question="Where did the money go?",
    answer=_answer,
    empty="No cost is known of this period: no bill, rate or price (settings, `[costs]`) covers it.",
    spec=_spec,
    columns=(
        ChartColumn("bucket", "Bucket"),
        ChartColumn("usd", "US dollars", "usd"),
        ChartColumn("low_usd", "95 % from", "usd"),
        ChartColumn("high_usd", "to", "usd"),
        ChartColumn("share", "Share", "share"),
        ChartColumn("estimated", "In part estimated", "flag"),
    ),
)
