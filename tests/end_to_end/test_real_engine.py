"""A real engine behind a real gateway, with clients whose own truth lies beside their telemetry.

Expectations are counted in plain Python from the clients' file and the scrapes, never from what was computed.
"""

import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from goodput.plumbing.workspace import Workspace
from published import ask, run_at

CAPTURES = Path(__file__).parents[3] / "shared" / "data" / "captures" / "vllm"
pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not beside this checkout")

LABELS = ("labels_otlp_evaluation.jsonl", "labels_late_otlp_evaluation.jsonl")
LAYERS = {"C": "client_traces.pb.gz", "G": "gateway_traces.pb.gz", "E": "engine_traces.pb.gz"}
Row = dict[str, Any]


def run_over(folder: Path, part: str, *files: str, settings: str = "") -> Workspace:
    landing = ", ".join(f'"{(CAPTURES / part / name).resolve()}"' for name in files)
    folder.mkdir()
    (folder / "goodput.toml").write_text(f'landing = [{landing}]\nlake = "lake"\n{settings}')
    return run_at(folder / "goodput.toml")


@cache
def truth(part: str) -> list[Row]:
    with gzip.open(CAPTURES / part / "client_truth.jsonl.gz") as file:
        return [json.loads(line) for line in file]


def labels() -> Iterator[Row]:
    """What each label names: its trace and span, or its answer."""
    for name in LABELS:
        for line in (CAPTURES / "main" / name).read_text().splitlines():
            for resource in json.loads(line)["resourceLogs"]:
                for scope in resource["scopeLogs"]:
                    for row in scope["logRecords"]:
                        said = {item["key"]: next(iter(item["value"].values())) for item in row["attributes"]}
                        yield {"span_id": row.get("spanId") or None, "response_id": said.get("gen_ai.response.id")}


@pytest.mark.only("quality_labels", "label_rows")
@pytest.mark.parametrize("layers", ["E", "G", "CGE"])
def test_labels_find_the_answer_that_they_judge(tmp_path: Path, layers: str) -> None:
    """Labels of 80 % of the answers; two of five name the client's span, which only the client's telemetry has.

    A gateway sees what was sent through it: labels of the other answers are listed.
    """
    workspace = run_over(tmp_path / layers, "main", *(LAYERS[layer] for layer in layers), *LABELS)
    answers = {}
    for row in truth("main"):
        for attempt in row["attempts"]:
            answers[attempt["span_id"]] = answers[attempt["response_id"]] = row
    judged = [
        (name["span_id"] or name["response_id"], answers[name["span_id"] or name["response_id"]]) for name in labels()
    ]
    seen = [(name, row["response_id"]) for name, row in judged if layers != "G" or row["via"] == "gateway"]
    found = ask(
        workspace,
        "SELECT DISTINCT split_part(subject_id, ':', -1), r.response_id "
        "FROM quality_labels JOIN attempts USING (request_key) JOIN serving_records AS r "
        "ON list_contains(record_ids, r.record_id) WHERE r.response_id IS NOT NULL",
    )
    assert set(seen) <= set(found.rows())
    assert ask(workspace, "SELECT count(*) FROM quality_labels").item() == len(seen)
    unjoined = ask(workspace, "SELECT reason, count(*) FROM unjoined_labels GROUP BY ALL").rows()
    assert unjoined == ([("not_collected", len(judged) - len(seen))] if layers == "G" else [])


BY_POD = '[workloads.all]\n[attributes]\nreplica = ["k8s.pod.name"]\n[rates.all]\npool = "*"\nusd_per_gpu_hour = 3.6\n'


def scrapes(part: str) -> list[tuple[int, str]]:
    """Unix second and text of each scrape."""
    folder = CAPTURES / part / "prometheus" / "vllm-tiny-0"
    return [(int(path.name[:10]), gzip.decompress(path.read_bytes()).decode()) for path in sorted(folder.iterdir())]


def value(text: str, line: str) -> float:
    """The value of the line that begins so."""
    return float(next(found.rsplit(" ", 1)[1] for found in text.splitlines() if found.startswith(line)))


@pytest.mark.only("coverage", "goodput")
def test_coverage_knows_what_left_no_span(tmp_path: Path) -> None:
    """Clients left or timed out 64 of 618 requests: vLLM writes no span of most of these and counts them in no success.

    Three answers began in the second in which the last scrape was taken, whose name is cut to it. Of nine clients that
    left, the engine finished the answer all the same: its telemetry cannot show more than its own counter has.
    """
    workspace = run_over(tmp_path / "E", "main", LAYERS["E"], "prometheus", settings=BY_POD)
    (row,) = ask(workspace, "SELECT * FROM coverage").to_dicts()
    sent = int(value(scrapes("main")[-1][1], 'http_requests_total{handler="/v1/chat/completions"'))
    assert (row["counter"], row["requests_counted"], sent) == ("http_requests", 618, 618)
    spans = ask(workspace, "SELECT count(*) FROM attempts").item()
    assert sent - spans <= row["requests_unobserved"] <= sent - spans + 3
    assert row["coverage_ratio"] == pytest.approx(spans / sent, abs=0.01)
    (day,) = ask(workspace, "SELECT * FROM goodput WHERE slice = 'overall' AND window_s = 86400").to_dicts()
    last = scrapes("main")[-1][1].splitlines()
    finished = sum(float(line.rsplit(" ", 1)[1]) for line in last if line.startswith("vllm:request_success_total"))
    answered = sum(row["outcome"] == "ok" for row in truth("main"))
    assert answered <= finished <= answered + 9
    assert day["goodput_ratio_low"] <= finished / sent <= day["goodput_ratio"]
    assert day["unobserved"] == pytest.approx(row["requests_unobserved"], abs=0.001)


@pytest.mark.only("goodput")
def test_what_clients_saw_is_not_unobserved(tmp_path: Path) -> None:
    workspace = run_over(tmp_path / "CGE", "main", *LAYERS.values(), "prometheus", settings=BY_POD)
    found = ask(workspace, "SELECT unobserved FROM goodput WHERE slice = 'overall' AND window_s = 86400").item()
    assert found <= 5


@pytest.mark.only("replica_windows", "waste")
@pytest.mark.parametrize("layers", ["E", "CE"])
def test_an_outage_is_neither_up_nor_paid(tmp_path: Path, layers: str) -> None:
    """190 s lie between the first and the last scrape, and 60 s of them between those around the restart.

    The engine answered what it had begun after the last scrape before, and new requests before the first one after.
    """
    times = [second for second, _ in scrapes("restart")]
    gap = max(after - before for before, after in pairwise(times))
    assert (times[-1] - times[0], gap) == (190, 60)
    workspace = run_over(
        tmp_path / "restart", "restart", *(LAYERS[layer] for layer in layers), "prometheus", settings=BY_POD
    )
    (row,) = ask(workspace, "SELECT * FROM replica_windows WHERE window_s = 86400").to_dicts()
    assert (row["restarts"], row["kv_capacity_tokens"]) == (1, 6400)
    assert 130 <= row["up_s"] <= 145
    paid = ask(workspace, "SELECT sum(usd) FROM waste WHERE slice = 'overall' AND window_s = 86400").item()
    assert paid == pytest.approx(row["up_s"] * 3.6 / 3600, rel=0.01)


@pytest.mark.only("replica_histograms")
def test_histograms_are_those_of_the_scrapes(tmp_path: Path) -> None:
    """All scrapes lie in one day, and the engine began within it: its window holds the last scrape's counts."""
    workspace = run_over(tmp_path / "E", "main", LAYERS["E"], "prometheus", settings=BY_POD)
    last = scrapes("main")[-1][1]
    rows = ask(workspace, "SELECT * FROM replica_histograms WHERE window_s = 86400").to_dicts()
    of_metric = {row["metric"]: row for row in rows}
    names = {"itl_s": "inter_token_latency", "ttft_s": "time_to_first_token", "queue_s": "request_queue_time"}
    for metric, name in names.items():
        row = of_metric[metric]
        count = value(last, f"vllm:{name}_seconds_count")
        assert row["observed"] == count
        assert row["mean"] == pytest.approx(value(last, f"vllm:{name}_seconds_sum") / count)
        counts = {
            match["bound"]: float(match["count"])
            for match in re.finditer(rf'{name}_seconds_bucket{{.*le="(?P<bound>.*?)".* (?P<count>\S+)', last)
        }
        assert counts[str(row["p95_low"])] < 0.95 * count <= counts[str(row["p95_high"])]
        assert row["p95_low"] <= row["p95"] <= row["p95_high"]


@pytest.mark.only("replica_samples")
def test_every_metric_of_a_real_engine_is_read_or_left_out_by_rule(tmp_path: Path) -> None:
    workspace = run_over(tmp_path / "E", "main", LAYERS["E"], "prometheus")
    assert ask(workspace, "SELECT * FROM unknown_metrics").rows() == []


def counted(name: str) -> list[tuple[int, float]]:
    """What a counter had at each scrape."""
    return [(second, value(text, f"vllm:{name}_total")) for second, text in scrapes("main")]


@pytest.mark.only("cache_by_replica")
@pytest.mark.parametrize("layers", ["G", "E", "CGE"])
def test_the_hit_ratio_is_that_of_the_engines_counters(tmp_path: Path, layers: str) -> None:
    """In each five minutes and over the day, whichever layers are traced: only what went through the gateway, 65 % of
    all, is traced with its cached tokens.
    """
    files = [LAYERS[layer] for layer in layers]
    workspace = run_over(tmp_path / "hits", "main", *files, "prometheus")
    asked = "SELECT epoch(window_start)::INTEGER, window_s, hit_ratio, hit_ratio_from FROM cache_by_replica"
    rows = ask(workspace, asked).rows()
    found = {(start, length): ratio for start, length, ratio, source in rows if source == "counters"}
    both = zip(counted("prefix_cache_hits"), counted("prefix_cache_queries"), strict=True)
    readings = [(at, hits, queries) for (at, hits), (_, queries) in both]
    rises = [(at, hits - old_hits, queries - old) for (_, old_hits, old), (at, hits, queries) in pairwise(readings)]
    for length in (300, 86400):
        for start in {at // length * length for at, *_ in rises}:
            inside = [(hits, queries) for at, hits, queries in rises if start <= at < start + length]
            true = sum(hits for hits, _ in inside) / sum(queries for _, queries in inside)
            assert found[start, length] == pytest.approx(true, abs=0.015)


@pytest.mark.only("cache_by_replica")
def test_the_hit_ratio_is_what_clients_were_told(tmp_path: Path) -> None:
    workspace = run_over(tmp_path / "hits", "main", LAYERS["G"], "prometheus")
    (row,) = ask(workspace, "SELECT * FROM cache_by_replica WHERE window_s = 86400").to_dicts()
    answers = [row for row in truth("main") if row["cached_tokens"] is not None and row["input_tokens"] is not None]
    true = sum(row["cached_tokens"] for row in answers) / sum(row["input_tokens"] for row in answers)
    assert row["hit_ratio"] == pytest.approx(true, abs=0.01)


LOG = """[workloads.all]
[sources.log]
format = "csv"
path = "log.csv"
table = "attempts"
[sources.log.columns]
attempt_id = "id"
response_id = "answer"
started_at = { column = "start", unit = "epoch_ns" }
ended_at = { column = "end", unit = "epoch_ns" }
outcome = "outcome"
"""


@pytest.mark.only("requests", "attempts")
def test_a_gateway_that_writes_a_log_and_no_span_makes_no_retries(tmp_path: Path) -> None:
    """It hands its caller's `traceparent` on, so that the engine's span is right below the caller's: one try."""
    tries = [attempt for row in truth("main") if row["via"] == "gateway" for attempt in row["attempts"]]
    assert {len(row["attempts"]) for row in truth("main")} == {1}
    rows = [
        f"g{n},{one['response_id']},{one['start_unix_nano'] + 2_000_000},{one['end_unix_nano'] - 2_000_000},ok"
        for n, one in enumerate(tries)
        if one["response_id"] and one["outcome"] == "ok"
    ]
    assert len(rows) > 300
    (tmp_path / "log").mkdir()
    (tmp_path / "log/log.csv").write_text("\n".join(["id,answer,start,end,outcome", *rows]) + "\n")
    asked = "SELECT request_key, attempts, retry_count, outcome FROM requests ORDER BY ALL"
    files = (LAYERS["C"], LAYERS["E"])
    without = ask(run_over(tmp_path / "CE", "main", *files), asked).rows()
    logged = run_over(tmp_path / "CLE", "main", *files, str(tmp_path / "log"), settings=LOG)
    assert ask(logged, asked).rows() == without
    assert {row[1:3] for row in without} == {(1, 0)}
    merged = "SELECT count(*) FROM attempts WHERE len(record_ids) = 3"
    assert ask(logged, merged).item() > 300
