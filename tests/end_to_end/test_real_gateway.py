"""A real gateway with real clients, whose own truth lies beside its telemetry: every request once, as it happened.

Expectations are counted from the clients' and the upstreams' files in plain Python, never from what was computed.
"""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from goodput.plumbing.workspace import Workspace
from published import ask, run_at

GIVEN = Path(__file__).parent.parent.parent.parent / "shared/data/captures/given"
pytestmark = [
    pytest.mark.skipif(not GIVEN.is_dir(), reason="the shared captures are not beside this checkout"),
    pytest.mark.only("requests", "attempts", "quality_labels", "ops_events", "replica_samples"),
]

TRACES, PAYLOADS = "otlp_traces.jsonl.gz", "litellm_standard_logging.jsonl.gz"
TTFT_S, TPOT_S = 0.6, 0.03
SETTINGS = """
landing = [{landing}]
lake = "lake"
[workloads.chat]
ttft_s = 0.6
tpot_s = 0.03
"""
Row = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What a run over some of the files says."""

    requests: dict[str, Row]
    attempts: list[Row]


def run_over(folder: Path, *files: str, quality: bool = False) -> Workspace:
    landing = ", ".join(f'"{(GIVEN / name).resolve()}"' for name in files)
    folder.mkdir()
    gate = "[workloads.chat.quality]\n" if quality else ""
    (folder / "goodput.toml").write_text(SETTINGS.format(landing=landing) + gate)
    return run_at(folder / "goodput.toml")


def answer(folder: Path, *files: str) -> Answer:
    workspace = run_over(folder, *files)
    requests = ask(workspace, "SELECT * FROM requests").to_dicts()
    return Answer({row["request_key"]: row for row in requests}, ask(workspace, "SELECT * FROM attempts").to_dicts())


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer(tmp_path_factory.mktemp("gateway") / "traces", TRACES)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer(tmp_path_factory.mktemp("gateway") / "both", TRACES, PAYLOADS, "otlp_traces.pb.gz")


def lines(name: str) -> Iterator[Row]:
    with gzip.open(GIVEN / name) as file:
        yield from map(json.loads, file)


def spans() -> Iterator[Row]:
    for batch in lines(TRACES):
        for resource in batch["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    told = {item["key"]: next(iter(item["value"].values())) for item in span.get("attributes", [])}
                    yield {**span, "told": told}


@dataclass(frozen=True)
class Truth:
    """One logical request of the clients' file, and the traces in which the gateway recorded it."""

    row: Row
    traces: frozenset[str]

    @property
    def outcome(self) -> str:
        return str(self.row["outcome"])

    @property
    def streamed(self) -> bool:
        return bool(self.row["stream"])


@pytest.fixture(scope="module")
def truth() -> list[Truth]:
    trace_of_call, served = {}, set()
    for span in spans():
        if "litellm.call_id" in span["told"]:
            trace_of_call[span["told"]["litellm.call_id"]] = span["traceId"]
        if span["name"].startswith("POST /v1/chat"):
            served.add(span["traceId"])
    found = []
    for row in lines("client_truth.jsonl.gz"):
        calls = {trace_of_call.get(attempt.get("x_litellm_call_id")) for attempt in row["attempts"]}
        known = (calls | {row["traceparent_trace_id"]}) & served
        found.append(Truth(row, frozenset(known)))
    return found


def joined(found: Answer, truth: list[Truth]) -> Iterator[tuple[Truth, set[str]]]:
    """Each logical request that telemetry can name, with the requests here that lie in its traces."""
    by_trace = defaultdict(set)
    for attempt in found.attempts:
        by_trace[attempt["trace_id"]].add(attempt["request_key"])
    for logical in truth:
        if logical.traces:
            yield logical, set().union(*(by_trace[trace] for trace in logical.traces))


@pytest.mark.parametrize("files", ["traces", "both"])
def test_one_request_for_each_that_users_made(files: str, truth: list[Truth], request: pytest.FixtureRequest) -> None:
    found: Answer = request.getfixturevalue(files)
    named = list(joined(found, truth))
    assert Counter(len(keys) for _, keys in named) == {1: len(named)}
    assert len({key for _, keys in named for key in keys}) == len(named)
    # Everything else is an HTTP request of a client that sent no trace and got no headers: one request each.
    posts = Counter(span["traceId"] for span in spans() if span["name"].startswith("POST /v1/chat"))
    retried_in_one_trace = sum(count - 1 for count in posts.values())
    assert len(found.requests) == sum(posts.values()) - retried_in_one_trace


@pytest.mark.parametrize("files", ["traces", "both"])
def test_outcomes_are_what_clients_saw(files: str, truth: list[Truth], request: pytest.FixtureRequest) -> None:
    found: Answer = request.getfixturevalue(files)
    seen = Counter()
    for logical, (key,) in ((logical, tuple(keys)) for logical, keys in joined(found, truth)):
        seen[logical.outcome, logical.streamed, found.requests[key]["outcome"]] += 1
    # A client that leaves an answer that is not streamed is seen by no span and no log row.
    unseen = {("cancelled", False, "ok"), ("timeout", False, "ok")}
    assert {pair for pair in seen if pair[0] != "ok" and pair[2] == "ok"} <= unseen
    assert {pair for pair in seen if pair[0] == "ok"} == {("ok", True, "ok"), ("ok", False, "ok")}


def test_tokens_and_sessions_are_what_clients_saw(traces: Answer, truth: list[Truth]) -> None:
    checked = 0
    for logical, (key,) in ((logical, tuple(keys)) for logical, keys in joined(traces, truth)):
        row = traces.requests[key]
        if logical.outcome == "ok":
            usage, chunks = logical.row["usage"], logical.row["content_chunks"]
            assert row["output_tokens"] == (usage["completion_tokens"] if usage else chunks)
            assert row["session_id"] == logical.row["session_id"]
            checked += 1
    assert checked == sum(logical.outcome == "ok" and bool(logical.traces) for logical in truth) > 800


@pytest.mark.parametrize("files", ["traces", "both"])
def test_every_call_and_every_refusal_is_one_attempt(files: str, request: pytest.FixtureRequest) -> None:
    found: Answer = request.getfixturevalue(files)
    calls = [span for span in spans() if "litellm.call_id" in span["told"]]
    refused = [span for span in spans() if span["name"].startswith("route ") and span["status"].get("code") == 2]
    called = {span["traceId"] for span in calls}
    # A trace with neither: an HTTP request that was refused before any route was looked for.
    alone = [span for span in spans() if span["name"].startswith("POST /v1/chat") and span["traceId"] not in called]
    assert len(found.attempts) == len(calls) + len(refused) + len(alone)
    assert sum(row["output_tokens"] or 0 for row in found.attempts) == sum(
        int(span["told"]["gen_ai.usage.output_tokens"])
        for span in calls
        if "gen_ai.usage.output_tokens" in span["told"]
    )
    paid = sum(float(span["told"].get("litellm.cost.total", 0)) for span in calls)
    assert sum(row["reported_cost_usd"] or 0 for row in found.attempts) == pytest.approx(paid)
    blamed = [row for row in found.attempts if row["error_type"] == "RouterRateLimitError"]
    assert len(blamed) == len(refused)
    assert {(row["replica"], row["reported_cost_usd"]) for row in blamed} == {(None, 0.0)}


@pytest.mark.parametrize("files", ["traces", "both"])
def test_within_the_slo_as_clients_saw_it(files: str, truth: list[Truth], request: pytest.FixtureRequest) -> None:
    meant = [t.row for t in truth if t.streamed and not t.row["planned_cancel"]]
    share = sum(map(_good, meant)) / len(meant)
    naive = [span for span in spans() if "gen_ai.response.time_to_first_chunk" in span["told"]]
    assert (round(share, 3), len(naive)) == (0.464, 702)
    # What no span tells: whether a client meant to leave. Who left is in neither number.
    asked = [
        row
        for row in request.getfixturevalue(files).requests.values()
        if row["streamed"] is not False and row["outcome"] != "cancelled"
    ]
    accepted = sum(row["verdict"] == "accepted" for row in asked) / len(asked)
    assert accepted == pytest.approx(share, abs=0.015)


def _good(row: Row) -> bool:
    if row["outcome"] != "ok" or row["first_content_unix_nano"] is None:
        return False
    first, last = int(row["first_content_unix_nano"]), int(row["last_content_unix_nano"])
    ttft = (first - int(row["intended_send_unix_nano"])) / 1e9
    more = row["content_chunks"] - 1
    return ttft <= TTFT_S and (more < 1 or (last - first) / 1e9 / more <= TPOT_S)


def test_the_log_beside_the_traces_adds_facts_and_no_requests(traces: Answer, both: Answer) -> None:
    names = ("attempts", "ttft_s", "e2e_s", "verdict")
    assert traces.requests.keys() == both.requests.keys()
    for key, row in traces.requests.items():
        assert {name: row[name] for name in names} == {name: both.requests[key][name] for name in names}
        # a refused request has a session and no tokens only in the log
        assert row["session_id"] in {None, both.requests[key]["session_id"]}
        assert (row["output_tokens"] or 0) == (both.requests[key]["output_tokens"] or 0)
    merged = sum(len(row["record_ids"]) for row in both.attempts)
    payloads = sum(1 for _ in lines(PAYLOADS))
    assert merged == sum(len(row["record_ids"]) for row in traces.attempts) + payloads


LABELS = {"otlp": ["labels_otlp_evaluation.jsonl"], "langfuse": ["labels_langfuse_scores_v2.jsonl"]}
LABELS["both"] = LABELS["otlp"] + LABELS["langfuse"]
BESIDE = ["ops_events.jsonl", "prometheus"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Workspace]:
    folder = tmp_path_factory.mktemp("labels")
    return {name: run_over(folder / name, TRACES, *files, *BESIDE, quality=True) for name, files in LABELS.items()}


def test_the_same_judgements_in_two_forms_count_once(judged: dict[str, Workspace]) -> None:
    scores = [label for page in plain(LABELS["langfuse"][0]) for label in page["data"]]
    passed = sum(label["value"] == 1 for label in scores)
    verdicts = "SELECT verdict, count(*) FROM requests GROUP BY ALL ORDER BY ALL"
    labels = """
        SELECT count(*), count(*) FILTER (WHERE passed), count(DISTINCT request_key) FROM quality_labels
        WHERE "current" AND request_key IS NOT NULL
    """
    for workspace in judged.values():
        assert ask(workspace, labels).rows() == [(len(scores), passed, len(scores))]
        assert ask(workspace, verdicts).equals(ask(judged["otlp"], verdicts))


def test_what_was_done_to_the_fleet_is_known(judged: dict[str, Workspace]) -> None:
    types = Counter(event["context"]["type"].split(".")[3] for event in plain("ops_events.jsonl"))
    assert types == {"deployed": 5, "detected": 1, "resolved": 1}
    kinds = ask(judged["otlp"], "SELECT kind, count(*) FROM ops_events GROUP BY ALL ORDER BY ALL").rows()
    assert kinds == [("deployment", 5), ("incident", 1)]  # the end of an incident is no operation


def test_scrapes_add_up_to_what_was_counted_since_the_first(judged: dict[str, Workspace]) -> None:
    """LiteLLM writes when each of its counters began, after the first scrape: all that they show is increase."""

    def counted(scrape: Path, suffix: str) -> list[float]:
        with gzip.open(scrape, "rt") as lines:
            said = [line for line in lines if line.startswith(f"litellm_output_tokens_metric{suffix}{{")]
        return [float(line.rsplit(" ", 1)[1]) for line in said]

    scrapes = sorted((GIVEN / "prometheus").iterdir())
    first_s, last = int(scrapes[0].name.partition(".")[0]), scrapes[-1]
    assert min(counted(last, "_created")) > first_s
    sql = "SELECT sum(increase) FROM replica_samples WHERE metric = 'output_tokens'"
    assert ask(judged["otlp"], sql).item() == sum(counted(last, "_total")) == 30930


def plain(name: str) -> list[Row]:
    return [json.loads(line) for line in (GIVEN / name).read_text().splitlines()]
