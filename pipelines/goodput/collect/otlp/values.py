"""Reads the members of OTLP's AnyValue as a wanted type, whole columns at a time.

Each reader gives null for what it cannot read; telling that null from an absent value is the caller's work.
"""

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# In order of precedence, should an emitter set several members of the oneof.
MEMBERS = (
    "stringValue",
    "intValue",
    "doubleValue",
    "boolValue",
    "arrayValue",
    "kvlistValue",
    "bytesValue",
)
ARROW_TYPES: Mapping[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "strings": pa.list_(pa.string()),
}
_INTEGER = r"^[+-]?[0-9]{1,38}$"
_NUMBER = r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))$"
_EXACT_DOUBLES = float(2**53)  # beyond, a double may stand for a neighbouring integer
_STRING_LIST = msgspec.json.Decoder(list[str])


def coalesce(members: Mapping[str, pa.Array], wanted: str, rows: int) -> pa.Array:
    """One column of the wanted type from the members that are present; at most one is set in each row."""
    readers = _READERS[wanted]
    read = [readers[name](values) for name, values in members.items() if name in readers]
    if not read:
        return pa.nulls(rows, ARROW_TYPES[wanted])
    return read[0] if len(read) == 1 else pc.coalesce(*read)


def integers(values: pa.Array) -> pa.Array:
    """Int64 from int64, uint64 or decimal strings; null for any other string and beyond the range."""
    if pa.types.is_int64(values.type):
        return values
    if pa.types.is_uint64(values.type):
        fits = pc.less_equal(values, pa.scalar(2**63 - 1, pa.uint64()))
        return pc.if_else(fits, values, None).cast(pa.int64())
    if _only_decimal_digits(values):
        try:
            return values.cast(pa.int64())
        except pa.ArrowInvalid:  # one is too large, or empty, or no number after all: look at each
            pass
    matched = pc.if_else(pc.match_substring_regex(values, _INTEGER), values, None)
    exact = pc.utf8_ltrim(matched, characters="+").cast(pa.decimal128(38, 0))
    lowest, highest = (pa.scalar(bound, pa.decimal128(38, 0)) for bound in (-(2**63), 2**63 - 1))
    fits = pc.and_(pc.greater_equal(exact, lowest), pc.less_equal(exact, highest))
    return pc.if_else(fits, exact, None).cast(pa.int64())


def _only_decimal_digits(strings: pa.Array) -> bool:
    """Whether no character sorts after "9": Arrow's own cast reads "0x1F" as well, no OTLP integer."""
    if pa.types.is_null(strings.type) or strings.null_count == len(strings):
        return True
    _, offsets, data = strings.buffers()
    bounds = np.frombuffer(offsets, np.int32)[[strings.offset, strings.offset + len(strings)]]
    used = np.frombuffer(data, np.uint8)[bounds[0] : bounds[1]] if data else np.zeros(0, np.uint8)
    return used.size == 0 or bool(used.max() <= ord("9"))


def _integers_of_doubles(doubles: pa.Array) -> pa.Array:
    whole = pc.and_(pc.equal(doubles, pc.floor(doubles)), pc.less(pc.abs(doubles), _EXACT_DOUBLES))
    return pc.if_else(whole, doubles, None).cast(pa.int64())


def _doubles_of_strings(strings: pa.Array) -> pa.Array:
    return pc.if_else(pc.match_substring_regex(strings, _NUMBER), strings, None).cast(pa.float64())


def _doubles_of_integers(values: pa.Array) -> pa.Array:
    return integers(values).cast(pa.float64(), safe=False)


def _strings_of_integers(values: pa.Array) -> pa.Array:
    return integers(values).cast(pa.string())


def _bools_of_strings(strings: pa.Array) -> pa.Array:
    lower = pc.ascii_lower(strings)
    known = pc.is_in(lower, value_set=pa.array(["true", "false"]))
    return pc.if_else(known, pc.equal(lower, "true"), None)


def _strings(values: pa.Array) -> pa.Array:
    return values.cast(pa.string())


def _same(values: pa.Array) -> pa.Array:
    return values


def _lists_of_arrays(arrays: pa.StructArray) -> pa.Array:
    """Lists of the arrays' strings; null for an array that holds anything else."""
    lists = pc.struct_field(arrays, "values")
    members = pc.list_flatten(lists)
    texts = pc.struct_field(members, "stringValue")
    counts = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    bad = np.zeros(len(lists), dtype=np.bool_)
    if texts.null_count:
        parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
        bad[parents[texts.is_null().to_numpy(zero_copy_only=False)]] = True
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, texts, mask=pc.or_(arrays.is_null(), pa.array(bad)))


def _lists_of_strings(strings: pa.Array) -> pa.Array:
    """One-element lists, or the list that a JSON string such as '["stop"]' stands for."""
    distinct = strings.dictionary_encode()
    lists = pa.array([_list_of(text) for text in distinct.dictionary.to_pylist()], pa.list_(pa.string()))
    return lists.take(distinct.indices)


def _list_of(text: str) -> list[str]:
    if text.startswith("["):
        try:
            return _STRING_LIST.decode(text)
        except (msgspec.MsgspecError, RecursionError):
            return [text]
    return [text]


_Reader = Callable[[pa.Array], pa.Array]
_READERS: Mapping[str, Mapping[str, _Reader]] = {
    "string": {
        "stringValue": _same,
        "intValue": _strings_of_integers,
        "doubleValue": _strings,
        "boolValue": _strings,
    },
    "int": {"intValue": integers, "doubleValue": _integers_of_doubles, "stringValue": integers},
    "float": {
        "doubleValue": _same,
        "intValue": _doubles_of_integers,
        "stringValue": _doubles_of_strings,
    },
    "bool": {"boolValue": _same, "stringValue": _bools_of_strings},
    "strings": {"arrayValue": _lists_of_arrays, "stringValue": _lists_of_strings},
}
