"""A week of made telemetry as the join stage would leave it: what the measured relations are timed on."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
from goodput.join.staleness import JoinInputs
from goodput.join.whole import CELL
from goodput.plumbing.ledger import LedgerEntry

from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake, write_parquet
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Rate, Settings, Workload

HOURS = 7 * 24
FIRST_HOUR = 498_648  # since the Unix epoch, a midnight
SETTINGS = Settings(
    rates={"h100": Rate(usd_per_gpu_hour=2.49)},
    workloads={name: Workload(ttft_s=1.0, tpot_s=0.5, retry_budget=1) for name in ("chat", "rag", "batch")},
)
_HERE = Path(__file__).parent
_EVENT_EVERY_H = 12


def make_lake(attempts: int, folder: Path) -> None:
    """Write the joined parts of a week of `attempts` at the same pace, on the same 64 engines however many they are."""
    lake = Lake(folder)
    with connect() as connection:
        for hour in range(FIRST_HOUR, FIRST_HOUR + HOURS):
            made = _made(connection, "attempts_of_an_hour", {"hour": hour, "attempts": round(attempts / HOURS)})
            for table in ("attempts", "requests"):
                _write(lake, table, hour, made)
            connection.register("requests", made)
            compute(connection, "session_hours")
            _write(lake, "session_hours", hour, connection.sql("FROM session_hours").to_arrow_table())
            _write(lake, "replica_samples", hour, _made(connection, "samples_of_an_hour", {"hour": hour}))
    write_parquet(lake.part("joined", "ops_events", CELL), _shaped("ops_events", pa.Table.from_pylist(_events())))


def inputs_of_lake(folder: Path) -> JoinInputs:
    """What the measure stage reads of the lake in `folder`."""
    observed = {"first_event_ns": FIRST_HOUR * HOUR_NS, "last_event_ns": (FIRST_HOUR + HOURS) * HOUR_NS}
    entry = LedgerEntry("made", "", "", "", "otlp", "read", None, 0, **observed)
    return JoinInputs(Lake(folder), SETTINGS, {"made": entry})


def _made(connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, int]) -> pa.Table:
    return connection.sql((_HERE / f"{name}.sql").read_text(), params=dict(values)).to_arrow_table()


def _write(lake: Lake, table: str, hour: int, rows: pa.Table) -> None:
    write_parquet(lake.part("joined", table, f"hour={hour_label(hour)}"), _shaped(table, rows))


def _shaped(table: str, rows: pa.Table) -> pa.Table:
    empty = arrow_schema(table).empty_table()
    known = rows.select([name for name in empty.column_names if name in rows.column_names])
    return pa.concat_tables([empty, known], promote_options="permissive").cast(empty.schema)


def _events() -> list[dict[str, object]]:
    begin = datetime.fromtimestamp(FIRST_HOUR * 3600, UTC)
    return [
        {
            "event_id": f"deployment-{number}",
            "kind": "deployment",
            "occurred_at": begin + timedelta(hours=number * _EVENT_EVERY_H + 6),
            "pool": f"pool-{number % 8}",
        }
        for number in range(HOURS // _EVENT_EVERY_H)
    ]
