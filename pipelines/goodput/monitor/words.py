"""Sentences and their parts, from the facts of an alarm: what a person reads first. No number is computed here."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.windows import length
from goodput.settings.watched import metric_of

_MOST_BESIDE = 3
_UNITS = {"_s": " s", "_usd": " USD"}
_SHORT = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "E2E", "kv": "KV"}


def series_name(one: RuleSeries) -> str:
    """Metric and labels: `p99_ttft_s of workload=chat pool=a`."""
    where = " ".join(f"{name}={value}" for name, value in one.labels)
    windows = f" in windows of {length(one.grid.step_s)}" if one.is_thin else ""
    return f"{one.metric} of {where}{windows}" if where else f"{one.metric}{windows}"


def quantity_of(metric: str) -> str:
    """A metric in words, with its unit: `p99 TTFT (s)`."""
    unit = next((suffix for suffix in _UNITS if metric.endswith(suffix)), "")
    words = " ".join(_SHORT.get(word, word) for word in metric.removesuffix(unit).split("_"))
    return f"{words} ({_UNITS[unit].strip()})" if unit else words + _counted(metric)


def _counted(metric: str) -> str:
    """What a count is compared with: the column that it is a part of, or an hour of what may bring it."""
    known = metric_of(metric)
    if known is None or not known.counted:
        return ""
    return f" (of {known.of})" if known.chart == "ratio" else " (an hour)" if known.of is None else " (an hour up)"


def shown(metric: str | None, value: float | None) -> str:
    """A value of a metric with its unit."""
    if value is None:
        return "unknown"
    unit = next((unit for suffix, unit in _UNITS.items() if (metric or "").endswith(suffix)), "")
    return f"{value:.4g}{unit}"


def timestamp(at_s: int) -> str:
    """An instant in Unix seconds as ISO 8601, to the second."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def beside_clause(facts: Mapping[str, Any]) -> str:
    """What else of the pool or of the metric fires, as a part of a summary; empty where nothing does."""
    named, all_of_them = facts.get("peers_firing", [])[:_MOST_BESIDE], facts.get("peers", 0)
    if not named:
        return ""
    more = all_of_them - len(named)
    return f"; beside it: {', '.join(named)}{f' and {more} more' if more else ''}"


def mix_clause(facts: Mapping[str, Any]) -> str:
    """What else is asked for than usual, as a part of a summary; empty where it is much the same."""
    parts = []
    if "mix_workload" in facts:
        shares = f"{_percent(facts['mix_ratio'])} of requests instead of {_percent(facts['usual_mix_ratio'])}"
        parts.append(f"workload {facts['mix_workload']} is {shares}")
    if facts.get("long_context_ratio") is not None:
        usual = facts.get("usual_long_context_ratio")
        instead = "" if usual is None else f" instead of {_percent(usual)}"
        parts.append(f"long contexts are {_percent(facts['long_context_ratio'])} of its input{instead}")
    return f"; {' and '.join(parts)}" if parts else ""


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %"


def operation_clause(facts: Mapping[str, Any]) -> str:
    """What was done before an alarm, as the end of its summary; empty where nothing is known."""
    for name, role in (("likely_cause", "likely cause"), ("last_operation", "last operation")):
        if name in facts:
            done = facts[name]
            what = " ".join([done["kind"].replace("_", " "), *(done[key] for key in ("revision",) if key in done)])
            asked = f"; accept the new level? {facts['accept_with']}" if "accept_with" in facts else ""
            return f"; {role}: {what}{' of ' + done['pool'] if done['pool'] else ''} at {done['occurred_at']}{asked}"
    return ""
