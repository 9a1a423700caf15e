"""Makes `replica_samples` of the sample records: which hours are stale, and computing them.

An hour depends on its neighbours alone: no reading tells of more than staleness_s, which is at most an hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import duckdb
import pyarrow as pa

from goodput.join.staleness import JoinInputs, files_of
from goodput.plumbing.candidates import write_candidates
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import epoch_hour, neighbours
from goodput.plumbing.lake import Lake
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file

RELATIONS = ("replica_samples", "sample_rows")
_HOUR_OF = {"replica_samples": "sampled_ns // 3600000000000", "sample_rows": "epoch_hour"}
_ORDER_OF = {"replica_samples": "replica, metric, series_id, sampled_ns", "sample_rows": "source_id"}
_READ = "sample_records"


@dataclass(frozen=True)
class SampleInputs:
    """Everything that hours of `replica_samples` are computed from, as it lies in the lake now."""

    join: JoinInputs
    made: ClassVar = ("joined", RELATIONS)

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @cached_property
    def rules(self) -> str:
        """Fingerprint of the settings, SQL and contract that the samples obey."""
        texts = [sql_file(name).text for name in ("macros", *RELATIONS)]
        return fingerprint(self.join.settings.staleness_s, texts, str(contract("replica_samples")))

    def of_hour(self, hour: str) -> str:
        """Fingerprint of what the part of `hour` must be made from."""
        around = sorted(neighbours([hour], 1, 1))
        sources = [[path.stem for path in self.join.parts[_READ].get(near, [])] for near in around]
        return fingerprint(self.rules, sources)

    def hours(self) -> set[str]:
        """Hours that have sample records."""
        return set(self.join.parts[_READ])


def sample_hours(inputs: SampleInputs, hours: Sequence[str]) -> int:
    """Write candidate parts of replica_samples and sample_rows for `hours`; rows of the former."""
    parts = inputs.join.parts[_READ]
    made_from = {hour: inputs.of_hour(hour) for hour in hours}
    with connect() as connection:
        read_parts(connection, _READ, files_of(parts, neighbours(hours, 1, 1)), arrow_schema(_READ))
        staleness_ns = round(inputs.join.settings.staleness_s * 1e9)
        register(connection, "sample_options", pa.table({"staleness_ns": [staleness_ns]}))
        register(connection, "target_hours", pa.table({"epoch_hour": [epoch_hour(hour) for hour in hours]}))
        for relation in RELATIONS:
            compute(connection, relation)
        written = {
            name: write_candidates(inputs.lake, name, _rows_of(connection, name), made_from) for name in RELATIONS
        }
    return written["replica_samples"]


def _rows_of(connection: duckdb.DuckDBPyConnection, table: str) -> pa.Table:
    """Rows of the target hours, hour by hour."""
    columns = "*" if table == "sample_rows" else ", ".join(f'"{column.name}"' for column in contract(table).columns)
    rows = connection.sql(
        f'SELECT {columns}, {_HOUR_OF[table]} AS hour FROM "{table}" '  # noqa: S608  (identifiers of the contract)
        f"WHERE {_HOUR_OF[table]} IN (SELECT epoch_hour FROM target_hours) ORDER BY hour, {_ORDER_OF[table]}"
    ).to_arrow_table()
    return rows if table == "sample_rows" else rows.cast(arrow_schema(table).append(rows.schema.field("hour")))
