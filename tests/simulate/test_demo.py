"""The demo's files against its truth."""

import re
import tomllib
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from goodput.simulate.demo import demo_settings, write_demo
from goodput.simulate.truth import Truth

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
START_NS = 1_795_165_200 * 10**9
EVALUATORS = {("chat", "helpfulness"), ("rag", "groundedness")}
SpanDict = dict[str, Any]


def _bytes_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_same_seed_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_demo(tmp_path / "a" / "landing", hours=0.05)
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1")
    second = write_demo(tmp_path / "b" / "landing", hours=0.05)
    assert _bytes_below(tmp_path / "a" / "landing") == _bytes_below(tmp_path / "b" / "landing")
    assert first.requests.equals(second.requests)
    assert first.attempts.equals(second.attempts)


def test_another_seed_gives_another_fleet(tmp_path: Path) -> None:
    write_demo(tmp_path / "a" / "landing", hours=0.02, seed=1)
    write_demo(tmp_path / "b" / "landing", hours=0.02, seed=2)
    files = _bytes_below(tmp_path / "a" / "landing"), _bytes_below(tmp_path / "b" / "landing")
    assert files[0].keys() == files[1].keys()
    assert all(files[0][name] != files[1][name] for name in files[0])


def test_the_landing_folder_holds_the_telemetry_and_nothing_else(landing: Path, truth: Truth) -> None:
    assert set(_bytes_below(landing)) == {
        "gateway/traces.jsonl",
        "engine/traces-vllm-chat-0.pb",
        "engine/traces-vllm-chat-1.pb",
        "engine/traces-vllm-chat-2.pb",
        "engine/traces-rag.jsonl.zst",
        "quality/labels.jsonl",
    }
    assert pl.read_parquet(landing.parent / "truth.parquet").equals(truth.requests)


def test_each_request_has_exactly_its_attempts_as_siblings(
    truth: Truth, spans: dict[str, list[SpanDict]], client_spans: dict[str, SpanDict]
) -> None:
    posts = {s["id"]: s for s in spans["gateway/traces.jsonl"] if s["name"] == "POST /v1/chat/completions"}
    counted = Counter((s["trace"], s["parent"]) for s in client_spans.values())
    attempts = dict(truth.requests.select("trace_id", "attempts").rows())
    assert {trace: n for (trace, _), n in counted.items()} == attempts
    assert {(posts[parent]["trace"], parent) for _, parent in counted} == set(counted)
    assert set(client_spans) == set(truth.attempts["span_id"])
    assert max(attempts.values()) >= 2


def test_the_engine_reports_exactly_what_it_generated_to_the_end(
    truth: Truth, engine_spans: dict[str, SpanDict]
) -> None:
    by_parent = {s["parent"]: s for s in engine_spans.values()}
    assert len(by_parent) == len(engine_spans)
    generated = truth.attempts.filter((pl.col("outcome") == "ok") | (pl.col("error_type") == "502"))
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
        tries.setdefault(span["trace"], []).append(span)
    for row in truth.requests.rows(named=True):
        first, last = tries[row["trace_id"]][0], tries[row["trace_id"]][-1]
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


def test_engine_spans_are_named_as_vllm_names_them(engine_spans: dict[str, SpanDict]) -> None:
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
        has_temperature = "gen_ai.request.temperature" in span["attributes"]
        assert has_temperature == ("chat" in span["resource"]["k8s.pod.name"])


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
    assert names["GET /health"] == 9
    assert set(names) == {
        "GET /health",
        "POST /v1/chat/completions",
        "chat llama-3.1-8b",
        "chat llama-3.1-70b",
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
        assert said["gen_ai.evaluation.name"] == {"chat": "helpfulness", "rag": "groundedness"}[row["workload"]]
        assert said["gen_ai.evaluation.score.label"] == ("pass" if row["quality_passed"] else "fail")
        if row["workload"] == "rag":
            assert (said["gen_ai.evaluation.score.value"] >= 0.7) == row["quality_passed"]
        if "traceId" in label:
            assert (label["traceId"], label["spanId"]) == (row["trace_id"], row["span_id"])
        after_s = int(label["timeUnixNano"]) / 1e9 - row["answered_at"].timestamp()
        assert 299.9 < after_s < 2400.1


def test_label_shares_are_as_promised(truth: Truth, labels: list[dict[str, Any]]) -> None:
    answers = truth.requests.filter(pl.col("outcome") == "ok")
    for workload, share in (("chat", 0.35), ("rag", 0.60)):
        labelled = answers.filter(pl.col("workload") == workload)["labelled"]
        four_sigma = 4 * (share * (1 - share) / len(labelled)) ** 0.5
        assert labelled.mean() == pytest.approx(share, abs=four_sigma)
    with_span = sum("spanId" in label for label in labels) / len(labels)
    assert with_span == pytest.approx(0.5, abs=4 * 0.5 / len(labels) ** 0.5)


def test_quality_is_known_of_every_answer_and_of_nothing_else(truth: Truth) -> None:
    known = truth.requests.filter(pl.col("quality_passed").is_not_null())
    assert known["request_id"].equals(truth.requests.filter(pl.col("outcome") == "ok")["request_id"])
    assert 0.8 < known["quality_passed"].mean() < 0.99


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_demo(tmp_path / "landing", hours=0.02, on_progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (100, 100)


@pytest.mark.parametrize(("start", "hours"), [(datetime(2026, 11, 20), 1.0), (START, 0.0), (START, -1.0)])  # noqa: DTZ001, RUF100
def test_impossible_periods_are_refused(tmp_path: Path, start: datetime, hours: float) -> None:
    with pytest.raises(ValueError, match="time zone and hours must be positive"):
        write_demo(tmp_path / "landing", start=start, hours=hours)
    assert list(tmp_path.iterdir()) == []


def test_settings_name_the_demos_folders_workloads_and_attributes() -> None:
    settings = tomllib.loads(demo_settings())
    assert settings == {
        "landing": ["landing"],
        "lake": "lake",
        "attributes": {
            "replica": ["k8s.pod.name"],
            "pool": ["llm.pool"],
            "route": ["llm.route"],
            "tenant": ["tenant.id"],
        },
        "workloads": {
            "chat": {
                "match": {"pool": "chat"},
                "ttft_s": 0.8,
                "tpot_s": 0.06,
                "retry_budget": 1,
                "quality": {"evaluators": ["helpfulness"]},
            },
            "rag": {
                "match": {"pool": "rag"},
                "ttft_s": 2.5,
                "e2e_s": 20.0,
                "retry_budget": 1,
                "quality": {"evaluators": ["groundedness"], "min_score": 0.7},
            },
        },
    }
