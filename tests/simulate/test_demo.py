"""The demo's files against its truth."""

import re
import tomllib
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from goodput.simulate.demo import demo_settings, demo_start, write_demo
from goodput.simulate.truth.truth import Truth

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
START_NS = 1_795_165_200 * 10**9
EVALUATORS = {"chat": "helpfulness", "rag": "groundedness", "batch": "valid_record"}
CLIENTS = ("gateway/traces.jsonl", "rag-app/traces.pb.gz", "batch/traces.jsonl.zst")
SpanDict = dict[str, Any]


def _bytes_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_same_seed_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_demo(tmp_path / "a" / "landing", hours=0.1)
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1")
    second = write_demo(tmp_path / "b" / "landing", hours=0.1)
    assert _bytes_below(tmp_path / "a" / "landing") == _bytes_below(tmp_path / "b" / "landing")
    assert first.requests.equals(second.requests)
    assert first.attempts.equals(second.attempts)


def test_another_seed_gives_another_fleet(tmp_path: Path) -> None:
    write_demo(tmp_path / "a" / "landing", hours=0.1, seed=1)
    write_demo(tmp_path / "b" / "landing", hours=0.1, seed=2)
    files = _bytes_below(tmp_path / "a" / "landing"), _bytes_below(tmp_path / "b" / "landing")
    assert files[0].keys() == files[1].keys()
    # What is done to the fleet, when, and what its nodes cost is the story's, whatever the seed.
    assert {name for name in files[0] if files[0][name] == files[1][name]} == {
        "billing/focus.csv",
        "ops/salt_rotations.jsonl",
    }


def test_the_landing_folder_holds_the_telemetry_and_nothing_else(landing: Path, truth: Truth) -> None:
    assert set(_bytes_below(landing)) == {
        *CLIENTS,
        *(f"engine/traces-vllm-chat-{n}.pb" for n in range(6)),
        "engine/traces-rag.jsonl.zst",
        "engine/metrics.pb",
        "quality/labels.jsonl",
        "ops/cdevents.jsonl",
        "ops/kubernetes.jsonl",
        "ops/salt_rotations.jsonl",
        "billing/focus.csv",
    }
    told = {path.stem for path in (landing.parent / "truth").iterdir()}
    assert told == {"requests", "attempts", "replicas", "money", "operations", "files"}
    for name in told:
        assert pl.read_parquet(landing.parent / "truth" / f"{name}.parquet").equals(getattr(truth, name))


def test_each_chat_request_has_exactly_its_attempts_as_siblings(
    truth: Truth, spans: dict[str, list[SpanDict]], client_spans: dict[str, SpanDict]
) -> None:
    posts = {s["id"]: s for s in spans["gateway/traces.jsonl"] if s["name"] == "POST /v1/chat/completions"}
    chat = {s["id"]: s for s in client_spans.values() if s["attributes"]["llm.route"] != "batch"}
    chat = {key: s for key, s in chat.items() if s["attributes"]["llm.pool"] == "chat"}
    counted = Counter((s["trace"], s["parent"]) for s in chat.values())
    attempts = dict(truth.requests.filter(workload="chat").select("trace_id", "attempts").rows())
    assert {trace: n for (trace, _), n in counted.items()} == attempts
    assert {(posts[parent]["trace"], parent) for _, parent in counted} == set(counted)
    assert set(client_spans) == set(truth.attempts["span_id"])
    assert max(attempts.values()) >= 2


def test_tries_of_a_batch_item_share_their_key_alone(truth: Truth, client_spans: dict[str, SpanDict]) -> None:
    batch = [s for s in client_spans.values() if s["attributes"]["llm.route"] == "batch"]
    assert len({s["trace"] for s in batch}) == len(batch)
    assert not any(s["parent"] for s in batch)
    counted = Counter(s["attributes"]["idempotency.key"] for s in batch)
    assert counted == Counter(dict(truth.requests.filter(workload="batch").select("request_key", "attempts").rows()))


def test_the_engine_reports_exactly_what_it_generated_to_the_end(
    truth: Truth, engine_spans: dict[str, SpanDict]
) -> None:
    by_parent = {s["parent"]: s for s in engine_spans.values()}
    assert len(by_parent) == len(engine_spans)
    generated = truth.attempts.filter("engine_completed")
    assert set(truth.attempts.filter(outcome="ok")["span_id"]) <= set(generated["span_id"])
    lost = generated.filter(~pl.col("engine_reported"))
    assert set(lost["replica"]) == {"vllm-rag-1"}
    generated = generated.filter("engine_reported")
    assert set(by_parent) == set(generated["span_id"])
    for span_id, response_id, replica in generated.select("span_id", "response_id", "replica").rows():
        assert by_parent[span_id]["attributes"]["gen_ai.request.id"] == response_id
        assert by_parent[span_id]["resource"]["k8s.pod.name"] == replica
    aborted = truth.attempts.filter(pl.col("outcome").is_in(["timeout", "cancelled"]))
    assert len(aborted) > 0
    assert not set(by_parent) & set(aborted["span_id"])


def test_what_users_waited_can_be_read_off_the_gateway_spans(truth: Truth, client_spans: dict[str, SpanDict]) -> None:
    tries: dict[str, list[SpanDict]] = {}
    for span in sorted(client_spans.values(), key=lambda s: s["start"]):
        tries.setdefault(span["attributes"].get("idempotency.key", span["trace"]), []).append(span)
    for row in truth.requests.rows(named=True):
        spans = tries[row["request_key"] if row["workload"] == "batch" else row["trace_id"]]
        first, last = spans[0], spans[-1]
        seen, arrived_ns, ended_ns = last["attributes"], first["start"], last["end"]
        assert row["arrived_at"] == START + timedelta(microseconds=(arrived_ns - START_NS) // 1000)
        assert row["ended_at"] == START + timedelta(microseconds=(ended_ns - START_NS) // 1000)
        assert (last["status"] == 2) == (row["outcome"] != "ok")
        assert seen.get("gen_ai.usage.input_tokens") == row["input_tokens"]
        assert seen.get("gen_ai.usage.output_tokens") == row["output_tokens"]
        assert seen["server.address"] == row["replica"]
        if row["outcome"] == "ok":
            assert row["e2e_s"] == pytest.approx((ended_ns - arrived_ns) / 1e9, abs=1e-9)
        else:
            assert row["e2e_s"] is None
        if row["ttft_s"] is None:
            assert "gen_ai.response.time_to_first_chunk" not in seen
        else:
            before_s = (last["start"] - arrived_ns) / 1e9
            waited_s = before_s + seen["gen_ai.response.time_to_first_chunk"]
            assert row["ttft_s"] == pytest.approx(waited_s, abs=1e-8)


def test_engine_latencies_add_up_inside_the_gateway_span(
    engine_spans: dict[str, SpanDict], client_spans: dict[str, SpanDict]
) -> None:
    for span in engine_spans.values():
        said, client = span["attributes"], client_spans[span["parent"]]
        heard = client["attributes"]
        queue_s = said["gen_ai.latency.time_in_queue"]
        prefill_s = said["gen_ai.latency.time_in_model_prefill"]
        decode_s = said["gen_ai.latency.time_in_model_decode"]
        ttft_s = said["gen_ai.latency.time_to_first_token"]
        assert min(queue_s, prefill_s, decode_s) >= 0
        assert queue_s + prefill_s < ttft_s
        assert ttft_s + decode_s == pytest.approx(said["gen_ai.latency.e2e"])
        assert client["start"] < span["start"]
        if client["status"] != 2:
            assert ttft_s < heard["gen_ai.response.time_to_first_chunk"]
            assert heard["gen_ai.usage.input_tokens"] == said["gen_ai.usage.prompt_tokens"]
            assert heard["gen_ai.usage.output_tokens"] == said["gen_ai.usage.completion_tokens"]


def test_engine_spans_are_named_as_vllm_names_them(
    engine_spans: dict[str, SpanDict], client_spans: dict[str, SpanDict]
) -> None:
    identity = {
        "k8s.pod.uid",
        "k8s.pod.name",
        "k8s.deployment.name",
        "service.instance.id",
        "vllm.process_id",
    }
    for span in engine_spans.values():
        seen = span["name"], span["kind"], span["scope"], span["status"]
        assert seen == ("llm_request", 2, "vllm.llm_engine", 0)
        assert identity <= set(span["resource"])
        asked = client_spans[span["parent"]]["attributes"]["gen_ai.request.temperature"]
        assert span["attributes"].get("gen_ai.request.temperature", 0.0) == asked
        assert ("gen_ai.request.temperature" in span["attributes"]) == (asked > 0)


def test_ids_are_lower_case_hex_of_the_right_length(
    spans: dict[str, list[SpanDict]], labels: list[dict[str, Any]]
) -> None:
    for span in (span for found in spans.values() for span in found):
        assert re.fullmatch(r"[0-9a-f]{32}", span["trace"])
        assert re.fullmatch(r"[0-9a-f]{16}", span["id"])
        assert re.fullmatch(r"([0-9a-f]{16})?", span["parent"])
    for label in labels:
        assert re.fullmatch(r"([0-9a-f]{32})?", label.get("traceId", ""))
        assert re.fullmatch(r"([0-9a-f]{16})?", label.get("spanId", ""))


def test_every_span_file_repeats_as_many_spans_as_it_says(truth: Truth, spans: dict[str, list[SpanDict]]) -> None:
    for path, records, resent in truth.files.rows():
        if path in spans:
            assert len(spans[path]) == records
            assert len(spans[path]) - len({s["id"] for s in spans[path]}) == resent
            assert 0 < resent < 0.1 * records


def test_some_spans_are_no_llm_records(spans: dict[str, list[SpanDict]]) -> None:
    names = Counter(s["name"] for s in spans["gateway/traces.jsonl"])
    assert names["GET /health"] == 12
    assert set(names) == {
        "GET /health",
        "POST /v1/chat/completions",
        "chat llama-3.1-8b",
    }


def test_labels_say_the_truth_about_delivered_answers(truth: Truth, labels: list[dict[str, Any]]) -> None:
    delivered = truth.attempts.filter(pl.col("outcome") == "ok").join(
        truth.requests.select("request_id", "workload", "quality_passed", "labelled", "ended_at").rename(
            {"ended_at": "answered_at"}
        ),
        on="request_id",
    )
    by_response = {row["response_id"]: row for row in delivered.rows(named=True)}
    assert len({label["attributes"]["gen_ai.response.id"] for label in labels}) == len(labels)
    assert len(labels) == truth.requests["labelled"].sum()
    for label in labels:
        said, row = label["attributes"], by_response[label["attributes"]["gen_ai.response.id"]]
        assert label["eventName"] == "gen_ai.evaluation.result"
        assert row["labelled"]
        assert said["gen_ai.evaluation.name"] == EVALUATORS[row["workload"]]
        assert said["gen_ai.evaluation.score.label"] == ("pass" if row["quality_passed"] else "fail")
        if row["workload"] == "rag":
            assert (said["gen_ai.evaluation.score.value"] >= 0.7) == row["quality_passed"]
        if "traceId" in label:
            assert (label["traceId"], label["spanId"]) == (row["trace_id"], row["span_id"])
        after_s = int(label["timeUnixNano"]) / 1e9 - row["answered_at"].timestamp()
        assert 299.9 < after_s < 2400.1


def test_label_shares_are_as_promised(truth: Truth, labels: list[dict[str, Any]]) -> None:
    answers = truth.requests.filter(pl.col("outcome") == "ok")
    assert answers["labelled"].mean() == pytest.approx(0.3, abs=4 * (0.21 / len(answers)) ** 0.5)
    with_span = sum("spanId" in label for label in labels) / len(labels)
    assert with_span == pytest.approx(0.5, abs=4 * 0.5 / len(labels) ** 0.5)


def test_quality_is_known_of_every_answer_and_of_nothing_else(truth: Truth) -> None:
    known = truth.requests.filter(pl.col("quality_passed").is_not_null())
    assert known["request_id"].equals(truth.requests.filter(pl.col("outcome") == "ok")["request_id"])
    assert 0.8 < known["quality_passed"].mean() < 0.99


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_demo(tmp_path / "landing", hours=0.1, on_progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (100, 100)


@pytest.mark.parametrize(("hours", "requests"), [(0.0, None), (-1.0, None), (1.0, 0)])
def test_impossible_demos_are_refused(tmp_path: Path, hours: float, requests: int | None) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        write_demo(tmp_path / "landing", hours=hours, requests=requests)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("hours", "begins"),
    [(0.5, "20T09"), (2.0, "20T09"), (20.0, "20T04"), (24.0, "20T00"), (48.0, "19T00"), (240.0, "11T00")],
)
def test_a_demo_ends_within_its_day_whatever_its_length(hours: float, begins: str) -> None:
    assert demo_start(hours) == datetime.fromisoformat(f"2026-11-{begins}:00:00+00:00")


def test_settings_name_the_demos_folders_workloads_and_attributes() -> None:
    settings = tomllib.loads(demo_settings())
    assert settings == {
        "landing": ["landing"],
        "lake": "lake",
        "sources": {
            "salt_rotations": {
                "format": "jsonl",
                "path": "ops/salt_rotations.jsonl",
                "table": "ops_events",
                "columns": {"kind": "event", "occurred_at": {"column": "at", "unit": "iso8601"}, "pool": "pool"},
            }
        },
        "attributes": {
            "replica": ["k8s.pod.name"],
            "pool": ["llm.pool"],
            "route": ["llm.route"],
            "tenant": ["tenant.id"],
        },
        "slices": {"by": ["tenant", "workload_tenant"]},
        "workloads": {
            "batch": {
                "match": {"route": "batch"},
                "completion_window_s": 120.0,
                "quality": {"evaluators": ["valid_record"]},
            },
            "chat": {
                "match": {"pool": "chat"},
                "ttft_s": 1.5,
                "tpot_s": 0.06,
                "retry_budget": 1,
                "quality": {"evaluators": ["helpfulness"]},
            },
            "rag": {
                "match": {"pool": "rag"},
                "ttft_s": 4.0,
                "e2e_s": 25.0,
                "retry_budget": 1,
                "quality": {"evaluators": ["groundedness"], "min_score": 0.7},
            },
        },
    }
