"""Spans of client SDKs in canonical words: attributes as those emitters wrote them, each cut down to what matters."""

import json
from pathlib import Path

import pytest

from collect.telemetry import PARENT, SECOND_NS, START_NS, Reading, Row, columns, put, read, span, spans_line

MS = 10**6


def scoped(scope: str, *spans: Row) -> str:
    """One export of spans of one instrumentation."""
    line = spans_line(*spans)
    return line.replace('{"spans":', f'{{"scope": {{"name": "{scope}"}}, "spans":')


def records(folder: Path, scope: str, *spans: Row) -> Reading:
    return Reading(put(folder / "traces.jsonl", scoped(scope, *spans)))


def event(name: str, after_ms: int, **said: str) -> Row:
    attributes = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in said.items()]
    return {"timeUnixNano": str(START_NS + after_ms * MS), "name": name, "attributes": attributes}


OPENAI_V2 = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "mock-7b",
    "gen_ai.system": "openai",
    "gen_ai.response.model": "mock-7b",
    "gen_ai.response.id": "chatcmpl-1",
}


def test_a_stream_of_openai_v2_without_usage_ended_well(tmp_path: Path) -> None:
    record = records(tmp_path, "opentelemetry.instrumentation.openai_v2", span("chat mock-7b", OPENAI_V2)).record
    expected = {
        "dialect": "genai",
        "instrumentation": "opentelemetry.instrumentation.openai_v2",
        "outcome": "ok",
        "streamed": None,
        "first_token_ns": None,
        "ttft_s": None,
        "output_tokens": None,
    }
    assert columns(record, list(expected)) == expected


def test_elsewhere_an_answers_id_alone_is_no_success(tmp_path: Path) -> None:
    assert records(tmp_path, "other", span("chat mock-7b", OPENAI_V2)).record["outcome"] is None


@pytest.mark.parametrize(
    ("message", "exception", "outcome"),
    [
        ("Request timed out.", None, "timeout"),
        ("APITimeoutError: Request timed out.", "openai.APITimeoutError", "timeout"),
        ("The operation was aborted due to timeout", "TimeoutError", "timeout"),
        ("Error code: 400 - timeout has to be positive", "openai.BadRequestError", None),
        ("CancelledError", "asyncio.exceptions.CancelledError", "cancelled"),
        ("This operation was aborted", "AbortError", "cancelled"),
        ("", "GeneratorExit", "cancelled"),
        ("abandoned stream", None, "cancelled"),
        ("Error code: 400 - was cancelled", "openai.BadRequestError", None),
    ],
)
def test_how_a_failed_span_tells_that_its_caller_gave_up(
    tmp_path: Path, message: str, exception: str | None, outcome: str | None
) -> None:
    events = [event("exception", 2000, exception__type=exception)] if exception else []
    failed = span("chat", OPENAI_V2, status={"code": 2, "message": message}, events=events)
    record = records(tmp_path, "a", failed).record
    assert (record["outcome"], record["error_type"]) == (outcome, exception or "_OTHER")


def test_an_exception_that_the_span_survived_is_no_failure(tmp_path: Path) -> None:
    survived = span("chat", OPENAI_V2, status={}, events=[event("exception", 100, exception__type="RateLimitError")])
    assert records(tmp_path, "a", survived).record["error_type"] is None


ANTHROPIC_STREAM = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.request.model": "mock-7b",
    "gen_ai.request.stream": True,
    "gen_ai.response.id": "msg-1",
    "gen_ai.usage.input_tokens": 431,
    "gen_ai.usage.output_tokens": 1,  # counted at the start of the stream
    "http.response.status_code": 200,
}


@pytest.mark.parametrize(
    ("said", "status", "outcome"),
    [
        ({}, 0, "unknown"),
        ({"http.response.status_code": 500}, 0, None),
        ({"anthropic.message.stop_reason": "end_turn"}, 0, None),
        ({}, 1, "ok"),
        ({"error.type": "connection_error"}, 2, None),
        ({"gen_ai.provider.name": "openai"}, 0, None),  # counts tokens at the end of the stream
        ({"gen_ai.request.stream": False}, 0, None),
    ],
)
def test_a_stream_that_shows_no_end_may_have_been_left(
    tmp_path: Path, said: Row, status: int, outcome: str | None
) -> None:
    record = read(tmp_path, span(said={**ANTHROPIC_STREAM, **said}, status={"code": status})).record
    assert record["outcome"] == outcome
    assert record["finish_reason"] == said.get("anthropic.message.stop_reason")


@pytest.mark.parametrize(("resent", "attempts"), [({}, None), ({"http.request.resend_count": 2}, 3)])
def test_a_call_that_was_sent_again_counts_its_tries(tmp_path: Path, resent: Row, attempts: int | None) -> None:
    assert read(tmp_path, span(said={**ANTHROPIC_STREAM, **resent})).record["reported_attempts"] == attempts


def test_first_chunk_of_pydantic_ai_in_seconds(tmp_path: Path) -> None:
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.client.operation.time_to_first_chunk": 0.25,
        "gen_ai.usage.details.reasoning_tokens": 3,
    }
    record = records(tmp_path, "pydantic-ai", span(said=said)).record
    assert columns(record, ["ttft_s", "streamed", "reasoning_tokens"]) == {
        "ttft_s": 0.25,
        "streamed": True,
        "reasoning_tokens": 3,
    }


def test_first_token_of_strands_in_milliseconds(tmp_path: Path) -> None:
    said = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "strands-agents",
        "gen_ai.server.time_to_first_token": 250,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.cache_write_input_tokens": 4,
    }
    chat = span(said=said, kind="internal", status={"code": 1})
    agent = span("invoke_agent", {**said, "gen_ai.operation.name": "invoke_agent"}, spanId="1" * 16)
    reading = records(tmp_path, "strands.telemetry.tracer", chat, agent)
    expected = {"dialect": "strands", "ttft_s": 0.25, "streamed": True, "outcome": "ok", "cache_write_tokens": 4}
    assert columns(reading.record, list(expected)) == expected
    assert reading.ignored == {"span_is_no_request": 1}


OPENLLMETRY = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.is_streaming": True,
    "gen_ai.response.id": "chatcmpl-1",
    "traceloop.association.properties.session_id": "conv-3",
}


def test_first_of_the_chunks_of_openllmetry(tmp_path: Path) -> None:
    chunks = [event("gen_ai.content.completion.chunk", after_ms) for after_ms in (250, 260, 270)]
    said = {**OPENLLMETRY, "gen_ai.response.finish_reasons": ["stop"]}
    reading = records(tmp_path, "opentelemetry.instrumentation.openai.v1", span(said=said, events=chunks))
    expected = {
        "dialect": "openllmetry",
        "first_token_ns": START_NS + 250 * MS,
        "streamed": True,
        "session_id": "conv-3",
        "finish_reason": "stop",
    }
    assert columns(reading.record, list(expected)) == expected


def test_a_stream_of_openllmetry_that_broke_off_ends_ok_and_without_a_reason(tmp_path: Path) -> None:
    chunks = [event("gen_ai.content.completion.chunk", 250)]
    cut = span(said=OPENLLMETRY, events=chunks, status={"code": 1})
    assert columns(records(tmp_path, "a", cut).record, ["outcome", "finish_reason", "streamed"]) == {
        "outcome": None,
        "finish_reason": None,
        "streamed": True,
    }


@pytest.mark.parametrize(("flag", "streamed"), [(True, True), (False, False)])
def test_openllmetry_flags_every_call(tmp_path: Path, flag: bool, streamed: bool) -> None:
    record = read(tmp_path, span(said={**OPENLLMETRY, "gen_ai.is_streaming": flag})).record
    assert record["streamed"] is streamed


OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "mock-7b",
    "llm.invocation_parameters": '{"model": "mock-7b", "max_tokens": 64}',
    "output.value": '{"id":"chatcmpl-7","choices":[{"message":{"content":"a \\"id\\": \\"chatcmpl-no\\""}}]}',
}


def test_openinference_marks_the_first_token_and_leaves_the_id_in_the_answer(tmp_path: Path) -> None:
    first = [event("First Token Stream Event", 180)]
    record = read(tmp_path, span("ChatCompletion", OPENINFERENCE, events=first, status={"code": 1})).record
    expected = {
        "first_token_ns": START_NS + 180 * MS,
        "streamed": True,
        "response_id": "chatcmpl-7",
        "outcome": "ok",
    }
    assert columns(record, list(expected)) == expected


def test_a_failed_call_of_openinference_names_the_model_that_it_asked_for(tmp_path: Path) -> None:
    asked = {name: OPENINFERENCE[name] for name in ("openinference.span.kind", "llm.invocation_parameters")}
    refused = {"code": 2, "message": "refused"}
    assert read(tmp_path, span("ChatCompletion", asked, status=refused)).record["model"] == "mock-7b"
    torn = {**asked, "llm.invocation_parameters": '{"model": "mock'}
    assert read(tmp_path, span("ChatCompletion", torn)).record["model"] is None


WITH_CACHE = {
    "genai": (
        {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "aws.bedrock", "gen_ai.request.model": "m"},
        ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
        ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.total_tokens"),
    ),
    "openinference": (
        OPENINFERENCE,
        ("llm.token_count.prompt", "llm.token_count.completion"),
        ("llm.token_count.prompt_details.cache_read", "llm.token_count.total"),
    ),
}


@pytest.mark.parametrize("dialect", WITH_CACHE)
@pytest.mark.parametrize(
    ("total", "whole"),
    [(5100, 5000), (8100, 8000), (None, 5000), (9999, 5000)],
    ids=["cached within", "cached beside", "no total", "a total that fits neither"],
)
def test_the_total_shows_whether_cached_tokens_are_within_the_prompt(
    tmp_path: Path, dialect: str, total: int | None, whole: int
) -> None:
    """5000 tokens of a prompt, 3000 from a cache, 100 of an answer."""
    said, sides, (cached, summed) = WITH_CACHE[dialect]
    usage = {**dict(zip(sides, (5000, 100), strict=True)), cached: 3000} | ({} if total is None else {summed: total})
    record = read(tmp_path, span("chat", {**said, **usage}, status={"code": 1})).record
    assert columns(record, ["input_tokens", "cached_input_tokens"]) == {
        "input_tokens": whole,
        "cached_input_tokens": 3000,
    }


def test_openinference_without_a_flag_and_a_first_token_says_nothing_of_streaming(tmp_path: Path) -> None:
    assert read(tmp_path, span("ChatCompletion", OPENINFERENCE)).record["streamed"] is None


@pytest.mark.parametrize(
    ("status", "tokens"),
    [
        ({"code": 1}, [None, None]),  # AutoGen asks for no usage of streams and writes 0: no prompt has no token
        ({"code": 2, "message": "refused"}, [0, 0]),
    ],
)
def test_an_answer_without_a_token_was_not_counted(
    tmp_path: Path, status: dict[str, object], tokens: list[int]
) -> None:
    nothing = {**OPENINFERENCE, "llm.token_count.prompt": 0, "llm.token_count.completion": 0}
    record = read(tmp_path, span("OpenAIChatCompletionClient.create_stream", nothing, status=status)).record
    assert [record["input_tokens"], record["output_tokens"]] == tokens


def test_a_stream_that_outlives_its_span_has_no_end(tmp_path: Path) -> None:
    stream = {key: value for key, value in OPENINFERENCE.items() if key != "output.value"}
    answered = {**stream, "llm.finish_reason": "stop", "llm.token_count.completion": 23}
    handed_over = span("OpenAILike.stream_chat", stream, status={"code": 1})
    inner = span(
        *("OpenAILike.stream_chat", answered),
        **{"spanId": "1" * 16, "parentSpanId": handed_over["spanId"], "status": {"code": 1}},
        events=[event("First Token Stream Event", 2180)],
    )
    outer, inner = Reading(put(tmp_path / "traces.jsonl", spans_line(handed_over, inner))).tables["serving_records"]
    told = ["ended_ns", "first_token_ns", "outcome", "output_tokens"]
    assert columns(outer, told) == dict.fromkeys(told)
    assert columns(inner, told) == {
        "ended_ns": None,
        "first_token_ns": START_NS + 2180 * MS,
        "outcome": "ok",
        "output_tokens": 23,
    }


def test_a_stream_that_fails_after_its_span_ends_when_it_fails(tmp_path: Path) -> None:
    late = [event("exception", 4160, exception__type="openai.APITimeoutError")]
    failure = {"code": 2, "message": "APITimeoutError: Request timed out."}
    record = read(tmp_path, span("OpenAILike.stream_chat", OPENINFERENCE, events=late, status=failure)).record
    assert (record["ended_ns"], record["outcome"]) == (START_NS + 4160 * MS, "timeout")


VERCEL = {
    "ai.operationId": "ai.streamText.doStream",
    "ai.model.id": "mock-7b",
    "ai.telemetry.metadata.sessionId": "conv-1",
    "gen_ai.system": "mock.chat",
    "gen_ai.request.model": "mock-7b",
}
VERCEL_ANSWER = {
    **VERCEL,
    "ai.response.msToFirstChunk": 250.5,
    "ai.response.finishReason": "tool-calls",
    "ai.response.id": "chatcmpl-2",
    "ai.usage.inputTokens": 348,
    "ai.usage.inputTokenDetails.cacheReadTokens": 64,
    "ai.usage.cachedInputTokens": 64,
    "ai.usage.outputTokens": 5,
    "gen_ai.usage.input_tokens": 348,
}


def test_each_try_of_the_vercel_sdk_is_a_record_and_what_is_above_it_none(tmp_path: Path) -> None:
    failed = span(
        "ai.streamText.doStream",
        VERCEL,
        kind="internal",
        spanId="1" * 16,
        status={"code": 2, "message": "injected 429"},
        events=[event("exception", 30, exception__type="AI_APICallError")],
    )
    answered = span("ai.streamText.doStream", VERCEL_ANSWER, kind="internal", spanId="2" * 16)
    above = span("ai.streamText", {**VERCEL_ANSWER, "ai.operationId": "ai.streamText"}, spanId=PARENT)
    embedding = span("ai.embed.doEmbed", {"ai.operationId": "ai.embed.doEmbed"}, spanId="3" * 16)
    reading = records(tmp_path, "ai", failed, answered, above, embedding)
    first, second = reading.tables["serving_records"]
    assert columns(first, ["dialect", "error_type", "outcome", "streamed", "session_id", "model"]) == {
        "dialect": "vercel",
        "error_type": "AI_APICallError",
        "outcome": None,  # follows from the error
        "streamed": True,
        "session_id": "conv-1",
        "model": "mock-7b",
    }
    expected = {
        "ttft_s": 0.2505,
        "streamed": True,
        "finish_reason": "tool-calls",
        "response_id": "chatcmpl-2",
        "input_tokens": 348,
        "cached_input_tokens": 64,
        "output_tokens": 5,
    }
    assert columns(second, list(expected)) == expected
    assert reading.ignored == {"span_is_no_request": 2}
    assert {link["span_id"] for link in reading.tables["span_links"]} == {PARENT, "3" * 16}


LANGFUSE = {
    "langfuse.observation.type": "generation",
    "langfuse.observation.model.name": "mock-7b",
    "session.id": "conv-2",
}
OF_OPENAI = (
    '{"completion_tokens": 12, "prompt_tokens": 53, "total_tokens": 65, "prompt_tokens_details": {"cached_tokens": 16}}'
)
OF_LANGCHAIN = '{"input": 37, "input_cache_read": 16, "output": 12, "total": 65}'


@pytest.mark.parametrize("usage", [OF_OPENAI, OF_LANGCHAIN])
def test_usage_of_langfuse_is_json_in_two_vocabularies(tmp_path: Path, usage: str) -> None:
    said = {
        **LANGFUSE,
        "langfuse.observation.usage_details": usage,
        "langfuse.observation.completion_start_time": '"2026-11-20T09:00:00.250000Z"',
        "langfuse.observation.metadata.finish_reason": '"stop"',
    }
    record = records(tmp_path, "langfuse-sdk", span("OpenAI-generation", said, kind="internal")).record
    expected = {
        "dialect": "langfuse.generation",
        "model": "mock-7b",
        "session_id": "conv-2",
        "input_tokens": 53,
        "cached_input_tokens": 16,
        "output_tokens": 12,
        "first_token_ns": START_NS + 250 * MS,
        "streamed": True,
        "finish_reason": "stop",
        "outcome": None,  # follows from the finish reason
    }
    assert columns(record, list(expected)) == expected


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        # what LangChain calls details is taken out of both sides: 179 + 35 + 64 are the total
        ({"input": 179, "output": 35, "output_reasoning": 64, "total": 278}, (179, None, 99, 64)),
        ({"input": 20, "input_audio": 30, "output": 200, "output_reasoning": 64}, (50, None, 264, 64)),
        # Gemini's, by modality
        (
            {"input": 0, "input_modality_1": 40, "cached_modality_1": 9, "output": 0, "output_modality_1": 7},
            (49, None, 7, None),
        ),
        # a service tier names the whole once more
        ({"input": 90, "input_priority": 90, "output": 5, "output_priority": 5}, (90, None, 5, None)),
        # somebody who hands on OpenAI's counts under Langfuse's names: the total says so
        ({"input": 50, "input_cache_read": 16, "output": 12, "output_reasoning": 4, "total": 62}, (50, 16, 12, 4)),
        # Anthropic's are beside the prompt's, under its own name and under Langfuse's
        ({"input": 50, "cache_read_input_tokens": 1000, "output": 9}, (1050, 1000, 9, None)),
        ({"input_tokens": 1200, "cache_read_input_tokens": 1000, "output_tokens": 9}, (2200, 1000, 9, None)),
        ({"input_tokens": 53, "input_tokens_details": {"cached_tokens": 16}, "output_tokens": 12}, (53, 16, 12, None)),
        ({"total": 12}, (None, None, None, None)),
    ],
)
def test_parts_of_langfuse_s_usage_add_up_as_whoever_wrote_them_means(
    tmp_path: Path, usage: dict[str, object], counts: tuple[int | None, ...]
) -> None:
    said = {**LANGFUSE, "langfuse.observation.usage_details": json.dumps(usage)}
    record = records(tmp_path, "langfuse-sdk", span("ChatOpenAI", said, kind="internal")).record
    names = ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens"]
    assert columns(record, names) == dict(zip(names, counts, strict=True))


def test_a_timeout_of_langfuse_stands_in_its_message(tmp_path: Path) -> None:
    said = {**LANGFUSE, "langfuse.observation.level": "ERROR"}
    failed = span("OpenAI-generation", said, status={"code": 2, "message": "Request timed out."})
    assert columns(records(tmp_path, "langfuse-sdk", failed).record, ["outcome", "streamed"]) == {
        "outcome": "timeout",
        "streamed": None,
    }


def test_other_observations_of_langfuse_are_no_requests(tmp_path: Path) -> None:
    kinds = ("span", "agent", "tool", "chain", "embedding")
    spans = [
        span(kind, {**LANGFUSE, "langfuse.observation.type": kind}, spanId=f"{n}" * 16)
        for n, kind in enumerate(kinds, start=1)
    ]
    reading = records(tmp_path, "langfuse-sdk", *spans)
    assert ("serving_records" in reading.tables, reading.ignored) == (False, {"span_is_no_request": len(kinds)})


MLFLOW = {
    "mlflow.spanType": '"CHAT_MODEL"',
    "mlflow.spanInputs": '{"model": "mock-7b", "messages": [{"role": "user", "content": "a"}], "stream": true}',
}
MLFLOW_ANSWER = {
    **MLFLOW,
    "mlflow.llm.model": '"mock-7b-0125"',
    "mlflow.chat.tokenUsage": '{"input_tokens": 244, "output_tokens": 23, "cache_read_input_tokens": 110}',
    "mlflow.spanOutputs": '{"id": "chatcmpl-1", "choices": [{"finish_reason": "stop", "message": {}}]}',
}


def test_a_call_in_mlflow_is_json_inside_text(tmp_path: Path) -> None:
    chunks = [event(f"mlflow.chunk.item.{number}", 100 * (2 + number)) for number in range(3)]
    record = read(
        tmp_path, span("Completions", MLFLOW_ANSWER, kind="internal", status={"code": 1}, events=chunks)
    ).record
    expected = {
        "dialect": "mlflow.call",
        "layer": "client",
        "model": "mock-7b-0125",
        "response_id": "chatcmpl-1",
        "finish_reason": "stop",
        "outcome": "ok",
        "streamed": True,
        "first_token_ns": START_NS + 200 * MS,
        "input_tokens": 244,
        "cached_input_tokens": 110,
        "output_tokens": 23,
    }
    assert columns(record, list(expected)) == expected


def test_a_failed_call_in_mlflow_names_what_it_asked_for(tmp_path: Path) -> None:
    failure = {"status": {"code": 2}, "events": [event("exception", 4000, exception__type="APITimeoutError")]}
    record = read(tmp_path, span("Completions", MLFLOW, kind="internal", **failure)).record
    expected = {"model": "mock-7b", "error_type": "APITimeoutError", "streamed": True, "output_tokens": None}
    assert columns(record, list(expected)) == expected


def test_other_spans_of_mlflow_are_no_requests(tmp_path: Path) -> None:
    reading = read(tmp_path, span("agent", {**MLFLOW_ANSWER, "mlflow.spanType": '"AGENT"'}))
    assert reading.ignored == {"span_is_no_request": 1}


LOGFIRE = {
    "logfire.span_type": "span",
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "mock-7b",
    "gen_ai.response.model": "mock-7b",
}
USAGE = '{"completion_tokens":30,"prompt_tokens":389,"prompt_tokens_details":{"cached_tokens":64}}'


def test_a_stream_of_logfire_is_a_call_until_its_headers_and_a_log_at_its_end(tmp_path: Path) -> None:
    call = span("Chat Completion with {request_data[model]!r}", LOGFIRE, spanId="1" * 16)
    ended = str(START_NS + 3 * SECOND_NS)
    said = {
        **LOGFIRE,
        "logfire.span_type": "log",
        "duration": 0.75,
        "gen_ai.usage.input_tokens": 389,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.raw": USAGE,
        "gen_ai.output.messages": '[{"parts":[{"content":"\\"finish_reason\\":\\"no\\""}],"finish_reason":"stop"}]',
    }
    log = span("streaming response", said, kind="internal", startTimeUnixNano=ended, endTimeUnixNano=ended)
    reading = records(tmp_path, "logfire.openai", call, log)
    stream, until_headers = reading.tables["serving_records"]
    expected = {"started_ns": START_NS, "ended_ns": None, "headers_ns": START_NS + 2 * SECOND_NS, "streamed": True}
    assert columns(until_headers, list(expected)) == expected
    began = START_NS + 2_250 * MS  # the end less 0.75 s
    expected = {
        "dialect": "logfire.stream",
        "started_ns": began,
        "headers_ns": began,
        "ended_ns": START_NS + 3 * SECOND_NS,
        "streamed": True,
        "input_tokens": 389,
        "cached_input_tokens": 64,
        "output_tokens": 30,
        "finish_reason": "stop",
    }
    assert columns(stream, list(expected)) == expected


def test_a_call_of_logfire_that_is_not_streamed_is_one_span(tmp_path: Path) -> None:
    said = {**LOGFIRE, "gen_ai.response.id": "chatcmpl-3", "gen_ai.response.finish_reasons": '["length"]'}
    record = records(tmp_path, "logfire.openai", span(said=said)).record
    expected = {"ended_ns": START_NS + 2 * SECOND_NS, "headers_ns": None, "streamed": False, "finish_reason": "length"}
    assert columns(record, list(expected)) == expected


def test_a_pending_span_of_logfire_is_left_out(tmp_path: Path) -> None:
    reading = records(tmp_path, "logfire.openai", span(said={**LOGFIRE, "logfire.span_type": "pending_span"}))
    assert reading.ignored == {"logfire_pending_span": 1}


def test_what_another_emitter_puts_under_a_name_that_a_dialect_reads_as_a_document_refuses_nothing(
    tmp_path: Path,
) -> None:
    chat = span(said={"gen_ai.operation.name": "chat", "gen_ai.output.messages": ["a"], "duration": ["b"]})
    assert read(tmp_path, chat).record["dialect"] == "genai"
