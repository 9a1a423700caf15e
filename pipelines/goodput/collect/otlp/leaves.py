"""Brings the leaves of both encodings to one form: hex ids, int64 nanoseconds, text without empty strings.

OTLP/JSON has ids in hex and integers as decimal strings, protobuf bytes and fixed64; default means absent.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.otlp.values import integers

MAX_COPIED_BYTES = 256 * 2**20  # of one column of values that all rows of a resource or scope share
_HEX = np.array([f"{byte:02x}".encode() for byte in range(256)], dtype="S2").view(np.uint16)

Mask = npt.NDArray[np.bool_]


def hex_ids(ids: pa.Array, hex_digits: int) -> pa.Array:
    """Lower-case hex, null for an empty id; text of another length, or that is not hex, stays as it is."""
    if pa.types.is_binary(ids.type):
        return text(_hex_of_bytes(ids))
    lower = pc.ascii_lower(ids)
    if not lower.equals(ids):
        lower = pc.if_else(pc.match_substring_regex(lower, f"^[0-9a-f]{{{hex_digits}}}$"), lower, ids)
    return text(lower)


def _hex_of_bytes(ids: pa.BinaryArray) -> pa.StringArray:
    _, offsets, data = ids.buffers()
    bounds = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1]
    used = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] if data else np.zeros(0, np.uint8)
    digits = pa.py_buffer(_HEX[used])
    places = pa.py_buffer((bounds - bounds[0]) * np.int32(2))
    return pa.StringArray.from_buffers(len(ids), places, digits)


def text(strings: pa.Array) -> pa.Array:
    """The strings, null for empty ones: protobuf cannot tell an empty string from an absent one."""
    empty = pc.equal(pc.binary_length(strings), 0)
    return pc.if_else(empty, None, strings) if pc.any(empty).as_py() else strings


def nanoseconds(times: pa.Array) -> tuple[pa.Array, Mask | None]:
    """Int64 ns since the epoch, null for absent and 0; and where a time is there but is no such number."""
    if pa.types.is_string(times.type):
        times = text(times)
    numbers = integers(times)
    lowest = pc.min(numbers).as_py()
    if numbers.null_count == times.null_count and (lowest is None or lowest > 0):
        return numbers, None
    unknown = pc.or_(numbers.is_null(), pc.less(numbers, 0).fill_null(False))
    bad = pc.and_(times.is_valid(), unknown)
    return pc.if_else(pc.greater(numbers, 0), numbers, None), bad.to_numpy(zero_copy_only=False)


def codes(numbers: pa.Array) -> pa.Array:
    """Int32 of an enum, 0 where it is absent."""
    return numbers.fill_null(0)


def shared(values: pa.Array, rows: npt.NDArray[np.int64]) -> tuple[pa.Array, Mask | None]:
    """Copy a resource's or scope's value to each of its rows; and where it was too long for so many copies.

    A megabyte of text in a resource of a million spans would be a terabyte.
    """
    if values.null_count == len(values):
        return pa.nulls(len(rows), values.type), None
    sizes = _value_bytes(values)
    if sizes is None or int(sizes[rows].sum()) <= MAX_COPIED_BYTES:
        return values.take(pa.array(rows)), None
    long = sizes > MAX_COPIED_BYTES // len(rows)
    return pc.if_else(pa.array(long), None, values).take(pa.array(rows)), long[rows]


def _value_bytes(values: pa.Array) -> npt.NDArray[np.int64] | None:
    """Size of each value, None where all are of one small size."""
    if pa.types.is_string(values.type):
        sizes = pc.binary_length(values)
    elif pa.types.is_list(values.type):
        texts, parents = pc.list_flatten(values), pc.list_parent_indices(values)
        each = pc.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False) + np.int64(8)
        owner = parents.to_numpy(zero_copy_only=False)
        return np.bincount(owner, weights=each, minlength=len(values)).astype(np.int64)
    else:
        return None
    lengths: npt.NDArray[np.int64] = sizes.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths
