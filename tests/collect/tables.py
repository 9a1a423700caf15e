"""What reading one declared file gives."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from goodput.collect.received import LandedFile, Received, RefusedRow
from goodput.collect.tabular import content as content_module
from goodput.collect.tabular import read_table
from goodput.collect.tabular import rows as rows_module
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource

START = {"column": "start", "unit": "epoch_s"}
T0 = 1_767_225_600  # 2026-01-01T00:00:00Z


class Outcome:
    """All that reading one file gave."""

    def __init__(self, path: Path, source: TableSource, limits: FileLimits, captures: dict[str, str]) -> None:
        self.bytes_done = 0
        reading = read_table(LandedFile(path, path.parent, "log", captures), source, limits, on_bytes=self._add)
        self.blocks: list[Received] = list(reading)
        self.torn_tail_bytes = reading.torn_tail_bytes
        self.stopped = reading.stopped
        assert all(block.ignored == {} and len(block.tables) == 1 for block in self.blocks)

    def _add(self, moved: int) -> None:
        self.bytes_done += moved

    @property
    def frame(self) -> pl.DataFrame:
        return pl.concat([frame for block in self.blocks for frame in block.tables.values()])

    @property
    def refused(self) -> list[RefusedRow]:
        return [row for block in self.blocks for row in block.refused]

    @property
    def rules(self) -> dict[int, str]:
        return {row.line: row.rule for row in self.refused}

    @property
    def rows_read(self) -> int:
        return sum(block.rows_read for block in self.blocks)


def read(
    path: Path,
    content: bytes | str,
    columns: dict[str, Any] | None = None,
    *,
    limits: FileLimits | None = None,
    captures: dict[str, str] | None = None,
    **more: object,
) -> Outcome:
    path = path / "file" if path.is_dir() else path
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    made = {"format": "csv", "path": "*", "columns": columns or {"started_at": START}, **more}
    return Outcome(path, TableSource.model_validate(made), limits or FileLimits(), captures or {})


def small_pieces(monkeypatch: pytest.MonkeyPatch, size: int, rows: int = rows_module.BLOCK_ROWS) -> None:
    monkeypatch.setattr(content_module, "_PLAIN_READ_BYTES", size)
    monkeypatch.setattr(rows_module, "BLOCK_BYTES", size)
    monkeypatch.setattr(rows_module, "BLOCK_ROWS", rows)
