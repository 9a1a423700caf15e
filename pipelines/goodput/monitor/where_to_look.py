"""The SQL that shows what an alarm saw, ready for `goodput query`: the worst requests, verdicts, or its windows."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from goodput.monitor.rule_series import RuleSeries
from goodput.settings.watched import metric_of

_WORST = 20
_QUANTITIES = {name: f"{name}_s" for name in ("ttft", "tpot", "e2e", "queue")}
_OF_VERDICTS = {"goodput_ratio", "failed", "slow", "rejected", "over_budget", "unevaluable", "ungated", "accepted"}
_LOOK_BACK_S = 6 * 3600
_A_DAY_S = 24 * 3600
_WINDOWS = 8  # of longer ones


def evidence_sql(one: RuleSeries, facts: Mapping[str, Any], at_s: int) -> str:
    """One statement over published relations: of a latency the worst requests, of goodput verdicts, else windows."""
    since_s = onset_s(facts, at_s)
    quantity = next((column for name, column in _QUANTITIES.items() if (one.metric or "").endswith(f"_{name}_s")), None)
    if quantity is not None:  # percentiles are of requests that succeeded
        where = _where([*_same(one), "pass_success", *_within("ended_at", since_s, at_s)])
        return f"FROM requests {where} ORDER BY {quantity} DESC NULLS LAST LIMIT {_WORST}"
    if one.metric in _OF_VERDICTS:
        return verdicts_sql(_same(one), since_s, at_s)
    return windows_sql(one, since_s, at_s)


def onset_s(facts: Mapping[str, Any], at_s: int) -> int:
    """Unix seconds since when requests show an alarm: its onset, else six hours before `at_s`."""
    onset_at = facts.get("onset_at")
    return int(datetime.fromisoformat(onset_at).timestamp()) if isinstance(onset_at, str) else at_s - _LOOK_BACK_S


def verdicts_sql(conditions: Iterable[str], since_s: int, until_s: int) -> str:
    """How many requests had which verdict on which replica."""
    where = _where([*conditions, *_within("ended_at", since_s, until_s)])
    return f"SELECT verdict, replica, count(*) FROM requests {where} GROUP BY ALL ORDER BY ALL"  # noqa: S608  (text to read)


def windows_sql(one: RuleSeries, since_s: int, at_s: int) -> str:
    """The rows that the series was made of since its onset, but of a day before `at_s` at least, or of long windows."""
    metric = metric_of(one.metric or "")
    relation, fixed, labels = ("goodput", (), ()) if metric is None else (metric.relation, metric.where, metric.labels)
    of_all = [f"{name} IS NULL" for name in labels if name not in dict(one.labels)]
    length = [] if one.panel is None else [f"window_s = {one.panel.grid.step_s}"]
    a_while_ago_s = at_s - max(_A_DAY_S, _WINDOWS * one.grid.step_s)
    period = _within("window_start", min(since_s, a_while_ago_s), at_s)
    where = _where([*_same(one), *of_all, *(_equals(*pair) for pair in fixed), *length, *period])
    return f"FROM {relation} {where} ORDER BY window_start"


def sql_text(value: str) -> str:
    """Text as an SQL literal."""
    from goodput.plumbing.sql_files import quoted  # noqa: PLC0415  (DuckDB is not imported with the settings)

    return quoted(value)


def _same(one: RuleSeries) -> list[str]:
    return [f"{name} IS NULL" if value == "unknown" else _equals(name, value) for name, value in one.labels]


def _equals(name: str, value: str) -> str:
    return f"{name} = {sql_text(value)}"


def _where(conditions: Iterable[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}"


def _within(column: str, since_s: int, until_s: int) -> list[str]:
    """As windows are: with their beginning and without their end."""
    return [f"{column} >= {_instant(since_s)}", f"{column} < {_instant(until_s)}"]


def _instant(at_s: int) -> str:
    return f"TIMESTAMPTZ '{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S}Z'"
