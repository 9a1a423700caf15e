"""Sources larger than what is kept in memory: the same rows in more parts, each counted once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, SECOND_NS, START_NS, Row, put, span, spans_line
from goodput.collect.otlp import gather, line_framing
from goodput.collect.otlp_reading import OtlpReading
from goodput.collect.received import Received
from goodput.conform import batch as module
from goodput.conform.ingest import ingest
from goodput.errors import SourceRefused
from goodput.plumbing.source_ledger import read
from goodput.plumbing.workspace import Workspace

HOUR_NS = 3600 * SECOND_NS


@pytest.fixture(autouse=True)
def _a_small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_ROWS", 4)
    monkeypatch.setattr(gather, "_ROWS_AT_ONCE", 1)
    monkeypatch.setattr(line_framing.LineFramer.__init__, "__defaults__", (1000,))  # blocks of about a line


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "landing").mkdir()
    path = tmp_path / "goodput.toml"
    path.write_text('landing = ["landing"]\nlake = "lake"\n')
    return path


def chat(number: int, hours_later: int = 0) -> Row:
    return span(
        said={**CHAT, "gen_ai.response.finish_reasons": ["stop"]},
        spanId=f"{number:016x}",
        startTimeUnixNano=str(START_NS + hours_later * HOUR_NS),
        endTimeUnixNano=str(START_NS + hours_later * HOUR_NS + SECOND_NS),
    )


def rows(config: Path, table: str = "serving_records") -> list[dict[str, Any]]:
    files = Workspace(config).lake.catalog[table].all_files()
    return [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]


def parts(config: Path, table: str = "serving_records") -> dict[str, list[str]]:
    """What each part of each partition counts as its sources."""
    found = Workspace(config).lake.catalog[table].parts
    return {partition: [part.inputs for part in parts] for partition, parts in found.items()}


def entry(config: Path, path: str) -> dict[str, Any]:
    return next(row for row in read(Workspace(config).lake).to_pylist() if row["path"] == path)


def source_sum(*entries: dict[str, Any]) -> str:
    return f"{sum(int(entry['source_id'], 16) for entry in entries) % 2**128:032x}"


def test_a_large_source_lies_in_several_parts_and_counts_in_one(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", *(spans_line(chat(n), chat(n + 50, 1)) for n in range(1, 11)))
    ingest(Workspace(config))
    known = entry(config, "a.jsonl")
    assert len(rows(config)) == known["rows_read"] == 20
    assert (known["first_event_ns"], known["last_event_ns"]) == (START_NS, START_NS + HOUR_NS + SECOND_NS)
    found = parts(config)
    assert list(found) == ["2026-11-20T09", "2026-11-20T10"]
    for inputs in found.values():
        assert len(inputs) > 2
        assert sorted(inputs) == ["0" * 32] * (len(inputs) - 1) + [known["source_id"]]


def test_memory_is_bounded_within_a_source(config: Path) -> None:
    put(config.parent / "landing/a.jsonl", *(spans_line(chat(n)) for n in range(1, 25)))
    ingest(Workspace(config))
    lake = Workspace(config).lake
    assert max(part.rows for parts in lake.catalog["serving_records"].parts.values() for part in parts) <= 8


def test_copies_are_left_out_however_far_apart_they_are(config: Path) -> None:
    lines = [spans_line(chat(n)) for n in range(1, 21)]
    put(config.parent / "landing/a.jsonl", *lines, spans_line(chat(1), chat(21)), *lines[:2])
    put(config.parent / "landing/b.jsonl", lines[0])
    ingest(Workspace(config))
    a, b = entry(config, "a.jsonl"), entry(config, "b.jsonl")
    assert (a["rows_read"], a["rows_duplicate"], b["rows_duplicate"]) == (24, 3, 0)
    ids = [(row["source_id"], row["record_id"], row["line"]) for row in rows(config)]
    assert len({found[:2] for found in ids}) == len(ids) == 22  # of another source it is no copy yet
    assert {line for source_id, _, line in ids if source_id == a["source_id"]} == set(range(1, 22))  # the first stays


def test_a_large_source_goes_when_it_has_grown(config: Path) -> None:
    lines = [spans_line(chat(n)) for n in range(1, 11)]
    put(config.parent / "landing/a.jsonl", *lines)
    put(config.parent / "landing/b.jsonl", spans_line(chat(99)))
    ingest(Workspace(config))
    put(config.parent / "landing/a.jsonl", *lines, spans_line(chat(11)))
    done = ingest(Workspace(config))
    assert (done.superseded, len(rows(config))) == (1, 12)
    contents = Workspace(config).lake.catalog["serving_records"].contents
    assert contents == {"2026-11-20T09": source_sum(entry(config, "a.jsonl"), entry(config, "b.jsonl"))}


def test_a_source_that_is_refused_half_way_leaves_nothing(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_on = OtlpReading.__iter__

    def breaking_off(self: OtlpReading) -> Iterator[Received]:
        for number, block in enumerate(read_on(self)):
            if self.path.name == "b.jsonl" and number == 9:
                raise SourceRefused(self.path, "breaks off")
            yield block

    monkeypatch.setattr(OtlpReading, "path", property(lambda self: self._reader._path.path), raising=False)
    monkeypatch.setattr(OtlpReading, "__iter__", breaking_off)
    backwards = span(said=CHAT, endTimeUnixNano=str(START_NS - 1))
    put(config.parent / "landing/a.jsonl", *(spans_line(chat(n)) for n in range(1, 3)))
    put(config.parent / "landing/b.jsonl", *(spans_line(chat(n), backwards) for n in range(3, 13)))
    put(config.parent / "landing/c.jsonl", spans_line(chat(20)))
    done = ingest(Workspace(config))
    a, b, c = (entry(config, f"{name}.jsonl") for name in "abc")
    assert (done.read, done.refused, b["status"], b["reason"]) == (2, 1, "refused", "breaks off")
    assert (b["rows_read"], b["rows_quarantined"], b["partitions"], b["first_event_ns"]) == (0, 0, "{}", None)
    assert {row["source_id"] for row in rows(config)} == {a["source_id"], c["source_id"]}
    assert rows(config, "quarantine") == []
    assert Workspace(config).lake.catalog["serving_records"].contents == {"2026-11-20T09": source_sum(a, c)}
    listed = {Path(path) for path in Workspace(config).lake.catalog["serving_records"].all_files()}
    assert listed == set((config.parent / "lake/conformed").rglob("*.parquet"))  # nothing lies about
