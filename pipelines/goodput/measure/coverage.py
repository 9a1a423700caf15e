"""Makes `coverage` of attempts and samples: which hours are stale, and computing them.

The arithmetic is sql/coverage.sql; what coverage means for goodput is told there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from goodput.join.staleness import JoinInputs, files_of
from goodput.plumbing.candidates import write_candidates
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import epoch_hour, neighbours
from goodput.plumbing.lake import Lake, inputs_of
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file

TABLE = "coverage"


@dataclass(frozen=True)
class CoverageInputs:
    """Everything that hours of `coverage` are computed from, as it lies in the lake now."""

    join: JoinInputs

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @cached_property
    def _parts(self) -> dict[str, dict[str, list[Path]]]:
        return {table: self.lake.parts("joined", table) for table in ("attempts", "replica_samples")}

    @cached_property
    def _made_from(self) -> dict[str, dict[str, str]]:
        return {table: self.lake.made_from("joined", table) for table in self._parts}

    @cached_property
    def _rules(self) -> str:
        return fingerprint([sql_file(name).text for name in ("macros", TABLE)], str(contract(TABLE)))

    def near(self, hours: Sequence[str]) -> dict[str, set[str]]:
        """Hours of each table that `hours` are computed from.

        An attempt lies where its request ended; the reading that counts it may come in the hour after it ended.
        """
        reach = self.join.reach
        return {"attempts": neighbours(hours, reach + 1, reach), "replica_samples": set(hours)}

    def of_hour(self, hour: str) -> str:
        """Fingerprint of what the part of `hour` must be made from."""
        used = [
            [self._made_from[table].get(near, "") for near in sorted(hours)]
            for table, hours in self.near([hour]).items()
        ]
        return fingerprint(self._rules, used)

    def stale_hours(self) -> list[str]:
        """Hours that have to be computed again, in order."""
        attempts, samples = (self._parts[table] for table in ("attempts", "replica_samples"))
        hours = set(samples) | neighbours(attempts, self.join.reach, 0) | set(self.lake.parts("measured", TABLE))
        return [hour for hour in sorted(hours) if inputs_of(self.part(hour)) != self.of_hour(hour)]

    def part(self, hour: str) -> Path:
        """The published part of an hour."""
        return self.lake.part("measured", TABLE, f"hour={hour}")

    def files(self, table: str, hours: Sequence[str]) -> list[str]:
        """Parts of a table that `hours` are computed from."""
        return files_of(self._parts[table], self.near(hours)[table])


def cover_hours(inputs: CoverageInputs, hours: Sequence[str]) -> int:
    """Write candidate parts of coverage for `hours`; how many rows they have."""
    columns = ", ".join(f'"{column.name}"' for column in contract(TABLE).columns)
    with connect() as connection:
        for table in ("attempts", "replica_samples"):
            read_parts(connection, table, inputs.files(table, hours), arrow_schema(table))
        compute(connection, TABLE)
        connection.register("wanted", pa.table({"hour": pa.array([epoch_hour(hour) for hour in hours], pa.int64())}))
        rows = connection.sql(
            f"SELECT {columns}, epoch_hour AS hour FROM {TABLE} "  # noqa: S608  (identifiers of the contract)
            "WHERE epoch_hour IN (SELECT hour FROM wanted) ORDER BY hour, replica"
        ).to_arrow_table()
    shaped = rows.cast(arrow_schema(TABLE).append(rows.schema.field("hour")))
    return write_candidates(inputs.lake, TABLE, shaped, {hour: inputs.of_hour(hour) for hour in hours})
