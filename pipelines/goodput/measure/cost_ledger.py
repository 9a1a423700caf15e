"""What settings and prices contribute to `cost_ledger`: relations that its SQL reads, and what makes an hour stale.

Which hours bills touch is the work of `bills`.

The arithmetic is sql/measure/cost_ledger/.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.measure.bills import bills_of, only_file
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import epoch_hour
from goodput.plumbing.node import Context, Lookaround, SettingsTable
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.row_table import read_files
from goodput.settings.model import Settings

_WEIGHTS = ("prefill_weight", "cached_weight", "decode_weight", "draft_weight")


def lookaround(context: Context) -> Mapping[str, Lookaround]:
    """What lies in an hour, and who was up at its edges."""
    reach = context.request_reach_h
    return {
        "attempts": Lookaround(1, reach + 1, calls=(reach, 0)),
        "replica_samples": Lookaround(1, 2, calls=(0, 0)),
    }


def rates(settings: Settings) -> pa.Table:
    """What the GPUs of matching replicas cost."""
    return as_rows(
        "rates",
        *(
            {
                "name": name,
                "ordinal": ordinal,
                "pool": list(rate.pool) or None,
                "replica": list(rate.replica) or None,
                "usd_per_s": rate.usd_per_gpu_hour * rate.gpus_per_replica / 3600,
                "gpus": rate.gpus_per_replica,
            }
            for ordinal, (name, rate) in enumerate(settings.rates.items())
        ),
    )


def work_weights(settings: Settings) -> pa.Table:
    """What a token of matching models weighs."""
    return as_rows(
        "work_weights",
        *(
            {"ordinal": ordinal, "model": list(item.model) or None, **{name: getattr(item, name) for name in _WEIGHTS}}
            for ordinal, item in enumerate(settings.work.values())
        ),
    )


def ledger_options(settings: Settings) -> pa.Table:
    """Length of the ledger's steps, how long a reading stays true, and where requests of a record are looked for."""
    options = {
        "step_ns": settings.costs.step_s * 10**9,
        "staleness_ns": round(settings.staleness_s * 1e9),
        "reach_h": math.ceil(settings.max_request_lifetime_s / 3600),
        "lateness_ns": round(settings.label_lateness_s * 1e9),
    }
    return as_rows("ledger_options", options)


SETTINGS_TABLES: Mapping[str, SettingsTable] = {
    "rates": rates,
    "work_weights": work_weights,
    "ledger_options": ledger_options,
}


def bills_and_prices(context: Context, hour: str) -> object:
    """What bills say of an hour, and the prices that hold in it."""
    changes, prices = _prices(only_file(context, "token_prices"))
    end = datetime.fromtimestamp((epoch_hour(hour) + 1) * 3600, UTC)
    return bills_of(context).get(hour), prices[bisect_left(changes, end)]


@lru_cache(maxsize=4)
def _prices(file: str | None) -> tuple[list[datetime], list[str]]:
    """When prices changed, and a fingerprint of all prices before the first change, the second, and so on."""
    names = [name for name in arrow_schema("token_prices").names if name not in ("source", "line", "source_hash")]
    rows = read_files([file] if file else [], "token_prices", names).sort("model", "valid_from")
    changes = sorted(rows["valid_from"].unique())
    known = [fingerprint([])]
    for until in [*changes[1:], datetime.max.replace(tzinfo=UTC)] if changes else []:
        past = rows.filter(pl.col("valid_from") < until)
        ended = pl.when(pl.col("valid_to") < until).then("valid_to")
        known.append(fingerprint(past.with_columns(valid_to=ended).to_dicts()))
    return changes, known
