"""Writers rename, truncate, compress, grow, delete and replace landing files while they are read: no row is lost.

See docs/semantics.md#sources.
"""

import gzip
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, put, span, spans_line
from conform.rotation_drill import Trial, rows_after
from goodput.conform import ingest as ingest_module
from goodput.conform import ingest_file as ingest_file_module
from goodput.conform.ingest import Ingested, ingest
from goodput.plumbing.source_ledger import read
from goodput.plumbing.workspace import Workspace

Change = Callable[[Path], None]


def line(*numbers: int) -> str:
    said = {**CHAT, "gen_ai.response.finish_reasons": ["stop"]}
    return spans_line(*(span(said=said, spanId=f"{number:016x}") for number in numbers))


def rename(path: Path) -> None:
    path.rename(path.with_name("a.1"))
    put(path, line(2))


def copy_and_truncate(path: Path) -> None:
    shutil.copy(path, path.with_name("a.1"))
    put(path, line(2))  # the same inode, written from its beginning


def compress(path: Path) -> None:
    path.with_name("a.1.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    put(path, line(2))


def replace(path: Path) -> None:
    put(path.with_name(".new"), line(2))
    path.rename(path.with_name("a.1"))
    path.with_name(".new").rename(path)


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write(line(2) + "\n")


CHANGES = {change.__name__: change for change in (rename, copy_and_truncate, compress, replace, grow)}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    put(tmp_path / "landing/a.jsonl", line(1))
    path = tmp_path / "goodput.toml"
    path.write_text('landing = ["landing"]\n')
    return path


def spans(config: Path) -> list[str]:
    paths = Workspace(config).lake.catalog["serving_records"].all_files()
    return sorted(row["span_id"][-1] for path in paths for row in pq.ParquetFile(path).read(["span_id"]).to_pylist())


def once(change: Change, path: Path) -> Callable[[], None]:
    """Do it at the first call alone."""
    pending = [change]

    def do() -> None:
        if pending:
            pending.pop()(path)

    return do


@pytest.mark.parametrize("name", CHANGES)
def test_between_the_scan_and_the_reading(config: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    do, scan = once(CHANGES[name], config.parent / "landing/a.jsonl"), ingest_module.scan

    def scanned(*given: Any) -> Any:
        found = scan(*given)
        do()
        return found

    monkeypatch.setattr(ingest_module, "scan", scanned)
    run(config)
    run(config)
    assert spans(config) == ["1", "2"]


@pytest.mark.parametrize("name", CHANGES)
def test_between_the_first_byte_and_the_last(config: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    do, open_file = once(CHANGES[name], config.parent / "landing/a.jsonl"), ingest_file_module.open_file

    def opened(*given: Any) -> Any:
        found = open_file(*given)
        do()
        return found

    monkeypatch.setattr(ingest_file_module, "open_file", opened)
    run(config)
    run(config)
    # of a file that was compressed after all of it was read, the join counts each row of both once
    assert sorted(set(spans(config)) if name == "compress" else spans(config)) == ["1", "2"]


def test_the_ledger_s_hash_is_of_the_bytes_that_were_read(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that grows after it was identified is read as far as it was identified, and all of it by the next run."""
    path = config.parent / "landing/a.jsonl"
    size_bytes = path.stat().st_size
    do, open_file = once(grow, path), ingest_file_module.open_file

    def opened(*given: Any) -> Any:
        do()
        return open_file(*given)

    monkeypatch.setattr(ingest_file_module, "open_file", opened)
    assert (run(config).read, spans(config)) == (1, ["1"])
    assert read(Workspace(config).lake)["size_bytes"].to_pylist() == [size_bytes]
    assert (run(config).superseded, spans(config)) == (1, ["1", "2"])


def test_a_file_that_never_holds_still_is_left_to_the_next_run(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, open_file, numbers = config.parent / "landing/a.jsonl", ingest_file_module.open_file, count(2)

    def opened(*given: Any) -> Any:
        put(path, line(next(numbers)))
        return open_file(*given)

    with monkeypatch.context() as patched:
        patched.setattr(ingest_file_module, "open_file", opened)
        found = run(config)
    assert (found.read, found.moved, spans(config)) == (0, 1, [])
    assert (run(config).moved, spans(config)) == (0, ["4"])  # each look found another content


def run(config: Path) -> Ingested:
    return ingest(Workspace(config))


@pytest.mark.parametrize("seed", range(2))
def test_writers_that_do_all_of_it_while_runs_loop(tmp_path: Path, seed: int) -> None:
    assert rows_after(Trial(seed, steps=40), tmp_path).lost_or_twice == 0
