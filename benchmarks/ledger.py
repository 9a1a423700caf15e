"""Times the ledger of a week of attempts against the plain scan of its inputs: its cost is linear in them.

Both read the same hourly Parquet files: the ledger of every hour, and one sum over every column that it reads.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa

from benchmarks.child import Ended, in_turn, run_function
from benchmarks.table import Row, peak_memory, times_as_long
from goodput.join.staleness import JoinInputs
from goodput.measure.charges import ChargeInputs, charge_hours
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.hourly import stale_hours
from goodput.plumbing.hours import HOUR_NS, batches, hour_label
from goodput.plumbing.lake import Lake, write_parquet
from goodput.plumbing.ledger import LedgerEntry
from goodput.plumbing.sql_files import parquet
from goodput.settings.model import Rate, Settings

ATTEMPTS = 20_000_000
HOURS = 7 * 24
FIRST_HOUR = 498_648  # since the Unix epoch, a midnight
ROUNDS = 3
BUDGET_S = 600.0
SETTINGS = Settings(rates={"h100": Rate(usd_per_gpu_hour=2.49)})
_READ = {
    "attempts": "attempt_id request_key workload model replica pool route outcome delivered engine_seen streamed "
    "started_ns ended_ns first_token_ns input_tokens cached_input_tokens cache_write_tokens output_tokens "
    "reasoning_tokens recomputed_tokens draft_tokens accepted_draft_tokens reported_cost_usd",
    "requests": "delivering_attempt_id request_key workload model replica pool route outcome verdict ended_at",
}
_MADE = """
SELECT
    md5($hour::VARCHAR || '/' || i::VARCHAR) AS attempt_id,
    attempt_id AS request_key,
    attempt_id AS delivering_attempt_id,
    ['chat', 'rag', 'batch'][1 + i % 3] AS workload,
    'llama-' || (i % 4)::VARCHAR AS model,
    'pool-' || (i % 8)::VARCHAR AS pool,
    'engine-' || (i % 64)::VARCHAR AS replica,
    'route-' || (i % 5)::VARCHAR AS route,
    CASE WHEN i % 50 = 0 THEN 'error' ELSE 'ok' END AS outcome,
    ['accepted', 'accepted', 'accepted', 'slow', 'failed'][1 + i % 5] AS verdict,
    i % 20 > 0 AS delivered, true AS engine_seen, true AS streamed,
    $hour * 3600000000000 + (3590.0 * i / $attempts * 1e9)::BIGINT AS ended_ns,
    ended_ns - 1000000000 * (1 + i % 17) AS started_ns,
    started_ns + 400000000 AS first_token_ns,
    make_timestamptz(ended_ns // 1000) AS ended_at,
    500 + i % 1500 AS input_tokens, 100 + i % 400 AS cached_input_tokens, 50 + i % 300 AS output_tokens,
    i % 7 AS recomputed_tokens, 30 AS draft_tokens, 20 AS accepted_draft_tokens
FROM range($attempts) AS r(i)
"""


def rows(share: float) -> Iterator[Row]:
    """The ledger against the scan over `share` of the attempts."""
    attempts = round(ATTEMPTS * share)
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        folder = Path(name)
        make_attempts(attempts, folder)
        charged: list[Ended] = []

        def ledger() -> float:
            charged.append(run_function(__name__, "charge", folder))
            return float(charged[-1].said)

        def scan() -> float:
            return float(run_function(__name__, "scan", folder).said)

        taken_s = in_turn({"ledger": ledger, "scan": scan}, ROUNDS, BUDGET_S * share)
    what = f"ledger, {attempts / 1e6:g}M attempts"
    yield times_as_long(what, taken_s["ledger"], "plain scan of its inputs", taken_s["scan"], at_most=20)
    yield peak_memory(f"{what}, peak memory", max(ended.peak_bytes for ended in charged), below_bytes=8 * 10**9)


def make_attempts(attempts: int, folder: Path) -> None:
    """Write the joined parts of a week of `attempts`, of which one in twenty is retried, as the join stage would."""
    lake = Lake(folder)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for hour in range(FIRST_HOUR, FIRST_HOUR + HOURS):
            values = {"hour": hour, "attempts": round(attempts / HOURS)}
            made = connection.sql(_MADE, params=values).to_arrow_table()
            for table in ("attempts", "requests"):
                empty = arrow_schema(table).empty_table()
                part = made.select([name for name in empty.column_names if name in made.column_names])
                full = pa.concat_tables([empty, part], promote_options="permissive").cast(empty.schema)
                write_parquet(lake.part("joined", table, f"hour={hour_label(hour)}"), full)


def charge(folder: Path) -> float:
    """Seconds that the ledger takes for every hour of the lake in `folder`."""
    begun = time.perf_counter()
    inputs = _inputs(folder)
    for hours in batches(stale_hours(inputs), 24):
        charge_hours(inputs, hours)
    return time.perf_counter() - begun


def scan(folder: Path) -> float:
    """Seconds that one look at every value takes which the ledger reads."""
    begun = time.perf_counter()
    inputs = _inputs(folder)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table, columns in _READ.items():
            files = [str(path) for paths in inputs.parts[table].values() for path in paths]
            looks = ", ".join(f"bit_xor(hash({column}))" for column in columns.split())
            connection.sql(f"SELECT {looks} FROM {parquet(files)}").fetchall()
    return time.perf_counter() - begun


def _inputs(folder: Path) -> ChargeInputs:
    read = LedgerEntry("made", "", "", "", "otlp", "read", None, 0)
    observed = {"first_event_ns": FIRST_HOUR * HOUR_NS, "last_event_ns": (FIRST_HOUR + HOURS) * HOUR_NS}
    return ChargeInputs(JoinInputs(Lake(folder), SETTINGS, {"made": LedgerEntry(**{**read.__dict__, **observed})}))
