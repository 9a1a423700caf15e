"""Access logs of Envoy and Envoy AI Gateway in canonical words (telemetry 4, 6)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from collect.objects.written import Reading, Row, put
from collect.telemetry import TRACE, columns

START_NS = 1_795_165_200_000_000_000  # 2026-11-20T09:00:00Z
ROW: Mapping[str, Any] = {
    "start_time": "2026-11-20T09:00:00.250Z",
    "method": "POST",
    "x-envoy-origin-path": "/v1/chat/completions?x=1",
    "response_code": 200,
    "response_flags": "-",
    "duration": 2500,
    "response_duration": 500,
    "content-type": "text/event-stream; charset=utf-8",
    "upstream_host": "10.0.0.1:8000",
    "upstream_cluster": "pool-a",
    "route_name": "chat",
    "x-request-id": "x-1",
    "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01",
    "x-session-id": "s-1",
    "upstream_request_attempt_count": 3,
    "gen_ai.request.model": "alias",
    "gen_ai.response.model": "llama",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.cached_input_tokens": 64,
    "gen_ai.usage.output_tokens": 20,
}
TEXT = (
    '[2026-11-20T09:00:00.250Z] "POST /v1/chat/completions HTTP/1.1" {code} {flags} 154 800 2500 2400'
    ' "10.1.1.1" "curl \\"8\\"" "x-1" "llm.example" "{host}"\n'
)


def read(folder: Path, *rows: Mapping[str, Any]) -> Reading:
    return Reading(put(folder / "access.log", "".join(f"{json.dumps(row)}\n" for row in rows)))


def as_texts(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: "-" if value is None else str(value) for name, value in row.items()}


@pytest.mark.parametrize("row", [ROW, as_texts(ROW)], ids=["typed", "all texts"])
def test_a_row_of_json(tmp_path: Path, row: Mapping[str, Any]) -> None:
    expected = {
        "dialect": "envoy",
        "layer": "gateway",
        "covers_tries": True,
        "trace_id": TRACE,
        "span_id": None,
        "call_id": "x-1",
        "session_id": "s-1",
        "model": "llama",
        "route": "chat",
        "pool": "pool-a",
        "address": "10.0.0.1:8000",
        "started_ns": START_NS + 250_000_000,
        "first_token_ns": START_NS + 750_000_000,
        "ended_ns": START_NS + 2_750_000_000,
        "ttft_s": 0.5,
        "e2e_s": 2.5,
        "streamed": True,
        "input_tokens": 100,
        "cached_input_tokens": 64,
        "output_tokens": 20,
        "http_status": 200,
        "error_type": None,
        "outcome": "ok",
        "reported_attempts": 3,
    }
    assert columns(read(tmp_path, row).conformed_record, list(expected)) == expected


@pytest.mark.parametrize("unset", [None, "-"])
def test_what_is_unset_is_unknown(tmp_path: Path, unset: str | None) -> None:
    names = ("upstream_host", "gen_ai.usage.output_tokens", "upstream_request_attempt_count", "response_duration")
    record = read(tmp_path, {**ROW, **dict.fromkeys(names, unset)}).conformed_record
    assert columns(record, ["address", "output_tokens", "reported_attempts", "ttft_s"]) == {
        "address": None,
        "output_tokens": None,
        "reported_attempts": None,
        "ttft_s": None,
    }


def test_trap_8_the_first_byte_of_what_does_not_stream_is_no_first_token(tmp_path: Path) -> None:
    record = read(tmp_path, {**ROW, "content-type": "application/json"}).conformed_record
    assert (record["ttft_s"], record["streamed"]) == (None, False)


@pytest.mark.parametrize(
    ("code", "flags", "outcome"),
    [
        (200, "-", "ok"),
        (200, "DC", "cancelled"),
        (0, "-", "cancelled"),
        (0, "DC", "cancelled"),
        (504, "UT", "timeout"),
        (200, "SI", "timeout"),
        (503, "URX,UF", "error"),
        (200, "UC", "error"),
        (200, "DI", "ok"),
        (429, "RL", "error"),
        (400, "-", "error"),
    ],
)
@pytest.mark.parametrize("form", ["json", "text"])
def test_what_became_of_a_request(tmp_path: Path, form: str, code: int, flags: str, outcome: str) -> None:
    if form == "json":
        record = read(tmp_path, {**ROW, "response_code": code, "response_flags": flags}).conformed_record
    else:
        text = TEXT.format(code=code, flags=flags, host="10.0.0.1:8000")
        record = Reading(put(tmp_path / "access.log", text)).conformed_record
    assert (record["outcome"], record["http_status"]) == (outcome, code)


@pytest.mark.parametrize("counted", [0, 1, 3])
def test_trap_13_one_row_stands_for_all_tries_of_which_envoy_counts_the_first_as_one(
    tmp_path: Path, counted: int
) -> None:
    record = read(tmp_path, {**ROW, "upstream_request_attempt_count": counted}).conformed_record
    assert (record["reported_attempts"], record["covers_tries"]) == (counted, True)


def test_a_line_of_the_default_format(tmp_path: Path) -> None:
    record = Reading(put(tmp_path / "access.log", TEXT.format(code=200, flags="-", host="-"))).conformed_record
    expected = {
        "call_id": "x-1",
        "address": None,
        "started_ns": START_NS + 250_000_000,
        "e2e_s": 2.5,
        "ttft_s": None,
        "model": None,
        "outcome": "ok",
    }
    assert columns(record, list(expected)) == expected


@pytest.mark.parametrize("said", [{"x-envoy-origin-path": "/healthz"}, {"method": "GET"}])
def test_trap_30_other_traffic_is_left_out(tmp_path: Path, said: Row) -> None:
    reading = read(tmp_path, {**ROW, **said}, ROW)
    assert (len(reading.records), reading.ignored) == (1, {"http_not_generating": 1})


def test_a_caller_that_tries_again_with_its_id_makes_another_record(tmp_path: Path) -> None:
    again = {**ROW, "start_time": "2026-11-20T09:00:05Z"}
    records = read(tmp_path, ROW, again, ROW).records
    assert len({row["record_id"] for row in records}) == 2
    assert {row["call_id"] for row in records} == {"x-1"}
