"""Client SDKs against a model whose truth lies beside their telemetry: each call once, with what its bytes tell.

Expectations are the truth files' alone. `told` is what the bytes themselves say of a call; where they do not decide
what became of it, the exceptions below say what Goodput makes of it.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from published import ask, run_at

EMITTERS = Path(__file__).parent.parent.parent.parent / "shared/data/captures/emitters"
pytestmark = [
    pytest.mark.skipif(not EMITTERS.is_dir(), reason="the shared captures are not beside this checkout"),
    pytest.mark.only("requests", "attempts"),
]

Row = dict[str, Any]
SETTINGS = """
landing = [{landing}]
lake = "lake"
[workloads.chat]
ttft_s = 0.6
"""
REQUESTS = """
SELECT q.*, a.started_ns, a.instrumentations
FROM requests AS q
JOIN (
    SELECT t.request_key, min(t.started_ns) AS started_ns, list(DISTINCT r.instrumentation) AS instrumentations
    FROM attempts AS t JOIN serving_records AS r ON list_contains(t.record_ids, r.record_id)
    GROUP BY t.request_key
) AS a USING (request_key)
"""
CLOCK_S = 1e-3


@dataclass(frozen=True)
class Told:
    """What an emitter's bytes tell beyond, or other than, what its truth file says they do."""

    # What became of the calls whose end the bytes do not decide: as the client saw it, and as it is published.
    undecided: dict[tuple[str, str], int]
    # Whether it was streamed, as the client asked and as it is published.
    streamed: dict[tuple[bool, bool | None], int]
    own_sessions: bool = False  # ids that the framework gives each run, not the application's


UNTOLD: dict[tuple[str, str], int] = {}
SDKS = {
    # A client that leaves a stream is written like an answer that ended well.
    "openai-v2": Told({("cancelled", "ok"): 1}, {(False, None): 16, (True, None): 24}),
    "openinference": Told(UNTOLD, {(False, False): 9, (False, None): 3, (True, True): 28}),
    "langchain-openinference": Told(UNTOLD, {(False, False): 24, (True, True): 22}),
    # Streams that broke off, or failed before their first token, have no flag and no first token.
    "langfuse": Told(
        {("error", "unknown"): 1}, {(False, False): 13, (False, None): 1, (True, True): 22, (True, None): 4}
    ),
    "logfire": Told(
        {("error", "unknown"): 2, ("cancelled", "unknown"): 1},
        {(False, False): 12, (False, None): 2, (True, True): 24, (True, None): 2},
    ),
    # Streams that broke off: the agent's span above them failed.
    "pydantic-ai": Told(
        {("error", "error"): 3},
        {(False, False): 18, (False, None): 3, (True, True): 28, (True, None): 1},
        own_sessions=True,
    ),
    "traceloop": Told({("error", "unknown"): 2}, {(False, False): 20, (True, True): 20}),
    # Streams that broke off have no span of any kind.
    "vercel": Told(UNTOLD, {(False, False): 18, (True, True): 20}),
}


@dataclass(frozen=True)
class Read:
    """A whole run over one emitter's files, and the calls of its truth with the request that each became."""

    requests: list[Row]
    pairs: list[tuple[Row, Row]]


@pytest.fixture(scope="module", params=SDKS)
def emitter(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def found(emitter: str, tmp_path_factory: pytest.TempPathFactory) -> Read:
    requests = published(emitter, tmp_path_factory.mktemp("emitter"))
    return Read(requests, paired(truth(emitter), requests))


def published(emitter: str, folder: Path) -> list[Row]:
    files = sorted(path for path in (EMITTERS / emitter).iterdir() if path.name.startswith("telemetry."))
    landing = ", ".join(f'"{path.resolve()}"' for path in files)
    (folder / "goodput.toml").write_text(SETTINGS.format(landing=landing))
    return ask(run_at(folder / "goodput.toml"), REQUESTS).to_dicts()


def truth(emitter: str) -> list[Row]:
    return [json.loads(line) for line in (EMITTERS / emitter / "truth.jsonl").read_text().splitlines()]


def paired(calls: list[Row], requests: list[Row]) -> list[tuple[Row, Row]]:
    """Each call that left anything with the request that began when its span did; of several the one as long."""
    left = {row["request_key"]: row for row in requests}
    pairs = []
    for call in calls:
        if "told" not in call or call.get("absent"):
            continue
        same = [row for row in left.values() if row["started_ns"] == call["told"]["start_ns"]]
        assert same, f"no request began with {call['rid']}"
        nearest = min(same, key=lambda row: abs((row["e2e_s"] or 0) - call["told"]["e2e_s"]))
        pairs.append((call, left.pop(nearest["request_key"])))
    return pairs


def steps(call: Row) -> int:
    """How many requests one line of truth stands for: of agents by the Vercel SDK it has all steps."""
    return call["calls"] if call["kind"] == "tool" and "." not in call["rid"] else 1


def test_each_call_of_the_model_is_one_request(emitter: str, found: Read) -> None:
    assert len(found.requests) == sum(steps(call) for call, _ in found.pairs)
    assert len(found.pairs) == sum(not call.get("absent") for call in truth(emitter))


def test_outcomes(emitter: str, found: Read) -> None:
    undecided = Counter()
    for call, request in found.pairs:
        if "outcome" in call["told"]:
            assert request["outcome"] == call["told"]["outcome"], call["rid"]
            assert request["outcome"] == call["outcome"], call["rid"]
        else:
            undecided[call["outcome"], request["outcome"]] += 1
    assert undecided == SDKS[emitter].undecided


@pytest.mark.parametrize("column", ["input_tokens", "output_tokens", "cached_input_tokens"])
def test_tokens(found: Read, column: str) -> None:
    assert {call["rid"]: request[column] for call, request in found.pairs} == {
        call["rid"]: call["told"].get(column) for call, _ in found.pairs
    }


def test_latencies(found: Read) -> None:
    for call, request in found.pairs:
        if steps(call) > 1:  # told of all steps together, which are requests of their own
            continue
        told = call["told"]
        assert request["e2e_s"] == pytest.approx(told["e2e_s"], abs=CLOCK_S), call["rid"]
        if "ttft_s" in told:
            assert request["ttft_s"] == pytest.approx(told["ttft_s"], abs=CLOCK_S), call["rid"]
        else:  # only an answer that is known not to be streamed has its first token at its end
            whole = request["e2e_s"] if request["streamed"] is False and told["outcome"] == "ok" else None
            assert request["ttft_s"] == whole, call["rid"]


def test_what_is_known_of_streaming(emitter: str, found: Read) -> None:
    seen = Counter((call["stream"], request["streamed"]) for call, request in found.pairs)
    assert seen == SDKS[emitter].streamed


def test_sessions(emitter: str, found: Read) -> None:
    if SDKS[emitter].own_sessions:
        runs = {call["rid"].partition(".")[0] for call, _ in found.pairs}
        assert len({request["session_id"] for _, request in found.pairs}) == len(runs)
        return
    for call, request in found.pairs:
        assert request["session_id"] == call["told"].get("session"), call["rid"]


def test_tries_that_left_spans_are_counted(found: Read) -> None:
    for call, request in found.pairs:
        if "attempts" in call["told"] and steps(call) == 1:
            assert request["attempts"] == call["told"]["attempts"] == call["attempts"], call["rid"]


@pytest.mark.parametrize("scope", ["openinference.instrumentation.openai", "openinference.instrumentation.langchain"])
def test_each_of_two_instrumentations_tells_every_call(scope: str, tmp_path: Path) -> None:
    requests = published("langchain+openai-openinference", tmp_path)
    told = [row for row in requests if scope in row["instrumentations"]]
    calls = truth("langchain+openai-openinference")
    assert len(told) == len(calls)
    assert Counter(row["outcome"] for row in told) == Counter(call["outcome"] for call in calls)
    counted = sum(call["told"].get("output_tokens", 0) for call in calls)
    assert sum(row["output_tokens"] or 0 for row in told) == counted
