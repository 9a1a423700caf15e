"""Cells of declared tables: times, durations and whole numbers, and the types of the contract."""

from pathlib import Path

import polars as pl
import pytest

from collect.tables import START, T0, read
from goodput.contracts import arrow_schema


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


def test_a_time_may_be_so_much_later_than_the_file_says(tmp_path: Path) -> None:
    columns = {
        "started_at": {"column": "day", "unit": "%d/%m/%Y", "tz": "Europe/Berlin"},
        "ended_at": {"column": "day", "unit": "%d/%m/%Y", "tz": "Europe/Berlin", "plus_s": 86400},
    }
    frame = read(tmp_path, "day\n02/01/2026\n", columns).frame
    assert frame.select("started_ns", "ended_ns").row(0) == ((T0 + 82800) * 10**9, (T0 + 82800 + 86400) * 10**9)


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
    told = f"text of {len(text)} characters" if text in ("yesterday", "nan") else repr(text)
    assert row.reason.startswith(f"start = {told} is not a time as {unit}")
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
    assert (
        found.refused[1].reason
        == "n = text of 4 characters is not a whole number; code = text of 2 characters is not a whole number"
    )


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
