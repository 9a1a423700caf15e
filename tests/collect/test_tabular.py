"""Declared table files: every format to the same rows, and nothing lost without a reason."""

import csv
import gzip
import hashlib
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from collect.discovered import discover
from goodput.collect.received import LandedFile, Received, RefusedRow
from goodput.collect.tabular import content as content_module
from goodput.collect.tabular import read_table
from goodput.collect.tabular import rows as rows_module
from goodput.errors import SourceRefused
from goodput.plumbing.contracts import arrow_schema
from goodput.settings.model import FileLimits, Settings, TableSource

BENCH = Path(__file__).parent.parent / "data/bench"
SHARED = Path(__file__).parent.parent.parent.parent / "shared/data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not beside this checkout")

START = {"column": "start", "unit": "epoch_s"}
T0 = 1_767_225_600  # 2026-01-01T00:00:00Z
BENCH_SOURCE = {
    "format": "csv",
    "path": "*_output_*.csv",
    "path_pattern": r"(?P<route>.+)_output_(?P<offered_rps>[0-9.]+)\.csv",
    "constants": {"pool": "demo", "outcome": "ok"},
    "columns": {
        "started_at": {"column": "launch_time", "unit": "epoch_s"},
        "ended_at": {"column": "finish_time", "unit": "epoch_s"},
        "ttft_s": {"column": "ttft", "unit": "s"},
        "input_tokens": "prompt_tokens",
        "output_tokens": "generation_tokens",
        "session_id": "user_id",
    },
}


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


def small_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(content_module, "_PLAIN_READ_BYTES", size)
    monkeypatch.setattr(rows_module, "BLOCK_BYTES", size)


def accepted(rows: pl.DataFrame) -> dict[str, tuple[int, int, int]]:
    """Per route: requests, those with ttft <= 1.0 s and tpot <= 0.05 s, output tokens of those."""
    e2e_s = (pl.col("ended_ns") - pl.col("started_ns")) / 1e9
    tpot_s = (e2e_s - pl.col("ttft_s")) / (pl.col("output_tokens") - 1)
    meets = (pl.col("ttft_s") <= 1.0) & ((pl.col("output_tokens") <= 1) | (tpot_s <= 0.05))
    counted = rows.group_by("route").agg(
        pl.len().alias("n"),
        meets.sum().alias("ok"),
        pl.col("output_tokens").filter(meets).sum().alias("tokens"),
    )
    return {row["route"]: (row["n"], row["ok"], row["tokens"]) for row in counted.to_dicts()}


def read_folder(folder: Path, source: dict[str, Any]) -> pl.DataFrame:
    settings = Settings.model_validate({"landing": str(folder), "sources": {"bench": source}})
    found = discover(settings)
    frames = []
    for file in found.files:
        if file.reader == "bench":
            for block in read_table(file, settings.sources["bench"], settings.limits):
                assert block.refused == []
                frames.append(block.tables["serving_records"])
    return pl.concat(frames)


def test_hand_worked_files_give_the_hand_worked_counts() -> None:
    rows = read_folder(BENCH, BENCH_SOURCE)
    assert accepted(rows) == {"direct": (6, 3, 143), "cached": (6, 3, 73)}  # tests/data/bench/README.md
    first = rows.filter(pl.col("route") == "direct").to_dicts()[0]
    del first["record_id"]
    assert first == {
        "line": 2,
        "position": 0,
        "dialect": "bench",
        "layer": "gateway",
        "started_ns": T0 * 10**9,
        "ended_ns": T0 * 10**9 + 2_500_000_000,
        "session_id": "1",
        "pool": "demo",
        "route": "direct",
        "ttft_s": 0.5,
        "input_tokens": 512,
        "output_tokens": 41,
        "outcome": "ok",
        "attributes": '{"offered_rps":"0.5"}',
    }


@needs_shared
def test_a_real_benchmark_gives_the_counts_of_an_independent_script() -> None:
    rows = read_folder(SHARED / "aibrix-v0.3.0", BENCH_SOURCE)
    assert accepted(rows) == {
        "aibrix_kvcache_dram": (2558, 1945, 128_078),
        "aibrix_kvcache_external": (2558, 2236, 130_142),
        "aibrix_naive": (2494, 53, 5_300),
        "aibrix_naive_prefix_routing": (2462, 572, 57_200),
        "naive": (2490, 64, 6_400),
        "ps_stack": (2558, 1857, 185_700),
    }
    assert rows["record_id"].n_unique() == 15_120


@needs_shared
def test_a_real_log_without_a_last_line_end_is_read_whole() -> None:
    columns = {
        "started_at": {"column": "TIMESTAMP", "unit": "iso8601"},
        "input_tokens": "ContextTokens",
        "output_tokens": "GeneratedTokens",
    }
    source = TableSource.model_validate({"format": "csv", "path": "*", "columns": columns})
    found = Outcome(SHARED / "azure-llm-2023-conv.csv", source, FileLimits(), {})
    assert (found.rows_read, found.refused, found.torn_tail_bytes) == (19_366, [], 0)
    last = found.frame.tail(1).to_dicts()[0]
    start = datetime(2023, 11, 16, 19, 14, 8, tzinfo=UTC)
    assert last["started_ns"] == int(start.timestamp()) * 10**9 + 402_527_000  # ...:08.4025270
    assert (last["line"], last["input_tokens"], last["output_tokens"]) == (19_367, 197, 183)


@needs_shared
def test_a_real_json_lines_trace_is_read_whole() -> None:
    columns = {"started_at": {"column": "timestamp", "unit": "epoch_ms"}, "input_tokens": "input_length"}
    source = TableSource.model_validate({"format": "jsonl", "path": "*", "columns": columns})
    path = SHARED / "mooncake-conversation.jsonl"
    found = Outcome(path, source, FileLimits(), {})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert found.frame["started_ns"].to_list() == [line["timestamp"] * 10**6 for line in lines]
    assert found.frame["input_tokens"].to_list() == [line["input_length"] for line in lines]


@pytest.mark.parametrize(
    ("text", "unit", "tz", "expected_ns"),
    [
        ("1795223065212293515", "epoch_ns", "UTC", 1795223065212293515),
        ("1795223065212293.515", "epoch_us", "UTC", 1795223065212293515),
        ("1795223065.212293515", "epoch_s", "UTC", 1795223065212293515),
        ("1733358731.4159265", "epoch_s", "UTC", 1733358731415926500),
        ("1733358731415.9265", "epoch_ms", "UTC", 1733358731415926500),
        (" 1733358731 ", "epoch_s", "UTC", 1733358731000000000),
        ("1.733358731e9", "epoch_s", "UTC", 1733358731000000000),
        ("-1.5", "epoch_s", "UTC", -1500000000),
        ("2026-01-01T00:00:00Z", "iso8601", "UTC", T0 * 10**9),
        ("2026-01-01 00:00:00", "iso8601", "UTC", T0 * 10**9),
        ("2026-01-01T00:00:00.1", "iso8601", "UTC", T0 * 10**9 + 100_000_000),
        ("2026-01-01T00:00:00,0000001Z", "iso8601", "UTC", T0 * 10**9 + 100),
        ("2026-01-01T00:00:00.123456789+00:00", "iso8601", "UTC", T0 * 10**9 + 123_456_789),
        ("2026-01-01T05:30:00+0530", "iso8601", "UTC", T0 * 10**9),
        ("2025-12-31T16:00:00-08", "iso8601", "Europe/Berlin", T0 * 10**9),
        ("2026-01-01T01:00", "iso8601", "Europe/Berlin", T0 * 10**9),
        ("2026-07-01T02:00:00.5", "iso8601", "Europe/Berlin", (T0 + 181 * 86400) * 10**9 + 500_000_000),
        ("01/01/2026 01:00:00 AM", "%d/%m/%Y %I:%M:%S %p", "Europe/Berlin", T0 * 10**9),
        ("2026-01-01 00:00:00.9799600", "%Y-%m-%d %H:%M:%S.%f", "UTC", T0 * 10**9 + 979_960_000),
        ("2026-01-01 00:00:00,979", "%Y-%m-%d %H:%M:%S,%f", "UTC", T0 * 10**9 + 979_000_000),
        ("20260101000000000001", "%Y%m%d%H%M%S%f", "UTC", T0 * 10**9 + 1_000),
        ("01/Jan/2026:01:00:00 +0100", "%d/%b/%Y:%H:%M:%S %z", "UTC", T0 * 10**9),
        ("2026-01-01 00:00:00Z", "%Y-%m-%d %H:%M:%S%z", "Europe/Berlin", T0 * 10**9),
    ],
)
def test_trap_3_times_are_exact_nanoseconds(tmp_path: Path, text: str, unit: str, tz: str, expected_ns: int) -> None:
    columns = {"started_at": {"column": "start", "unit": unit, "tz": tz}}
    assert read(tmp_path, f'start\n"{text}"\n', columns).frame["started_ns"].to_list() == [expected_ns]


@pytest.mark.parametrize(
    ("text", "unit", "tz"),
    [
        ("yesterday", "epoch_s", "UTC"),
        ("nan", "epoch_s", "UTC"),
        ("1e30", "epoch_s", "UTC"),
        ("99999999999999999999", "epoch_ns", "UTC"),
        ("2026-02-30T00:00:00Z", "iso8601", "UTC"),
        ("2026-01-01", "iso8601", "UTC"),
        ("9999-01-01T00:00:00Z", "iso8601", "UTC"),
        ("2026-03-29T02:30:00", "iso8601", "Europe/Berlin"),  # the clock jumps from 2 to 3
        ("2026-10-25T02:30:00", "iso8601", "Europe/Berlin"),  # the hour from 2 to 3 comes twice
        ("2026-03-29 02:30:00", "%Y-%m-%d %H:%M:%S", "Europe/Berlin"),
        ("9999-01-01 00:00:00", "%Y-%m-%d %H:%M:%S", "UTC"),
    ],
)
def test_a_time_that_cannot_be_told_quarantines_its_row_alone(tmp_path: Path, text: str, unit: str, tz: str) -> None:
    columns = {"started_at": {"column": "start", "unit": unit, "tz": tz}, "session_id": "who"}
    found = read(tmp_path, f"start,who\n,a\n{text},b\n,c\n", columns)
    assert found.frame["session_id"].to_list() == ["a", "c"]
    [row] = found.refused
    assert (row.line, row.position, row.table_name, row.rule) == (
        3,
        0,
        "serving_records",
        "started_at_unreadable",
    )
    assert row.reason.startswith(f"start = {text!r} is not a time as {unit}")
    assert row.excerpt == f"{text},b"


@pytest.mark.parametrize(
    ("unit", "text", "expected_s"),
    [
        ("s", "0.25", 0.25),
        ("ms", "250", 0.25),
        ("us", "250000", 0.25),
        ("ns", "250000000", 0.25),
        ("ms", "-7", -0.007),
        ("s", "inf", float("inf")),
        ("ms", "-Infinity", float("-inf")),
        ("s", "", None),
    ],
)
def test_durations_become_seconds(tmp_path: Path, unit: str, text: str, expected_s: float | None) -> None:
    columns = {"started_at": START, "ttft_s": {"column": "ttft", "unit": unit}}
    assert read(tmp_path, f"start,ttft\n1,{text}\n", columns).frame["ttft_s"].to_list() == [expected_s]


@pytest.mark.parametrize("text", ["nan", "NaN"])
def test_a_duration_that_is_no_number_stays_so_for_the_contract_to_judge(tmp_path: Path, text: str) -> None:
    columns = {"started_at": START, "ttft_s": {"column": "ttft", "unit": "ms"}}
    found = read(tmp_path, f"start,ttft\n1,{text}\n", columns)
    assert found.frame["ttft_s"].is_nan().to_list() == [True]
    assert found.refused == []


def test_whole_numbers_may_be_written_as_floats_but_not_have_fractions(tmp_path: Path) -> None:
    columns = {"started_at": START, "output_tokens": "n", "http_status": "code"}
    rows = "1,100.0,200\n1,1e2,\n1,9007199254740993,2\n1,2.5,\n1,many,2x\n1,,1e30\n"
    found = read(tmp_path, "start,n,code\n" + rows, columns)
    assert found.frame["output_tokens"].to_list() == [100, 100, 9007199254740993]
    assert found.frame["http_status"].to_list() == [200, None, 2]
    assert found.rules == {
        5: "output_tokens_unreadable",
        6: "output_tokens_unreadable",
        7: "http_status_unreadable",
    }
    assert found.refused[1].reason == "n = 'many' is not a whole number; code = '2x' is not a whole number"


def test_frames_hold_columns_of_the_contract_with_its_types(tmp_path: Path) -> None:
    schema = pl.Schema(arrow_schema("serving_records"))
    columns = {
        "started_at": START,
        "ttft_s": {"column": "a", "unit": "ms"},
        "output_tokens": "a",
        "http_status": "a",
        "streamed": "a",
        "reported_cost_usd": "a",
        "model": "a",
    }
    found = read(tmp_path, "start,a\n1,1\n", columns, constants={"preemptions": 0}, captures={"note": "x"})
    assert {name: schema[name] for name in found.frame.columns} == dict(found.frame.schema)
    assert {"source_id", "note"}.isdisjoint(found.frame.columns)
    row = found.frame.to_dicts()[0]
    given = (
        "ttft_s",
        "output_tokens",
        "http_status",
        "streamed",
        "reported_cost_usd",
        "model",
        "preemptions",
    )
    assert [row[name] for name in given] == [0.001, 1, 1, True, 1.0, "1", 0]


@pytest.mark.parametrize("form", [("\n", "", ""), ("\n", "\ufeff", "\n"), ("\r\n", "", "\r\n"), ("\r\n", "\ufeff", "")])
@pytest.mark.parametrize("pieces", [13, 2**20])
def test_csv_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, str, str], pieces: int) -> None:
    small_pieces(monkeypatch, pieces)
    line_end, mark, last = form
    lines = ["", "start,who", '1,"a', 'b"', "", '2,"say ""hi"", ok"', '3,5" wide', '4,"é', "", 'x"', "5,"]
    found = read(
        tmp_path,
        mark + line_end.join(lines) + last,
        {"started_at": START, "session_id": "who"},
    )
    said = ["a" + line_end + "b", 'say "hi", ok', '5" wide', "é" + line_end * 2 + "x", None]
    assert found.frame["session_id"].to_list() == said
    assert found.frame["line"].to_list() == [3, 6, 7, 8, 11]
    assert (found.rows_read, found.refused, found.torn_tail_bytes, found.stopped) == (5, [], 0, None)


@pytest.mark.parametrize("pieces", [5, 2**20])
def test_rows_that_are_none_are_refused_alone_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    small_pieces(monkeypatch, pieces)
    lines = [
        b"start,who",
        b"1,few,many",  # 2
        b"2",
        b'3,"never closed',  # 4
        b"4,good",
        b'5,"two\nlines"',  # 6 and 7
        b'6,a stray quote"',
        b"7,\xff\xfe",  # 9
        b"8,a\rb",
        b'9,"a\rb"',
        b"10," + b"x" * 100,
        b"11,good",  # 13
    ]
    limits = FileLimits(max_line_bytes=60)
    found = read(tmp_path, b"\n".join(lines) + b"\n", {"started_at": START, "session_id": "who"}, limits=limits)
    assert found.rules == {
        2: "row_ragged",
        3: "row_ragged",
        4: "row_unclosed_quote",
        9: "row_not_utf8",
        10: "row_lone_return",
        12: "row_too_long",
    }
    assert found.frame["session_id"].to_list() == ["good", "two\nlines", 'a stray quote"', "a\rb", "good"]
    assert found.frame["line"].to_list() == [5, 6, 8, 11, 13]
    assert found.rows_read == 11
    assert all(row.table_name is None for row in found.refused)
    by_line = {row.line: row for row in found.refused}
    assert by_line[2].reason == "3 cells where the header has 2"
    assert by_line[12].reason.endswith("limits.max_line_bytes = 60")
    assert by_line[9].excerpt == "7,\ufffd\ufffd"


@pytest.mark.parametrize("row", [b"2,x\ry", b'2,x"\r"y', b'2,"x"\r"y"', b"2,x\r"])
def test_a_carriage_return_outside_quotes_is_no_line_end(tmp_path: Path, row: bytes) -> None:
    content = b"start,who\r\n1,a\r\n" + row + b"\r\n3,c\r\n"
    found = read(tmp_path, content, {"started_at": START, "session_id": "who"})
    assert found.rules == {3: "row_lone_return"}
    assert found.frame["session_id"].to_list() == ["a", "c"]


def test_a_quote_that_never_closes_costs_one_row_even_at_the_end_of_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, 'start,who\n1,a\n2,"b\n3,c\n4,d', {"started_at": START, "session_id": "who"})
    assert found.frame["session_id"].to_list() == ["a", "c", "d"]
    assert found.rules == {3: "row_unclosed_quote"}


@pytest.mark.parametrize(("tail", "torn"), [("2", 1), ('2,"b', 4), ("2,", 0), ("2,b", 0), ("  ", 0)])
def test_an_unfinished_last_csv_row_is_left_for_later(tmp_path: Path, tail: str, torn: int) -> None:
    found = read(tmp_path, f"start,who\n1,a\n{tail}", {"started_at": START, "session_id": "who"})
    assert found.torn_tail_bytes == torn
    assert found.rows_read == (1 if torn or not tail.strip() else 2)
    assert found.refused == []


@pytest.mark.parametrize("content", ["", "start,who", "start,who\n", "\n\n", "\ufeff"])
def test_a_file_without_rows_gives_none(tmp_path: Path, content: str) -> None:
    found = read(tmp_path, content)
    assert (found.rows_read, found.refused, found.torn_tail_bytes) == (0, [], 0)


def test_a_file_without_a_mapped_column_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    columns = {"started_at": START, "ttft_s": {"column": "ttfb", "unit": "s"}, "model": "model"}
    with pytest.raises(SourceRefused) as error:
        read(tmp_path, "start,ttft,model,model\n1,2,3,4\n", columns)
    assert "column 'ttfb' is not in it (did you mean 'ttft'?)" in error.value.reason
    assert "column 'model' occurs 2 times" in error.value.reason
    assert "its columns are: start, ttft, model, model" in error.value.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("start\n1\n".encode("utf-16"), "is UTF-16"),
        (b"start\xff\n1\n", "its header is not UTF-8"),
        (b"x" * 100 + b"\n1\n", "its first line is longer than 50 bytes"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(SourceRefused) as error:
        read(tmp_path, content, limits=FileLimits(max_line_bytes=50))
    assert reason in error.value.reason


def test_a_first_line_that_is_longer_than_any_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="holds no names of columns"):
        read(tmp_path, b"x" * 200_000 + b"\n1\n")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    source = TableSource.model_validate({"format": "csv", "path": "*", "columns": {"started_at": START}})
    with pytest.raises(SourceRefused, match="cannot be opened: No such file"):
        Outcome(tmp_path / "gone.csv", source, FileLimits(), {})


def pack(codec: str, content: bytes) -> bytes:
    middle = len(content) // 2  # two members, as appending writers leave them
    parts = (content[:middle], content[middle:])
    return b"".join(gzip.compress(p) if codec == "gzip" else zstandard.compress(p) for p in parts)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_compression_is_told_by_content_not_by_name(tmp_path: Path, codec: str) -> None:
    content = b"start\n" + b"".join(b"%d\n" % number for number in range(50_000))
    packed = pack(codec, content)
    found = read(tmp_path / "plain.csv", packed)
    assert found.frame["started_ns"].to_list() == [number * 10**9 for number in range(50_000)]
    assert found.bytes_done == len(packed)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_broken_stream_keeps_what_came_before_the_break(tmp_path: Path, codec: str) -> None:
    content = b"start\n" + b"".join(b"%d\n" % number for number in range(100_000))
    found = read(tmp_path, pack(codec, content)[:-100])
    assert found.stopped is not None
    assert f"the {codec} stream breaks after" in found.stopped
    kept = found.frame["started_ns"].to_list()
    assert kept == [number * 10**9 for number in range(len(kept))]
    assert len(kept) > 40_000


def test_a_decompression_bomb_is_stopped_at_the_limit(tmp_path: Path) -> None:
    content = b"start\n" + b"7\n" * 1_000_000
    found = read(tmp_path, gzip.compress(content), limits=FileLimits(max_decompressed_bytes=100_000))
    assert found.stopped == "holds more than limits.max_decompressed_bytes = 100000"
    assert 0 < found.rows_read <= 50_000


def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    content = "start\n" + "1\n" * 1_000_000
    assert read(tmp_path, content).bytes_done == len(content)


def test_rows_are_the_same_however_the_file_falls_into_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = "start,who\n" + "".join(f'{n},"a\n{n}"\n{n},plain\n' for n in range(200))
    columns = {"started_at": START, "session_id": "who"}
    whole = read(tmp_path, content, columns).frame
    for size in (300, 1000):
        small_pieces(monkeypatch, size)
        assert read(tmp_path, content, columns).frame.equals(whole)


cells = st.text(st.sampled_from(list('ab",\n é0')), max_size=6)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(rows=st.lists(st.tuples(cells, cells), max_size=8), size=st.integers(8, 80))
def test_csv_is_read_as_the_standard_library_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str]], size: int
) -> None:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["start", "who", "what"])
    lines = []
    for row in rows:
        lines.append(written.getvalue().count("\n") + 1)
        writer.writerow(["1", *row])
    with monkeypatch.context() as patched:
        small_pieces(patched, size)
        found = read(tmp_path, written.getvalue(), {"started_at": START, "session_id": "who", "model": "what"})
    assert found.refused == []
    if rows:
        said = found.frame.select("session_id", "model").rows()
        assert said == [(who or None, what or None) for who, what in rows]
        assert found.frame["line"].to_list() == lines


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    body=st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"\r\n", b"1", b"a", b"\xff", b"\0"]), max_size=40),
    size=st.integers(8, 80),
    limit=st.integers(8, 60),
)
def test_any_bytes_are_accounted_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: list[bytes], size: int, limit: int
) -> None:
    good = b"7,last\n"
    content = b"s,w\n" + b"".join(body)
    columns = {"started_at": {"column": "s", "unit": "epoch_s"}, "session_id": "w"}
    with monkeypatch.context() as patched:
        small_pieces(patched, size)
        found = read(tmp_path, content + b"\n" + good, columns, limits=FileLimits(max_line_bytes=limit))
    frames = [frame for block in found.blocks for frame in block.tables.values()]
    assert found.rows_read == sum(frame.height for frame in frames) + len(found.refused)
    lines = [line for frame in frames for line in frame["line"]] + [row.line for row in found.refused]
    assert len(lines) == len(set(lines))
    if b'"' not in content:
        assert frames[-1].tail(1)["session_id"].to_list() == ["last"]


def test_json_lines(tmp_path: Path) -> None:
    columns = {
        "started_at": {"column": "t", "unit": "epoch_ns"},
        "input_tokens": "usage.prompt_tokens",
        "output_tokens": "gen_ai.usage.output_tokens",
        "finish_reason": "choices.0.finish",
        "ttft_s": {"column": "ttft", "unit": "ms"},
        "streamed": "stream",
        "error_type": "error",
        "model": "a/b~c",
    }
    lines = [
        '{"t": 1795223065212293515, "usage": {"prompt_tokens": 12}, "gen_ai.usage.output_tokens": "34"}',
        '  {"t":"1795223065212293516","choices":[{"finish":"stop"}],"ttft":NaN,"stream":true,"a/b~c":"m"}  ',
        "",
        '{"t": 1.795e18, "usage": null, "stream": "", "error": {"kind": "x"}, "ttft": 12.5, "new": [1, {}]}',
    ]
    found = read(tmp_path, "\r\n".join(lines), columns, format="jsonl")
    assert (found.refused, found.torn_tail_bytes, found.rows_read) == ([], 0, 3)
    rows = found.frame
    assert rows["line"].to_list() == [1, 2, 4]
    assert rows["started_ns"].to_list() == [1795223065212293515, 1795223065212293516, 1795000000000000000]
    assert rows["input_tokens"].to_list() == [12, None, None]
    assert rows["output_tokens"].to_list() == [34, None, None]
    assert rows["finish_reason"].to_list() == [None, "stop", None]
    assert [str(value) for value in rows["ttft_s"]] == ["None", "nan", "0.0125"]
    assert rows["streamed"].to_list() == [None, True, None]
    assert rows["error_type"].to_list() == [None, None, '{"kind":"x"}']
    assert rows["model"].to_list() == [None, "m", None]


@pytest.mark.parametrize("pieces", [5, 2**20])
def test_json_lines_that_are_no_rows_are_refused_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    small_pieces(monkeypatch, pieces)
    lines = [
        b'{"start": 1}',
        b'{"start": 2',
        b"[3]",
        b'{"start": "\xff"}',
        b'{"start": "' + b"5" * 60 + b'"}',
        b'{"start": "soon"}',
        b'{"start": 7}',
        b'{"start": 8',
    ]
    found = read(tmp_path, b"\n".join(lines), format="jsonl", limits=FileLimits(max_line_bytes=50))
    assert found.frame["started_ns"].to_list() == [10**9, 7 * 10**9]
    assert found.rules == {
        2: "row_not_json",
        3: "row_not_object",
        4: "row_not_utf8",
        5: "row_too_long",
        6: "started_at_unreadable",
    }
    assert found.torn_tail_bytes == len(lines[-1])
    assert found.rows_read == 7


def test_json_lines_may_lack_any_column_but_the_needed_ones(tmp_path: Path) -> None:
    found = read(tmp_path, '{"start": 1}\n', {"started_at": START, "error_type": "error"}, format="jsonl")
    assert found.frame["error_type"].to_list() == [None]
    with pytest.raises(SourceRefused) as error:
        read(tmp_path, '{"begin": 1, "at": {"started": 2}}\n', format="jsonl")
    assert (
        error.value.reason
        == "column 'start' is not in it (did you mean 'at.started'?); its columns are: begin, at, at.started"
    )


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=2)
    return sink.getvalue()


def test_parquet(tmp_path: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    table = pa.table(
        {
            "start": pa.array([start, start + timedelta(microseconds=1), None], pa.timestamp("ns", "UTC")),
            "end": pa.array([T0 + 2.5, 1733358731.4159265, None], pa.float64()),
            "wait": pa.array([250, None, 1], pa.duration("ms")),
            "ttft": [0.1, float("nan"), float("inf")],
            "usage": [{"in": 1, "gen.out": 2.0}, None, {"in": 3, "gen.out": None}],
            "model": pa.array(["a", "b", "a"]).dictionary_encode(),
            "stream": [True, False, None],
            "blocks": [[1.5], [], None],
        }
    )
    columns = {
        "started_at": START,
        "ended_at": {"column": "end", "unit": "epoch_s"},
        "queue_s": {"column": "wait", "unit": "s"},
        "ttft_s": {"column": "ttft", "unit": "ms"},
        "input_tokens": "usage.in",
        "output_tokens": "usage.gen.out",
        "model": "model",
        "streamed": "stream",
    }
    content = parquet(table)
    found = read(tmp_path, content, columns, format="parquet")
    rows = found.frame
    assert rows["line"].to_list() == [1, 2, 3]
    assert rows["started_ns"].to_list() == [T0 * 10**9, T0 * 10**9 + 1_000, None]
    assert rows["ended_ns"].to_list() == [T0 * 10**9 + 2_500_000_000, 1733358731415926500, None]
    assert rows["queue_s"].to_list() == [0.25, None, 0.001]
    assert [str(value) for value in rows["ttft_s"]] == ["0.0001", "nan", "inf"]
    assert rows["input_tokens"].to_list() == [1, None, 3]
    assert rows["output_tokens"].to_list() == [2, None, None]
    assert rows["model"].to_list() == ["a", "b", "a"]
    assert rows["streamed"].to_list() == [True, False, None]
    assert rows["record_id"].n_unique() == 3
    assert 0 < found.bytes_done < len(content)


def test_an_unreadable_parquet_cell_quarantines_its_row_alone(tmp_path: Path) -> None:
    table = pa.table({"start": [1, 2, 3], "n": ["1", "x", "3"]})
    found = read(tmp_path, parquet(table), {"started_at": START, "output_tokens": "n"}, format="parquet")
    assert found.frame["line"].to_list() == [1, 3]
    assert found.rules == {2: "output_tokens_unreadable"}
    assert found.refused[0].excerpt == '{"start":"2","n":"x"}'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PAR1 but no more", "is no whole Parquet file"),
        (parquet(pa.table({"begin": [1]})), "column 'start' is not in it"),
        (parquet(pa.table({"start": [[1]]})), "column holds no plain values: 'start'"),
        (parquet(pa.table({"start": [b"1"]})), "column holds no plain values: 'start'"),
        (parquet(pa.table([[1], [2]], names=["start", "start"])), "two columns have one name"),
    ],
)
def test_a_parquet_file_that_cannot_serve_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(SourceRefused) as error:
        read(tmp_path, content, format="parquet")
    assert reason in error.value.reason


def ids(outcome: Outcome) -> list[str]:
    return outcome.frame["record_id"].to_list()


def test_a_row_is_its_cells_however_they_are_written(tmp_path: Path) -> None:
    plain = ids(read(tmp_path, "start,who\n1,a\n1,b\n1,a\n"))
    assert len(set(plain)) == 3
    assert ids(read(tmp_path, '\ufeffstart,who\r\n"1","a"\r\n1,b\r\n1,a')) == plain
    assert ids(read(tmp_path, "who,start\na,1\nb,1\na,1\n")) == plain
    assert ids(read(tmp_path, "start,who\n1,a\n", captures={"route": "x"})) != plain[:1]
    assert ids(read(tmp_path, "start,whom\n1,a\n")) != plain[:1]


def test_equal_rows_are_as_many_rows_however_the_file_falls_into_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = "start,who\n" + "1,a\n1,b\n" * 40 + "1,a\n"
    whole = ids(read(tmp_path, content))
    assert len(set(whole)) == 81
    assert whole[:2] == ids(read(tmp_path, "start,who\n1,a\n1,b\n"))  # the first of each is what it always was
    small_pieces(monkeypatch, 50)
    cut = read(tmp_path, content)
    assert len(cut.blocks) > 3
    assert ids(cut) == whole


def test_equal_rows_with_an_id_are_one(tmp_path: Path) -> None:
    columns = {"started_at": START, "request_key": "key"}
    first, second, third = ids(read(tmp_path, "start,key\n1,r1\n1,r1\n1,\n", columns))
    assert first == second != third
    label = {"labelled_at": START, "evaluator": "by", "request_key": "key"}
    first, second = ids(read(tmp_path, "start,by,key\n1,j,r\n1,j,r\n", label, table="quality_labels"))
    assert first == second
    cost = {"period_start": START, "period_end": START, "amount_usd": "usd"}
    found = read(tmp_path, "start,usd\n1,10\n1,10\n", cost, table="cost_records").frame
    assert found["cost_id"].n_unique() == 2
    cost["cost_id"] = "id"
    found = read(tmp_path, "start,usd,id\n1,10,x\n1,10,x\n", cost, table="cost_records").frame
    assert found["cost_id"].to_list() == ["x", "x"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_attributes_come_from_columns_the_path_and_what_is_kept(tmp_path: Path, form: str) -> None:
    path, rows = tmp_path / "file", [{"start": 1, "Team": "a", "tier": "gold", "x": "y"}, {"start": 2, "Team": None}]
    frame = pl.DataFrame(rows, schema={"start": pl.Int64, "Team": pl.String, "tier": pl.String, "x": pl.String})
    if form == "csv":
        frame.write_csv(path)
    elif form == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    columns = {"started_at": START, "attributes": {"team": "Team", "org": {"unit": "tier"}}}
    source = TableSource.model_validate({"format": form, "path": "*", "columns": columns})
    file = LandedFile(path, tmp_path, "log", {"rps": "0.5", "team": "path", "route": "r"})
    [block] = read_table(file, source, FileLimits(), kept=("tier", "absent"))
    found = [json.loads(text) for text in block.tables["serving_records"]["attributes"]]
    # a column before the path; what has no value is not there
    assert found == [
        {"org.unit": "gold", "rps": "0.5", "team": "a", "tier": "gold"},
        {"rps": "0.5", "team": "path"},
    ]


def test_cells_of_a_row_cannot_run_into_each_other(tmp_path: Path) -> None:
    rows = ['1,"a,b",', "1,a,b", "1,,ab", "1,ab,", '1,"","ab "', '1,"a"",""b",']
    assert len(set(ids(read(tmp_path, "start,x,y\n" + "\n".join(rows) + "\n")))) == len(rows)


def test_record_ids_are_the_same_on_every_machine(tmp_path: Path) -> None:
    def md5(cells: list[str | None]) -> str:
        return hashlib.md5(json.dumps(cells, separators=(",", ":")).encode()).hexdigest()

    def shared(captures: dict[str, str], names: list[str]) -> str:
        text = json.dumps([captures, names]).encode()
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    csv_row = md5(["1", None, shared({"route": "x"}, ["start", "who"])])
    json_row = md5(['{"start":1}', shared({}, [])])
    assert ids(read(tmp_path, "start,who\n1,\n", captures={"route": "x"})) == [csv_row]
    assert ids(read(tmp_path, '{"start":1} \n', format="jsonl")) == [json_row]


def test_a_mapped_attempt_id_is_the_record_id_where_it_is_given(tmp_path: Path) -> None:
    columns = {"started_at": START, "attempt_id": "id"}
    found = ids(read(tmp_path, "start,id\n1,req-1\n2,\n", columns))
    assert found[0] == "req-1"
    assert found[1] == ids(read(tmp_path, "start,id\n2,\n"))[0]


def test_columns_come_from_mapping_then_path_then_constants(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "start,layer,pool,outcome\n1,Engine,p1,OK\n2,,,\n",
        {"started_at": START, "layer": "layer", "pool": "pool", "outcome": "outcome"},
        constants={"pool": "constant", "model": "constant", "streamed": True, "preemptions": 2},
        captures={
            "pool": "path",
            "preemptions": "3",
            "ended_at": "2026-01-01T00:00:00Z",
            "e2e_s": "1.5",
            "x": "y",
        },
    )
    rows = found.frame.to_dicts()
    assert [row["layer"] for row in rows] == ["engine", "gateway"]
    assert [row["pool"] for row in rows] == ["p1", "path"]
    assert [row["outcome"] for row in rows] == ["ok", None]
    same = {"model": "constant", "streamed": True, "preemptions": 3, "ended_ns": T0 * 10**9, "e2e_s": 1.5}
    assert all({name: row[name] for name in same} == same for row in rows)


def test_a_path_that_gives_no_value_of_its_column_refuses_the_file(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused) as error:
        read(tmp_path, "start\n1\n", captures={"preemptions": "often", "streamed": "maybe"})
    assert "preemptions = 'often'" in error.value.reason
    assert "streamed = 'maybe'" in error.value.reason


LABEL_COLUMNS = {
    "labelled_at": START,
    "evaluator": "by",
    "trace_id": "trace",
    "span_id": "span",
    "response_id": "response",
    "request_key": "request",
    "session_id": "session",
}
TRACE, SPAN = "A" * 32, "B" * 16


def test_a_label_judges_the_most_exact_of_what_it_names(tmp_path: Path) -> None:
    rows = [
        f"1,j,{TRACE},{SPAN},resp,req,sess",
        f"2,j,{TRACE},,resp,req,sess",
        f"3,j,{TRACE},,,req,sess",
        f"4,j,{TRACE},,,,sess",
        f"5,j,,{SPAN},,,sess",
        "6,j,,,,,",
    ]
    content = "start,by,trace,span,response,request,session\n" + "\n".join(rows) + "\n"
    labels = read(tmp_path, content, LABEL_COLUMNS, table="quality_labels").frame
    assert labels.select("subject_kind", "subject_id", "response_id").rows() == [
        ("span", f"{'a' * 32}:{'b' * 16}", "resp"),
        ("response", "resp", None),
        ("request", "req", None),
        ("trace", "a" * 32, None),
        ("session", "sess", None),
        (None, None, None),
    ]
    assert labels["labelled_ns"].to_list() == [n * 10**9 for n in range(1, 7)]
    assert labels["label_id"].to_list() == labels["record_id"].to_list()
    assert labels["withdrawn"].to_list() == [False] * 6
    schema = pl.Schema(arrow_schema("label_records"))
    assert dict(labels.schema) == {name: schema[name] for name in labels.columns}


def test_declared_labels_name_the_plan_by_which_their_request_was_drawn(tmp_path: Path) -> None:
    content = "start,by,request,plan\n1,j,a,plan-1\n2,j,b,\n"
    labels = read(tmp_path, content, {**LABEL_COLUMNS, "plan_id": "plan"}, table="quality_labels").frame
    assert labels["plan_id"].to_list() == ["plan-1", None]


def test_verdicts_in_words_and_revisions_by_label_id(tmp_path: Path) -> None:
    columns = {
        "labelled_at": START,
        "evaluator": "by",
        "request_key": "request",
        "passed": "ok",
        "score": "score",
        "label_id": "id",
        "withdrawn": "gone",
    }
    words = ["true", "FALSE", "1", "0", "Yes", "no", "pass", "FAIL", "", "perhaps"]
    lines = [
        json.dumps({"start": n, "by": "j", "request": "r", "ok": word, "score": n / 4, "id": "L", "gone": n == 3})
        for n, word in enumerate(words)
    ]
    found = read(tmp_path, "\n".join(lines), columns, format="jsonl", table="quality_labels")
    labels = found.frame
    assert labels["passed"].to_list() == [True, False, True, False, True, False, True, False, None]
    assert labels["score"].to_list() == [n / 4 for n in range(9)]
    assert labels["withdrawn"].to_list() == [n == 3 for n in range(9)]
    assert set(labels["label_id"]) == {"L"}
    assert labels["record_id"].n_unique() == 9
    [row] = found.refused
    assert (row.line, row.table_name, row.rule) == (10, "label_records", "passed_unreadable")
    assert row.reason == "ok = 'perhaps' is not one of true, 1, yes, pass, false, 0, no, fail"
