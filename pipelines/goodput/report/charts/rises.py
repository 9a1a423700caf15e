"""The chart of the largest rise of a p99: when and where it rose, and what else stood differently in that window."""

from itertools import groupby

import altair as alt

from goodput.report.chart import FEWEST, Chart, ChartColumn, Picture, Row, Rows, clock, counted
from goodput.report.looks import BLUE, GRID, INK, MUTED, ORANGE, PURPLE, rows
from goodput.settings.slice_names import cut_by

_NAMES = {"ttft": "first token", "e2e": "whole answer"}
_IS_WIDE = "width > 450"  # the picture has room for both values
_NAMED = 3  # of the operations
_AGAIN = "requests tried again"
_SIDES = {"came": "What came", "showed": "What the fleet showed"}
_RULE = (
    "Moved: beyond each of the windows before, to 1.25 times their median or as little, and by at least 2 points of a "
    "share, 10 of a count, 0.05 s, half a replica or one restart"
)


def _answer(found: Rows) -> str:
    first = found[0]
    where, before = _where(first), f"the median of the {counted(first['windows_before'], 'window')} before"
    figures = f"{first['p99_says']}, beside {first['usual_says']} as {before}"
    name = _NAMES[first["metric"]]
    if not first["is_rise"]:
        return (
            f"No p99 rose: of windows with at least {FEWEST} answers none was half as high again as usual and above "
            "all of the hour before. "
            f"Nearest came that of the {name}{where} at {clock(first['at'])} UTC: {figures}."
        )
    text = f"The p99 of the {name}{where} rose most, at {clock(first['at'])} UTC: {figures}{_lasted(first)}."
    others = f"\nOther rises: {first['other_rises']}." if first["other_rises"] is not None else ""
    summary = f"{text}{_beside(found)}{_tried_again(found)}{_before(found)}\n{_unmoved(found)}"
    return f"{summary} What moves together need not be cause and effect.{others}"


def _where(row: Row) -> str:
    """Whose p99 it is: the workload and its pool, or what else cuts the slice."""
    name = cut_by(row["slice"]).removeprefix("attributes.")
    value = [f"{name} {row['slice_value']}"] if row["slice_value"] is not None else []
    named = [f"{name} {row[name]}" for name in ("workload", "model", "pool", "route") if row[name] is not None]
    return f" of {', '.join([*value, *named])}"


def _lasted(row: Row) -> str:
    began = f"half above usual or more from {clock(row['began_at'])}"
    if row["over_at"] is None:
        return f" ({began} on, as far as windows of {FEWEST} answers show)"
    return f" ({began} to {clock(row['over_at'])})"


def _beside(found: Rows) -> str:
    """What moved, first what came to the fleet and then what it showed: rows are in this order."""
    moved = [row for row in found if row["is_moved"] and row["place"] > 0]
    sides = [(_SIDES[side], _facts(list(rows))) for side, rows in groupby(moved, key=lambda row: str(row["side"]))]
    sentence = "".join(f"\n{side}: {'; '.join(facts)}." for side, facts in sides)
    return sentence or " Nothing else that is measured moved."


def _tried_again(found: Rows) -> str:
    """Who is tried again waits for the tries before: where more are, a p99 is theirs, whatever an engine took."""
    is_more = any(row["name"] == _AGAIN and row["is_moved"] and row["times"] > 1 for row in found)
    return " The times of requests tried again include their earlier tries." if is_more else ""


def _facts(moved: Rows) -> list[str]:
    done = [f"{row['name']} ({row['done']})" for row in moved if row["done"] is not None]
    more = [f"and {len(done) - _NAMED} more operations"] if len(done) > _NAMED else []
    sized = [f"{row['name']} {row['before_says']} to {row['now_says']}" for row in moved if row["done"] is None]
    return [*done[:_NAMED], *more, *sized]


def _before(found: Rows) -> str:
    """What was on its way before the rise: as far from the earliest of the windows before as what moved with it."""
    early = [row for row in found if row["earliest_says"] is not None]
    if not early:
        return ""
    since = clock(early[0]["earliest_at"]).split()[-1]
    sentence = "; ".join(f"{row['name']} {row['earliest_says']} to {row['now_says']}" for row in early)
    return f"\nAlready moving since {since}: {sentence}."


def _unmoved(found: Rows) -> str:
    still = [_little(row) for row in found if not row["is_moved"] and row["earliest_says"] is None]
    return f"{_RULE}. Not moved: {', '.join(still)}." if still else f"{_RULE}."


def _little(row: Row) -> str:
    """What is not called moved, with its values where they differ."""
    before, now = row["before_says"], row["now_says"]
    return str(row["name"]) if before == now else f"{row['name']} {before} to {now}"


def _base() -> alt.Chart:
    """A line for each fact that has a place in the picture."""
    made: alt.Chart = (
        alt.Chart(rows())
        .transform_filter("isValid(datum.times)")
        .transform_calculate(
            what="datum.earliest_says !== null ? 'on its way before' : !datum.is_moved ? 'not moved' "
            ": datum.side == 'came' ? 'what came' : 'what the fleet showed'",
            base_says="datum.earliest_says === null ? datum.before_says + ', the median' "
            ": datum.earliest_says + ', at ' + utcFormat(datum.earliest_at, '%H:%M')",
            shade=f"datum.earliest_says !== null ? '{PURPLE}' : !datum.is_moved ? '{MUTED}' "
            f": datum.side == 'came' ? '{BLUE}' : '{ORANGE}'",
        )
        .encode(
            alt.Y(
                "name:N",
                title=None,
                sort=alt.EncodingSortField("place", order="ascending"),
                axis=alt.Axis(labelLimit=180),
            )
        )
    )
    return made


def _spec() -> Picture:
    base = _base()
    named = [alt.Tooltip("name:N", title="what")]
    change = [*named, alt.Tooltip("base_says:N", title="before"), alt.Tooltip("now_says:N", title="in the window")]
    times = alt.X(
        "times:Q",
        scale=alt.Scale(type="log", padding=30),
        axis=alt.Axis(title="times as much as before", format="~g", tickCount=5, labelOverlap=True),
    )
    legend = alt.Legend(symbolType="square", columns=1)  # as wide as a phone has room for
    shade = alt.Color("what:N", scale=alt.Scale(range=alt.FieldRange(field="shade")), legend=legend)
    same = base.mark_rule(color=GRID).encode(alt.X(datum=1))
    bars = base.mark_bar(height={"band": 0.35}).encode(
        times,
        alt.X2(datum=1),
        color=shade,
        tooltip=change,
    )
    done = (
        base.transform_filter("isValid(datum.done)")
        .mark_point(shape="diamond", filled=True, opacity=1, size=60)
        .encode(alt.X(datum=1), color=shade, tooltip=[*named, "done:N"])
    )
    # from nothing, or to nothing: how many times as much has no answer
    nothing = (
        base.transform_filter("datum.is_of_nothing")
        .mark_point(shape="triangle-right", filled=True, opacity=1, size=60)
        .encode(alt.X(datum=1), color=shade, tooltip=change)
    )
    # at the end of a bar, on the side to which it goes; on a phone the value in the window alone, where it is free
    both = "(datum.earliest_says || datum.before_says) + ' → ' + datum.now_says"
    sentence = base.transform_calculate(
        sentence=f"datum.done || ({_IS_WIDE} ? {both} : datum.times < 1 ? datum.now_says : '')",
        beside=f"datum.done || {_IS_WIDE} || datum.times < 1 ? '' : datum.now_says",
    )
    more = (
        sentence.transform_filter("datum.times >= 1")
        .mark_text(align="left", dx=8, color=INK)
        .encode(times, text="sentence:N")
    )
    less = (
        sentence.transform_filter("datum.times < 1")
        .mark_text(align="left", dx=4, color=INK)
        .encode(alt.X(datum=1), text="sentence:N")
    )
    beside = sentence.mark_text(align="right", dx=-6, color=INK).encode(alt.X(datum=1), text="beside:N")
    return alt.layer(same, bars, done, nothing, more, less, beside).properties(height=alt.Step(22))


CHART = Chart(
    name="rise_facts",
    place=4,
    question="When did p99 rise, and what moved with it?",
    answer=_answer,
    empty=f"No p99 can be compared: that takes a window with {FEWEST} answers, and three such in the twelve before it.",
    spec=_spec,
    draws=("times",),
    is_wide=True,
    columns=(
        ChartColumn("name", "What"),
        ChartColumn("before_says", "Median before"),
        ChartColumn("now_says", "In the window"),
        ChartColumn("times", "Times as much", "number"),
        ChartColumn("done", "Done"),
        ChartColumn("is_moved", "Moved", "flag"),
        ChartColumn("earliest_says", "On its way from"),
        ChartColumn("at", "Window from", "time"),
        ChartColumn("began_at", "High from", "time"),
        ChartColumn("over_at", "to", "time"),
    ),
)
