"""The few numbers at the head of a report, in words: what share was accepted, how sure, what it cost, what was lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from goodput.report.chart import Row, counted, dollars, percent, within

_HOW_SURE = {
    "full": "every answer that passes the other gates was judged",
    "estimated": "quality estimated from the answers that were judged",
    "latency_constrained": "quality is not in it: no answer was judged",
    "unweighted": "nobody drew the labels at random: bounds, no estimate",
}

_LEAKS = 3  # that the last tile names
_UNKNOWN_TOKENS = "their output tokens are not known"


@dataclass(frozen=True)
class Tile:
    """One number, what it is, and what a reader should know of it."""

    name: str
    value: str
    note: str


def tiles(total: Row, longer: Row | None) -> Sequence[Tile]:
    """The tiles of one row of `period_totals`; `longer` is the same slice over the longest period of the page."""
    return (_accepted(total, longer), _rate(total), _price(total, longer), _wasted(total))


def _accepted(total: Row, longer: Row | None) -> Tile:
    name = "Accepted"
    if not total["offered"]:
        return Tile(name, "none offered", "no request ended in this period")
    low, high = total["ratio_low"], total["ratio_high"]
    value = percent(total["ratio"]) if total["ratio"] is not None else f"{percent(low)} to {percent(high)}"
    ends = within(low, high) if total["ratio"] is not None else ""
    note = f"of {counted(total['offered'], 'request')}{ends}; {_HOW_SURE[total['definition']]}"
    if _is_much_unobserved(total):
        note += f"; engines counted {counted(total['unobserved'], 'request')} more, which no telemetry shows"
    if longer is not None and longer["ratio"] is not None:
        note += f"; over the longest period shown {percent(longer['ratio'])}"
    return Tile(name, value, note + _caution(total))


def _caution(total: Row) -> str:
    found = [text for column, text in (("partial", "in part not observed"), ("low_n", "few requests")) if total[column]]
    return "".join(f"; {text}" for text in found)


def _rate(total: Row) -> Tile:
    accepted = total["accepted"]
    if accepted is None:
        return Tile("Accepted answers", "unknown", "bounds alone: see the share")
    low, high = (
        round(total[end] * total["offered"]) if total[end] is not None else None for end in ("ratio_low", "ratio_high")
    )
    ends = f"{low:,} to {high:,}; " if low is not None and high is not None and low < high else ""
    tokens = total["accepted_tokens"]
    note = f"with {_written(tokens, is_sure=not ends)} output tokens" if tokens is not None else _UNKNOWN_TOKENS
    return Tile("Accepted answers", f"{accepted:,.0f}", ends + note)


def _written(tokens: float, *, is_sure: bool) -> str:
    """A number of tokens; of an estimate no more digits than mean something."""
    return f"{tokens:,.0f}" if is_sure else f"about {float(f'{tokens:.3g}'):,.0f}"


def _price(total: Row, longer: Row | None) -> Tile:
    name = "Cost per accepted"
    if total["price_usd"] is None:
        return Tile(name, "unknown", _without_price(total))
    low, high = total["price_low_usd"], total["price_high_usd"]
    note = f"{dollars(total['cost_usd'])} spent, idle time and shared cost included"
    if _is_much_unobserved(total):
        note += "; so is what requests took that no telemetry shows: too high by their part"
    if total["unpriced"]:
        parts = counted(total["unpriced"], "part")
        note = f"{note}; {parts} of the work had no price and may have cost more: warning `work_without_price`"
        return Tile(name, f"at least {dollars(total['price_usd'])}", note)
    if low is not None and high is not None and dollars(low) != dollars(high):
        note = f"{dollars(low)} to {dollars(high)}; {note}"
    if longer is not None and longer["price_usd"] is not None:
        least = "at least " if longer["unpriced"] else ""
        note += f"; over the longest period shown {least}{dollars(longer['price_usd'])}"
    return Tile(name, dollars(total["price_usd"]), note)


def _is_much_unobserved(total: Row) -> bool:
    """Half of one percent, as for the warning `request_unobserved`: a request or two is always in another window."""
    return bool(total["unobserved"] and total["unobserved"] >= max(1, 0.005 * total["offered"]))


def _without_price(total: Row) -> str:
    if total["has_unknown_cost"] and not total["has_costs"]:
        return "cost is not known: `[costs]` in the settings"
    if total["has_unknown_cost"]:
        of = "all of this period" if total["cost_usd"] is None else "a part of this period"
        return f"no bill or price covers {of}: `goodput reconcile` shows what is billed"
    return "nobody drew the labels at random: bounds alone" if total["accepted"] is None else "nothing was accepted"


def _named(leaks: Sequence[str]) -> str:
    """What it went to, the largest first; the chart of money has all of them."""
    named = ", ".join(name.replace("_", " ") for name in leaks[:_LEAKS])
    return named + (" and smaller ones" if len(leaks) > _LEAKS else "")


def _wasted(total: Row) -> Tile:
    if total["wasted_ratio"] is None:
        return Tile("Not for accepted answers", "unknown", "cost, or what became of it, is not known")
    lost = total["wasted_ratio"] * total["cost_usd"]
    note = f"{dollars(lost)}: {_named(total['leaks'] or [])}"
    if total["unpriced"]:
        note += "; of what has a price"
    return Tile("Not for accepted answers", percent(total["wasted_ratio"]), note)
