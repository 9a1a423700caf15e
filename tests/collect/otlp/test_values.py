import math

import pyarrow as pa
import pytest

from goodput.collect.otlp.attributes import Wanted, pivot
from goodput.collect.otlp.json_schema import arrow_schema
from goodput.collect.otlp.records import SPAN_COLUMNS, check_keys

LINE = arrow_schema(integers=pa.string())
ATTRIBUTES = LINE.field("resourceSpans").type.value_type.field("resource").type.field("attributes").type
UNREADABLE = object()


def _array(*texts: object) -> dict[str, object]:
    return {"arrayValue": {"values": [{"stringValue": text} for text in texts]}}


@pytest.mark.parametrize(
    ("wanted", "value", "read"),
    [
        ("string", {"stringValue": "a"}, "a"),
        ("string", {"intValue": "-12"}, "-12"),
        ("string", {"intValue": "007"}, "7"),
        ("string", {"doubleValue": 0.5}, "0.5"),
        ("string", {"boolValue": True}, "true"),
        ("string", {"boolValue": False}, "false"),
        ("string", {"intValue": "x"}, UNREADABLE),
        ("string", _array("a"), UNREADABLE),
        ("int", {"intValue": str(-(2**63))}, -(2**63)),
        ("int", {"intValue": str(2**63 - 1)}, 2**63 - 1),
        ("int", {"intValue": str(2**63)}, UNREADABLE),
        ("int", {"intValue": ""}, UNREADABLE),
        ("int", {"doubleValue": 12.0}, 12),
        ("int", {"doubleValue": -0.0}, 0),
        ("int", {"doubleValue": 12.5}, UNREADABLE),
        ("int", {"doubleValue": 2.0**53}, UNREADABLE),
        ("int", {"doubleValue": math.inf}, UNREADABLE),
        ("int", {"doubleValue": math.nan}, UNREADABLE),
        ("int", {"stringValue": "12"}, 12),
        ("int", {"stringValue": "+12"}, 12),
        ("int", {"stringValue": "-" + "9" * 38}, UNREADABLE),
        ("int", {"stringValue": "9" * 60}, UNREADABLE),
        ("int", {"stringValue": "12.0"}, UNREADABLE),
        ("int", {"stringValue": " 12"}, UNREADABLE),
        ("int", {"stringValue": "0x1F"}, UNREADABLE),
        ("int", {"stringValue": "\u0663"}, UNREADABLE),
        ("int", {"boolValue": True}, UNREADABLE),
        ("float", {"doubleValue": 0.25}, 0.25),
        ("float", {"doubleValue": math.inf}, math.inf),
        ("float", {"intValue": "3"}, 3.0),
        ("float", {"stringValue": "2.5e-3"}, 0.0025),
        ("float", {"stringValue": "-Infinity"}, -math.inf),
        ("float", {"stringValue": "1,5"}, UNREADABLE),
        ("float", {"stringValue": ""}, UNREADABLE),
        ("float", {"boolValue": True}, UNREADABLE),
        ("bool", {"boolValue": False}, False),
        ("bool", {"stringValue": "True"}, True),
        ("bool", {"stringValue": "yes"}, UNREADABLE),
        ("bool", {"intValue": "1"}, UNREADABLE),
        ("strings", _array("stop", "length"), ["stop", "length"]),
        ("strings", _array(), []),
        ("strings", {"arrayValue": {"values": None}}, []),
        ("strings", _array("stop", None), UNREADABLE),
        ("strings", {"stringValue": "stop"}, ["stop"]),
        ("strings", {"stringValue": '["stop"]'}, ["stop"]),
        ("strings", {"stringValue": "[]"}, []),
        ("strings", {"stringValue": "[stop]"}, ["[stop]"]),
        ("strings", {"stringValue": "[" * 5000}, ["[" * 5000]),
        ("strings", {"intValue": "1"}, UNREADABLE),
        ("string", {"kvlistValue": {}}, UNREADABLE),
        ("string", {"bytesValue": "AA=="}, UNREADABLE),
        ("string", {}, None),
        ("string", None, None),
    ],
)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
def test_a_value_read_as_a_type(wanted: str, value: dict[str, object] | None, read: object, beside: bool) -> None:
    rows = [[], [{"key": "other", "value": {"boolValue": True}}, {"key": "k", "value": value}]]
    if beside:
        rows.append([{"key": "k", "value": {"stringValue": "?" if wanted == "strings" else "1"}}])
    pivoted = pivot(pa.array(rows, ATTRIBUTES), [Wanted("k", wanted)])  # type: ignore[arg-type]
    column = pivoted.columns["k"].to_pylist()
    bad = pivoted.unreadable["k"].tolist() if "k" in pivoted.unreadable else [False] * len(rows)
    assert column[0] is None
    assert column[1] == (None if read is UNREADABLE else read)
    assert type(column[1]) is type(None if read is UNREADABLE else read)
    assert bad[:2] == [False, read is UNREADABLE]


def test_columns_keep_their_types_without_any_attribute() -> None:
    types = {"string": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    types["strings"] = pa.list_(pa.string())
    wanted = [Wanted(type_, type_) for type_ in types]  # type: ignore[arg-type]
    for rows in ([], [None], [[], []]):
        columns = pivot(pa.array(rows, ATTRIBUTES), wanted).columns
        assert {key: column.type for key, column in columns.items()} == types
        assert all(len(column) == column.null_count == len(rows) for column in columns.values())


def test_slices_are_read_like_whole_arrays() -> None:
    rows = [[{"key": "k", "value": {"intValue": str(number)}}] for number in range(10)]
    sliced = pa.array(rows, ATTRIBUTES).slice(3, 4)
    assert pivot(sliced, [Wanted("k", "int")]).columns["k"].to_pylist() == [3, 4, 5, 6]


def test_keys_that_would_make_equal_columns_are_all_told() -> None:
    wanted = [Wanted("name", "string"), Wanted("k", "int"), Wanted("k", "string")]
    with pytest.raises(ValueError, match=r"one name: k, name, resource\.r"):
        check_keys(SPAN_COLUMNS, wanted, [Wanted("r", "int"), Wanted("r", "int")])
