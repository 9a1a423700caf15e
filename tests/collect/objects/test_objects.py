"""Objects are found however they lie in a file, each is read by its dialect, and every other row is accounted for."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.objects.written import MAPPED, PAGED, PLAIN, Reading, Row, call, put
from goodput.errors import SourceRefused

DIALECTS = (PLAIN, PAGED)
PAGES = [
    {"data": [{"kind": "score", "id": "s1", "by": "judge"}, {"kind": "note"}], "meta": {"of": "scores", "page": 1}},
    {"data": [], "meta": {"of": "scores", "page": 2}},
]


def ids(reading: Reading, table: str = "serving_records") -> list[tuple[int, int, str]]:
    """(line, position, record_id) of every row."""
    return [(row["line"], row["position"], row["record_id"]) for row in reading.tables.get(table, [])]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (f"{call('a')}\n\n{call('b')}\n", [(1, 0, "a"), (3, 0, "b")]),
        (f"{call('a')}\n{call('b')}", [(1, 0, "a"), (2, 0, "b")]),
        (f"\ufeff{call('a')}\r\n{call('b')}\r\n", [(1, 0, "a"), (2, 0, "b")]),
        (f"[2026-11-20 09:00:00] {call('a')}\n2026-11-20T09:00:00Z stdout F {call('b')}\n", [(1, 0, "a"), (2, 0, "b")]),
        (f"[{call('a')}, {call('b')}]\n[{call('c')}]\n", [(1, 0, "a"), (1, 1, "b"), (2, 0, "c")]),
        (f"[\n{call('a')},\n{call('b')}\n]\n", [(1, 0, "a"), (1, 1, "b")]),
        (json.dumps(json.loads(call("a")), indent=2), [(1, 0, "a")]),
        ("kind,id,tokens\ncall,a,7\ncall,b,\n", [(2, 0, "a"), (3, 0, "b")]),
        ("call a 0.5\ncall b 0.5\n", [(1, 0, "a"), (2, 0, "b")]),
    ],
    ids=["lines", "no newline at the end", "BOM", "prefix", "array lines", "array document", "object", "csv", "text"],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_objects_are_found_however_they_lie_in_the_file(
    tmp_path: Path, text: str, places: list[tuple[int, int, str]], suffix: str
) -> None:
    assert ids(Reading(put(tmp_path / f"log{suffix}", text), DIALECTS)) == places


def test_rows_of_parquet_are_objects(tmp_path: Path) -> None:
    table = pa.table({"kind": ["call", "call"], "id": ["a", "b"], "usage": [{"in": 3}, None], "took": [0.25, None]})
    pq.write_table(table, tmp_path / "log")
    first, second = Reading(tmp_path / "log", DIALECTS).records
    assert (first["line"], first["record_id"], first["input_tokens"], first["e2e_s"]) == (1, "a", 3, 0.25)
    assert (second["line"], second["record_id"], second["input_tokens"], second["e2e_s"]) == (2, "b", None, None)


def test_a_json_cell_of_csv_is_what_it_holds(tmp_path: Path) -> None:
    text = 'kind,id,usage\ncall,a,"{""in"": 3}"\ncall,{b,[x\n'
    assert [row["input_tokens"] for row in Reading(put(tmp_path / "log", text), DIALECTS).records] == [3, None]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"usage": {"in": 12}}, {"input_tokens": 12}),
        ({"usage": {"in": "12"}}, {"input_tokens": 12}),
        ({"usage": {"in": 12.0}}, {"input_tokens": 12}),
        ({"usage": {"in": None}, "tokens": 5}, {"input_tokens": 5}),
        ({"usage": {"in": ""}, "tokens": "-"}, {"input_tokens": None}),
        ({"usage": None}, {"input_tokens": None}),
        ({"took": 3}, {"e2e_s": 3.0}),
        ({"took": "1e-3"}, {"e2e_s": 0.001}),
        ({"stream": "True"}, {"streamed": True}),
        ({"stream": False}, {"streamed": False}),
        ({"finish": {"type": "stop"}}, {"finish_reason": '{"type":"stop"}'}),
        ({"tags": ["x", "y"]}, {"tags": ["x", "y"]}),
        ({"tags": '["x"]'}, {"tags": ["x"]}),
    ],
)
def test_a_value_is_read_as_its_type_however_it_was_written(tmp_path: Path, said: Row, read: Row) -> None:
    record = Reading(put(tmp_path / "log", call("a", **said) + "\n"), DIALECTS).record
    assert {name: record[name] for name in read} == read


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"usage": {"in": 1.5}}, "$.usage.in"),
        ({"usage": {"in": 14879255164371896291}}, "$.usage.in"),
        ({"took": "fast"}, "$.took"),
        ({"stream": "maybe", "took": 1}, "$.stream"),
    ],
)
def test_a_value_that_is_not_its_type_refuses_its_row_alone(tmp_path: Path, said: Row, path: str) -> None:
    reading = Reading(put(tmp_path / "log", f"{call('a')}\n{call('b', **said)}\n"), DIALECTS)
    assert ids(reading) == [(1, 0, "a")]
    (bad,) = reading.refused
    assert (bad.line, bad.table_name, bad.rule) == (2, "serving_records", "attribute_unreadable")
    assert bad.reason.startswith(f"{path} cannot be read")


def test_bad_lines_are_refused_and_take_nothing_with_them(tmp_path: Path) -> None:
    lines = ["{broken", call("a"), "42", f"[{call('b')}, 7]", "x" * 5000, '{"kind": "call"} {}', call("c")]
    reading = Reading(put(tmp_path / "log", "\n".join([*lines, ""])), DIALECTS, max_line_bytes=4000)
    assert ids(reading) == [(2, 0, "a"), (4, 0, "b"), (7, 0, "c")]
    assert sorted((bad.line, bad.rule) for bad in reading.refused) == [
        (1, "row_not_json"),
        (3, "row_not_object"),
        (4, "row_not_object"),
        (5, "row_too_long"),
        (6, "row_not_json"),
    ]
    assert reading.rows_read == 8


@pytest.mark.parametrize("torn", ['{"kind": "call", "id', '[2026-11-20 09:00:00] {"kind"', "call b 0."])
def test_a_torn_tail_is_left_for_when_the_file_has_grown(tmp_path: Path, torn: str) -> None:
    reading = Reading(put(tmp_path / "log", f"{call('a')}\n{torn}"), DIALECTS)
    assert (ids(reading), reading.torn_tail_bytes, reading.refused) == ([(1, 0, "a")], len(torn), [])


def test_a_torn_document_is_left_whole(tmp_path: Path) -> None:
    text = f"[\n{call('a')},\n{call('b')}"
    reading = Reading(put(tmp_path / "log", text), DIALECTS)
    assert (reading.rows_read, reading.torn_tail_bytes) == (0, len(text))


def test_a_torn_first_line_does_not_make_the_file_a_document(tmp_path: Path) -> None:
    reading = Reading(put(tmp_path / "log", f'{{"kind": "ca\n{call("a")}\n'), DIALECTS)
    assert (ids(reading), [bad.line for bad in reading.refused]) == ([(2, 0, "a")], [1])


def test_a_broken_gzip_stream_keeps_what_came_before(tmp_path: Path) -> None:
    path = put(tmp_path / "log.gz", "".join(f"{call(str(number), filler=number**40)}\n" for number in range(20000)))
    path.write_bytes(path.read_bytes()[:-5000])
    reading = Reading(path, DIALECTS)
    assert reading.stopped is not None
    assert 1000 < len(reading.records) < 20000


def test_rows_of_pages_are_read_with_what_the_page_says(tmp_path: Path) -> None:
    lines = [json.dumps(page) for page in PAGES] + [call("a")]
    reading = Reading(put(tmp_path / "log", "\n".join([*lines, ""])), DIALECTS)
    assert [
        (row["line"], row["position"], row["record_id"], row["page"]) for row in reading.tables["label_records"]
    ] == [(1, 0, "s1", 1)]
    assert ids(reading) == [(3, 0, "a")]
    assert reading.ignored == {"row_of_no_known_format": 1, "page_without_rows": 1}


def test_members_of_maps_are_rows_with_their_names(tmp_path: Path) -> None:
    maps = [{"a": {"usd": 1}, "b": {"usd": 2.5}, "c": None}, {}, 7, {"a": {"usd": 3}, "d": {"eur": 1}}]
    lines = [{"data": maps}, PAGES[0], {"data": [{"a": {"eur": 1}}]}]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    reading = Reading(put(tmp_path / "log", text), (PLAIN, PAGED, MAPPED))
    found = [
        (row["line"], row["position"], row["record_id"], row["amount_usd"]) for row in reading.tables["cost_lines"]
    ]
    assert found == [(1, 0, "a", 1), (1, 1, "b", 2.5), (1, 3, "a", 3)]
    assert ids(reading, "label_records") == [(2, 0, "s1")]
    # two members and two elements of pages say nothing; a map in which nothing speaks is a page like any other
    assert reading.ignored == {"row_of_no_known_format": 4}


def test_a_page_document_over_several_lines_is_a_page(tmp_path: Path) -> None:
    reading = Reading(put(tmp_path / "log", json.dumps(PAGES[0], indent=1)), DIALECTS)
    assert ids(reading, "label_records") == [(1, 0, "s1")]


def test_rows_of_no_known_format_and_rows_left_out_are_counted(tmp_path: Path) -> None:
    text = f'{call("a")}\n{{"kind": "other"}}\n{call("health")}\n'
    reading = Reading(put(tmp_path / "log", text), DIALECTS)
    assert (ids(reading), reading.ignored) == ([(1, 0, "a")], {"row_of_no_known_format": 1, "health_check": 1})


def test_a_source_is_the_same_rows_in_any_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [call("x", took=1), json.dumps({"kind": "other"}), json.dumps(PAGES[0]), "{broken", f"[{call('y')}]"]
    chance = random.Random(7)
    mixed = "".join(f"{chance.choice(kinds[: 1 + number // 300])}\n" for number in range(1500))
    path = put(tmp_path / "log.gz", mixed + "".join(f"{call(str(number))}\n" for number in range(20000)))
    whole = Reading(path, DIALECTS)
    monkeypatch.setattr("goodput.collect.tabular.rows.BLOCK_BYTES", 2**13)
    cut = Reading(path, DIALECTS)
    assert cut.blocks > whole.blocks == 1
    assert cut.tables == whole.tables
    assert (cut.ignored, cut.refused) == (whole.ignored, whole.refused)


@pytest.mark.parametrize("rows", [1, 7])
def test_small_objects_are_read_so_many_at_a_time_however_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    pages = [json.dumps({"data": PAGES[0]["data"] * 20}), f"[{','.join([call('x'), '{}', '7'] * 20)}]"]
    maps = [json.dumps({"data": [{str(number): {"usd": number} for number in range(20)}]})]
    text = "".join(f"{line}\n" for line in [*[call("y"), "{}", "{broken"] * 20, *pages, *maps])
    path = put(tmp_path / "log", text)
    whole = Reading(path, (*DIALECTS, MAPPED))
    for module in ("objects.block", "objects.read", "tabular.rows"):
        monkeypatch.setattr(f"goodput.collect.{module}.BLOCK_ROWS", rows)
    cut = Reading(path, (*DIALECTS, MAPPED))
    assert cut.blocks > whole.blocks
    assert cut.tables == whole.tables
    assert (cut.ignored, cut.refused) == (whole.ignored, whole.refused)


@pytest.mark.parametrize(
    "text", ['{"level": "info"}\n', "INFO started\n", "a,b\n1,2\n", "[1, 2]\n", '{"data": [{"q": 1}]}\n']
)
def test_a_file_of_no_known_format_is_refused_with_the_formats_that_are(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceRefused, match=r"neither OTLP nor any format .*\(paged, plain\); map its columns"):
        Reading(put(tmp_path / "log", text), DIALECTS)


SPAN = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "call"}]}]}]}
SCRAPE = (
    "# HELP vllm:num_requests_running Requests\n# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n"
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (json.dumps(SPAN, indent=2), r"OTLP/JSON, but not one message a line.*`jq -c \. FILE"),
        (json.dumps(SPAN, indent=2) + "\n" + json.dumps(SPAN, indent=2), r"OTLP/JSON.*`jq -c \. FILE"),
        (json.dumps({"schema": 1, **SPAN}, indent="\t"), r"OTLP/JSON.*`jq -c \. FILE"),
        (json.dumps([SPAN, SPAN]), r"OTLP/JSON.*`jq -c '\.\[\]' FILE"),
        (json.dumps([SPAN, SPAN], indent=1), r"OTLP/JSON.*`jq -c '\.\[\]' FILE"),
        (json.dumps([{"q": 1}, {"q": 2}]), r"\[dialects\].*one object a line as `jq -c '\.\[\]' FILE`.*\[sources\]"),
        (json.dumps({"q": {"r": 1}}, indent=2), r"\[dialects\].*one object a line as `jq -c \. FILE`.*\[sources\]"),
        (SCRAPE, r"/metrics.*<target>/<unix time>\.prom"),
        (
            '{"text": "a span is in resourceSpans"}\n',
            r"neither OTLP .*map its columns under \[sources\] or \[dialects\]",
        ),
    ],
)
def test_a_shape_that_is_nearly_right_is_told_how_to_be_right(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SourceRefused, match=told):
        Reading(put(tmp_path / "log", text))


@pytest.mark.parametrize("byte", [0, 0x22, 0x2C, 0x41, 0xFF])
def test_a_long_run_of_any_byte_is_refused_as_no_known_format(tmp_path: Path, byte: int) -> None:
    (tmp_path / "log").write_bytes(bytes([byte]) * 200_000 + b"\n")
    with pytest.raises(SourceRefused, match="neither OTLP nor any format"):
        Reading(tmp_path / "log", DIALECTS)


def test_a_document_beyond_the_limit_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = put(tmp_path / "log", json.dumps([{"kind": "call"}] * 50, indent=1))
    with pytest.raises(SourceRefused, match=r"max_line_bytes = 500; write one object a line"):
        Reading(path, DIALECTS, max_line_bytes=500)
