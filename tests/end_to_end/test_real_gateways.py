"""Gateways and routers as they really write, each telling alone and several together, against the clients' truth.

What a telling does not hold is NULL; where it differs from what the client saw, the reason stands beside it.
"""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from goodput.plumbing.workspace import Workspace
from published import ask, run_at

CAPTURES = Path(__file__).parent.parent.parent.parent / "shared/data/captures"
EMITTERS, VLLM = CAPTURES / "emitters", CAPTURES / "vllm"
pytestmark = [
    pytest.mark.skipif(not EMITTERS.is_dir(), reason="the shared captures are not beside this checkout"),
    pytest.mark.only("requests", "attempts"),
]

ENVOY = {
    "spans": "telemetry.traces.pb.gz",
    "log": "telemetry.logs.pb.gz",
    "json": "telemetry.access.jsonl.gz",
    "text": "access.log",
}
DYNAMO = {"spans": "telemetry.traces.pb.gz", "rows": "telemetry.request_trace.jsonl.gz"}
SETTINGS = """
landing = [{landing}]
lake = "lake"
[workloads.chat]
"""
# Envoy's default format, of which the capture has the values in its JSON.
TEXT = (
    '[{start_time}] "{method} {path} {protocol}" {response_code} {response_flags} {bytes_received} {bytes_sent}'
    ' {duration} - "-" "{user_agent}" "{request_id}" "127.0.0.1:9110" "{upstream_host}"'
)
CLIENT_LEFT_NS = 20_000_000  # within which a proxy sees that its client has gone
Row = dict[str, Any]


def run_over(folder: Path, files: Sequence[Path]) -> Workspace:
    landing = ", ".join(f'"{file.resolve()}"' for file in files)
    (folder / "goodput.toml").write_text(SETTINGS.format(landing=landing))
    return run_at(folder / "goodput.toml")


def requests_of(workspace: Workspace) -> list[Row]:
    """Each request with its answer's id and with its times in Unix nanoseconds."""
    sql = """
        SELECT r.*, a.response_id, epoch_ns(r.arrived_at) AS arrived_ns, epoch_ns(a.ended_at) AS over_ns
        FROM requests AS r JOIN attempts AS a ON a.request_key = r.request_key AND a.delivered
    """
    return ask(workspace, sql).to_dicts()


@cache
def truth(emitter: str) -> list[Row]:
    return [json.loads(line) for line in (EMITTERS / emitter / "truth.jsonl").read_text().splitlines()]


def within(rows: list[Row], found: list[Row]) -> list[tuple[Row, Row]]:
    """Each row of truth with the request that lies in its time and fills most of it, and is that of no other row."""
    pairs = sorted(
        (r["arrived_ns"] - row["start_ns"] + abs(row["end_ns"] - r["over_ns"]), i, j)
        for i, row in enumerate(rows)
        for j, r in enumerate(found)
        if r["arrived_ns"] >= row["start_ns"] and r["over_ns"] <= row["end_ns"] + CLIENT_LEFT_NS
    )
    taken: dict[int, int] = {}
    for _, i, j in pairs:
        if i not in taken and j not in taken.values():
            taken[i] = j
    return [(rows[i], found[j]) for i, j in taken.items()]


def text_log(folder: Path) -> Path:
    path = folder / "access.log"
    with gzip.open(EMITTERS / "envoy" / ENVOY["json"], "rt") as lines:
        path.write_text("".join(f"{TEXT.format(**json.loads(line))}\n" for line in lines))
    return path


TELLINGS = [
    *(("spans",), ("log",), ("json",), ("text",)),
    *(("json", "text"), ("spans", "json"), ("spans", "log"), ("spans", "log", "json", "text")),
]
# A proxy sees its client go, not why; and it sees the stream break for which the client waited in vain.
ENVOY_OUTCOMES = {"hang": "cancelled", "hangalways": "cancelled", "cut": "error"}


@pytest.mark.parametrize("tellings", TELLINGS, ids="+".join)
def test_envoy(tmp_path: Path, tellings: tuple[str, ...]) -> None:
    files = [text_log(tmp_path) if name == "text" else EMITTERS / "envoy" / ENVOY[name] for name in tellings]
    found = requests_of(run_over(tmp_path, files))
    assert len(found) == len(truth("envoy")) == 40
    matched = within(truth("envoy"), found)
    assert len(matched) == 40
    logged = bool({"log", "json"} & {*tellings})
    for row, request in matched:
        assert request["outcome"] == ENVOY_OUTCOMES.get(row["kind"], row["outcome"])
        assert request["retry_count"] + 1 == (row["attempts"] if {*tellings} - {"text"} else 1)  # the text counts none
        assert request["replica"] in {"127.0.0.1:9111", "127.0.0.1:9112"}
        assert request["pool"] == ("vllm-chat" if {*tellings} - {"text"} else None)
        assert (request["input_tokens"], request["output_tokens"]) == (None, None)
        if not logged or (row["outcome"] == "timeout" and row["kind"] != "cut"):
            assert request["streamed"] is None  # only the type of the answer tells, and there was none
        else:
            assert request["streamed"] is (row["stream"] and row["outcome"] != "error")  # errors are plain JSON
        if logged and "first_ns" in row:
            # the first byte, 40 ms at most before the client of a busy machine saw the first token
            assert -0.002 < (row["first_ns"] - row["start_ns"]) / 1e9 - request["ttft_s"] < 0.2
    if "spans" in tellings:
        assert sum(request["attempts"] for request in found) == sum(row["attempts"] for row in truth("envoy"))


@pytest.mark.parametrize("tellings", [("spans",), ("rows",), ("spans", "rows")], ids="+".join)
def test_dynamo(tmp_path: Path, tellings: tuple[str, ...]) -> None:
    found = requests_of(run_over(tmp_path, [EMITTERS / "dynamo" / DYNAMO[name] for name in tellings]))
    answers = {row["response_id"]: row for row in truth("dynamo") if "response_id" in row}
    refused = [request for request in found if request["outcome"] == "error"]
    assert len(found) == (40 if "spans" in tellings else 38)  # what failed has no row
    assert {request["response_id"] for request in found} - {r["response_id"] for r in refused} == answers.keys()
    assert len(refused) == len(found) - len(answers)
    assert {(request["model"], request["retry_count"]) for request in refused} <= {(None, 0)}
    for request in found:
        row = answers.get(request["response_id"])
        if row is None:
            continue
        assert request["outcome"] == "ok"  # a client that left is written as a success
        assert (request["attempts"], request["retry_count"]) == (1, 0)
        assert (request["input_tokens"], request["output_tokens"]) == (row["input_tokens"], row["output_tokens"])
        assert request["model"] == (row["model"] if "spans" in tellings else None)
        assert request["replica"].isdecimal()
        assert request["streamed"] is (row["stream"] if "spans" in tellings else None)
        if row["stream"]:
            assert request["ttft_s"] == pytest.approx(row["told"]["ttft_s"], abs=0.0005)
        elif "spans" in tellings:  # the engine's first token reached nobody
            assert request["ttft_s"] == request["e2e_s"]
        assert request["e2e_s"] == pytest.approx(row["told"]["e2e_s"], abs=0.005)
    cached = {r["response_id"]: r["cached_input_tokens"] for r in found if r["response_id"] in answers}
    if "rows" in tellings:
        # the router chose before it knew what the requests beside this one would leave in the cache
        assert [row["rid"] for name, row in answers.items() if cached[name] != row["cached_input_tokens"]] == ["d001"]
    else:
        assert set(cached.values()) == {None}


def test_sglangs_router(tmp_path: Path) -> None:
    found = requests_of(run_over(tmp_path, [EMITTERS / "sglang-router/telemetry.traces.pb.gz"]))
    kinds = Counter(row["kind"] for row in truth("sglang-router"))
    # No span was exported of one that ended well, and of one of the two that were refused. A status of 200 says that
    # an answer began, not that it ended: cut ones among them.
    refused, left = kinds["400"] - 1, kinds["hangalways"]
    outcomes = {"unknown": kinds.total() - 2 - refused - left, "error": refused, "cancelled": left}
    assert Counter(request["outcome"] for request in found) == outcomes
    # The mock's plan went on from an earlier run, so its truth counts more tries than there are here; the router's own
    # counter of retries, over the same time, does not.
    assert sum(request["retry_count"] for request in found) == _counter("smg_worker_retries_total") == 8
    assert sum(request["retry_count"] > 0 for request in found) == kinds["500always"]
    assert {request["replica"] for request in found} == {"127.0.0.1:9111", "127.0.0.1:9112"}
    told = {name for r in found for name in ("streamed", "ttft_s", "output_tokens", "model") if r[name] is not None}
    assert told == set()
    assert {request["e2e_s"] is not None for request in found if request["outcome"] == "unknown"} == {False}


def _counter(name: str) -> int:
    last = sorted((EMITTERS / "sglang-router/telemetry.prometheus/sglang-router").iterdir())[-1]
    with gzip.open(last, "rt") as lines:
        return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{name}{{")))


@pytest.mark.parametrize(("part", "requests"), [("main", 400), ("crash", 217)])
def test_litellms_tries_are_counted_where_only_the_first_has_a_span(tmp_path: Path, part: str, requests: int) -> None:
    workspace = run_over(tmp_path, [VLLM / part / "gateway_traces.pb.gz"])
    sql = """
        SELECT a.trace_id, r.retry_count, r.attempts
        FROM requests AS r JOIN attempts AS a ON a.request_key = r.request_key
        ORDER BY r.arrived_at
    """
    counted: dict[str, list[int]] = {}
    for request in ask(workspace, sql).to_dicts():
        assert request["attempts"] == 1
        counted.setdefault(request["trace_id"], []).append(request["retry_count"])
    checked = 0
    with gzip.open(VLLM / part / "client_truth.jsonl.gz") as lines:
        for row in map(json.loads, lines):
            # What the client left before it had a status is counted by nobody else.
            if row["via"] == "gateway" and all(attempt["status"] for attempt in row["attempts"]):
                traces = dict.fromkeys(attempt["trace_id"] for attempt in row["attempts"])
                assert [n for trace in traces for n in counted[trace]] == [*map(_retries, row["attempts"])]
                checked += 1
    assert checked == requests


def _retries(attempt: Row) -> int:
    """What the gateway's header says; an answer without it failed in each of the tries that num_retries allows."""
    told = attempt.get("x-litellm-attempted-retries")
    return 2 if told is None else int(told)
