"""Reads bytes as ingest does, with the same readers and contracts, but keeps only what a report needs, within bounds.

What the findings mean is the work of the other modules.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

import duckdb
import polars as pl

from goodput.collect.copies import ObjectCopies
from goodput.collect.landing import claimed
from goodput.collect.listing import list_landing
from goodput.collect.read import open_file
from goodput.collect.received import LandedFile, Received
from goodput.conform.derive import derive
from goodput.conform.enforce import enforce, in_contract_shape
from goodput.connect.unread import Onlooker
from goodput.errors import SourceRefused
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Settings

KEPT = (
    *("record_id", "dialect", "layer", "trace_id", "span_id", "parent_span_id", "request_key", "response_id"),
    *("call_id", "started_ns", "ended_ns", "tenant", "session_id", "model", "replica", "pool", "streamed", "ttft_s"),
    *("covers_tries", "e2e_s", "input_tokens", "cached_input_tokens", "output_tokens", "outcome"),
)
_UNSAID = "(none)"


@dataclass(frozen=True)
class Bounds:
    """How much is looked at before the rest is left alone."""

    total_s: float = 30.0
    files: int = 1000
    rows_of_a_file: int = 200_000
    rows: int = 1_000_000


USUAL = Bounds()


@dataclass
class LookedFile:
    """One file: how it was read, rows by what became of them, and why it was not read, or not to its end."""

    path: str
    reader: str
    rows: int = 0
    kept: Counter[str] = field(default_factory=Counter)  # by table
    ignored: Counter[str] = field(default_factory=Counter)  # by rule
    refused: Counter[str] = field(default_factory=Counter)  # by rule
    remark: str | None = None
    is_sample: bool = False

    def with_rows_of(self, other: "LookedFile") -> "LookedFile":
        """Both as one."""
        return replace(
            self,
            rows=self.rows + other.rows,
            kept=self.kept + other.kept,
            ignored=self.ignored + other.ignored,
            refused=self.refused + other.refused,
            is_sample=self.is_sample or other.is_sample,
        )


@dataclass
class Looked:
    """All that was found. `records`: serving records (columns KEPT, `scope`, `version`, `file`), each record once."""

    files: list[LookedFile]
    files_there: int
    records: pl.DataFrame
    others: Counter[tuple[str, str]]  # rows by table and dialect
    copies: int
    unread: Onlooker

    @property
    def is_sample(self) -> bool:
        """Whether anything was left out for its size."""
        return len(self.files) < self.files_there or any(file.is_sample for file in self.files)

    @property
    def is_readable(self) -> bool:
        """Whether any row was read."""
        return any(file.kept for file in self.files)


def look(settings: Settings, bounds: Bounds | None = None) -> Looked:
    """Look at the landing paths of the settings. Raises LandingMissing."""
    limits = bounds or USUAL
    listing = list_landing(settings)
    there = [*listing.files.select("landing", "path").iter_rows()]
    looking, copies = _Looking(settings, limits), ObjectCopies()
    for file, reason in listing.refused:
        looking.files.append(LookedFile(file.relative_path, file.reader, remark=reason))
    for landing, path in _spread(there)[: limits.files]:
        if looking.is_over:
            break
        file = copies.landed(landing, path)
        if copies.fetch(file):
            looking.take(file)
        copies.clear()
    records = pl.concat(looking.records, how="vertical_relaxed") if looking.records else _no_records()
    unique = records.unique("record_id", keep="first", maintain_order=True)
    return Looked(
        files=sorted(looking.files, key=lambda file: file.path),
        files_there=len(there) + len(listing.refused),
        records=unique,
        others=looking.others,
        copies=records.height - unique.height,
        unread=looking.onlooker,
    )


def _spread(files: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The files so that every folder has its turn: a target with a thousand scrapes must not hide the others."""
    turns = []
    for _, of_folder in groupby(sorted(files), key=lambda file: (file[0], file[1].rpartition("/")[0])):
        turns += [(turn, *file) for turn, file in enumerate(of_folder)]
    return [(landing, path) for _, landing, path in sorted(turns)]


def _no_records() -> pl.DataFrame:
    empty = in_contract_shape("serving_records", pl.DataFrame({"line": []})).select(KEPT)
    return empty.with_columns(pl.lit(None, pl.String).alias(name) for name in ("scope", "version", "file"))


class _Looking:
    def __init__(self, settings: Settings, bounds: Bounds) -> None:
        self.files: list[LookedFile] = []
        self.records: list[pl.DataFrame] = []
        self.others: Counter[tuple[str, str]] = Counter()
        self.onlooker = Onlooker()
        self._settings = settings
        self._bounds = bounds
        self._rows = 0
        self._ends_at = time.monotonic() + bounds.total_s

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._ends_at or self._rows >= self._bounds.rows

    def take(self, file: LandedFile) -> None:
        file, reason = claimed(file, self._settings)
        found = LookedFile(file.relative_path, file.reader, remark=reason)
        self.files.append(found)
        if reason:
            return
        try:
            opened, blocks = open_file(file, self._settings, witness=self.onlooker)
            found.reader = opened.reader
            with connect() as connection:
                for block in self._within_bounds(found, iter(blocks)):
                    self._add(found, block, connection)
            found.remark = blocks.stopped.reason if blocks.stopped else None
        except SourceRefused as error:
            found.remark = error.reason
            if found.reader == "objects":
                self.onlooker.objects(file.path)

    def _within_bounds(self, found: LookedFile, blocks: Iterator[Received]) -> Iterator[Received]:
        for block in blocks:
            yield block
            found.rows += block.rows_read
            self._rows += block.rows_read
            if found.rows >= self._bounds.rows_of_a_file or self.is_over:
                found.is_sample = next(blocks, None) is not None
                return

    def _add(self, found: LookedFile, block: Received, connection: duckdb.DuckDBPyConnection) -> None:
        found.ignored.update(block.ignored)
        found.refused.update(row.rule for row in block.refused)
        origins = self.onlooker.take_origins()
        for table, frame in block.tables.items():
            if table == "span_links":
                continue
            shaped = in_contract_shape(table, frame.with_columns(source_id=pl.lit(found.path)))
            enforced = enforce(connection, table, derive(table, shaped))
            found.refused.update(row.rule for rows in enforced.refused.values() for row in rows)
            found.kept[table] += enforced.kept.height
            if table == "serving_records":
                kept = enforced.kept.join(origins, on=["line", "position"], how="left", maintain_order="left")
                self.records.append(kept.select(*KEPT, "scope", "version", file=pl.lit(found.path)))
            else:
                for dialect, count in enforced.kept.group_by("dialect").len().iter_rows():
                    self.others[table, dialect or _UNSAID] += count
