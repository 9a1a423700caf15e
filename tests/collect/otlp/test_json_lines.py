import math
from pathlib import Path

import pytest

from collect.otlp.files import GOOD, SPAN, TRACE, attribute, read_bytes, span_line
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.limits import Limits

FLOAT, INT, STRING = Wanted("k", "float"), Wanted("k", "int"), Wanted("k", "string")


def test_every_field_of_a_span(tmp_path: Path) -> None:
    content = b"""{"resourceSpans":[{"resource":{"attributes":[
        {"key":"service.name","value":{"stringValue":"gw"}}]},
        "scopeSpans":[{"scope":{"name":"litellm"},"spans":[
        {"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174","parentSpanId":"EEE19B7EC3C1B173",
         "name":"chat","kind":3,"startTimeUnixNano":"1544712660000000001","endTimeUnixNano":"1544712661000000002",
         "status":{"code":2,"message":"boom"},"events":[{"timeUnixNano":"1544712661000000002","name":"exception",
         "attributes":[{"key":"exception.type","value":{"stringValue":"TimeoutError"}}]}],"attributes":[{"key":"n","value":{"intValue":"7"}}]},
        {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175"}]}]}]}""".replace(b"\n", b"")
    wanted = [Wanted("service.name", "string"), Wanted("n", "int")]
    full, bare = read_bytes(tmp_path, content + b"\n", wanted).spans
    assert full == {
        "line": 1,
        "position": 0,
        "trace_id": "5b8efff798038103d269b633813fc60c",
        "span_id": "eee19b7ec3c1b174",
        "parent_span_id": "eee19b7ec3c1b173",
        "name": "chat",
        "kind": 3,
        "start_ns": 1544712660000000001,
        "end_ns": 1544712661000000002,
        "status_code": 2,
        "status_message": "boom",
        "scope_name": "litellm",
        "event_ns": None,
        "exception_type": "TimeoutError",
        "service.name": None,
        "n": 7,
        "resource.service.name": "gw",
        "resource.n": None,
        "unreadable": None,
    }
    assert bare == dict.fromkeys(full) | {
        "line": 1,
        "position": 1,
        "trace_id": TRACE,
        "span_id": "eee19b7ec3c1b175",
        "kind": 0,
        "status_code": 0,
        "scope_name": "litellm",
        "resource.service.name": "gw",
    }


def test_every_field_of_a_log_record(tmp_path: Path) -> None:
    score = attribute('{"doubleValue":0.5}')
    records = [
        f'{{"timeUnixNano":"5","observedTimeUnixNano":"9","severityNumber":9,"eventName":"e",'
        f'"body":{{"stringValue":"hi"}},"traceId":"{TRACE}","spanId":"{SPAN}",{score}}}',
        '{"timeUnixNano":"0","observedTimeUnixNano":"9","body":{"intValue":"3"},'
        '"attributes":[{"key":"event.name","value":{"stringValue":"old"}}]}',
    ]
    line = f'{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{",".join(records)}]}}]}}]}}\n'
    first, second = read_bytes(tmp_path, line.encode(), [FLOAT]).logs
    assert first == {
        "line": 1,
        "position": 0,
        "time_ns": 5,
        "trace_id": TRACE,
        "span_id": SPAN,
        "event_name": "e",
        "severity_number": 9,
        "body_text": "hi",
        "body_map": None,
        "k": 0.5,
        "resource.k": None,
        "unreadable": None,
    }
    assert (second["time_ns"], second["event_name"], second["body_text"]) == (9, "old", None)
    assert (second["trace_id"], second["severity_number"], second["k"]) == (None, 0, None)


@pytest.mark.parametrize(
    "bad",
    [
        b"null",
        b"12",
        b'"text"',
        b"[]",
        b"[{}]",
        b"{}",
        b'{"resourceSpans":null}',
        b'{"other":1}',
        GOOD + b"null",
        GOOD + b" null " + GOOD,
        GOOD + GOOD,
        GOOD + b" garbage",
        GOOD + b"}",
        GOOD[:-1],
        GOOD[:-5],
        b"\x00\x00",
        GOOD + b"\x00",
        GOOD.replace(b"good", b"a\x00b"),
        GOOD.replace(b"good", b"a\tb"),
        GOOD.replace(b"good", b"\xff\xfe"),
        GOOD.replace(b"good", b"\xed\xa0\x80"),
        span_line('"unread":"@"').replace(b"@", b"\xff"),
        span_line(r'"name":"\ud800"'),
        span_line('"name":{}'),
        span_line('"name":[]'),
        span_line('"kind":"SPAN_KIND_OTHER"'),
        span_line('"kind":99999999999'),
        span_line('"kind":1.5'),
        span_line('"attributes":{}'),
        span_line('"attributes":[7]'),
        span_line(spans="7"),
        span_line('"name":"a","name":"b"'),
        span_line(f'"trace_id":"{TRACE}"'),
        GOOD[:-1] + b',"resourceSpans":[]}',
        b'{"resourceSpans":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"\xef\xbb\xbf" + GOOD,
        b"// a comment",
        b"\x0c" + GOOD,
    ],
    ids=lambda line: line[-40:].decode(errors="replace"),
)
def test_a_bad_line_is_told_and_takes_nothing_with_it(tmp_path: Path, bad: bytes) -> None:
    outcome = read_bytes(tmp_path, b"\n".join([GOOD, bad, b"", GOOD, b""]))
    assert outcome.span_lines == [1, 4]
    assert outcome.bad_numbers == [2]
    assert outcome.bad_lines[0].reason
    assert len(outcome.bad_lines[0].excerpt) <= 300
    assert outcome.bad_lines[0].excerpt.isprintable()
    assert outcome.lines == 3


SANE = [f'{{"traceId":"{TRACE}","spanId":"{number:016x}","name":"sane"}}' for number in range(20)]
WRONG_SPANS = [
    '{"startTimeUnixNano":true}',
    r'{"name":"\ud800"}',
    '{"events":5}',
    '{"attributes":{}}',
    '{"kind":1.5}',
    '{"name":"a","name":"b"}',
    "7",
]


@pytest.mark.parametrize("wrong", WRONG_SPANS)
def test_a_bad_span_takes_none_of_its_message_with_it(tmp_path: Path, wrong: str) -> None:
    line = span_line(spans=",".join([*SANE[:10], wrong, *SANE[10:]]))
    outcome = read_bytes(tmp_path, b"\n".join([GOOD, line, GOOD, b""]))
    read = [(row["span_id"], row["position"]) for row in outcome.spans if row["line"] == 2]
    assert read == [(f"{number:016x}", number + (number >= 10)) for number in range(20)]
    assert [(bad.line, bad.position) for bad in outcome.bad_lines] == [(2, 10)]
    assert outcome.bad_lines[0].reason
    assert outcome.bad_lines[0].excerpt == wrong.replace(":", ": ").replace(",", ", ").replace('"name": "a", ', "")
    assert outcome.span_lines == [1, *[2] * 20, 3]


@pytest.mark.parametrize("value", [r'{"stringValue":"\ud800"}', '{"intValue":' + "9" * 5000 + "}"])
def test_a_value_beyond_belief_of_an_attribute_that_nobody_wants_takes_nothing_with_it(
    tmp_path: Path, value: str
) -> None:
    wrong = f'{{"traceId":"{TRACE}","spanId":"{SPAN}",{attribute(value)}}}'
    outcome = read_bytes(tmp_path, span_line(spans=",".join([*SANE, wrong])) + b"\n")
    assert (len(outcome.spans), outcome.bad_lines) == (21, [])


def test_bad_log_records_take_no_others_with_them(tmp_path: Path) -> None:
    record = '{"timeUnixNano":"%d"}'
    records = ",".join([record % 1, '{"eventName":{}}', record % 2, '{"timeUnixNano":false}'])
    line = f'{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{records}]}}]}}]}}'.encode()
    outcome = read_bytes(tmp_path, line + b"\n")
    assert [(row["time_ns"], row["position"]) for row in outcome.logs] == [(1, 0), (2, 2)]
    assert [bad.position for bad in outcome.bad_lines] == [1, 3]


def test_bad_points_take_no_others_with_them_and_a_bad_metric_only_its_own(tmp_path: Path) -> None:
    def metric(name: str, *points: str) -> str:
        return f'{{"name":{name},"gauge":{{"dataPoints":[{",".join(points)}]}}}}'

    point, wrong = '{"timeUnixNano":"1","asDouble":1}', '{"timeUnixNano":true}'
    metrics = [metric('"a"', point, wrong, point), metric("{}", point, wrong, point), metric('"b"', point)]
    line = f'{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{",".join(metrics)}]}}]}}]}}'.encode()
    outcome = read_bytes(tmp_path, line + b"\n")
    assert outcome.metric_points == 3
    assert [bad.position for bad in outcome.bad_lines] == [3, 4]  # behind those that are read


def test_a_line_of_nothing_but_bad_spans_is_one_bad_line(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, b"\n".join([span_line(spans=",".join([SANE[0], *["7"] * 1001])), GOOD, b""]))
    assert [(bad.line, bad.position) for bad in outcome.bad_lines] == [(1, None)]
    assert outcome.span_lines == [2]


def test_no_more_is_told_of_a_block_than_lines_may_stand_in_it(tmp_path: Path) -> None:
    line = span_line(spans=",".join(["7"] * 1000))
    outcome = read_bytes(tmp_path, b"\n".join([*[line] * 100, b""]))
    positions = [bad.position for bad in outcome.bad_lines]
    assert (positions.count(None), len(positions)) == (100 - 65, 65 * 1000 + 35)


def test_documents_shifted_between_lines_do_not_cancel_out(tmp_path: Path) -> None:
    split = GOOD.replace(b'[{"scope', b'[\n{"scope', 1)  # both halves begin with a brace
    outcome = read_bytes(tmp_path, GOOD + b"\n" + GOOD + GOOD + b"\n" + split + b"\n" + GOOD + b"\n")
    assert outcome.span_lines == [1, 5]
    assert outcome.bad_numbers == [2, 3, 4]


@pytest.mark.parametrize(
    "same",
    [
        GOOD + b"\r",
        b" \t" + GOOD + b"  ",
        GOOD.replace(b'":', b'" : ').replace(b",", b" , "),
        GOOD.replace(b"traceId", b"trace_id").replace(b"spanId", b"span_id"),
        GOOD.replace(b"resourceSpans", b"resource_spans").replace(b"scopeSpans", b"scope_spans"),
        GOOD.replace(b'"scopeSpans"', b'"scope_spans" \t'),
        GOOD.replace(b"good", rb"\u0067ood"),
        GOOD.replace(b"resourceSpans", rb"resource\u0053pans"),
        GOOD.replace(TRACE.encode(), TRACE.upper().encode()),
        GOOD[:-1] + b',"unknown":{"a":[1,2,{"b":null}]},"schemaUrl":""}',
        GOOD[:-1] + b',"resourceLogs":null}',
        GOOD[:-1] + b',"x":1,"x":2}',
        span_line('"name":"good","events":[{"name":"a","attributes":[]}],"links":[],"kind":null,"status":null'),
        span_line('"name":"good","kind":0,"status":{},"parentSpanId":"","startTimeUnixNano":"0","attributes":null'),
        span_line('"name":"good","kind":"SPAN_KIND_UNSPECIFIED","endTimeUnixNano":0'),
        span_line('"name":"good","kind":"0","status":{"code":"STATUS_CODE_UNSET"}'),
        span_line('"name":"good","attributes":[null,{},{"key":"x"},{"key":"y","value":null}]'),
        GOOD[:-1] + b',"z":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    ],
    ids=lambda line: line[:60].decode(),
)
def test_other_ways_to_write_the_same_span(tmp_path: Path, same: bytes) -> None:
    outcome = read_bytes(tmp_path, same + b"\n" + GOOD + b"\n")
    assert outcome.bad_lines == []
    first, second = outcome.spans
    assert first == second | {"line": 1}


def test_a_text_that_looks_like_two_documents_is_read_on(tmp_path: Path) -> None:
    line = span_line(attribute('{"stringValue":"{{a}}{{b}} }null trace_id\\": "}'))
    outcome = read_bytes(tmp_path, line + b"\n", [STRING])
    assert [row["k"] for row in outcome.spans] == ['{{a}}{{b}} }null trace_id": ']


def test_blank_lines_keep_their_numbers(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, b"\n \t\r\n" + GOOD + b"\r\n\n" + GOOD + b"\n\n")
    assert outcome.span_lines == [3, 5]
    assert (outcome.lines, outcome.bad_lines) == (2, [])


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, b"\xef\xbb\xbf" + GOOD + b"\n")
    assert (outcome.span_lines, outcome.bad_lines) == ([1], [])


def test_null_and_empty_elements_are_rows_without_ids(tmp_path: Path) -> None:
    outcome = read_bytes(tmp_path, span_line(spans=f'null,{{}},{{"traceId":"{TRACE}"}}') + b"\n")
    assert [(row["position"], row["trace_id"]) for row in outcome.spans] == [(0, None), (1, None), (2, TRACE)]


def test_trap_5_a_line_is_a_batch_of_many_resources_scopes_and_spans(tmp_path: Path) -> None:
    scope = '{"spans":[{"name":"a"},{"name":"b"}]}'
    line = f'{{"resourceSpans":[{{"scopeSpans":[{scope},{scope}]}},{{}},{{"scopeSpans":[{scope}]}}]}}\n'.encode()
    outcome = read_bytes(tmp_path, line + line)
    assert [(row["line"], row["position"]) for row in outcome.spans] == [
        (number, position) for number in (1, 2) for position in range(6)
    ]


def test_ids_that_are_no_ids_stay_as_they_are(tmp_path: Path) -> None:
    odd = ["ABC", "W47/95gDgQPSabYzgT/GDA==", "5B8EFFF798038103D269B633813FC60Z", "12"]
    spans = ",".join(f'{{"traceId":"{text}"}}' for text in odd)
    assert [row["trace_id"] for row in read_bytes(tmp_path, span_line(spans=spans) + b"\n").spans] == odd
    assert read_bytes(tmp_path, span_line(spans='{"traceId":12}') + b"\n").spans[0]["trace_id"] == "12"


@pytest.mark.parametrize("text", ['"abc"', '"-5"', '"9223372036854775808"', '"1.5"', '"0x1F"', "1.5e40", '" 7"'])
def test_a_time_that_is_no_time_is_told(tmp_path: Path, text: str) -> None:
    line = span_line(f'"startTimeUnixNano":{text},"endTimeUnixNano":"7"')
    (row,) = read_bytes(tmp_path, line + b"\n").spans
    assert (row["start_ns"], row["end_ns"], row["unreadable"]) == (None, 7, "startTimeUnixNano")


@pytest.mark.parametrize("text", ['"1544712660000000001"', "1544712660000000001"])
def test_trap_3_nanoseconds_are_exact_as_text_and_as_number(tmp_path: Path, text: str) -> None:
    (row,) = read_bytes(tmp_path, span_line(f'"startTimeUnixNano":{text}') + b"\n").spans
    assert row["start_ns"] == 1544712660000000001


@pytest.mark.parametrize(
    ("value", "wanted", "read"),
    [
        ('{"intValue":12}', INT, 12),
        ('{"intValue":"12"}', INT, 12),
        ('{"int_value":"12"}', INT, 12),
        ('{"doubleValue":3}', FLOAT, 3.0),
        ('{"doubleValue":"2.5"}', FLOAT, 2.5),
        ('{"doubleValue":"Infinity"}', FLOAT, math.inf),
        ('{"doubleValue":"-Infinity"}', FLOAT, -math.inf),
        ('{"doubleValue":-Infinity}', FLOAT, -math.inf),
        ('{"doubleValue":1e999}', FLOAT, math.inf),
        ('{"doubleValue":-1' + "0" * 400 + "}", FLOAT, -math.inf),
        ('{"double_value":-1' + "0" * 400 + "}", FLOAT, -math.inf),
        ('{"stringValue":5}', STRING, "5"),
        ('{"stringValue":"a\\u0000b"}', STRING, "a\0b"),
        ('{"stringValue":"\\ud83d\\ude00"}', STRING, "\N{GRINNING FACE}"),
        ('{"stringValue":""}', STRING, ""),
        ("{}", STRING, None),
        ("null", STRING, None),
        ('{"stringValue":null}', STRING, None),
    ],
)
def test_ways_to_write_a_value(tmp_path: Path, value: str, wanted: Wanted, read: object) -> None:
    (row,) = read_bytes(tmp_path, span_line(attribute(value)) + b"\n", [wanted]).spans
    assert (row["k"], row["unreadable"]) == (read, None)


@pytest.mark.parametrize("values", [("1", "2"), ("1", '"2"'), ('"1"', '"2"')])
def test_trap_2_integers_as_numbers_and_as_strings(tmp_path: Path, values: tuple[str, str]) -> None:
    lines = [span_line(attribute(f'{{"intValue":{value}}}')) for value in values]
    outcome = read_bytes(tmp_path, b"\n".join(lines) + b"\n", [INT])
    assert [(row["k"], row["unreadable"]) for row in outcome.spans] == [(1, None), (2, None)]


@pytest.mark.parametrize("value", ['{"doubleValue":"NaN"}', '{"doubleValue":NaN}'])
def test_trap_2_nan_is_a_text_too(tmp_path: Path, value: str) -> None:
    (row,) = read_bytes(tmp_path, span_line(attribute(value)) + b"\n", [FLOAT]).spans
    assert math.isnan(row["k"])


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ('{"intValue":"abc"}', INT),
        ('{"intValue":"99999999999999999999"}', INT),
        ('{"intValue":"0x1F"}', INT),
        ('{"intValue":9223372036854775808}', INT),
        ('{"intValue":1.5}', INT),
        ('{"intValue":true}', INT),
        ('{"intValue":{"low":1,"high":2}}', INT),
        ('{"doubleValue":"abc"}', FLOAT),
        ('{"doubleValue":9007199254740993}', INT),
        ('{"boolValue":"maybe"}', Wanted("k", "bool")),
        ('"text"', STRING),
        ("[]", STRING),
        ('{"bytesValue":"AAEC"}', STRING),
        ('{"kvlistValue":{"values":[]}}', STRING),
        ('{"arrayValue":{"values":[{"intValue":"1"}]}}', Wanted("k", "strings")),
    ],
)
def test_a_value_of_no_use_is_told_and_the_other_spans_stay(tmp_path: Path, value: str, wanted: Wanted) -> None:
    other = f'{{"traceId":"{TRACE}","spanId":"{SPAN}"}}'
    line = span_line(spans=f"{other},{{{attribute(value)}}},{other}")
    outcome = read_bytes(tmp_path, line + b"\n", [wanted])
    assert [(row["k"], row["unreadable"]) for row in outcome.spans] == [(None, None), (None, "k"), (None, None)]
    assert outcome.bad_lines == []


def test_a_line_beyond_the_limit_is_bad_and_the_next_is_read(tmp_path: Path) -> None:
    long = GOOD.replace(b"good", b"g" * 5000)
    outcome = read_bytes(tmp_path, GOOD + b"\n" + long + b"\n" + GOOD + b"\n", limits=Limits(max_line_bytes=1000))
    assert (outcome.span_lines, outcome.bad_numbers) == ([1, 3], [2])
    assert "max_line_bytes (1000)" in outcome.bad_lines[0].reason


def test_metrics_are_counted(tmp_path: Path) -> None:
    metrics = (
        '{"name":"a","sum":{"dataPoints":[{},{"asInt":"1"}]}},{"name":"b","gauge":{"dataPoints":[{"asDouble":"NaN"}]}},'
        '{"name":"c","histogram":{"dataPoints":[{}]}},{"name":"d","exponentialHistogram":{"dataPoints":[{}]}},'
        '{"name":"e","summary":{"dataPoints":[{}]}},{"name":"f"}'
    )
    line = f'{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{metrics}]}}]}}]}}\n'.encode()
    outcome = read_bytes(tmp_path, line + GOOD + b"\n")
    # a histogram is two readings, its count and its sum
    assert (outcome.metric_points, outcome.span_lines, outcome.bad_lines) == (7, [2], [])


def test_a_long_text_of_a_resource_is_not_copied_to_a_million_spans(tmp_path: Path) -> None:
    spans = ",".join(["{}"] * 300_000)
    resource = "{" + attribute('{"stringValue":"' + "x" * 5000 + '"}') + "}"
    line = f'{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}'
    outcome = read_bytes(tmp_path, line.encode() + b"\n", [STRING])
    assert len(outcome.spans) == 300_000
    assert outcome.spans[-1]["resource.k"] is None
    assert outcome.spans[-1]["unreadable"] == "resource.k"


@pytest.mark.parametrize(
    ("wanted", "value", "read"),
    [
        ("bool", '{"boolValue":true}', True),
        ("strings", '{"arrayValue":{"values":[{"stringValue":"stop"}]}}', ["stop"]),
        ("string", '{"stringValue":"a","boolValue":true}', "a"),
        ("string", "{}", None),
    ],
)
def test_a_kind_of_value_that_the_first_line_lacks(tmp_path: Path, wanted: str, value: str, read: object) -> None:
    both = '{"stringValue":"x","intValue":"1"}'  # two members here make up for none there, if they are only counted
    lines = b"".join(span_line(attribute(said)) + b"\n" for said in (both, value))
    keys = [Wanted("k", wanted)]  # type: ignore[arg-type]
    assert [span["k"] for span in read_bytes(tmp_path, lines, keys).spans][1] == read


def test_log_records_after_spans_keep_every_kind_of_value(tmp_path: Path) -> None:
    said = attribute('{"boolValue":true}')
    record = f'{{"traceId":"{TRACE}",{said}}}'
    logs = f'{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{record}]}}]}}]}}\n'
    lines = span_line(attribute('{"stringValue":"x"}')) + b"\n" + logs.encode()
    (log,) = read_bytes(tmp_path, lines, [Wanted("k", "bool")]).logs
    assert log["k"] is True
