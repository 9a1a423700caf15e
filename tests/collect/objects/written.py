"""Files of JSON objects written by hand, and what the reader makes of them."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.dialects.registry import OBJECT_DIALECTS
from goodput.collect.objects.read import ObjectReading
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.sniff import read_head
from goodput.collect.received import UNCLAIMED, LandedFile, Received, RefusedRow
from goodput.conform.derive import derive
from goodput.conform.enforce import Enforced, enforce, in_contract_shape
from goodput.plumbing.sql_files import connect
from goodput.settings.model import FileLimits

Row = dict[str, Any]
KIND = Wanted("$.kind", "string")

PLAIN = Dialect(
    name="plain",
    table="serving_records",
    matches=pl.col("$.kind") == "call",
    fields=(
        Field("record_id", "string", ("$.id",)),
        Field("input_tokens", "int", ("$.usage.in", "$.tokens")),
        Field("e2e_s", "float", ("$.took",)),
        Field("streamed", "bool", ("$.stream",)),
        Field("finish_reason", "string", ("$.finish",)),
    ),
    finish=lambda frame: frame.with_columns(tags=pl.col("$.tags")),
    also_wanted=(Wanted("$.tags", "strings"),),
    signature=(KIND,),
    ignored=(Ignore("health_check", pl.col("$.id") == "health"),),
    pattern=r"^(?P<kind>call) (?P<id>\S+) (?P<took>\S+)$",
    unset=("", "-"),
)
PAGED = Dialect(
    name="paged",
    table="label_records",
    matches=(pl.col("$.kind") == "score") & (pl.col("parent.meta.of") == "scores"),
    fields=(Field("record_id", "string", ("$.id",)), Field("evaluator", "string", ("$.by",))),
    finish=lambda frame: frame.with_columns(page=pl.col("parent.meta.page")),
    signature=(KIND,),
    rows="$.data",
    parent_paths=(Wanted("$.meta.of", "string"), Wanted("$.meta.page", "int")),
)
MAPPED = Dialect(
    name="mapped",
    table="cost_lines",
    matches=pl.col("$.usd").is_not_null(),
    fields=(Field("amount_usd", "float", ("$.usd",)),),
    finish=lambda frame: frame.with_columns(record_id=pl.col("key")),
    signature=(Wanted("$.usd", "string"),),
    rows="$.data[*].*",
)


def call(record_id: str, **said: object) -> str:
    return json.dumps({"kind": "call", "id": record_id, **said})


def put(path: Path, text: str) -> Path:
    """The text as a file, gzip where the name says so."""
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


class Reading:
    """All blocks of one file together."""

    def __init__(self, path: Path, dialects: Sequence[Dialect] = OBJECT_DIALECTS, **limits: int) -> None:
        file = LandedFile(path, path.parent, UNCLAIMED)
        reading = ObjectReading(file, read_head(path), FileLimits(**limits), dialects=dialects)
        blocks: list[Received] = list(reading)
        self.torn_tail_bytes, self.stopped = reading.torn_tail_bytes, reading.stopped
        self.blocks = len(blocks)
        self.rows_read = sum(block.rows_read for block in blocks)
        self.refused: list[RefusedRow] = [row for block in blocks for row in block.refused]
        self.ignored: dict[str, int] = {}
        self.tables: dict[str, list[Row]] = {}
        for block in blocks:
            for rule, rows in block.ignored.items():
                self.ignored[rule] = self.ignored.get(rule, 0) + rows
            for table, frame in block.tables.items():
                self.tables.setdefault(table, []).extend(frame.to_dicts())
        self._frames = [block.tables["serving_records"] for block in blocks if "serving_records" in block.tables]
        kept = sum(map(len, self.tables.values()))
        assert self.rows_read == kept + len(self.refused) + sum(self.ignored.values())  # identity R

    @property
    def records(self) -> list[Row]:
        """The serving records."""
        return self.tables.get("serving_records", [])

    @property
    def record(self) -> Row:
        """The only serving record, with nothing refused beside it."""
        assert not self.refused
        (row,) = self.records
        return row

    def conformed(self) -> Enforced:
        """The serving records with what follows from them, those that keep their contract and those that do not."""
        rows = pl.concat(
            in_contract_shape("serving_records", frame.with_columns(source_id=pl.lit("s"))) for frame in self._frames
        )
        with connect() as connection:
            return enforce(connection, "serving_records", derive("serving_records", rows))

    @property
    def conformed_record(self) -> Row:
        """The only serving record with what follows from it, nothing refused beside it."""
        found = self.conformed()
        assert not [*self.refused, *found.refused]
        (row,) = found.kept.to_dicts()
        return row
