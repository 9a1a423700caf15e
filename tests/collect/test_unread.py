"""Spans that no dialect reads: those that look like calls are ignored by their name, all others together."""

from pathlib import Path

import pytest

from collect.telemetry import CHAT, put, read, read_blocks, span, spans_line

MODEL = {"gen_ai.request.model": "m"}


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({**MODEL}, "span_looks_like_call:x"),
        ({"llm.token_count.prompt": 4}, "span_looks_like_call:x"),
        ({**MODEL, "gen_ai.operation.name": "invoke_agent"}, "span_is_no_request"),
        ({**MODEL, "gen_ai.operation.name": "embeddings"}, "span_is_no_request"),
        ({"llm.model_name": "m", "openinference.span.kind": "CHAIN"}, "span_is_no_request"),
        ({"uri": "/v1/chat/completions?x=1", "method": "POST"}, "span_looks_like_call:x"),
        ({"uri": "/v1/chat/completions", "method": "GET"}, "span_is_no_request"),
        ({"uri": "/v1/models", "method": "POST"}, "span_is_no_request"),
        ({"http.response.status_code": 200}, "span_is_no_request"),
        ({}, "span_is_no_request"),
    ],
)
def test_what_looks_like_a_call_is_told_by_its_facts(tmp_path: Path, said: dict[str, object], rule: str) -> None:
    reading = read(tmp_path, span("x", said))
    assert (reading.ignored, reading.rows_read) == ({rule: 1}, 1)


def test_what_is_around_or_inside_a_call_that_is_read_is_none(tmp_path: Path) -> None:
    call = span("chat", CHAT, spanId="1" * 16, parentSpanId="2" * 16)
    around = span("around", MODEL, spanId="2" * 16)
    inside = span("inside", MODEL, spanId="3" * 16, parentSpanId="1" * 16)
    beside = span("beside", MODEL, spanId="4" * 16, parentSpanId="2" * 16)
    reading = read(tmp_path, call, around, inside, beside)
    assert reading.ignored == {"span_looks_like_call:beside": 1, "span_is_no_request": 2}


def test_names_that_differ_in_ids_are_one_and_few_names_are_kept(tmp_path: Path) -> None:
    one = [span(f"call 0b1c{n:04x}-aa", MODEL, spanId=f"{n + 1:016x}") for n in range(3)]
    assert read(tmp_path, *one).ignored == {"span_looks_like_call:call *": 3}
    letters = [chr(ord("g") + n) * 3 for n in range(19)] + ["\u001b[1m", "yyyy", "zzzz"]
    many = [span(name, MODEL, spanId=f"{n + 1:016x}") for n, name in enumerate(letters)]
    ignored = read(tmp_path, *many).ignored
    assert ignored["span_looks_like_call:?[*m"] == 1
    assert ignored["span_looks_like_call:others"] == 2
    assert (len(ignored), sum(ignored.values())) == (21, 22)


def test_the_names_of_a_file_are_bounded_over_its_blocks(tmp_path: Path) -> None:
    lines = [
        spans_line(span("x" + chr(ord("g") + n % 20) * (n // 20 + 1), {**MODEL, "pad": "p" * 9000})) for n in range(900)
    ]
    blocks = read_blocks(put(tmp_path / "a.jsonl", *lines))
    names = {rule for block in blocks for rule in block.ignored}
    assert len(names) == 21
    assert sum(sum(block.ignored.values()) for block in blocks) == 900
