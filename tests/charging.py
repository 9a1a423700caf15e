"""The ledger and its windows over hand-written attempts, samples and bills, without files; random fleets of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from by_seconds import Fleet, Record, Try, samples
from goodput.contracts import arrow_schema
from goodput.join.workloads import workload_rows
from goodput.measure.cost_ledger import SETTINGS_TABLES, ledger_options
from goodput.measure.known_replicas import absent
from goodput.measure.nodes import COST_LEDGER, KNOWN_REPLICAS, WASTE
from goodput.measure.slices import SETTINGS_TABLES as SLICES
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Costs, Rate, Settings, Slices, Workload
from river import ALL_TIME, Row, judged

HOUR = 498_671  # since the Unix epoch: the last of its day


BEGIN_S = HOUR * 3600


HOUR_S = 3600


def at_us(second: float) -> int:
    return round((BEGIN_S + second) * 1e6)


def attempt_row(attempt: Try, **more: Any) -> Row:
    given, cached, output = attempt.tokens or (None, None, None)
    drafted, accepted = attempt.drafts or (None, None)
    verdict = {"retry": None, "abandoned": "failed"}.get(attempt.bucket, attempt.bucket)
    return {
        "attempt_id": attempt.name,
        "request_key": attempt.name,
        "workload": "qa",
        "model": attempt.model,
        "pool": attempt.pool,
        "route": "r",
        "replica": attempt.replica,
        "engine_seen": attempt.replica is not None,
        "delivered": verdict is not None,
        "outcome": {"abandoned": "cancelled", "failed": "error"}.get(attempt.bucket, "ok"),
        "verdict": verdict,
        "started_ns": at_us(attempt.start) * 1000,
        "ended_ns": at_us(attempt.end) * 1000,
        "input_tokens": given,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "recomputed_tokens": attempt.recomputed,
        "draft_tokens": drafted,
        "accepted_draft_tokens": accepted,
        "part_hour": at_us(attempt.end) // 3_600_000_000,
        **more,
    }


def request_row(row: Row) -> Row:
    return {
        **{name: row[name] for name in ("request_key", "workload", "model", "pool", "route", "replica", "outcome")},
        "verdict": row["verdict"],
        "late_by": row.get("late_by"),
        "ended_at": row["ended_ns"] // 1000,
        "delivering_attempt_id": row["attempt_id"],
    }


def sample_rows(replica: str, pool: str, start: int, end: int) -> list[Row]:
    moments = samples(start, end)
    return [
        {
            "replica": replica,
            "pool": pool,
            "layer": "engine",
            "metric": "running_requests",
            "kind": "gauge",
            "value": 0.0,
            "sampled_ns": at_us(moment) * 1000,
            "interval_s": float(moment - before) if before is not None else None,
        }
        for before, moment in zip([None, *moments], moments, strict=False)
    ]


def record_row(number: int, record: Record) -> Row:
    return {
        "cost_id": f"c{number}",
        "dialect": f"d{number % 2}",
        "basis": record.basis,
        "replica": record.replica,
        "pool": record.pool,
        "model": record.model,
        "request_key": record.request_key,
        "charge_category": record.category,
        "period_start": at_us(record.start),
        "period_end": at_us(record.end),
        "amount_usd": record.usd,
    }


def charged(
    fleet: Fleet,
    hours: Sequence[int] = (0,),
    attempts: Sequence[Row] = (),
    extra: Sequence[Row] = (),
    step_s: int = 300,
    *,
    relation: str = "cost_ledger",
    names: Sequence[Row] = (),
    declared: Mapping[str, str] | None = None,
    prices: Sequence[Row] = (),
) -> pl.DataFrame:
    """The ledger of the given hours after BEGIN_S; `attempts` and `extra` samples beside those of the fleet.

    `names`: rows of `replica_names`; `declared`: replicas by other names of theirs; `prices`: rows of `token_prices`.
    """
    rows = [attempt_row(attempt) for attempt in fleet.tries] + list(attempts)
    if fleet.price:
        prices = [
            {"model": "api", "valid_from": 0, "input_token_usd": fleet.price[0], "output_token_usd": fleet.price[1]}
        ]
    tables: dict[str, list[Row]] = {
        "attempts": rows,
        "requests": [request_row(row) for row in rows if row["verdict"] is not None],
        "replica_samples": [row for sampled in fleet.sampled for row in sample_rows(*sampled)] + list(extra),
        "cost_records": [record_row(number, record) for number, record in enumerate(fleet.records)],
        "token_prices": list(prices),
        "replica_names": list(names),
    }
    chosen = Settings(
        windows_s=(step_s,),
        costs=Costs(step_s=step_s),
        rates={pool: Rate(pool=(pool,), usd_per_gpu_hour=usd * 3600) for pool, usd in fleet.rates.items()},
    )
    with connect() as connection:
        for name, given in tables.items():
            schema = arrow_schema(name)
            if name == "attempts":
                schema = schema.append(pa.field("part_hour", pa.int64()))
            connection.register(name, pa.Table.from_pylist(given, schema=schema))
        connection.register("billed_days", as_rows("billed_days", {"from_s": 0, "until_s": 4 * 10**9}))
        for name in SETTINGS_TABLES:
            connection.register(name, SETTINGS_TABLES[name](chosen))
        with_telemetry = range(HOUR - 30, HOUR + 60)
        connection.register("target_hours", as_rows("target_hours", *({"epoch_hour": hour} for hour in with_telemetry)))
        others = ({"name": name, "replica": replica} for name, replica in (declared or {}).items())
        connection.register("declared_names", as_rows("declared_names", *others))
        for name in KNOWN_REPLICAS.relations:
            compute(connection, name)
        connection.register("absent_replicas", as_rows("absent_replicas", *absent(connection)))
        connection.register("target_hours", as_rows("target_hours", *({"epoch_hour": HOUR + hour} for hour in hours)))
        for name in COST_LEDGER.relations:
            compute(connection, name)
        return pl.DataFrame(connection.sql(f"SELECT * FROM {relation}").to_arrow_table())


REPLICAS = {"a": "p1", "a#1": "p1", "b": "p1", "c": "p2"}


BUCKETS = (
    *("accepted", "slow", "rejected", "failed", "ungated", "over_budget", "unevaluable", "unlabelled"),
    *("retry", "abandoned"),
)


seconds = st.integers(-600, 7800)


@st.composite
def tries(draw: st.DrawFn) -> Try:
    start, bought = draw(seconds), draw(st.booleans()) and draw(st.booleans())
    replica = None if bought else draw(st.sampled_from(sorted(REPLICAS)))
    given = draw(st.integers(1, 500))
    drafted = draw(st.integers(0, 50))
    return Try(
        name=f"t{draw(st.integers(0, 10**12))}",
        bucket=draw(st.sampled_from(BUCKETS)),
        start=start,
        end=start + draw(st.integers(0, 900)),
        replica=replica,
        pool="bought" if replica is None else REPLICAS[replica],
        model="api" if bought else "m",
        tokens=(given, draw(st.integers(0, given)), draw(st.integers(0, 200))),
        recomputed=draw(st.integers(0, 100)),
        drafts=(drafted, draw(st.integers(0, drafted))),
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    start = draw(seconds)
    target = draw(
        st.sampled_from([("a", "p1"), ("ghost", "p2"), ("ghost", "p1"), (None, "p2"), (None, "p9"), (None, None)])
    )
    usd = draw(st.floats(-1, 100, allow_nan=False).filter(lambda usd: abs(usd) > 1e-3))
    return Record(usd, start, start + draw(st.integers(0, 5000)), *target)


fleets = st.builds(
    Fleet,
    tries=st.lists(tries(), max_size=8, unique_by=lambda t: t.name),
    sampled=st.lists(
        st.builds(
            lambda replica, start, length: (replica, REPLICAS[replica], start, start + length),
            st.sampled_from(sorted(REPLICAS)),
            st.integers(-300, 7000),
            st.integers(60, 1500),
        ),
        max_size=3,
        unique_by=lambda sampled: sampled[0],
    ),
    records=st.lists(records(), max_size=4),
    rates=st.dictionaries(st.sampled_from(["p1", "p2"]), st.floats(1e-4, 0.1), max_size=2),
    price=st.just((1e-6, 4e-6)),
)


def whole_of(frame: pl.DataFrame) -> dict[str, float]:
    """USD by bucket."""
    return {row["bucket"]: row["usd"] for row in frame.group_by("bucket").agg(pl.col("usd").sum()).to_dicts()}


def wasted(
    frame: pl.DataFrame,
    *grains: int,
    ended: Sequence[Row] = (),
    step_s: int = 300,
    sliced: Slices | None = None,
    workloads: Mapping[str, Workload] | None = None,
) -> pl.DataFrame:
    """Waste of a ledger at the grains; `ended` are the requests that share overhead."""
    names = arrow_schema("cost_ledger").names
    with connect() as connection:
        connection.register("cost_ledger", frame.select(names).to_arrow())
        connection.register("requests", pa.Table.from_pylist(list(ended), schema=arrow_schema("requests")))
        connection.register("ledger_options", ledger_options(Settings(costs=Costs(step_s=step_s))))
        connection.register("grains", as_rows("grains", *({"window_s": grain} for grain in grains)))
        connection.register("measured_range", as_rows("measured_range", ALL_TIME))
        connection.register("partition_size", as_rows("partition_size", {"rows": 0}))
        connection.register("size_options", as_rows("size_options", {"max_exact_requests": 1}))
        asked = Settings(slices=sliced or Slices(), workloads=dict(workloads or {}))
        connection.register("workload_rules", workload_rows(asked))
        for name, given in SLICES.items():
            connection.register(name, given(asked))
        for relation in WASTE.relations:
            compute(connection, relation)
        return pl.DataFrame(connection.sql("SELECT * FROM waste").to_arrow_table())


def requests_of(rows: Sequence[Row]) -> list[Row]:
    return [
        judged(
            row["attempt_id"],
            row["verdict"],
            end=2.0,
            **{name: row.get(name) for name in ("workload", "pool", "route", "model", "outcome", "tenant")},
            arrived_at=row["started_ns"] // 1000,
            ended_at=row["ended_ns"] // 1000,
        )
        for row in rows
    ]
