"""Makes `cost_ledger` hour by hour: what the settings say of money as relations, and the SQL in order.

The arithmetic is sql/measure/cost_ledger/; which hours are stale is `charges`' work.
"""

import math
from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from goodput.plumbing.hours import epoch_hour
from goodput.plumbing.parameters import PARAMETERS, register
from goodput.plumbing.sql_files import compute
from goodput.settings.model import Settings

TABLE = "cost_ledger"
RELATIONS = (
    "model_weights",
    "ledger_pieces",
    "busy_steps",
    "replica_hours",
    "cost_pieces",
    "replica_time",
    "counter_steps",
    "attempt_work_estimates",
    "replica_work",
    "replica_costs",
    "model_bills",
    "charged_pieces",
    TABLE,
)
READS = ("attempts", "requests", "replica_samples", "cost_records", "token_prices")

_WEIGHTS = ("prefill_weight", "cached_weight", "decode_weight", "draft_weight")


def charge(connection: duckdb.DuckDBPyConnection, settings: Settings, hours: Sequence[str], reach_h: int) -> None:
    """Make relation `cost_ledger` of `hours`, with `epoch_hour` beside its contract's columns (semantics 5).

    The connection has the relations READS; `attempts` with `part_hour`, the hour since the Unix epoch whose part
    holds the row.
    """
    for name, rows in rule_tables(settings, hours, reach_h).items():
        register(connection, name, rows)
    for relation in RELATIONS:
        compute(connection, relation)


def ledger_window_s(settings: Settings) -> int:
    """Length of the ledger's windows: every window of the settings is made of whole ones."""
    return math.gcd(*settings.windows_s)


def rule_tables(settings: Settings, hours: Iterable[str], reach_h: int) -> dict[str, pa.Table]:
    """What the settings say of money, and which hours are asked for, as relations that SQL joins."""
    rates = [
        {
            "ordinal": ordinal,
            "pool": list(rate.pool) or None,
            "replica": list(rate.replica) or None,
            "usd_per_s": rate.usd_per_gpu_hour * rate.gpus_per_replica / 3600,
            "gpus": rate.gpus_per_replica,
        }
        for ordinal, rate in enumerate(settings.rates.values())
    ]
    work = [
        {"ordinal": ordinal, "model": list(item.model) or None, **{name: getattr(item, name) for name in _WEIGHTS}}
        for ordinal, item in enumerate(settings.work.values())
    ]
    options = {
        "step_ns": [ledger_window_s(settings) * 10**9],
        "staleness_ns": [round(settings.staleness_s * 1e9)],
        "reach_h": [reach_h],
    }
    return {
        "rates": pa.Table.from_pylist(rates, schema=PARAMETERS["rates"].schema),
        "work_weights": pa.Table.from_pylist(work, schema=PARAMETERS["work_weights"].schema),
        "ledger_options": pa.table(options),
        "target_hours": pa.table({"epoch_hour": sorted(epoch_hour(hour) for hour in hours)}),
    }
