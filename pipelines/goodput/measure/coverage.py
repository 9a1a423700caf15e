"""Makes `coverage` of attempts and samples: which hours are stale, and computing them.

The arithmetic is sql/measure/coverage.sql, which also says what coverage means for goodput.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from goodput.measure.joined_hours import JoinedHours
from goodput.plumbing.candidates import write_candidates
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import epoch_hour, neighbours
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file

TABLE = "coverage"


@dataclass(frozen=True)
class CoverageInputs(JoinedHours):
    """Everything that hours of `coverage` are computed from, as it lies in the lake now."""

    reads: ClassVar = ("attempts", "replica_samples")
    made: ClassVar = ("measured", (TABLE,))

    @cached_property
    def _rules(self) -> str:
        return fingerprint([sql_file(name).text for name in ("macros", TABLE)], str(contract(TABLE)))

    def near(self, hours: Collection[str]) -> dict[str, set[str]]:
        """Hours of each table that `hours` are computed from.

        An attempt lies where its request ended; the reading that counts it may come in the hour after it ended.
        """
        reach = self.join.reach
        return {"attempts": neighbours(hours, reach + 1, reach), "replica_samples": set(hours)}

    def of_hour(self, hour: str) -> str:
        """Fingerprint of what the part of `hour` must be made from."""
        return fingerprint(self._rules, self.used([hour]))

    def hours(self) -> set[str]:
        """Hours in which an attempt may have ended, or an engine counted."""
        return set(self.parts["replica_samples"]) | neighbours(self.parts["attempts"], self.join.reach, 0)


def cover_hours(inputs: CoverageInputs, hours: Sequence[str]) -> int:
    """Write candidate parts of coverage for `hours`; how many rows they have."""
    columns = ", ".join(f'"{column.name}"' for column in contract(TABLE).columns)
    with connect() as connection:
        for table in inputs.reads:
            read_parts(connection, table, inputs.files(table, hours), arrow_schema(table))
        compute(connection, TABLE)
        register(connection, "target_hours", pa.table({"epoch_hour": [epoch_hour(hour) for hour in hours]}))
        rows = connection.sql(
            f"SELECT {columns}, epoch_hour AS hour FROM {TABLE} "  # noqa: S608  (identifiers of the contract)
            "WHERE epoch_hour IN (SELECT epoch_hour FROM target_hours) ORDER BY hour, replica"
        ).to_arrow_table()
    shaped = rows.cast(arrow_schema(TABLE).append(rows.schema.field("hour")))
    return write_candidates(inputs.lake, TABLE, shaped, {hour: inputs.of_hour(hour) for hour in hours})
