"""What the bytes of a capture carry, under whatever name: found by value, since each call has values of its own.

Nothing here knows a dialect. A fact counts as reported where one key has the true value in most calls.
"""

import gzip
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from emitters.truth_lines import Line, call_of

Facts = dict[str, set[Any]]
COLUMNS = ("attempts", "input_tokens", "output_tokens", "cached_input_tokens", "ttft_s", "session", "replica")
_MOST, _NEARLY_ALL, _SOME = 0.6, 0.9, 2
_CLOCK_S = 0.04
_ERROR_SIGNS = ("error", "exception", "cancel", "timeout")
_PLACE_IN_CODE = "code."
_STATUS_ERROR = 2


class Evidence:
    """The values that a capture has of each call, by key; the calls are those of its truth."""

    def __init__(self, folder: Path, calls: list[Line]) -> None:
        """Read every OTLP span, log record and JSON line of the capture."""
        self._calls = calls
        self._facts: dict[str, Facts] = {call.rid: defaultdict(set) for call in calls}
        self._instants: dict[str, Facts] = {call.rid: defaultdict(set) for call in calls}  # Unix seconds
        self._counts: dict[str, Counter[str]] = {call.rid: Counter() for call in calls}
        for path in sorted(folder.glob("telemetry.traces*.pb.gz")):
            self._spans(path)
        for path in sorted(folder.glob("telemetry.logs*.pb.gz")):
            self._logs(path)
        for path in sorted(folder.glob("telemetry.*.jsonl.gz")):
            self._objects(path)
        self._keys = {column: self._keys_of(column) for column in COLUMNS}
        self._usual_in_good = self._usual()

    def keys(self, column: str) -> set[str]:
        """The keys that carry a column's true value in most calls where it has one."""
        return self._keys[column]

    def has(self, column: str, call: Line) -> bool:
        """Whether the bytes of this call carry a column's true value, under one of the column's keys."""
        if column == "attempts":
            return bool(self.keys(column))
        return bool(self._carrying(call, column) & self.keys(column))

    def knows(self, call: Line) -> bool:
        """Whether there is anything about a call at all."""
        return bool(self._facts[call.rid])

    def shows_failure(self, call: Line) -> bool:
        """Whether anything in a call's bytes says that it did not end well.

        An attribute named after failures, or another value where nearly all calls that ended well have the same.
        """
        facts = self._facts[call.rid]
        named = any(sign in key.lower() for key in facts for sign in _ERROR_SIGNS)
        return named or any(facts.get(key, value) != value for key, value in self._usual_in_good.items())

    def _usual(self) -> dict[str, set[Any]]:
        good = [self._facts[call.rid] for call in self._calls if call.outcome == "ok" and self._facts[call.rid]]
        found = {}
        for key in {key for facts in good for key in facts if not key.startswith(_PLACE_IN_CODE)}:
            values, count = Counter(frozenset(facts[key]) for facts in good if key in facts).most_common(1)[0]
            if count >= _NEARLY_ALL * len(good):
                found[key] = set(values)
        return found

    def _keys_of(self, column: str) -> set[str]:
        if column == "attempts":
            return self._keys_of_attempts()
        wanted = [call for call in self._calls if getattr(call, column) is not None]
        found = Counter(key for call in wanted for key in self._carrying(call, column))
        return {key for key, count in found.items() if count >= _MOST * len(wanted)}

    def _carrying(self, call: Line, column: str) -> set[str]:
        if column == "ttft_s":
            at = int(call.first_ns) / 1e9
            instants = self._instants[call.rid].items()
            return {key for key, values in instants if any(abs(value - at) < _CLOCK_S for value in values)}
        if column == "replica":
            return self._naming(call)
        return self._equal_to(call, getattr(call, column))

    def _naming(self, call: Line) -> set[str]:
        """Keys that hold the host's address, by itself or in a URL, or its port."""
        if call.replica is None:
            return set()
        port = int(call.replica.rpartition(":")[2])
        facts = self._facts[call.rid].items()
        return {key for key, values in facts if any(v == port or call.replica in str(v) for v in values)}

    def _equal_to(self, call: Line, true: Any) -> set[str]:
        facts = self._facts[call.rid].items()
        return {key for key, values in facts if any(v == true and not isinstance(v, bool) for v in values)}

    def _keys_of_attempts(self) -> set[str]:
        """Keys that count tries, or retries where there were any, or that stand once a try."""
        retried = [call for call in self._calls if call.attempts > 1]
        others = [call for call in self._calls if call.attempts == 1]
        tries = Counter(key for call in self._calls for key in self._equal_to(call, call.attempts))
        retries = Counter(key for call in retried for key in self._equal_to(call, call.attempts - 1))
        no_retries = Counter(key for call in others for key in self._equal_to(call, 1) | self._equal_to(call, 2))
        found = {key for key, count in tries.items() if count >= _NEARLY_ALL * len(self._calls)}
        found |= {key for key, count in retries.items() if count >= _SOME and not no_retries[key]}
        for name in {name for counts in self._counts.values() for name in counts}:
            fits = [self._counts[call.rid][name] == call.attempts for call in self._calls]
            again = [self._counts[call.rid][name] == call.attempts for call in retried]
            if sum(fits) >= _MOST * len(fits) and sum(again) >= _MOST * len(again):
                found.add(f"one {name} a try")
        return found

    def _spans(self, path: Path) -> None:
        for body in _framed(path):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        call = call_of(self._calls, span.start_time_unix_nano, span.end_time_unix_nano)
                        if call:
                            self._counts[call.rid][f"span `{span.name}`"] += 1
                            self._add(call, _span_values(span), span.start_time_unix_nano / 1e9)

    def _logs(self, path: Path) -> None:
        for body in _framed(path):
            for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
                for scope in resource.scope_logs:
                    for record in scope.log_records:
                        at = record.time_unix_nano or record.observed_time_unix_nano
                        call = call_of(self._calls, at, at)
                        if call:
                            self._counts[call.rid][f"log `{record.event_name}`"] += 1
                            self._add(call, _attributes("", record.attributes))

    def _objects(self, path: Path) -> None:
        for text in gzip.decompress(path.read_bytes()).decode().splitlines():
            for call in self._calls:
                if f'"{call.rid}"' in text or (call.response_id and call.response_id in text):
                    self._counts[call.rid][f"line in {path.name}"] += 1
                    self._add(call, _flat("", json.loads(text)))

    def _add(self, call: Line, values: Iterable[tuple[str, Any]], start_s: float = math.nan) -> None:
        for key, value in values:
            self._facts[call.rid][key].add(value)
            if isinstance(value, _Instant):
                self._instants[call.rid][key].add(value)
            elif isinstance(value, int | float) and "tokens" not in key.lower():
                # an instant, or a duration from the span's start, in s or ms; counts of tokens are neither
                self._instants[call.rid][key] |= {
                    value,
                    value / 1e3,
                    value / 1e9,
                    start_s + value,
                    start_s + value / 1e3,
                }


def _framed(path: Path) -> Iterator[bytes]:
    content = gzip.decompress(path.read_bytes())
    while content:
        end = 4 + int.from_bytes(content[:4], "big")
        yield content[4:end]
        content = content[end:]


def _span_values(span: Any) -> Iterator[tuple[str, Any]]:
    if span.status.code == _STATUS_ERROR:
        yield "error status", span.status.message
    yield from _attributes("", span.attributes)
    for event in span.events:
        yield f"event {event.name}", _Instant(event.time_unix_nano / 1e9)
        yield from _attributes(f"event {event.name}: ", event.attributes)


def _attributes(prefix: str, attributes: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for attribute in attributes:
        kind = attribute.value.WhichOneof("value")
        if kind in ("string_value", "int_value", "double_value", "bool_value"):
            yield from _flat(prefix + attribute.key, getattr(attribute.value, kind))
        elif kind == "kvlist_value":
            yield from _attributes(f"{prefix}{attribute.key}.", attribute.value.kvlist_value.values)


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value, and what is inside of it where it is an object, a list or the JSON text of one."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}" if key else name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(key, inner)
    elif isinstance(value, str) and value[:1] in ("{", "[", '"'):
        yield key, value
        try:
            yield from _flat(key, json.loads(value))
        except ValueError:
            return
    else:
        yield key, value
        yield from ((key, number) for number in _numbers(value))


class _Instant(float):
    """Seconds since 1970."""


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, str):
        try:
            yield float(value)
        except ValueError:
            try:
                yield _Instant(datetime.fromisoformat(value).timestamp())
            except ValueError:
                return
