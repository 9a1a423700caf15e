"""LiteLLM's payloads and spend rows in canonical words, by hand and on what a real proxy logged (telemetry 4b)."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from collect.objects.written import Reading, Row, put
from collect.telemetry import GIVEN, columns, needs_captures

START_S = 1795165200  # 2026-11-20T09:00:00Z
START_NS = START_S * 10**9
UUID = "dfdda99c-11a2-426c-9cd8-5aa4210ad326"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PAYLOAD: Mapping[str, Any] = {
    "id": "chatcmpl-1",
    "litellm_call_id": "call-1",
    "trace_id": UUID,
    "session_id": "",
    "call_type": "acompletion",
    "cache_hit": None,
    "stream": True,
    "status": "success",
    "custom_llm_provider": "openai",
    "startTime": START_S + 0.25,
    "endTime": START_S + 2.75,
    "completionStartTime": START_S + 0.75,
    "model": "openai/llama-8b",
    "model_group": "chat",
    "model_id": "deployment-1",
    "api_base": "http://10.0.0.1:8101/v1",
    "response_cost": 0.0125,
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "end_user": "user-7",
    "metadata": {
        "user_api_key_alias": "team",
        "usage_object": {
            "prompt_tokens_details": {"cached_tokens": 64, "cache_creation_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    },
    "model_parameters": {"stream": True},
    "response": {"choices": [{"finish_reason": "length"}]},
    "error_information": {"error_code": "", "error_class": "", "llm_provider": ""},
}
FAILED: Mapping[str, Any] = {
    "id": "call-1",
    "status": "failure",
    "stream": None,
    "completionStartTime": START_S + 2.75,
    "response_cost": 0.0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "response": {},
    "metadata": {},
    "error_information": {"error_code": "503", "error_class": "ServiceUnavailableError", "llm_provider": "openai"},
}
SPEND: Mapping[str, Any] = {
    "request_id": "chatcmpl-1",
    "litellm_call_id": "call-1",
    "call_type": "acompletion",
    "spend": 0.0125,
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "startTime": "2026-11-20T09:00:00.250Z",
    "endTime": "2026-11-20T09:00:02.750Z",
    "completionStartTime": "2026-11-20T09:00:00.750Z",
    "model": "openai/llama-8b",
    "model_group": "chat",
    "custom_llm_provider": "openai",
    "api_base": "http://10.0.0.1:8101/v1",
    "end_user": "user-7",
    "session_id": "s-1",
    "cache_hit": "None",
    "status": "success",
    "metadata": {
        "attempted_retries": 2,
        "attempted_fallbacks": 1,
        "additional_usage_values": {"cache_read_input_tokens": 64, "cache_creation_input_tokens": 8},
    },
}


def lines(*rows: Mapping[str, Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def payload(folder: Path, **said: object) -> Row:
    return Reading(put(folder / "log", lines({**PAYLOAD, **said}))).conformed_record


def spend(folder: Path, **said: object) -> Row:
    return Reading(put(folder / "log", lines({**SPEND, **said}))).conformed_record


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_payload_alone_or_within_a_callbacks_own_fields(tmp_path: Path, wrapped: bool) -> None:
    row = {"_event": "success", "standard_logging_object": PAYLOAD} if wrapped else PAYLOAD
    record = Reading(put(tmp_path / "log", lines(row))).conformed_record
    expected = {
        "record_id": f"litellm:chatcmpl-1:{START_NS + 250_000_000}",
        "dialect": "litellm.payload",
        "layer": "gateway",
        "covers_tries": False,
        "response_id": "chatcmpl-1",
        "call_id": "call-1",
        "trace_id": None,
        "session_id": None,
        "tenant": "user-7",
        "model": "llama-8b",
        "route": "chat",
        "address": "10.0.0.1:8101",
        "started_ns": START_NS + 250_000_000,
        "first_token_ns": START_NS + 750_000_000,
        "ended_ns": START_NS + 2_750_000_000,
        "ttft_s": 0.5,
        "e2e_s": 2.5,
        "streamed": True,
        "input_tokens": 100,
        "cached_input_tokens": 64,
        "cache_write_tokens": 8,
        "output_tokens": 20,
        "reasoning_tokens": 5,
        "finish_reason": "length",
        "outcome": "ok",
        "error_type": None,
        "reported_cost_usd": 0.0125,
    }
    assert columns(record, list(expected)) == expected


@pytest.mark.parametrize("said", [{"stream": None, "model_parameters": {}}, {"completionStartTime": START_S + 2.75}])
def test_trap_9_the_end_is_no_first_token(tmp_path: Path, said: Row) -> None:
    assert payload(tmp_path, **said)["ttft_s"] is None


@pytest.mark.parametrize(
    ("said", "session", "trace"),
    [
        ({"trace_id": "sess-1"}, "sess-1", None),
        ({"trace_id": TRACE}, None, TRACE),
        ({"trace_id": UUID}, None, None),
        ({"trace_id": UUID, "session_id": "sess-2"}, "sess-2", None),
        ({"trace_id": UUID, "metadata": {"requester_metadata": {"session_id": UUID}}}, UUID, None),
    ],
    ids=["session in trace_id", "trace of OTel", "made up", "session", "a caller's UUID"],
)
def test_trap_15_trace_id_of_litellm_is_the_session_unless_it_was_made_up(
    tmp_path: Path, said: Row, session: str | None, trace: str | None
) -> None:
    record = payload(tmp_path, **said)
    assert (record["session_id"], record["trace_id"]) == (session, trace)


def test_a_failed_try_blames_the_replica_that_failed(tmp_path: Path) -> None:
    record = payload(tmp_path, **FAILED)
    assert columns(
        record, ["address", "outcome", "http_status", "error_type", "response_id", "ttft_s", "streamed"]
    ) == {
        "address": "10.0.0.1:8101",
        "outcome": "error",
        "http_status": 503,
        "error_type": "ServiceUnavailableError",
        "response_id": None,
        "ttft_s": None,
        "streamed": True,
    }


def test_a_refusal_by_the_router_blames_no_replica(tmp_path: Path) -> None:
    error = {"error_code": "429", "error_class": "RouterRateLimitError", "llm_provider": ""}
    record = payload(tmp_path, **{**FAILED, "error_information": error})
    assert columns(record, ["address", "model", "route", "outcome", "http_status"]) == {
        "address": None,
        "model": None,
        "route": "chat",
        "outcome": "error",
        "http_status": 429,
    }


def test_a_client_that_left_makes_a_success_a_cancelled_one(tmp_path: Path) -> None:
    error = {"error_code": "499", "error_class": "ClientDisconnected", "llm_provider": ""}
    assert payload(tmp_path, error_information=error)["outcome"] == "cancelled"


def test_an_answer_from_the_cache_is_of_no_replica(tmp_path: Path) -> None:
    names = ("address", "answered_from_cache")
    for hit, calling in (
        (payload(tmp_path, cache_hit=True), payload(tmp_path)),
        (spend(tmp_path, cache_hit="True"), spend(tmp_path)),
    ):
        assert [hit[name] for name in names] == [None, True]
        assert calling["answered_from_cache"] is False


def test_trap_30_health_checks_of_litellm_and_calls_that_generate_nothing_are_left_out(tmp_path: Path) -> None:
    probe = {**PAYLOAD, "metadata": {"user_api_key_alias": "litellm-internal-health-check"}}
    reading = Reading(put(tmp_path / "log", lines(probe, {**PAYLOAD, "call_type": "aembedding"}, PAYLOAD)))
    assert reading.ignored == {"litellm_health_check": 1, "litellm_not_generating": 1}
    assert len(reading.records) == 1


def as_csv(row: Mapping[str, Any]) -> str:
    cells = [json.dumps(value) if isinstance(value, dict) else str(value) for value in row.values()]
    quoted = ",".join('"' + cell.replace('"', '""') + '"' for cell in cells)
    return f"{','.join(row)}\n{quoted}\n"


@pytest.mark.parametrize(
    "text",
    [
        lines(SPEND),
        json.dumps([SPEND], indent=1),
        as_csv(SPEND),
        lines({**SPEND, "metadata": json.dumps(SPEND["metadata"])}),
        as_csv({**SPEND, "startTime": "2026-11-20 09:00:00.25", "endTime": "2026-11-20 09:00:02.75+00"}),
    ],
    ids=["lines", "document", "csv", "metadata in a text", "csv of psql"],
)
def test_a_row_of_spend_however_it_was_exported(tmp_path: Path, text: str) -> None:
    expected = {
        "record_id": "litellm.spend:chatcmpl-1",
        "layer": "gateway",
        "response_id": "chatcmpl-1",
        "call_id": "call-1",
        "session_id": "s-1",
        "tenant": "user-7",
        "model": "llama-8b",
        "address": "10.0.0.1:8101",
        "started_ns": START_NS + 250_000_000,
        "ttft_s": 0.5,
        "e2e_s": 2.5,
        "input_tokens": 100,
        "cached_input_tokens": 64,
        "cache_write_tokens": 8,
        "output_tokens": 20,
        "reported_attempts": 4,  # the first try, two retries, one fallback
        "reported_cost_usd": 0.0125,
        "outcome": "ok",
    }
    assert columns(Reading(put(tmp_path / "log", text)).conformed_record, list(expected)) == expected


@pytest.mark.parametrize(("said", "session"), [("s-1", "s-1"), (UUID, None), (TRACE, None), ("", None)])
def test_trap_27_a_session_that_litellm_made_up_is_none(tmp_path: Path, said: str, session: str | None) -> None:
    assert spend(tmp_path, session_id=said)["session_id"] == session


def test_trap_9_the_end_is_no_first_token_of_spend_either(tmp_path: Path) -> None:
    record = spend(tmp_path, completionStartTime=SPEND["endTime"])
    assert (record["ttft_s"], record["streamed"]) == (None, None)


def test_trap_13_a_billed_attempt_is_cost_and_no_request(tmp_path: Path) -> None:
    billed = {**SPEND, "request_id": "chatcmpl-1-attempt-1", "metadata": {"billed_retry_attempt": True}}
    reading = Reading(put(tmp_path / "log", lines(billed, SPEND)))
    said = [(row["call_id"], row["reported_cost_usd"]) for row in reading.records]
    assert said == [("call-1", 0.0125)] * 2  # two tries of one call, each with what it cost
    billed.pop("litellm_call_id")
    alone = Reading(put(tmp_path / "alone", lines(billed, SPEND)))
    assert (len(alone.records), alone.ignored) == (1, {"billed_attempt_of_no_call": 1})


@pytest.mark.parametrize(("retries", "attempts"), [(None, 1), (0, 1), (2, 3)])
def test_trap_13_litellm_counts_no_retry_as_none(tmp_path: Path, retries: int | None, attempts: int) -> None:
    assert spend(tmp_path, metadata={"attempted_retries": retries})["reported_attempts"] == attempts


def test_a_row_of_spend_that_failed(tmp_path: Path) -> None:
    error = {"error_information": {"error_code": "408", "error_class": "Timeout"}}
    record = spend(tmp_path, status="failure", request_id="call-1", metadata=error)
    assert columns(record, ["outcome", "error_type", "http_status", "response_id", "address"]) == {
        "outcome": "timeout",
        "error_type": "Timeout",
        "http_status": 408,
        "response_id": None,
        "address": None,
    }


@needs_captures
def test_what_a_real_proxy_logged() -> None:
    path = GIVEN / "litellm_standard_logging.jsonl.gz"
    with gzip.open(path, "rt") as file:
        said = [json.loads(line)["standard_logging_object"] for line in file]
    errors = [(row["error_information"] or {}).get("error_class") or None for row in said]
    outcomes = {None: "ok", "Timeout": "timeout", "ClientDisconnected": "cancelled"}
    expected = Counter(outcomes.get(error, "error") for error in errors)
    reading = Reading(path)
    found = reading.conformed()
    assert not [*reading.refused, *found.refused]
    records = found.kept.to_dicts()
    assert Counter(row["outcome"] for row in records) == expected
    for name, key in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
        assert sum(row[name] for row in records) == sum(row[key] for row in said)
    assert sum(row["ttft_s"] is not None for row in records) == sum(row["stream"] is True for row in said)
    by_router = {"RouterRateLimitError", "ProxyModelNotFoundError", "ProxyException"}
    assert {row["error_type"] for row in records if row["address"] is None} == by_router
    assert len({row["record_id"] for row in records}) == len(said)


@needs_captures
def test_sessions_and_cancellations_are_those_of_the_clients() -> None:
    read = Reading(GIVEN / "litellm_standard_logging.jsonl.gz").records
    records = {row["response_id"]: row for row in read if row["response_id"]}
    with gzip.open(GIVEN / "client_truth.jsonl.gz", "rt") as file:
        truth = [json.loads(line) for line in file]
    known = [(request, records[request["response_id"]]) for request in truth if request["response_id"] in records]
    assert len(known) > 700
    assert all(record["session_id"] == request["session_id"] for request, record in known)
    left = [record["error_type"] == "ClientDisconnected" for _, record in known]
    assert left == [request["outcome"] == "cancelled" for request, _ in known]
