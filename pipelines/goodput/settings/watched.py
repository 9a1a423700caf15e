"""Which metrics alarms can watch: every numeric column of a published relation that has windows, as its contract says.

Contracts are read only where a rule names what is not watched by default, or once alarms are judged.
"""

import math
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from goodput.contracts import Column, Contract, contract, contract_names
from goodput.settings.metrics import DEFAULTS, AlarmMetric, Chart, Quantile, Scale, Worse

_FIRST = "goodput"  # whose columns keep their names where another relation has one of the same
_WINDOW = {"window_start", "window_s"}
_CUT = {"slice", "slice_value", "model", "route"}  # alarms watch a workload in a pool, of whatever model and route
_SLICE = "workload_pool"
_BOUND = re.compile(r"_(ci_)?(low|high|lower|upper)(_|$)")
_QUANTILE = re.compile(r"p(\d\d)_(.*)")
_WORSE: Mapping[str | None, Worse | None] = {"up": "up", "down": "down", None: None}
_NAMED = {
    "mean_kv_usage_ratio": "kv_usage_ratio",
    "replica_mean_kv_usage_ratio": "replica_kv_usage_ratio",
    "replica_p95_ttft_miss_s": "replica_p95_ttft_s",
}
_LEAST_REQUESTS = 30  # that make a ratio, or what one of them costs, believable


def metric_of(name: str) -> AlarmMetric | None:
    """The metric of that name; None: nothing that can be watched is called so."""
    return metrics().get(canonical(name))


def canonical(name: str) -> str:
    """The one name of a metric, which may also be called by its relation and column; others as they are."""
    return name if name in DEFAULTS else _spellings().get(name, name)


def near(name: str) -> list[str]:
    """Metrics with names like this one; without any those of the default rules."""
    found = get_close_matches(name, [*metrics(), *_spellings()], 5)
    return list(dict.fromkeys(map(canonical, found)))[:3] or sorted(DEFAULTS)


@cache
def watched_relations() -> tuple[str, ...]:
    """Published relations of windows whose rows are told apart by words, sorted."""
    return tuple(name for name in contract_names() if _has_windows(contract(name)))


@cache
def metrics() -> Mapping[str, AlarmMetric]:
    """Every metric by its name: the column's where no other relation has one, else with its relation before it."""
    return {name: metric for name, _, metric in _named()}


@cache
def _spellings() -> Mapping[str, str]:
    return {spelling: name for name, spellings, _ in _named() for spelling in spellings}


def _has_windows(table: Contract) -> bool:
    columns = {column.name for column in table.columns}
    keys = [table[name] for name in table.primary_key if name not in _WINDOW]
    is_public = table.published == "table" and table.layer == "measured"
    return is_public and columns >= _WINDOW and len(keys) > 0 and all(key.duckdb_type == "VARCHAR" for key in keys)


def _named() -> Iterator[tuple[str, tuple[str, ...], AlarmMetric]]:
    """Metrics with their names, and what else they may be called."""
    found = [(column, metric) for name in watched_relations() for column, metric in _of_relation(contract(name))]
    holders: dict[str, list[str]] = {}
    for column, metric in found:
        holders.setdefault(column, []).append(metric.relation)
    for column, metric in found:
        is_plain = metric.relation == _FIRST or len(holders[column]) == 1
        full = f"{metric.relation}.{column}"
        yield _NAMED.get(column, column if is_plain else full), (full, column) if is_plain else (full,), metric


def _of_relation(table: Contract) -> Iterator[tuple[str, AlarmMetric]]:
    columns = {column.name: column for column in table.columns}
    for column in table.columns:
        if column.duckdb_type in {"BIGINT", "DOUBLE"} and not column.primary_key and not _BOUND.search(column.name):
            yield column.name, _metric(table, column, columns, per_replica=False)
            if "replica" in table.primary_key:
                yield f"replica_{column.name}", _metric(table, column, columns, per_replica=True)


def _metric(table: Contract, column: Column, columns: Mapping[str, Column], *, per_replica: bool) -> AlarmMetric:
    of = column.of if column.of in columns else None
    counted, is_ratio = column.duckdb_type == "BIGINT", column.unit == "0..1"
    has_peers = per_replica and not counted
    scale: Scale = "logit" if is_ratio or (counted and of) else "log"
    chart: Chart = "level" if has_peers or not (counted or (is_ratio and of)) else "ratio" if of else "rate"
    quantile = _QUANTILE.fullmatch(column.name)
    others = {} if per_replica or "slice" not in columns or quantile is None else _other_quantiles(quantile, columns)
    return AlarmMetric(
        table.name,
        column.name,
        _labels(table, per_replica=per_replica),
        scale,
        chart,
        _WORSE[column.worse],
        of=of or ("up_s" if chart == "rate" and "up_s" in columns else None),
        counted=counted,
        negligible=column.negligible,
        least_requests=_least_requests(of, quantile),
        per="replica" if has_peers else "pool",
        where=(("slice", _SLICE),) if "slice" in columns else (),
        weight=of if "slice" not in columns and not per_replica else None,
        **others,
    )


def _other_quantiles(quantile: re.Match[str], columns: Mapping[str, Column]) -> dict[str, Any]:
    """What a quantile takes from others of the same quantity: a tail has a body below it, and may stand in for one."""
    names = {share: f"p{share}_{quantile[2]}" for share in (50, 95, 99) if f"p{share}_{quantile[2]}" in columns}
    mine = int(quantile[1])
    body = max((share for share in names if share < mine), default=None)
    found: dict[str, Any] = {"beside": names.get(50) if mine != 50 else None}
    if body is not None:
        found |= {"quantile": Quantile((100 - mine) / 100, (100 - body) / 100), "body": names[body]}
    return found | {"stands_in_for": names.get(99) if mine == 95 else None}


def _labels(table: Contract, *, per_replica: bool) -> tuple[str, ...]:
    words = [name for name in table.primary_key if name not in _WINDOW | _CUT | {"replica", "pool"}]
    places = [name for name in ("pool", "replica") if name in {column.name for column in table.columns}]
    return (*words, *(name for name in places if name == "pool" or per_replica))


def _least_requests(of: str | None, quantile: re.Match[str] | None) -> int:
    """How many requests make it believable: of a quantile so many that it has a two-sided 95 % interval."""
    if of is None or of.endswith("_tokens"):
        return 0
    return math.ceil(math.log(0.025) / math.log(int(quantile[1]) / 100)) if quantile else _LEAST_REQUESTS
