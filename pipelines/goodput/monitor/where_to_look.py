"""The SQL that shows what an alarm saw, ready for `goodput query`: the worst requests, or the series itself."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from goodput.monitor.sources import SOURCES
from goodput.monitor.watched import Watched
from goodput.plumbing.sql_files import quoted

_WORST = 20
_QUANTITIES = {"ttft": "ttft_s", "tpot": "tpot_s", "e2e": "e2e_s"}
_LOOK_BACK_S = 6 * 3600
_A_DAY_S = 24 * 3600


def sql_to_look_at(one: Watched, facts: Mapping[str, Any], at_s: int) -> str:
    """One statement over published relations."""
    since_s = at_s - _LOOK_BACK_S
    if isinstance(facts.get("onset_at"), str):
        since_s = int(datetime.fromisoformat(facts["onset_at"]).timestamp())
    quantity = next((column for name, column in _QUANTITIES.items() if name in (one.metric or "")), None)
    labels = dict(one.labels)
    if quantity is not None:  # percentiles are of requests that succeeded
        period = f"pass_success AND {_within('ended_at', since_s, at_s)}"
        return f"FROM requests WHERE {_where(labels, period)} ORDER BY {quantity} DESC NULLS LAST LIMIT {_WORST}"
    if one.metric == "goodput_ratio" and one.kind != "absence":
        period = _within("ended_at", since_s, at_s)
        where = _of_objective(labels, period) if one.kind == "burn_rate" else _where(labels, period)
        return f"SELECT verdict, replica, count(*) FROM requests WHERE {where} GROUP BY ALL ORDER BY ALL"  # noqa: S608  (text to read)
    period = _within("window_start", at_s - _A_DAY_S, at_s)
    source = next((source for source in SOURCES if source.metric == one.metric), None)
    relation, cut = ("goodput", ()) if source is None else (source.relation, source.where)
    if one.panel is not None:
        period = f"window_s = {one.panel.grid.step_s} AND {period}"
    return f"FROM {relation} WHERE {_where(labels | dict(cut), period)} ORDER BY window_start"


def _of_objective(labels: Mapping[str, str], period: str) -> str:
    """Of a burn rate a label holds globs, any of which may match."""
    globs = [
        "(" + " OR ".join(f"{name} GLOB {quoted(glob)}" for glob in value.split(", ")) + ")"
        for name, value in labels.items()
    ]
    return " AND ".join([*globs, period])


def _where(labels: Mapping[str, str], period: str) -> str:
    same = [f"{name} IS NULL" if value == "unknown" else f"{name} = {quoted(value)}" for name, value in labels.items()]
    return " AND ".join([*same, period])


def _within(column: str, since_s: int, until_s: int) -> str:
    """As windows are: with their beginning and without their end."""
    return f"{column} >= {_instant(since_s)} AND {column} < {_instant(until_s)}"


def _instant(at_s: int) -> str:
    return f"TIMESTAMPTZ '{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S}Z'"
