"""Times the OTLP decoder against plain ways to the same columns: orjson and protobuf loops, and DuckDB.

Run it with `python benchmarks/otlp_decode.py --spans 200000`. It writes its own data; every way is timed in turn, so
that what else the machine does falls on all of them, and the best of the rounds counts.
"""

import argparse
import json
import random
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import orjson
import pyarrow as pa
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.decode import OtlpDecoder
from goodput.collect.otlp.read import OtlpReader

ROUNDS = 3
SPANS_PER_LINE = 500
SPAN_KEYS = (
    Wanted("gen_ai.request.id", "string"),
    Wanted("gen_ai.usage.prompt_tokens", "int"),
    Wanted("gen_ai.usage.completion_tokens", "int"),
    Wanted("gen_ai.latency.time_to_first_token", "float"),
    Wanted("gen_ai.latency.e2e", "float"),
    Wanted("gen_ai.latency.time_in_queue", "float"),
    Wanted("gen_ai.latency.time_in_model_prefill", "float"),
    Wanted("gen_ai.latency.time_in_model_decode", "float"),
    Wanted("gen_ai.latency.time_in_model_inference", "float"),
    Wanted("gen_ai.request.top_p", "float"),
    Wanted("gen_ai.request.max_tokens", "int"),
    Wanted("gen_ai.request.temperature", "float"),
    Wanted("gen_ai.request.n", "int"),
    Wanted("gen_ai.response.model", "string"),
)
RESOURCE_KEYS = tuple(Wanted(key, "string") for key in ("service.name", "service.instance.id", "k8s.pod.uid"))
ARROW = {"string": pa.string(), "int": pa.int64(), "float": pa.float64()}
JSON_MEMBER = {"string": "stringValue", "int": "intValue", "float": "doubleValue"}
PROTO_MEMBER = {"string": "string_value", "int": "int_value", "float": "double_value"}
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("trace_id", "span_id", "parent_span_id", "name")),
        ("kind", pa.int32()),
        ("start_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("status_code", pa.int32()),
        ("status_message", pa.string()),
        ("scope_name", pa.string()),
        *((item.key, ARROW[item.type]) for item in SPAN_KEYS),
        *((f"resource.{item.key}", pa.string()) for item in RESOURCE_KEYS),
    ]
)


class Comparison(NamedTuple):
    """One way to decode against another, in seconds."""

    ours: str
    other: str
    ours_s: float
    other_s: float
    target_ratio: float

    @property
    def ratio(self) -> float:
        """How many times as fast ours is."""
        return self.other_s / self.ours_s


def run(spans: int) -> list[Comparison]:
    """Decode so many spans in every way; raises AssertionError where two ways give different columns."""
    with tempfile.TemporaryDirectory() as folder:
        as_json, as_protobuf = Path(folder, "spans.jsonl"), Path(folder, "spans.pb")
        _write(spans, as_json, as_protobuf)
        ways: dict[str, Callable[[], pa.Table]] = {
            "goodput, JSON": lambda: _goodput(as_json),
            "orjson and loops": lambda: _rows_to_table(_orjson_rows(as_json)),
            "DuckDB read_json": lambda: _duckdb(as_json, "maximum_object_size = 100000000"),
            "DuckDB with a schema": lambda: _duckdb(as_json, f"columns = {{resourceSpans: '{_batch_type()}'}}"),
            "goodput, protobuf": lambda: _goodput(as_protobuf),
            "protobuf and loops": lambda: _rows_to_table(_protobuf_rows(as_protobuf)),
        }
        _check_equal({name: way() for name, way in ways.items()})
        best_s = best_of(ways)
    pairs = (
        ("goodput, JSON", "orjson and loops", 2.5),
        ("goodput, JSON", "DuckDB read_json", 5.0),
        ("goodput, JSON", "DuckDB with a schema", 2.5),
        ("goodput, protobuf", "protobuf and loops", 3.5),
    )
    return [Comparison(ours, other, best_s[ours], best_s[other], target) for ours, other, target in pairs]


def best_of(ways: dict[str, Callable[[], pa.Table]]) -> dict[str, float]:
    """Fewest seconds that each way took, the ways in turn."""
    best_s = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            best_s[name] = min(best_s[name], time.perf_counter() - start)
    return best_s


def _check_equal(tables: dict[str, pa.Table]) -> None:
    first, *others = (table.select(SCHEMA.names).cast(SCHEMA).sort_by("start_ns") for table in tables.values())
    for name, other in zip(list(tables)[1:], others, strict=True):
        different = [column for column in SCHEMA.names if not first[column].equals(other[column])]
        assert not different, f"{name} differs in {different}"


def _goodput(path: Path) -> pa.Table:
    blocks = OtlpReader(path, OtlpDecoder(span_keys=SPAN_KEYS, resource_keys=RESOURCE_KEYS))
    return pa.concat_tables([block.spans for block in blocks if block.spans])


def _rows_to_table(rows: Iterator[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(values, item.type) for values, item in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def _orjson_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    readers = [(item.key, JSON_MEMBER[item.type], item.type == "int") for item in SPAN_KEYS]
    with path.open("rb") as lines:
        for line in lines:
            for batch in orjson.loads(line)["resourceSpans"]:
                said = {a["key"]: a["value"] for a in batch["resource"]["attributes"]}
                of_resource = [said[item.key]["stringValue"] for item in RESOURCE_KEYS]
                for scope in batch["scopeSpans"]:
                    scope_name = scope["scope"].get("name")
                    for span in scope["spans"]:
                        status = span.get("status", {})
                        held = {a["key"]: a["value"] for a in span["attributes"]}
                        values = [
                            int(held[key][member]) if is_int else held[key][member] for key, member, is_int in readers
                        ]
                        yield (
                            span["traceId"],
                            span["spanId"],
                            span.get("parentSpanId"),
                            span.get("name"),
                            span.get("kind", 0),
                            int(span["startTimeUnixNano"]),
                            int(span["endTimeUnixNano"]),
                            status.get("code", 0),
                            status.get("message"),
                            scope_name,
                            *values,
                            *of_resource,
                        )


def _protobuf_rows(path: Path) -> Iterator[tuple[Any, ...]]:
    readers = [(item.key, PROTO_MEMBER[item.type]) for item in SPAN_KEYS]
    for message in _messages(path):
        for batch in TracesData.FromString(message).resource_spans:
            said = {a.key: a.value for a in batch.resource.attributes}
            of_resource = [said[item.key].string_value for item in RESOURCE_KEYS]
            for scope in batch.scope_spans:
                scope_name = scope.scope.name
                for span in scope.spans:
                    held = {a.key: a.value for a in span.attributes}
                    yield (
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.name,
                        span.kind,
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        span.status.code,
                        span.status.message or None,
                        scope_name,
                        *[getattr(held[key], member) for key, member in readers],
                        *of_resource,
                    )


def _messages(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while head := file.read(4):
            yield file.read(struct.unpack(">I", head)[0])


def _batch_type() -> str:
    value = "STRUCT(stringValue VARCHAR, intValue BIGINT, doubleValue DOUBLE)"
    attributes = f"STRUCT(key VARCHAR, value {value})[]"
    text = "VARCHAR, ".join(("traceId ", "spanId ", "parentSpanId ", "name ", ""))
    span = (
        f"STRUCT({text} kind INTEGER, startTimeUnixNano BIGINT, endTimeUnixNano BIGINT, "
        f"attributes {attributes}, status STRUCT(code INTEGER, message VARCHAR))"
    )
    return (
        f"STRUCT(resource STRUCT(attributes {attributes}), "
        f"scopeSpans STRUCT(scope STRUCT(name VARCHAR), spans {span}[])[])[]"
    )


def _duckdb(path: Path, options: str) -> pa.Table:
    columns = [
        "s.traceId AS trace_id, s.spanId AS span_id, s.parentSpanId AS parent_span_id, s.name, s.kind",
        "s.startTimeUnixNano::BIGINT AS start_ns, s.endTimeUnixNano::BIGINT AS end_ns",
        "coalesce(s.status.code, 0) AS status_code, s.status.message AS status_message, scope_name",
        *(f"held['{item.key}'].{JSON_MEMBER[item.type]} AS \"{item.key}\"" for item in SPAN_KEYS),
        *(f"said['{item.key}'].stringValue AS \"resource.{item.key}\"" for item in RESOURCE_KEYS),
    ]
    query = f"""
        WITH batches AS (
            SELECT unnest(resourceSpans) AS b
            FROM read_json('{path}', format = 'newline_delimited', {options})
        ), scopes AS (
            SELECT map_from_entries(b.resource.attributes) AS said, unnest(b.scopeSpans) AS c FROM batches
        ), spans AS (
            SELECT said, c.scope.name AS scope_name, unnest(c.spans) AS s FROM scopes
        ), pivoted AS (
            SELECT *, map_from_entries(s.attributes) AS held FROM spans
        )
        SELECT {", ".join(columns)} FROM pivoted
    """
    return duckdb.connect().sql(query).to_arrow_table()


def _write(spans: int, as_json: Path, as_protobuf: Path) -> None:
    """Write the same spans, in lines and messages of 500, as OTLP/JSON and as length-prefixed protobuf."""
    chance = random.Random(1)
    start_ns = 1_795_222_756_239_241_347
    with as_json.open("wb") as lines, as_protobuf.open("wb") as messages:
        for first in range(0, spans, SPANS_PER_LINE):
            data = TracesData()
            batch = data.resource_spans.add()
            replica = first // SPANS_PER_LINE % 8
            for key, text in zip(RESOURCE_KEYS, ("vllm", f"r{replica}", f"pod-{replica}"), strict=True):
                batch.resource.attributes.add(key=key.key).value.string_value = text
            scope = batch.scope_spans.add()
            scope.scope.name = "vllm.llm_engine"
            for _ in range(min(SPANS_PER_LINE, spans - first)):
                start_ns += chance.randint(10**6, 10**8)
                _add_span(scope, chance, start_ns)
            message = data.SerializeToString()
            messages.write(struct.pack(">I", len(message)) + message)
            lines.write(_otlp_json(batch) + b"\n")


def _add_span(scope: Any, chance: random.Random, start_ns: int) -> None:
    span = scope.spans.add(
        trace_id=chance.randbytes(16),
        span_id=chance.randbytes(8),
        parent_span_id=chance.randbytes(8),
        flags=256,
        name="llm_request",
        kind=2,
        start_time_unix_nano=start_ns,
        end_time_unix_nano=start_ns + chance.randint(10**8, 10**10),
    )
    for item in SPAN_KEYS:
        value = span.attributes.add(key=item.key).value
        if item.type == "int":
            value.int_value = chance.randint(1, 5000)
        elif item.type == "float":
            value.double_value = chance.random()
        else:
            value.string_value = f"chatcmpl-{chance.getrandbits(128):032x}" if "id" in item.key else "llama-3.1-8b"


def _otlp_json(batch: Any) -> bytes:
    scope = batch.scope_spans[0]
    spans = [
        {
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "parentSpanId": span.parent_span_id.hex(),
            "flags": span.flags,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": str(span.start_time_unix_nano),
            "endTimeUnixNano": str(span.end_time_unix_nano),
            "attributes": _attributes_json(span.attributes),
            "status": {},
        }
        for span in scope.spans
    ]
    scope_spans = [{"scope": {"name": scope.scope.name}, "spans": spans}]
    resource = {"attributes": _attributes_json(batch.resource.attributes)}
    return json.dumps(
        {"resourceSpans": [{"resource": resource, "scopeSpans": scope_spans}]}, separators=(",", ":")
    ).encode()


def _attributes_json(attributes: Any) -> list[dict[str, Any]]:
    member = {"string_value": "stringValue", "int_value": "intValue", "double_value": "doubleValue"}
    found = []
    for attribute in attributes:
        kind = attribute.value.WhichOneof("value")
        value = getattr(attribute.value, kind)
        found.append({"key": attribute.key, "value": {member[kind]: str(value) if kind == "int_value" else value}})
    return found


def main() -> None:
    """Print one line per comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=200_000)
    spans = parser.parse_args().spans
    print(f"{spans} spans, best of {ROUNDS}")
    print(f"{'':20}{'s':>8}   {'against':20}{'s':>8}{'ratio':>8}")
    for row in run(spans):
        print(f"{row.ours:20}{row.ours_s:8.2f}   {row.other:20}{row.other_s:8.2f}{row.ratio:8.1f}")


if __name__ == "__main__":
    main()
