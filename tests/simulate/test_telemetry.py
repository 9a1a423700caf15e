"""Metrics, operations, bills and costs of the demo against its truth and against hand calculation."""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from google.protobuf import json_format
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, NumberDataPoint
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from goodput.simulate.emit.bills import focus_csv
from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.otlp_json import spans_line
from goodput.simulate.fleet.engine import Engine
from goodput.simulate.fleet.events import EventLoop
from goodput.simulate.fleet.fleet import Served
from goodput.simulate.fleet.replica import Incarnation
from goodput.simulate.story import CHAT_ENGINE
from goodput.simulate.truth.truth import Truth
from simulate.conftest import framed

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
SPAN_H = 0.2
GAUGES = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
Series = tuple[str, str, str]  # pod uid, metric, finished_reason


def live_spans() -> list[ReadableSpan]:
    """Spans ended by a live tracer: nested, failed, with every type of attribute that the fleet uses."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "x", "n": 1}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for scope, version in (("a", "1.0"), ("b", None)):
        tracer = provider.get_tracer(scope, version)
        with tracer.start_as_current_span("outer", kind=SpanKind.SERVER, attributes={"yes": True, "n": -(2**53)}):
            told = {"float": 0.1, "whole": 2.0, "text": 'ä"\n', "empty": ""}
            inner = tracer.start_span("inner", kind=SpanKind.CLIENT, attributes=told)
            inner.set_status(StatusCode.ERROR)
            inner.end()
    return list(exporter.get_finished_spans())


def test_json_is_what_the_sdk_s_own_encoder_says() -> None:
    spans = live_spans()
    expected = json_format.MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    by_name = {(span.instrumentation_scope.name, span.name): span for span in spans}
    for scope in expected["resourceSpans"][0]["scopeSpans"]:
        for document in scope["spans"]:  # ids are hex in OTLP/JSON, base64 in the protobuf mapping
            told = by_name[scope["scope"]["name"], document["name"]]
            document |= {"traceId": f"{told.context.trace_id:032x}", "spanId": f"{told.context.span_id:016x}"}
            if told.parent:
                document["parentSpanId"] = f"{told.parent.span_id:016x}"
    assert json.loads(spans_line(spans)) == expected


@pytest.fixture(scope="module")
def points(landing: Path, truth: Truth) -> dict[Series, list[NumberDataPoint]]:
    """All points by series, in order of time."""
    found: dict[Series, list[NumberDataPoint]] = defaultdict(list)
    for pod, metric in _metrics(landing):
        for point in (metric.gauge if metric.HasField("gauge") else metric.sum).data_points:
            reason = {a.key: a.value.string_value for a in point.attributes}.get("finished_reason", "")
            found[pod, metric.name, reason].append(point)
    return found


def _metrics(landing: Path) -> Iterator[tuple[str, Any]]:
    for message in framed(landing / "engine/metrics.pb"):
        for resource in MetricsData.FromString(message).resource_metrics:
            named = {a.key: a.value.string_value for a in resource.resource.attributes}
            assert {"k8s.pod.uid", "k8s.pod.name", "service.instance.id"} <= set(named)
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    assert metric.HasField("gauge") or (
                        metric.sum.is_monotonic and metric.sum.aggregation_temporality == 2
                    )
                    yield named["k8s.pod.uid"], metric


def test_metrics_are_those_of_vllm(points: dict[Series, list[NumberDataPoint]], truth: Truth) -> None:
    by_pod: dict[str, set[str]] = defaultdict(set)
    for pod, name, _ in points:
        by_pod[pod].add(name.removeprefix("vllm:"))
    read_at = max(series[-1].time_unix_nano for series in points.values())
    scraped = truth.replicas.filter(pl.col("started_at").dt.epoch("ns") <= read_at)
    pools = dict(scraped.select("pod_uid", "pool").rows())
    always = {
        "num_requests_running",
        "num_requests_waiting",
        "kv_cache_usage_perc",
        "num_preemptions",
        "prefix_cache_queries",
        "prefix_cache_hits",
        "prompt_tokens",
        "generation_tokens",
        "request_success",
    }
    drafts = {"spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens"}
    assert set(by_pod) == set(pools)
    for pod, names in by_pod.items():
        assert names == always | (drafts if pools[pod] == "rag" else set())


def test_counters_start_with_their_process_and_count_what_it_did(
    points: dict[Series, list[NumberDataPoint]], truth: Truth
) -> None:
    started = dict(truth.replicas.select("pod_uid", pl.col("started_at").dt.epoch("us")).rows())
    for (pod, name, _), series in points.items():
        if name not in GAUGES:
            assert {point.start_time_unix_nano // 1000 for point in series} == {started[pod]}
            values = [point.as_int for point in series]
            assert values == sorted(values)
    replicas = truth.replicas.rows_by_key("pod_uid", named=True, unique=True)
    for pod in {pod for pod, _, _ in points}:
        last = {key[1:]: series[-1] for key, series in points.items() if key[0] == pod}
        read_at = last["vllm:num_preemptions", ""].time_unix_nano // 1000
        own = truth.attempts.filter(pl.col("pod_uid") == pod, pl.col("engine_completed"))
        broken = own.filter(error_type="502").height  # when the engine ended these, its clients did not see
        done = own.filter(pl.col("ended_at").dt.epoch("us") - 1500 <= read_at).height
        counted = sum(last["vllm:request_success", reason].as_int for reason in ("stop", "length"))
        assert done - broken <= counted <= done
        assert last["vllm:num_preemptions", ""].as_int <= replicas[pod]["preemptions"]
        hits, queries = (last[f"vllm:prefix_cache_{name}", ""].as_int for name in ("hits", "queries"))
        assert 0 <= hits < queries or queries == 0
    assert all(0 <= p.as_double <= 1 for (_, name, _), s in points.items() if "kv" in name for p in s)


def test_announced_operations_are_those_that_were_done(landing: Path, truth: Truth) -> None:
    at = {(row["kind"], row["pool"]): row["occurred_at"] for row in truth.operations.rows(named=True)}
    assert set(at) == {
        ("slowdown", "chat"),
        ("deployment", "chat"),
        ("scale_out", "chat"),
        ("salt_rotation", "chat"),
        ("deployment", "rag"),
    }
    events = [json.loads(line) for line in (landing / "ops/cdevents.jsonl").read_text().splitlines()]
    assert [(event["context"]["type"][:29], event["subject"]["content"]["artifactId"]) for event in events] == [
        ("dev.cdevents.service.deployed", "pkg:oci/vllm-rag@3.0.0"),
        ("dev.cdevents.service.deployed", "pkg:oci/vllm-chat@1.4.0"),
        ("dev.cdevents.service.upgraded", "pkg:oci/vllm-chat@1.5.0"),
        ("dev.cdevents.service.upgraded", "pkg:oci/vllm-rag@3.1.0-fp8"),
    ]
    assert len({event["context"]["id"] for event in events}) == 4
    for event in events[2:]:
        told = datetime.fromisoformat(event["context"]["timestamp"])
        assert abs((at["deployment", event["subject"]["id"]] - told).total_seconds()) < 1
    (salt,) = [json.loads(line) for line in (landing / "ops/salt_rotations.jsonl").read_text().splitlines()]
    assert (salt["event"], salt["pool"]) == ("salt_rotation", "chat")
    assert abs((at["salt_rotation", "chat"] - datetime.fromisoformat(salt["at"])).total_seconds()) < 1
    scaled = json.loads((landing / "ops/kubernetes.jsonl").read_text())["resourceLogs"][0]
    (record,) = scaled["scopeLogs"][0]["logRecords"]
    assert record["body"]["stringValue"].endswith("to 6 from 5")
    assert int(record["timeUnixNano"]) // 1000 == int(at["scale_out", "chat"].timestamp() * 1e6)


def test_the_bill_is_price_times_hours_of_every_node(landing: Path) -> None:
    rows = list(csv.DictReader((landing / "billing/focus.csv").read_text().splitlines()))
    total = Counter()
    for row in rows:
        total[json.loads(row["Tags"])["pool"]] += float(row["EffectiveCost"])
    # Five nodes and, for the last 36 % of the span, a sixth at 1.10 USD an hour; three at 7.60.
    assert total == {
        "chat": pytest.approx((5 + 0.36) * SPAN_H * 1.10, abs=1e-6),
        "rag": pytest.approx(3 * SPAN_H * 7.60, abs=1e-6),
    }
    assert {row["ResourceId"] for row in rows} == {
        *(f"gpu-node-vllm-chat-{n}" for n in range(6)),
        *(f"gpu-node-vllm-rag-{n}" for n in range(3)),
    }


def test_a_bill_has_a_row_per_clock_hour() -> None:
    node = Incarnation("vllm-chat-0", "chat", 0, Engine(CHAT_ENGINE, EventLoop()), started_s=1800.0)
    bill = focus_csv(Clock.from_start(datetime(2026, 12, 31, 22, tzinfo=UTC)), Served([], [node], [], 0.0), 9000.0)
    rows = list(csv.DictReader(io.StringIO(bill.decode())))
    assert [(row["ChargePeriodStart"], row["ChargePeriodEnd"], float(row["EffectiveCost"])) for row in rows] == [
        ("2026-12-31T22:30:00Z", "2026-12-31T23:00:00Z", 0.55),
        ("2026-12-31T23:00:00Z", "2027-01-01T00:00:00Z", 1.10),
        ("2027-01-01T00:00:00Z", "2027-01-01T00:30:00Z", 0.55),
    ]
    assert [row["BillingPeriodEnd"] for row in rows] == ["2027-01-01T00:00:00Z"] * 2 + ["2027-02-01T00:00:00Z"]


def test_true_money_is_what_the_nodes_cost_and_goes_to_work_alone(truth: Truth) -> None:
    money = truth.money.with_columns(all_usd=pl.sum_horizontal("usd", "preemption_usd", "speculation_usd", "idle_usd"))
    by_pool = dict(money.group_by("pool").agg(pl.col("all_usd").sum()).iter_rows())
    assert by_pool == {
        "chat": pytest.approx((5 + 0.36) * SPAN_H * 1.10),
        "rag": pytest.approx(3 * SPAN_H * 7.60),
    }
    # in flight is not quite what keeps an engine busy: the network, refusals, answers whose reader's connection broke
    busy = truth.replicas.select((pl.col("busy_s") / 3600 * pl.col("usd_per_h")).sum()).item()
    assert money["all_usd"].sum() - money["idle_usd"].sum() == pytest.approx(busy, rel=0.005)
    assert (truth.replicas["busy_s"] <= truth.replicas["up_s"]).all()
    spent = money.join(truth.attempts, on=["request_id", "attempt_index"]).group_by("error_type")
    by_error = dict(spent.agg(pl.col("all_usd").sum()).iter_rows())
    assert by_error["503"] == 0 < by_error["cancelled"]


def test_operations_tell_when_they_were_done(truth: Truth) -> None:
    rollout = truth.operations.row(
        by_predicate=(pl.col("kind") == "deployment") & (pl.col("pool") == "chat"), named=True
    )
    # 30 s of drain and 75 s of start, one after the other: in so short a demo the sixth replica is there in time.
    assert (rollout["finished_at"] - rollout["occurred_at"]).total_seconds() == pytest.approx(6 * 105.0)
