"""OTLP/JSON written by hand, and what the reader of spans makes of it."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from goodput.collect.otlp_reading import OtlpReading
from goodput.collect.received import LandedFile, Received, RefusedRow
from goodput.settings.model import Settings

GIVEN = Path(__file__).parent.parent.parent.parent / "shared/data/captures/given"
needs_captures = pytest.mark.skipif(not GIVEN.is_dir(), reason="the shared captures are not here")
Row = dict[str, Any]
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
PARENT = "b7ad6b7169203331"
START_NS = 1_795_165_200_000_000_000  # 2026-11-20T09:00:00Z
SECOND_NS = 10**9
CHAT: Mapping[str, object] = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai"}
KIND = {"internal": 1, "server": 2, "client": 3}


def any_value(value: object) -> Row:
    """An AnyValue as pdata writes it: integers as decimal strings."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
    raise TypeError(value)


def attributes(values: Mapping[str, object]) -> list[Row]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def span(name: str = "chat m", said: Mapping[str, object] = CHAT, **given: object) -> Row:
    """A client span of two seconds, from START_NS; `kind` by name, other fields by their names in OTLP/JSON."""
    kind = KIND[str(given.pop("kind", "client"))]
    return {
        "traceId": TRACE,
        "spanId": SPAN,
        "parentSpanId": PARENT,
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(START_NS),
        "endTimeUnixNano": str(START_NS + 2 * SECOND_NS),
        "attributes": attributes(said),
        "status": {},
        **given,
    }


def spans_line(*spans: Row, resource: Mapping[str, object] | None = None) -> str:
    """One export of one resource."""
    whole = {"resource": {"attributes": attributes(resource or {})}, "scopeSpans": [{"spans": list(spans)}]}
    return json.dumps({"resourceSpans": [whole]})


def log(said: Mapping[str, object], **given: object) -> Row:
    """An evaluation event, judged a minute after START_NS."""
    return {
        "timeUnixNano": str(START_NS + 60 * SECOND_NS),
        "eventName": "gen_ai.evaluation.result",
        "body": {},
        "attributes": attributes(said),
        **given,
    }


def logs_line(*records: Row) -> str:
    return json.dumps({"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": list(records)}]}]})


def put(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def landed(path: Path) -> LandedFile:
    return LandedFile(path, path.parent, "unclaimed")


def settings(**given: object) -> Settings:
    return Settings.model_validate(given)


def read_blocks(path: Path, **given: object) -> list[Received]:
    return list(OtlpReading(landed(path), settings(**given)))


class Reading:
    """All blocks of one file together."""

    def __init__(self, path: Path, **given: object) -> None:
        blocks = read_blocks(path, **given)
        self.rows_read = sum(block.rows_read for block in blocks)
        self.refused: list[RefusedRow] = [row for block in blocks for row in block.refused]
        self.ignored: dict[str, int] = {}
        self.tables: dict[str, list[Row]] = {}
        for block in blocks:
            for rule, rows in block.ignored.items():
                self.ignored[rule] = self.ignored.get(rule, 0) + rows
            for table, frame in block.tables.items():
                self.tables.setdefault(table, []).extend(frame.to_dicts())

    @property
    def record(self) -> Row:
        """The only serving record, with nothing refused beside it."""
        assert not self.refused
        (row,) = self.tables["serving_records"]
        return row

    @property
    def label(self) -> Row:
        """The only label, with nothing refused beside it."""
        assert not self.refused
        (row,) = self.tables["label_records"]
        return row


def read(folder: Path, *spans: Row, resource: dict[str, object] | None = None, **settings: object) -> Reading:
    """What the reader makes of one export of some spans."""
    return Reading(put(folder / "traces.jsonl", spans_line(*spans, resource=resource)), **settings)


def captured_spans(path: Path) -> list[Row]:
    """Every span of a file of gzipped OTLP/JSON, read without the reader, with its scope's name."""
    with gzip.open(path, "rt") as lines:
        return [
            {**found, "scope": scope["scope"]["name"]}
            for line in lines
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for found in scope["spans"]
        ]


def columns(row: Row, names: Sequence[str]) -> Row:
    return {name: row[name] for name in names}
