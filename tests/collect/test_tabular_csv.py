"""CSV files: every form of them, in whatever pieces they are read, and damage that costs one row."""

import csv
import gzip
import io
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from collect.tables import START, Outcome, read, small_pieces
from goodput.collect.stopped import Stopped
from goodput.errors import SourceRefused
from goodput.settings.model import FileLimits
from goodput.settings.sources import TableSource


@pytest.mark.parametrize("form", [("\n", "", ""), ("\n", "\ufeff", "\n"), ("\r\n", "", "\r\n"), ("\r\n", "\ufeff", "")])
@pytest.mark.parametrize(("pieces", "rows"), [(13, 1000), (2**20, 2), (2**20, 1000)])
def test_csv_forms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, str, str], pieces: int, rows: int
) -> None:
    small_pieces(monkeypatch, pieces, rows)
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


@pytest.mark.parametrize(("pieces", "rows"), [(5, 1000), (2**20, 1), (2**20, 2), (2**20, 1000)])
def test_rows_that_are_none_are_refused_alone_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: int, rows: int
) -> None:
    small_pieces(monkeypatch, pieces, rows)
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
        (gzip.compress(gzip.compress(b"start\n1\n")), "it is compressed twice: decompress it once"),
        (gzip.compress(b"\x28\xb5\x2f\xfd" + bytes(9)), "it is compressed twice"),
        (b"x" * 100 + b"\n1\n", "its first line is longer than 50 bytes"),
    ],
    ids=["UTF-16", "header", "gzip in gzip", "zstd in gzip", "first line"],
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
    assert f"the {codec} stream breaks after" in found.stopped.reason
    assert found.stopped.unread_bytes == 0  # nothing is there that was not read: its writer may still be at work
    kept = found.frame["started_ns"].to_list()
    assert kept == [number * 10**9 for number in range(len(kept))]
    assert len(kept) > 40_000


def test_a_decompression_bomb_is_stopped_at_the_limit(tmp_path: Path) -> None:
    content = b"start\n" + b"7\n" * 1_000_000
    found = read(tmp_path, gzip.compress(content), limits=FileLimits(max_decompressed_bytes=100_000))
    # so small a file is read ahead as a whole
    assert found.stopped == Stopped(
        "holds more than limits.max_decompressed_bytes = 100000", len(gzip.compress(content))
    )
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
