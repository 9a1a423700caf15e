"""`goodput explain`: one request of each verdict, word for word, and every way to name a request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.cases import SHARED_TRACE, TRACE
from goodput.ask.gates import LATENCIES, gates, headline
from goodput.ask.request_record import RequestRecord
from goodput.settings.gates import GATES

Run = Callable[..., Any]
GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_each_verdict_is_explained_word_for_word(goodput: Run, golden: Path) -> None:
    printed = goodput("explain", golden.stem).stdout
    assert [line.rstrip() for line in printed.splitlines()] == golden.read_text().splitlines()


def test_there_is_a_golden_text_for_every_verdict() -> None:
    verdicts = {path.read_text().partition(":")[0] for path in GOLDEN.glob("*.txt")}
    assert verdicts == {
        *("accepted", "failed", "in_flight", "over_budget", "rejected", "slow", "unevaluable", "unlabelled"),
    }


@pytest.mark.parametrize(
    "key",
    [
        "req-accepted",
        "req-accepted/0",
        "req-accepted\r\n",
        TRACE,
        TRACE.upper(),
        "c000000000000001",
        f"{TRACE}:e000000000000003",
        "E000000000000003",
        "chatcmpl-1",
    ],
)
def test_a_request_is_found_by_any_id_of_it(goodput: Run, key: str) -> None:
    assert json.loads(goodput("explain", key, "--format", "json").stdout)["request_key"] == "req-accepted"


def test_a_key_of_several_requests_asks_to_choose(goodput: Run) -> None:
    failed = goodput("explain", SHARED_TRACE)
    assert failed.returncode == 2
    assert failed.stderr.splitlines() == [
        f"'{SHARED_TRACE}' names 2 requests:",
        "  req-rejected  2026-11-20T09:04:00Z  rejected",
        "  req-unlabelled  2026-11-20T09:06:00Z  unlabelled",
        "Choose one of them: goodput explain REQUEST_KEY",
    ]


def test_an_unknown_key_ends_with_1(goodput: Run) -> None:
    failed = goodput("explain", "nosuch")
    assert failed.returncode == 1
    assert "no request, attempt, trace, span or response is called 'nosuch'." in failed.stderr


def test_json_carries_what_the_text_says(goodput: Run) -> None:
    printed = json.loads(goodput("explain", "req-accepted", "--format", "json").stdout)
    assert printed["verdict"] == "accepted"
    assert printed["gates"][3] == {
        "gate": "tpot",
        "measured": 0.04,
        "bound": 0.05,
        "result": "pass",
        "decided": False,
    }
    [tried] = printed["attempts"]
    assert [record["layer"] for record in tried["records"]] == ["client", "gateway", "engine"]
    assert tried["records"][0]["path"] == "spans.jsonl"
    assert (tried["records"][0]["line"], tried["records"][0]["position"]) == (7, 2)
    facts = {fact["fact"]: fact for fact in tried["facts"]}
    assert facts["output_tokens"] == {
        "fact": "output_tokens",
        "value": 101,
        "layer": "engine",
        "place": "spans.jsonl:1",
        "rule": None,
        "others": [{"layer": "client", "value": 100, "place": "spans.jsonl:7 #2"}],
    }
    assert facts["replica"]["others"] == [{"layer": "gateway", "value": "10.0.0.7", "place": "spans.jsonl:3 #1"}]
    assert [label["state"] for label in printed["labels"]] == ["superseded", "current", "withdrawn"]


def test_what_telemetry_says_cannot_steer_the_terminal(goodput: Run) -> None:
    printed = goodput("explain", "[red]evil\x1b[2J").stdout
    assert printed.startswith("ungated: no workload of the settings selects it, so no gate judged the answer")
    assert "request  [red]evil\\x1b[2J, workload unassigned" in printed
    assert "\x1b" not in printed


def test_a_gate_between_tokens_points_to_the_window_where_no_request_has_it() -> None:
    request = dict.fromkeys([f"pass_{gate}" for gate in GATES]) | {
        **{"verdict": "unevaluable", "outcome": "ok", "pass_success": True, "retry_count": 0, "tpot_na": False},
        **dict.fromkeys(LATENCIES.values()),
    }
    for bounds, points in (({"itl_p95": 0.05}, True), ({"ttft": 0.5}, False)):
        record = RequestRecord(request, bounds, frozenset(), [], {}, [], [], [])
        printed = headline(record, gates(record))
        assert printed.startswith(f"unevaluable: no source measured {next(iter(bounds))}, for which a bound is set")
        assert ("itl_s in relation replica_histograms" in printed) == points


def test_a_gate_that_passes_unmeasured_decides_nothing() -> None:
    request = dict.fromkeys([f"pass_{gate}" for gate in GATES]) | {
        **{"verdict": "unevaluable", "outcome": "ok", "pass_success": True, "retry_count": 0, "tpot_na": False},
        **dict.fromkeys(LATENCIES.values()),
    }
    bounds: dict[str, float | None] = {"ttft": 0.5, "jitter": 0.1}
    record = RequestRecord(request, bounds, frozenset({"ttft"}), [], {}, [], [], [])
    found = {gate.gate: gate for gate in gates(record)}
    assert (found["ttft"].result, found["ttft"].decided) == ("not measured, passes", False)
    assert (found["jitter"].result, found["jitter"].decided) == ("not measured", True)
    assert "ttft" not in headline(record, gates(record))


@pytest.mark.parametrize(
    ("by", "queue_s", "said"),
    [
        ("queue", 0.8, "; in time but for its 0.8 s in the engine's queue"),
        ("retries", 0.8, "; in time but for earlier tries and its 0.8 s in the engine's queue"),
        ("retries", None, "; in time but for earlier tries"),
        ("work", 0.8, "; late without its 0.8 s in the engine's queue too"),
        ("work", None, ""),  # late between tokens, and nobody reports the queue
        ("work", 0.0, ""),
        ("prefill", 0.8, "; its prefill alone took longer than that"),
        (None, None, ""),
    ],
)
def test_of_a_slow_request_it_is_said_what_alone_made_it_late(by: str | None, queue_s: float | None, said: str) -> None:
    request = dict.fromkeys([f"pass_{gate}" for gate in GATES]) | {
        **{"verdict": "slow", "outcome": "ok", "pass_success": True, "retry_count": 0, "tpot_na": False},
        **{**dict.fromkeys(LATENCIES.values()), "pass_ttft": False, "ttft_s": 1.5},
        **{"late_by": by, "queue_s": queue_s},
    }
    record = RequestRecord(request, {"ttft": 1.0}, frozenset(), [], {}, [], [], [])
    assert headline(record, gates(record)) == f"slow: ttft 1.5 s is over its bound of 1 s{said}"
