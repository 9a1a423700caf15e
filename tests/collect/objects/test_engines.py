"""SGLang's request files and log, TensorRT-LLM's dumps and Dynamo's trace in canonical words (telemetry 3b, 4)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from collect.objects.written import Reading, Row, put
from collect.telemetry import columns

START_S = 1795165200  # 2026-11-20T09:00:00Z
START_NS = START_S * 10**9
META: Mapping[str, Any] = {
    "id": "rid-1",
    "finish_reason": {"type": "stop", "matched": 2},
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "reasoning_tokens": 5,
    "cached_tokens": 64,
    "cached_tokens_details": {"device": 64, "host": 0},
    "weight_version": "default",
    "num_retractions": 1,
    "dp_rank": None,
    "e2e_latency": 2.5,
    "queue_time": 0.125,
    "request_received_ts": START_S + 0.25,
    "forward_entry_time": START_S + 0.5,
    "prefill_finished_time": START_S + 0.75,
    "request_finished_ts": START_S + 2.75,
    "spec_num_proposed_drafts": 30,
    "spec_num_correct_drafts": 12,
}
REQUEST = {"request_parameters": json.dumps({"rid": "rid-1", "stream": True, "sampling_params": {}}), **META}
FINISHED = {
    "timestamp": "2026-11-20T10:00:02.750000",  # a server in Berlin: no zone is named
    "event": "request.finished",
    "rid": "rid-1",
    "obj": {"rid": "rid-1", "stream": True},
    "out": {"meta_info": META},
}
RECEIVED = {"timestamp": "2026-11-20T10:00:00.250000", "event": "request.received", "rid": "rid-1", "obj": {}}
DYNAMO: Mapping[str, Any] = {
    "schema": "dynamo.request.trace.v1",
    "event_type": "request_end",
    "event_time_unix_ms": START_S * 1000 + 2800,
    "request": {
        "request_id": "d-1",
        "request_received_ms": START_S * 1000 + 250,
        "output_tokens": 20,
        "replay": {"trace_block_size": 64, "input_length": 100, "input_sequence_hashes": [14879255164371896291, 7]},
    },
}


def lines(*rows: Mapping[str, Any], prefix: str = "") -> str:
    return "".join(f"{prefix}{json.dumps(row)}\n" for row in rows)


def read(folder: Path, *rows: Mapping[str, Any], prefix: str = "") -> Reading:
    return Reading(put(folder / "log", lines(*rows, prefix=prefix)))


def without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


@pytest.mark.parametrize(("row", "prefix"), [(REQUEST, ""), (FINISHED, "[2026-11-20 10:00:02] ")], ids=["file", "log"])
def test_trap_18_a_request_of_sglang_in_its_file_and_behind_the_prefix_of_its_log(
    tmp_path: Path, row: Mapping[str, Any], prefix: str
) -> None:
    expected = {
        "record_id": f"sglang:rid-1:{START_NS + 250_000_000}",
        "layer": "engine",
        "response_id": "rid-1",
        "call_id": "rid-1",
        "started_ns": START_NS + 250_000_000,
        "first_token_ns": START_NS + 750_000_000,
        "ended_ns": START_NS + 2_750_000_000,
        "ttft_s": 0.5,
        "e2e_s": 2.5,
        "queue_s": 0.125,
        "prefill_s": 0.25,
        "decode_s": 2.0,
        "input_tokens": 100,
        "cached_input_tokens": 64,
        "output_tokens": 20,
        "reasoning_tokens": 5,
        "draft_tokens": 30,
        "accepted_draft_tokens": 12,
        "preemptions": 1,
        "streamed": True,
        "finish_reason": "stop",
        "outcome": "ok",
    }
    assert columns(read(tmp_path, row, prefix=prefix).conformed_record, list(expected)) == expected


def test_the_file_and_the_log_write_one_record(tmp_path: Path) -> None:
    reading = read(tmp_path, RECEIVED, FINISHED, REQUEST)
    assert len({row["record_id"] for row in reading.records}) == 1
    assert reading.ignored == {"sglang_request_received": 1}


def test_trap_9_what_did_not_stream_has_no_first_token(tmp_path: Path) -> None:
    record = read(tmp_path, {**REQUEST, "request_parameters": '{"stream": false}'}).conformed_record
    assert (record["streamed"], record["ttft_s"], record["prefill_s"]) == (False, None, 0.25)


@pytest.mark.parametrize("row", [REQUEST, FINISHED])
def test_trap_18_without_enable_metrics_there_is_no_time_of_day_and_the_reason_says_what_to_do(
    tmp_path: Path, row: Mapping[str, Any]
) -> None:
    meta = without(META, "request_received_ts", "request_finished_ts", "prefill_finished_time", "forward_entry_time")
    timeless = {**row, "out": {"meta_info": meta}} if "out" in row else {"request_parameters": "{}", **meta}
    reading = read(tmp_path, timeless)
    (bad,) = reading.refused
    assert (reading.records, bad.rule, "--enable-metrics" in bad.reason) == ([], "no_wall_clock", True)


def test_trap_17_a_monotonic_clock_is_no_time_of_day(tmp_path: Path) -> None:
    record = read(
        tmp_path, {**REQUEST, "prefill_finished_time": 4021.5, "forward_entry_time": 4021.25}
    ).conformed_record
    assert columns(record, ["ttft_s", "prefill_s", "decode_s"]) == {"ttft_s": None, "prefill_s": None, "decode_s": None}


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ({"type": "abort", "message": "client gone"}, "cancelled"),
        ({"type": "abort", "message": "queue full", "status_code": 503, "err_type": "ServiceUnavailable"}, "error"),
        (None, "ok"),
    ],
)
def test_an_aborted_request_of_sglang_is_no_success(tmp_path: Path, reason: Row | None, outcome: str) -> None:
    assert read(tmp_path, {**REQUEST, "finish_reason": reason}).conformed_record["outcome"] == outcome


def test_trap_29_a_negative_queue_time_is_quarantined_not_clamped(tmp_path: Path) -> None:
    found = read(tmp_path, {**REQUEST, "queue_time": -1795165200.0}).conformed()
    assert found.kept.height == 0
    assert [bad.rule for refused in found.refused.values() for bad in refused] == ["queue_s_out_of_range"]


def test_trap_30_health_checks_of_sglang_are_left_out(tmp_path: Path) -> None:
    reading = read(tmp_path, {**REQUEST, "id": "HEALTH_CHECK_1"}, REQUEST)
    assert (len(reading.records), reading.ignored) == (1, {"sglang_health_check": 1})


def test_trap_17_the_steady_clock_of_tensorrt_llm_cannot_be_placed_in_time(tmp_path: Path) -> None:
    times = {"arrival_time": 5021.5, "first_token_time": 5021.75, "last_token_time": 5023.0}
    dump = [{"request_id": number, "perf_metrics": {"timing_metrics": times}} for number in (1, 2)]
    reading = Reading(put(tmp_path / "perf_metrics.json", json.dumps(dump)))
    assert reading.records == []
    assert [(bad.position, bad.rule) for bad in reading.refused] == [(0, "no_wall_clock"), (1, "no_wall_clock")]
    assert "land its spans instead" in reading.refused[0].reason


def test_a_row_of_dynamo_without_session_headers(tmp_path: Path) -> None:
    expected = {
        "record_id": f"dynamo:d-1:{START_NS + 250_000_000}",
        "layer": "gateway",
        "covers_tries": True,
        "call_id": None,
        "started_ns": START_NS + 250_000_000,
        "ended_ns": START_NS + 2_800_000_000,
        "input_tokens": 100,
        "output_tokens": 20,
        "outcome": "unknown",  # an answer that was broken off has tokens and an end as well
    }
    reading = Reading(put(tmp_path / "trace.000001.jsonl.gz", lines(DYNAMO)))
    assert columns(reading.conformed_record, list(expected)) == expected


@pytest.mark.parametrize("enveloped", [False, True])
def test_a_row_of_dynamo_with_session_headers(tmp_path: Path, enveloped: bool) -> None:
    request = DYNAMO["request"] | {
        "x_request_id": "x-1",
        "model": "llama",
        "input_tokens": 101,
        "cached_tokens": 64,
        "ttft_ms": 500.0,
        "total_time_ms": 2500,
        "finish_reason_metadata": {"finish_reason": "tool_calls"},
    }
    row = {**DYNAMO, "agent_context": {"session_id": "s-1", "parent_session_id": "s-0"}, "request": request}
    expected = {
        "call_id": "x-1",
        "session_id": "s-1",
        "model": "llama",
        "input_tokens": 101,
        "cached_input_tokens": 64,
        "ttft_s": 0.5,
        "e2e_s": 2.5,
        "ended_ns": START_NS + 2_750_000_000,
        "finish_reason": "tool_calls",
        "outcome": "ok",
    }
    found = read(tmp_path, {"timestamp": 1, "event": row} if enveloped else row).conformed_record
    assert columns(found, list(expected)) == expected


def test_an_agents_tools_are_no_requests_of_dynamo(tmp_path: Path) -> None:
    tool = {**without(DYNAMO, "request"), "event_type": "tool_end", "tool": {"status": "succeeded"}}
    assert read(tmp_path, tool, DYNAMO).ignored == {"dynamo_no_request": 1}
