"""The chart of slices: whose answers cost most, tenant by tenant or route by route; whether within workloads too."""

import shlex
from collections import defaultdict
from collections.abc import Mapping

import altair as alt

from goodput.report.chart import (
    Chart,
    ChartColumn,
    Picture,
    Row,
    Rows,
    counted,
    dollars,
    dollars_within,
    percent,
    within,
)
from goodput.report.looks import ORANGE, PURPLE, rows, ticks
from goodput.settings.slice_names import WITHIN_WORKLOAD

_WORKLOADS = 4  # that a sentence names


def _answer(found: Rows) -> str:
    beside = [row for row in found if row["scope"] != "all" or row["within"] is None] or found
    priced = _dearest_first(beside)
    if not priced:
        worst = min(beside, key=lambda row: 1 if row["ratio"] is None else row["ratio"])
        return f"None has a price; fewest were accepted of {worst['name']}: {percent(worst['ratio'])}."
    text = _dearest(priced)
    if len(priced) == 1 < len(beside):
        text += " No other has a price."
    if any(row["unpriced"] for row in beside):
        text += " A part of the work had no price, so that some may cost more."
    text += _by_workload(priced[0], found) if len(beside) > 1 else _of_workloads(found)
    leaking = max(priced, key=lambda row: row["wasted_usd"] or 0)
    if leaking["wasted_usd"]:
        lost = f"{dollars(leaking['wasted_usd'])} of {dollars(leaking['cost_usd'])}"
        share = f" ({percent(leaking['wasted_usd'] / leaking['cost_usd'])})"
        text += f" {'Most is lost' if len(beside) > 1 else 'Lost'} at {leaking['name']}: {lost}{share}"
        text += f", {percent(leaking['ratio'])}{within(leaking['low'], leaking['high'])} of its requests accepted."
    return text


def _dearest_first(found: Rows) -> Rows:
    priced = (row for row in found if row["price_usd"] is not None and not _has_money_of_nobody(row))
    return sorted(priced, key=lambda row: -row["price_usd"])


def _has_money_of_nobody(row: Row) -> bool:
    """Whose requests name no tenant or attribute share a row with idle time that nobody asked for: it is no price."""
    return bool(row["name"] == "unknown" and row["within"] is None and row["divided_by"] != "workload_route")


def _dearest(priced: Rows) -> str:
    """Whose answers cost most, as far as intervals tell."""
    first, there = priced[0], f" within {priced[0]['within']}" if priced[0]["within"] is not None else ""
    if len(priced) == 1:
        return f"An accepted answer of {first['name']}{there} costs {_price(first)}."
    rival = _rival(priced)
    if rival is None:
        return f"An accepted answer of {first['name']} costs most{there}: {_price(first)}."
    has_ends = None not in (first["low_usd"], rival["high_usd"])
    why = "their intervals overlap" if has_ends else "an end of their intervals is not known"
    return (
        f"An accepted answer of {first['name']} comes out dearest{there}, at {_price(first)}; that it costs more than "
        f"one of {rival['name']}, at {_price(rival)}, is not sure: {why}."
    )


def _rival(priced: Rows) -> Row | None:
    """The dearest of the others that may cost as much as the first, None where it costs most for sure."""
    return next((row for row in priced[1:] if not _is_dearer(priced[0], row)), None)


def _is_dearer(one: Row, other: Row) -> bool:
    low, high = one["low_usd"], other["high_usd"]
    return low is not None and high is not None and low > high


def _by_workload(dearest: Row, found: Rows) -> str:
    """Whether within workloads the same answers cost most: over all of them, who asks for dear work looks dear."""
    divided_by = dearest["divided_by"]
    if dearest["scope"] == "all" and not any(row["within"] is not None for row in found):
        if divided_by == "workload_route":
            return ""
        named = f"`{WITHIN_WORKLOAD}{divided_by}` in `slices.by` tells it within each workload"
        return f" What each asks for is in its price: {', and '.join([named, *_comparing(dearest)])}."
    if dearest["scope"] != "all":
        return "".join(f" What each asks for is in its price: {how}." for how in _comparing(dearest))
    workloads = _workloads(found)
    several = [of for of in workloads.values() if len(of) > 1]
    if not several:
        return " No workload has priced answers of two of them."
    each = "each workload" if len(several) == len(workloads) else "each workload that several of them use"
    if all(of[0]["name"] == dearest["name"] for of in several):
        prices = [f"of {of[0]['within']} {_price(of[0])}{_doubt(of)}" for of in several]
        return f" Within {each} too: {_listed(prices)}.{_as_a_rule(several[0])}"
    is_another = any(_is_dearer(of[0], row) for of in several for row in of[1:] if row["name"] == dearest["name"])
    lead = (
        "the order differs: its mix of workloads makes it dear"
        if is_another
        else "it is not sure that the order is the same"
    )
    return f" Within workloads {lead}: {_listed([_top(of) for of in several])}.{_as_a_rule(several[0])}"


def _as_a_rule(of: Rows) -> str:
    """What these requests cost is known; whether it is chance that they did is another question."""
    first, second = of[0], of[1]
    if first["divided_by"] != "tenant":
        return ""
    sides = " ".join(shlex.quote(row["name"]) for row in (first, second))
    command = f"`goodput compare --by tenant {sides} --workload {shlex.quote(first['within'])}`"
    return f" So much these requests cost; whether that is more than chance, {command} says."


def _workloads(found: Rows) -> Mapping[str, Rows]:
    """Priced rows within each workload, dearest first; the workloads that cost most first."""
    by_workload = defaultdict(list)
    for row in _dearest_first([row for row in found if row["within"] is not None]):
        by_workload[row["within"]].append(row)
    return dict(sorted(by_workload.items(), key=lambda one: (-sum(row["cost_usd"] for row in one[1]), one[0])))


def _top(of: Rows) -> str:
    says = "cost most" if _rival(of) is None else "come out dearest"
    return f"of {of[0]['within']} {of[0]['name']}'s {says}, {_price(of[0])}{_doubt(of)}"


def _doubt(of: Rows) -> str:
    return "" if _rival(of) is None else ", not for sure"


def _listed(prices: list[str]) -> str:
    more = len(prices) - _WORKLOADS
    return "; ".join(
        [*prices[:_WORKLOADS], *([f"{counted(more, 'workload')} more in the numbers"] if more > 0 else [])]
    )


def _of_workloads(found: Rows) -> str:
    """What answers of the only one cost within workloads."""
    prices = [f"{_price(of[0])} of {name}" for name, of in _workloads(found).items() if of[0]["scope"] == "all"]
    return f" Within workloads: {_listed(prices)}." if prices else ""


def _comparing(row: Row) -> list[str]:
    if row["divided_by"] != "tenant":
        return []
    return [f"`goodput compare --by tenant A B --workload {row['within'] or 'W'}` sets two side by side"]


def _price(row: Row) -> str:
    return f"{dollars(row['price_usd'])}{dollars_within(row['low_usd'], row['high_usd'])}"


def _spec() -> Picture:
    # those within workloads are what the others are made of: the numbers have them
    shown = "isValid(datum.price_usd) && (datum.scope !== 'all' || !isValid(datum.within))"
    base = alt.Chart(rows()).transform_filter(shown).encode(alt.Y("name:N", sort="-x", title=None))
    price = alt.X("price_usd:Q", axis=alt.Axis(title="US dollars per accepted answer", format="$~f", tickCount=ticks()))
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
    place=13,
    question="Whose answers cost most?",
    answer=_answer,
    empty="Nothing is published to set side by side here: costs are told apart by tenant (or workload and route) of "
    "all requests, and by tenant (or route) of a workload. Choose one of these, or a period that has requests.",
    spec=_spec,
    draws=("price_usd",),
    chosen_by=("scope", "workload", "route"),
    columns=(
        ChartColumn("name", "Slice"),
        ChartColumn("within", "Workload"),
        ChartColumn("offered", "Offered", "count"),
        ChartColumn("ratio", "Accepted", "share"),
        ChartColumn("low", "95 % from", "share"),
        ChartColumn("high", "to", "share"),
        ChartColumn("cost_usd", "Spent", "usd"),
        ChartColumn("wasted_usd", "Wasted", "usd"),
        ChartColumn("price_usd", "Per accepted", "usd"),
        ChartColumn("unpriced", "Parts without a price", "count"),
    ),
)
