"""The members of AnyValue that most files have no other than: a schema without the others is parsed in less time.

Whatever the encoding, what was parsed so counts only where `is_plain`; how to parse is in `json_lines` and `protobuf`.
"""

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.otlp.fields import ANY_VALUE, SPANS
from goodput.collect.otlp.nested import child

PLAIN = ("stringValue", "intValue", "doubleValue")
NOT_PLAIN = tuple(item.name for item in ANY_VALUE.fields if item.name not in PLAIN)


def is_plain(batches: pa.ListArray) -> bool:
    """Whether each attribute of spans and their resources has a plain value: no other can then have been lost."""
    resources = pc.list_flatten(batches)
    spans = pc.list_flatten(child(pc.list_flatten(child(resources, SPANS.scopes)), SPANS.records))
    return all(_has_plain_values(holders) for holders in (child(resources, "resource"), spans))


def _has_plain_values(holders: pa.StructArray) -> bool:
    values = child(pc.list_flatten(child(holders, "attributes")), "value")
    known = reduce(pc.or_, (child(values, name).is_valid() for name in PLAIN))
    return bool(pc.all(known, min_count=0).as_py())
