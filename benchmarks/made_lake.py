"""A week of made telemetry as the join stage would leave it: what the measured relations are timed on."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.plumbing import source_ledger
from goodput.plumbing.catalog import ALL, Part
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.source_ledger import SourceEntry
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
    parts = Parts(Lake(folder))
    with connect() as connection:
        for hour in range(FIRST_HOUR, FIRST_HOUR + HOURS):
            made = _made(connection, "attempts_of_an_hour", {"hour": hour, "attempts": round(attempts / HOURS)})
            for table in ("attempts", "requests"):
                parts.write(table, hour_label(hour), made)
            connection.register("requests", _shaped("requests", made))
            connection.execute("CREATE OR REPLACE TEMP TABLE any_session AS SELECT true AS is_named")
            compute(connection, "session_hours")
            parts.write("session_hours", hour_label(hour), connection.sql("FROM session_hours").to_arrow_table())
            parts.write("replica_samples", hour_label(hour), _made(connection, "samples_of_an_hour", {"hour": hour}))
    parts.write("ops_events", ALL, pa.Table.from_pylist(_events()))
    parts.commit()


class Parts:
    """Parts of a lake that count once all of them are written, with telemetry observed for the whole week."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._written: dict[str, dict[str, tuple[Part]]] = {}

    def write(self, table: str, partition: str, rows: pa.Table) -> None:
        """Write the part of a partition; columns that the rows lack are empty."""
        part = self._lake.write_part(table, partition, _shaped(table, rows), fingerprint(table, partition))
        self._written.setdefault(table, {})[partition] = (part,)

    def commit(self) -> None:
        """Make all that was written count."""
        for table, parts in self._written.items():
            self._lake.catalog[table].replace(parts)
        read = SourceEntry("made", "1", "1", "made", "", "otlp", "read", None, 0)
        first_ns, last_ns = FIRST_HOUR * HOUR_NS, (FIRST_HOUR + HOURS) * HOUR_NS
        source_ledger.change(self._lake, [replace(read, first_event_ns=first_ns, last_event_ns=last_ns)], [])


def _made(connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, int]) -> pa.Table:
    return connection.sql((_HERE / f"{name}.sql").read_text(), params=dict(values)).to_arrow_table()


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
