"""What is read of a span's events: when the first of some names happened, how many there are, and what they name.

Most spans have no events, so that what costs anything begins after looking whether there are any.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from goodput.collect.otlp.leaves import nanoseconds, text
from goodput.collect.otlp.nested import Index, child, children

EXCEPTION, EXCEPTION_TYPE = "exception", "exception.type"


def first_event_ns(events: pa.ListArray, names: Collection[str]) -> pa.Array:
    """Int64 Unix nanoseconds of each row's earliest event of one of the names, null where it has none with a time."""
    found, row = _named(events, names)
    if not len(found):
        return pa.nulls(len(events), pa.int64())
    times, _ = nanoseconds(child(found, "timeUnixNano"))
    timed = times.is_valid().to_numpy(zero_copy_only=False)
    first = np.full(len(events), np.iinfo(np.int64).max)
    np.minimum.at(first, row[timed], times.drop_null().to_numpy(zero_copy_only=False))
    never = np.ones(len(events), dtype=bool)
    never[row[timed]] = False
    return pa.array(first, mask=never)


def exception_types(events: pa.ListArray) -> pa.Array:
    """The class that the last exception event of each row names, null where there is none."""
    return last_text(events, EXCEPTION, EXCEPTION_TYPE)


def last_text(events: pa.ListArray, name: str, key: str) -> pa.Array:
    """What the last event of a name in each row holds at `key` as text, null where there is none."""
    found, row = _named(events, (name,))
    if not len(found):
        return pa.nulls(len(events), pa.string())
    attributes, event_of = children(child(found, "attributes"))
    is_key = pc.equal(child(attributes, "key"), key).fill_null(False).to_numpy(zero_copy_only=False)
    place = np.full(len(events), -1, dtype=np.int64)
    place[row[event_of[is_key]]] = np.flatnonzero(is_key)  # numpy lets the last of equal indices win
    return text(child(child(attributes, "value"), "stringValue").take(pa.array(place, mask=place < 0)))


def event_counts(events: pa.ListArray, name: str) -> pa.Array:
    """How many events of a name each row has, null where it has none."""
    _, row = _named(events, (name,))
    counts = np.bincount(row, minlength=len(events)).astype(np.int64)
    return pa.array(counts, mask=counts == 0)


@dataclass(frozen=True)
class EventValue:
    """A column of spans from their events of one name: the text that the last one holds at a key, else their number."""

    column: str
    event: str
    key: str | None = None

    def of(self, events: pa.ListArray) -> pa.Array:
        """A value for each list of events, null where there is no such event."""
        return event_counts(events, self.event) if self.key is None else last_text(events, self.event, self.key)


@dataclass(frozen=True)
class EventTime:
    """A column of spans from their events of one name: when the first happened, in Unix nanoseconds."""

    column: str
    event: str

    def of(self, events: pa.ListArray) -> pa.Array:
        """A time for each list of events, null where there is no such event."""
        return first_event_ns(events, (self.event,))


@dataclass(frozen=True)
class WantedEvents:
    """What becomes a column of spans: `event_ns` of the first event of some names, and values of others."""

    names: Collection[str] = ()
    values: Sequence[EventValue | EventTime] = ()


def _named(events: pa.ListArray, names: Collection[str]) -> tuple[pa.StructArray, Index]:
    """The events of some names, and for each the index of its row."""
    entries, row = children(events)
    if not len(entries):
        return entries, row
    named = pc.is_in(child(entries, "name"), value_set=pa.array(names, pa.string()))
    return entries.filter(named), row[named.to_numpy(zero_copy_only=False)]
