"""Valid telemetry that fuzzed inputs begin as: a small demo fleet, and what real emitters wrote."""

import gzip
import json
import re
from base64 import b64decode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from goodput.simulate.demo import write_demo

EMITTERS = Path(__file__).parents[1] / "emitters/data"
DEMO_NS = 1_795_165_200_000_000_000  # 2026-11-20T09:00:00Z, when the demo of two hours begins
HOUR_NS = 3600 * 10**9
SHIFT_NS = -(5 * 24 + 9) * HOUR_NS  # fuzzed rows lie from 2026-11-15T00:00:00Z on
HOURS = 2
REQUESTS = 160
_TIME = re.compile(r'"(1[0-9]{18})"')
_OTHER_NAMES = (("chatcmpl-", "cmpl-"), ("conv-", "talk-"))  # of answers and sessions: nobody else's
_ID = re.compile(r'"(?:traceId|spanId|parentSpanId)": "([0-9a-f]+)"')
Tree = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """Rows that belong together, such as the spans of a trace: each as JSON text, with its resource and scope."""

    rows: tuple[str, ...]

    def fresh(self, chance: Random) -> list[Tree]:
        """The rows some days later, under other ids."""
        joined = "\n".join(self.rows)
        for old, new in _OTHER_NAMES:
            joined = joined.replace(old, new)
        shift_ns = SHIFT_NS + chance.randrange(HOURS * HOUR_NS)
        first = min((int(found) for found in _TIME.findall(joined)), default=DEMO_NS)
        moved = _TIME.sub(lambda found: f'"{int(found[1]) - first + DEMO_NS + shift_ns}"', joined)
        known: dict[str, str] = {}

        def other(found: re.Match[str]) -> str:
            old = found[1]
            new = known.setdefault(old, f"{chance.getrandbits(4 * len(old)):0{len(old)}x}")
            return found[0].replace(old, new)

        return [json.loads(row) for row in _ID.sub(other, moved).split("\n")]


@dataclass(frozen=True)
class Seeds:
    """Groups by signal, and the files of the demo by path."""

    spans: tuple[Group, ...]
    logs: tuple[Group, ...]
    points: tuple[Group, ...]
    files: dict[str, bytes]


@cache
def seeds() -> Seeds:
    """All valid telemetry that there is to begin with."""
    with TemporaryDirectory(prefix="goodput-fuzz-") as name:
        landing = Path(name) / "landing"
        write_demo(landing, seed=3, hours=HOURS, requests=REQUESTS)
        files = {path.relative_to(landing).as_posix(): path.read_bytes() for path in sorted(landing.rglob("*.*"))}
    traces = _messages(files["engine/traces-vllm-chat-0.pb"])
    spans = [*_json_rows(files["gateway/traces.jsonl"]), *_rows(ExportTraceServiceRequest, traces)]
    logs = [*_json_rows(files["quality/labels.jsonl"]), *_json_rows(files["ops/kubernetes.jsonl"])]
    points = _rows(ExportMetricsServiceRequest, _messages(files["engine/metrics.pb"])[:3])
    for path in sorted(EMITTERS.glob("*/telemetry.*.pb.gz")):
        messages = _messages(gzip.decompress(path.read_bytes()))
        if ".traces" in path.name:
            spans += _rows(ExportTraceServiceRequest, messages)
        else:
            logs += _rows(ExportLogsServiceRequest, messages)
    return Seeds(_by_trace(spans), _alone(logs), _alone(points), files)


def _messages(content: bytes) -> list[bytes]:
    """The messages of a file in which each follows its length."""
    found, at = [], 0
    while at < len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        found.append(content[at + 4 : at + 4 + length])
        at += 4 + length
    return found


def _rows(kind: Any, messages: list[bytes]) -> list[Tree]:
    return [row for message in messages for row in single(_with_hex_ids(MessageToDict(kind.FromString(message))))]


def _json_rows(content: bytes) -> list[Tree]:
    return [row for line in content.splitlines() for row in single(json.loads(line))]


def single(export: Tree) -> list[Tree]:
    """An export as exports of one row each."""
    found = []
    for root, resources in export.items():
        for resource in resources:
            (scopes,) = (key for key in resource if key.startswith("scope"))
            for scope in resource[scopes]:
                (rows,) = (key for key in scope if key in ("spans", "logRecords", "metrics"))
                found += [
                    {root: [resource | {scopes: [{key: scope[key] for key in scope if key != rows} | {rows: [row]}]}]}
                    for row in scope[rows]
                ]
    return found


def _with_hex_ids(tree: Any) -> Any:
    if isinstance(tree, dict):
        ids = ("traceId", "spanId", "parentSpanId")
        return {key: b64decode(item).hex() if key in ids else _with_hex_ids(item) for key, item in tree.items()}
    return [_with_hex_ids(item) for item in tree] if isinstance(tree, list) else tree


def row_of(export: Tree) -> Tree:
    """The one row of an export."""
    (resources,) = export.values()
    scopes = next(value for key, value in resources[0].items() if key.startswith("scope"))
    found: Tree = next(value for key, value in scopes[0].items() if key in ("spans", "logRecords", "metrics"))[0]
    return found


def _by_trace(rows: list[Tree]) -> tuple[Group, ...]:
    traces: dict[str, list[str]] = {}
    for row in rows:
        traces.setdefault(row_of(row).get("traceId", ""), []).append(json.dumps(row))
    return tuple(Group(tuple(texts[:20])) for texts in traces.values())


def _alone(rows: list[Tree]) -> tuple[Group, ...]:
    return tuple(Group((json.dumps(row),)) for row in rows)
