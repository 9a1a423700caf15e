"""The request spans of engines in canonical words, by hand from what each of them writes (telemetry 2a, 3a, 4)."""

import json
from pathlib import Path

import pytest

from collect.telemetry import SECOND_NS, START_NS, Row, columns, read, span

ENDED_NS = START_NS + 2 * SECOND_NS
VLLM = {
    "gen_ai.request.id": "chatcmpl-0b1c",
    "gen_ai.usage.prompt_tokens": 31,
    "gen_ai.usage.completion_tokens": 16,
    "gen_ai.latency.time_to_first_token": 0.25,
    "gen_ai.latency.time_in_queue": 0.125,
    "gen_ai.latency.e2e": 1.5,
}
SGLANG = {
    "rid": "0d9f62a1c7f34a51",
    "module": "sglang::request",
    "gen_ai.request.id": "0d9f62a1c7f34a51",
    "gen_ai.request.n": 1,
    "gen_ai.usage.prompt_tokens": 200,
    "gen_ai.usage.cached_tokens": 128,
    "gen_ai.usage.completion_tokens": 40,
    "gen_ai.response.model": "qwen",
    "gen_ai.response.finish_reasons": '["stop"]',
    "gen_ai.latency.time_to_first_token": 0.375,
    "gen_ai.latency.time_in_model_prefill": 0.25,
}
TRTLLM = {
    "gen_ai.request.id": 2049,
    "gen_ai.usage.prompt_tokens": 64,
    "gen_ai.usage.completion_tokens": 8,
    "gen_ai.latency.time_to_first_token": 0.5,
    "gen_ai.latency.time_in_queue": 0.0625,
    "gen_ai.latency.e2e": 0.75,
    "gen_ai.latency.kv_cache_transfer_time": 0.03125,
    "gen_ai.response.finish_reasons": ["length"],
}
RESOURCE = {"service.name": "llama", "k8s.pod.uid": "pod-7"}


def test_vllm_v0_measures_its_parts_otherwise(tmp_path: Path) -> None:
    v0 = {
        **VLLM,
        "gen_ai.response.model": "llama",
        "gen_ai.usage.num_sequences": 1,
        "gen_ai.latency.time_in_scheduler": 0.0005,
        "gen_ai.latency.time_in_model_forward": 1.2,  # milliseconds that V0 divided by 1000
        "gen_ai.latency.time_in_model_execute": 1.3,  # seconds
    }
    record = read(tmp_path, span("llm_request", v0, kind="server")).record
    expected = {"model": "llama", "ttft_s": 0.25, "queue_s": 0.125, "e2e_s": 1.5, "prefill_s": None, "decode_s": None}
    assert columns(record, list(expected)) == expected


@pytest.mark.parametrize(
    ("request_id", "answer", "call"),
    [
        ("chatcmpl-req-17", "chatcmpl-req-17", "req-17"),  # the caller's x-request-id may end as a number
        ("cmpl-req-17-0", "cmpl-req-17", "req-17"),  # each prompt of a completion is numbered
        ("cmpl-req-17-12", "cmpl-req-17", "req-17"),
        ("resp_9f2c", "resp_9f2c", "9f2c"),
        ("9f2c", "9f2c", None),  # the offline API
    ],
)
def test_trap_15_what_a_request_id_of_vllm_says(tmp_path: Path, request_id: str, answer: str, call: str | None) -> None:
    record = read(tmp_path, span("llm_request", {**VLLM, "gen_ai.request.id": request_id})).record
    assert (record["response_id"], record["call_id"]) == (answer, call)


def test_trap_14_several_choices_are_spans_of_one_call_that_repeat_its_prompt(tmp_path: Path) -> None:
    choices = [
        {**VLLM, "gen_ai.request.n": 1, "gen_ai.usage.completion_tokens": tokens, "gen_ai.latency.e2e": e2e}
        for tokens, e2e in ((16, 1.5), (24, 2.0))
    ]
    spans = [span("llm_request", said, spanId=f"{i}" * 16) for i, said in enumerate(choices, start=1)]
    records = read(tmp_path, *spans).tables["serving_records"]
    told = [columns(row, ["call_id", "started_ns", "input_tokens", "output_tokens"]) for row in records]
    shared = {"call_id": "0b1c", "started_ns": START_NS, "input_tokens": 31}
    assert told == [{**shared, "output_tokens": 16}, {**shared, "output_tokens": 24}]


def test_trap_29_an_absurd_duration_is_handed_on_for_the_contract_to_refuse(tmp_path: Path) -> None:
    record = read(tmp_path, span("llm_request", {**VLLM, "gen_ai.latency.time_in_queue": -0.5})).record
    assert record["queue_s"] == -0.5


@pytest.mark.parametrize("prefix", ["embd", "score", "rerank", "classify", "pool"])
def test_vllm_requests_that_generate_nothing_are_left_out(tmp_path: Path, prefix: str) -> None:
    reading = read(tmp_path, span("llm_request", {**VLLM, "gen_ai.request.id": f"{prefix}-1-0"}))
    assert (reading.tables, reading.ignored) == ({}, {"vllm_not_generating": 1})


@pytest.mark.parametrize("name", [" Req 0d9f62a1", "Req 0d9f62a1", "decode Req 0d9f62a1"])
def test_trap_18_sglang_root_spans_under_any_name(tmp_path: Path, name: str) -> None:
    record = read(tmp_path, span(name, SGLANG, kind="internal"), resource=RESOURCE).record
    expected = {
        "dialect": "sglang",
        "layer": "engine",
        "response_id": "0d9f62a1c7f34a51",
        "call_id": "0d9f62a1c7f34a51",
        "model": "qwen",
        "input_tokens": 200,
        "cached_input_tokens": 128,  # trap 10: a part of the 200
        "output_tokens": 40,
        "ttft_s": 0.375,
        "finish_reason": "stop",  # trap 18: out of a list inside a string
        "e2e_s": None,
        "ended_ns": ENDED_NS,
        "replica": "pod-7",
        "pool": "llama",
    }
    assert columns(record, list(expected)) == expected
    assert record.get("prefill_s") is None  # trap 8: this one counts the queue as well


@pytest.mark.parametrize(
    ("reasons", "finish_reason"),
    [
        (json.dumps(["abort"]), "abort"),
        (json.dumps([{"type": "length", "length": 40}]), "length"),
        (json.dumps([{"type": "abort", "message": "gone", "status_code": 499}]), "abort"),
        (json.dumps([None]), None),  # still running: nothing was delivered
    ],
)
def test_trap_18_finish_reasons_of_sglang(tmp_path: Path, reasons: str, finish_reason: str | None) -> None:
    record = read(tmp_path, span(" Req 0d9f62a1", {**SGLANG, "gen_ai.response.finish_reasons": reasons})).record
    assert record["finish_reason"] == finish_reason


def test_trap_6_a_root_of_sglang_that_was_cut_short_says_nothing_of_success(tmp_path: Path) -> None:
    record = read(tmp_path, span(" Req 0d9f62a1", {"rid": "0d9f62a1c7f34a51"})).record
    assert columns(record, ["outcome", "finish_reason", "output_tokens"]) == {
        "outcome": None,
        "finish_reason": None,
        "output_tokens": None,
    }


def test_stages_of_sglang_are_no_requests(tmp_path: Path) -> None:
    stages = [
        span("Tokenizer", {"host_id": "h", "pid": 7, "thread_label": "Tokenizer"}, spanId="1" * 16),
        span("prefill_forward", {}, spanId="2" * 16),
        span("decode_loop", {}, spanId="3" * 16),
        span("request_process", {}, spanId="4" * 16),
    ]
    reading = read(tmp_path, span(" Req 0d9f62a1", SGLANG), *stages)
    assert reading.record["dialect"] == "sglang"
    assert reading.ignored == {"span_is_no_request": 4}


@pytest.mark.parametrize(
    ("name", "said", "rule"),
    [
        (
            " Req 17951652",
            {"gen_ai.request.id": "HEALTH_CHECK_1795165200.5", "rid": "1795165200.5"},
            "sglang_health_check",
        ),
        (" Req HEALTH_C", {"gen_ai.request.id": None, "rid": "HEALTH_CHECK_1795165200.5"}, "sglang_health_check"),
        ("prefill Req 0d9f62a1", {}, "sglang_prefill_half"),
    ],
)
def test_trap_30_probes_and_halves_of_sglang_are_left_out(tmp_path: Path, name: str, said: Row, rule: str) -> None:
    told = {key: value for key, value in {**SGLANG, **said}.items() if value is not None}
    reading = read(tmp_path, span(name, told), span(" Req 0d9f62a1", SGLANG, spanId="1" * 16))
    assert reading.ignored == {rule: 1}
    assert reading.record["span_id"] == "1" * 16


@pytest.mark.parametrize(
    "left", [(), ("gen_ai.latency.kv_cache_transfer_time",), ("gen_ai.response.finish_reasons",)], ids=str
)
def test_tensorrt_llm_calls_its_span_as_vllm_does(tmp_path: Path, left: tuple[str, ...]) -> None:
    said = {key: value for key, value in TRTLLM.items() if key not in left}
    record = read(tmp_path, span("llm_request", said, kind="server"), resource=RESOURCE).record
    expected = {
        "dialect": "trtllm",
        "layer": "engine",
        "input_tokens": 64,
        "output_tokens": 8,
        "ttft_s": 0.5,
        "queue_s": 0.0625,
        "e2e_s": 0.75,
        "finish_reason": said.get("gen_ai.response.finish_reasons", [None])[0],  # type: ignore[index]
        "replica": "pod-7",
    }
    assert columns(record, list(expected)) == expected
    assert record.get("response_id") is None  # trap 15: the number of an engine is the name of no answer
