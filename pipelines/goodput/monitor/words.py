"""One sentence for each alarm, from its facts: what a person reads first. No number is computed here."""

from collections.abc import Mapping
from typing import Any

from goodput.monitor.watched import Watched

_UNITS = {"_s": " s", "_usd": " USD"}
_SHORT = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "E2E", "kv": "KV"}


def summary(one: Watched, facts: Mapping[str, Any]) -> str:
    """What happened to which series, how far and since when, and what was done before it."""
    return _what(one, facts) + _after(facts)


def _what(one: Watched, facts: Mapping[str, Any]) -> str:
    series = _series(one)
    if one.kind == "burn_rate":
        return f"{series}: the error budget burns {facts['score']:.1f} times too fast (bound {one.threshold:.1f})"
    if one.kind == "absence":
        return f"{series}: no traffic since {facts['onset_at']}, where there usually is some"
    value = _shown(one.metric, facts.get("value"))
    if one.kind == "absolute":
        return f"{series} is {value} (bound {_shown(one.metric, one.threshold)})"
    return "".join([f"{series} {_moved(facts)} since {facts['onset_at']}: {value}", *_details(one, facts)])


def quantity(one: Watched) -> str:
    """What the values of an alarm's series are, with their unit."""
    if one.kind == "absence":
        return "requests a window"
    metric = str(one.metric)
    unit = next((suffix for suffix in _UNITS if metric.endswith(suffix)), "")
    words = " ".join(_SHORT.get(word, word) for word in metric.removesuffix(unit).split("_"))
    return f"{words} ({_UNITS[unit].strip()})" if unit else words


def _series(one: Watched) -> str:
    where = " ".join(f"{name}={value}" for name, value in one.labels)
    return f"{one.metric} of {where}" if where else str(one.metric)


def _moved(facts: Mapping[str, Any]) -> str:
    slope = facts.get("slope_per_hour")
    if facts["shape"] == "step" or slope is None:
        return "stepped"
    return f"drifts {100 * slope:.1f} % an hour" if facts["scale"] == "log" else "drifts"


def _details(one: Watched, facts: Mapping[str, Any]) -> list[str]:
    said = []
    if facts.get("usual") is not None:
        said.append(f" instead of {_shown(one.metric, facts['usual'])}")
    if "tail_only" in facts:
        said.append(", its tail alone" if facts["tail_only"] else ", median included")
    if "hours_to_limit" in facts:
        limit = _shown(one.metric, facts["limit"])
        hours = facts["hours_to_limit"]
        there = "below" if one.panel is not None and one.panel.kind.worse == "down" else "over"
        said.append(f"; {there} {limit} already" if hours == 0 else f"; {hours:.0f} h to {limit}")
    return said


def _after(facts: Mapping[str, Any]) -> str:
    for name, said in (("likely_cause", "likely cause"), ("last_operation", "last operation")):
        if name in facts:
            done = facts[name]
            what = " ".join([done["kind"].replace("_", " "), *(done[key] for key in ("revision",) if key in done)])
            return f"; {said}: {what}{' of ' + done['pool'] if done['pool'] else ''} at {done['occurred_at']}"
    return ""


def _shown(metric: str | None, value: float | None) -> str:
    if value is None:
        return "unknown"
    unit = next((unit for suffix, unit in _UNITS.items() if (metric or "").endswith(suffix)), "")
    return f"{value:.4g}{unit}"
