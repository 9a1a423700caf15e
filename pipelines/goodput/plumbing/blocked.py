"""Partitions that are blocked: an audit failed, their computation broke, or they wait for one of these.

An audit's verdict stands until what the partition is made from changes; whatever else broke is tried again in each run.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.errors import BlockedPartition
from goodput.plumbing.catalog import ALL
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.garbage import note_replaced
from goodput.plumbing.lake import Lake
from goodput.plumbing.part_rows import read_part

TABLE = "blocked_partitions"


class Blocked:
    """The blocked partitions of a lake, as rows of its table `blocked_partitions`."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake

    @cached_property
    def rows(self) -> list[dict[str, object]]:
        """Every blocked partition: table_name, partition, reason, blocked_by, inputs, since."""
        files = self._lake.catalog[TABLE].all_files()
        return [row for file in files for row in read_part(Path(file), TABLE).to_pylist()]

    def all(self) -> list[BlockedPartition]:
        """Every blocked partition."""
        return [_read(row) for row in self.rows]

    def of_table(self, table: str) -> Mapping[str, BlockedPartition]:
        """Blocked partitions of one table by partition."""
        return {str(row["partition"]): _read(row) for row in self.rows if row["table_name"] == table}

    def standing(self, tables: Collection[str], partition: str, inputs: str) -> list[BlockedPartition]:
        """What an audit found in a partition of some tables when it was made from the same inputs."""
        return [
            _read(row)
            for row in self.rows
            if row["table_name"] in tables and row["partition"] == partition and row["inputs"] == inputs
        ]

    def settle(
        self, tables: Collection[str], was_asked: Callable[[str], bool], now_blocked: Iterable[BlockedPartition]
    ) -> None:
        """Replace what is known of the partitions of `tables` that a run was asked for by what it found."""
        self.__dict__.pop("rows", None)  # other nodes may have settled theirs meanwhile
        before = {(row["table_name"], row["partition"]): row["since"] for row in self.rows}
        since = datetime.now(UTC)
        others = [row for row in self.rows if row["table_name"] not in tables or not was_asked(str(row["partition"]))]
        fresh = [
            {
                "table_name": item.table,
                "partition": item.partition,
                "reason": item.reason,
                "blocked_by": item.blocked_by,
                "inputs": item.inputs,
                "since": before.get((item.table, item.partition), since),
            }
            for item in now_blocked
        ]
        if [*others, *fresh] != self.rows:
            self._write([*others, *fresh])

    def _write(self, rows: list[dict[str, object]]) -> None:
        table = pa.Table.from_pylist(rows, schema=arrow_schema(TABLE))
        part = self._lake.write_part(TABLE, ALL, table, fingerprint(rows))
        note_replaced(self._lake, self._lake.catalog[TABLE].replace({ALL: (part,)}))
        self.__dict__.pop("rows", None)

    def keep_traceback(self, node: str, partition: str, text: str) -> None:
        """Keep the newest traceback of a computation that broke, for a report of the bug."""
        with suppress(OSError):
            (self._lake.root / "traceback.txt").write_text(f"{node} {partition}\n{text}", encoding="utf-8")


def _read(row: Mapping[str, object]) -> BlockedPartition:
    blocked_by = row["blocked_by"]
    return BlockedPartition(
        str(row["table_name"]),
        str(row["partition"]),
        str(row["reason"]),
        None if blocked_by is None else str(blocked_by),
        str(row["inputs"] or ""),
    )
