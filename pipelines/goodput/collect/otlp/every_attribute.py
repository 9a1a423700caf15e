"""All attributes of each record, whatever they are called: for a look at what no dialect reads."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.otlp.attributes import member_of_each
from goodput.collect.otlp.nested import child
from goodput.collect.otlp.values import MEMBERS, coalesce

EVERY = "every_attribute"
TEXT_CHARACTERS = 200  # of a value: prompts and answers may be megabytes
_KINDS = ("empty", "text", "integer", "number", "boolean", "list", "map", "bytes")  # empty, then as MEMBERS


def every_attribute(attributes: pa.ListArray) -> pa.ListArray:
    """Lists of structs `key`, `type` and `text`, one list per record; the text of a list, map or bytes is null.

    Of a longer text only the first TEXT_CHARACTERS are there.
    """
    entries = pc.list_flatten(attributes)
    values = child(entries, "value")
    members = {name: child(values, name) for name in MEMBERS if values.type.get_field_index(name) >= 0}
    kinds = pa.array(_KINDS).take(pa.array(member_of_each(members)))
    plain = {name: members[name] for name in MEMBERS[:4] if name in members}
    texts = pc.utf8_slice_codeunits(coalesce(plain, "string", len(entries)), 0, TEXT_CHARACTERS)
    parts = [child(entries, "key"), kinds, texts]
    lengths = pc.list_value_length(attributes).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(parts, ["key", "type", "text"]))
