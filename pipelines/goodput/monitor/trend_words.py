"""What a trend alarm says of its series, from its facts: how it moved, since when, how far, and where that leads."""

from collections.abc import Mapping
from typing import Any

from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.words import mix_clause, series_name, shown

Facts = Mapping[str, Any]
_WORTH_SAYING = 0.01
_FLAT = 0.25  # p95 moved the value by less than this part of what it moved in all


def trend_headline(one: RuleSeries, facts: Facts) -> str:
    """The beginning of the alarm's summary."""
    value = shown(one.metric, facts.get("value"))
    since = f"{'before ' if facts.get('began_earlier') else ''}{facts['onset_at']}"
    fired = _when_fired(one, facts)
    return "".join([f"{series_name(one)} {_moved(facts)} since {since}: {fired}{value}", *_details(one, facts)])


def _when_fired(one: RuleSeries, facts: Facts) -> str:
    """What made it fire, where the newest value alone would not show it."""
    if "value_when_fired" not in facts:
        return ""
    value, usual = (shown(one.metric, facts[name]) for name in ("value_when_fired", "usual_when_fired"))
    return f"{value} instead of {usual} when it fired, now "


def _moved(facts: Facts) -> str:
    slope = facts.get("slope_per_hour")
    if facts["shape"] == "step" or slope is None:
        return "stepped"
    return f"drifts {100 * slope:.1f} % an hour" if facts["scale"] == "log" else "drifts"


def _of_which(facts: Facts) -> str:
    """How far that is, and what else explains how much of it, where it is as much as a percent."""
    if facts["scale"] != "log" or facts["usual"] <= 0:
        return ""
    parts = [
        f"{what} {100 * facts[name]:+.0f} %"
        for name, what in (("load_ratio", "load explains"), ("body_ratio", "p95 explains"))
        if abs(facts.get(name) or 0.0) >= _WORTH_SAYING
    ]
    over = f"{100 * (facts['value'] / facts['usual'] - 1):+.0f} %"
    return f" ({over}, of which {' and '.join(parts)})" if parts else f" ({over})"


def _what_moved(facts: Facts) -> str:
    """Which part of the law: its median too, all above it, or the tail beyond p95."""
    if not facts["tail_only"]:
        return ", median included"
    moved = abs(facts.get("body_ratio") or 0.0) >= _FLAT * abs(facts["excess"])
    return ", its median flat" if moved else ", its tail alone"


def _details(one: RuleSeries, facts: Facts) -> list[str]:
    details = []
    if facts.get("usual") is not None:
        details.append(f" instead of {shown(one.metric, facts['usual'])} {facts['usual_of']}{_of_which(facts)}")
    if "tail_only" in facts:
        details.append(_what_moved(facts))
    if "hours_to_limit" in facts:
        limit = shown(one.metric, facts["limit"])
        hours = facts["hours_to_limit"]
        there = "below" if one.panel is not None and one.panel.kind.worse == "down" else "over"
        details.append(f"; {there} {limit} already" if hours == 0 else f"; {hours:.0f} h to {limit}")
    return [*details, mix_clause(facts)]
