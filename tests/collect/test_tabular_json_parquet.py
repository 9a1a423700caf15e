"""JSON lines and Parquet files give the rows that CSV gives, and damage costs one row."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.tables import START, T0, read, small_pieces
from goodput.errors import SourceRefused
from goodput.settings.model import FileLimits


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
