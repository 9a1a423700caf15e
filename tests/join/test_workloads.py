"""Which workload a request belongs to: the first of the settings that selects it.

See docs/semantics.md#gates-and-verdicts.
"""

import json
from collections.abc import Mapping
from typing import Any

from goodput.settings.model import Settings, Workload, WorkloadMatch
from river import Row, join, key, record


def workloads(matches: Mapping[str, Mapping[str, Any]], *requests: Row) -> list[str]:
    """The workload of each request, in order; `requests` are facts of one attempt each."""
    settings = Settings(workloads={name: Workload(match=WorkloadMatch(**match)) for name, match in matches.items()})
    rows = [record(f"r{n:02d}", n, n + 1, request_key=f"{n:02d}", **facts) for n, facts in enumerate(requests)]
    joined = join(rows, settings=settings)
    assert {row["request_key"]: row["workload"] for row in joined.attempts.values()} == {
        name: row["workload"] for name, row in joined.requests.items()
    }
    return [joined.requests[name]["workload"] for name in sorted(joined.requests)]


def test_globs_select() -> None:
    seen = [
        {"model": name}
        for name in ("llama-3-8b", "LLAMA", "meta/llama-3", None, "llama", "gpt-[45]-mini", "gpt-4-mini")
    ]
    matches = {
        "exact": {"model": "llama"},
        "open": {"model": "llama*"},
        "any": {"model": "*/llama-?"},
        "some": {"model": "gpt-[45]*"},
    }
    assert workloads(matches, *seen) == ["open", "unassigned", "any", "unassigned", "exact", "some", "unassigned"]


def test_a_name_matches_itself_whatever_it_is_written_with() -> None:
    names = ["node[1]", "a\\b", "50%", "a_b", "müller", "^a.$"]
    seen: list[Row] = [
        row for name in names for row in ({"tenant": name}, {"attributes": json.dumps({"app.kind": name})})
    ]
    strict = {"by_tenant": {"tenant": names}, "by_kind": {"attributes": {"app.kind": names}}, "rest": {}}
    assert workloads(strict, *seen) == ["by_tenant", "by_kind"] * len(names)
    assert workloads({"strict": {"tenant": ["m?ller"]}, "rest": {}}, {"tenant": "müller"}) == ["strict"]


def test_a_list_of_globs_selects_any_of_them() -> None:
    seen = [{"model": "a1"}, {"model": "b"}, {"model": "b1"}]
    assert workloads({"w": {"model": ["a*", "b"]}}, *seen) == ["w", "w", "unassigned"]


def test_every_key_that_is_given_must_match() -> None:
    match = {"model": "m", "route": "r*", "pool": "p", "tenant": ["t1", "t2"]}
    good: Row = {"model": "m", "route": "r9", "pool": "p", "tenant": "t2"}
    seen = [good, *({**good, name: "other"} for name in good), *({**good, name: None} for name in good)]
    assert workloads({"w": match}, *seen) == ["w"] + ["unassigned"] * 8


def test_the_first_workload_that_matches_wins() -> None:
    seen = [{"model": "a"}, {"model": "b"}]
    assert workloads({"z": {"model": "a"}, "a": {}}, *seen) == ["z", "a"]
    assert workloads({"a": {}, "z": {"model": "a"}}, *seen) == ["a", "a"]


def test_attributes_select() -> None:
    match = {"attributes": {"app.kind": ["chat", "voice*"], "tier": "1"}}
    seen: list[Row] = [
        {"attributes": '{"app.kind": "chat", "tier": "1", "x": "y"}'},
        {"attributes": '{"app.kind": "voice-nl", "tier": "1"}'},
        {"attributes": '{"app.kind": "chat", "tier": "2"}'},
        {"attributes": '{"app.kind": "chat"}'},
        {"attributes": '{"app": {"kind": "chat"}, "tier": "1"}'},
        {"attributes": None},
    ]
    assert workloads({"w": match}, *seen) == ["w", "w"] + ["unassigned"] * 4


def test_what_no_workload_selects_is_ungated_and_never_accepted() -> None:
    joined = join([record("c", 0, 999)])
    assert joined.request["workload"] == "unassigned"
    assert joined.request["verdict"] == "ungated"
    gates = ("retries", "ttft", "tpot", "e2e", "itl_p95", "jitter", "deadline", "quality")
    assert {joined.request[f"pass_{gate}"] for gate in gates} == {None}


def test_a_request_is_selected_by_what_was_asked_not_by_the_fallback() -> None:
    settings = Settings(
        workloads={
            "big": Workload(match=WorkloadMatch(model="big")),
            "small": Workload(match=WorkloadMatch(model="small")),
        }
    )
    joined = join(
        [
            record("a", 0, 1, request_key="K", model="big", outcome="error"),
            record("b", 2, 3, request_key="K", model="small"),
        ],
        settings=settings,
    )
    assert {row["workload"] for row in joined.attempts.values()} == {"big"}
    assert joined.request["workload"] == "big"
    assert joined.request["model"] == "small"  # the delivering attempt's


def test_what_no_workload_selects_may_still_fail_or_be_in_flight() -> None:
    rows = [record("f", 0, 1, outcome="error"), record("o", 0, 1), record("i", 5, None, outcome="unknown")]
    elsewhere = Settings(workloads={"w": Workload(match=WorkloadMatch(model=("none",)))})
    joined = join(rows, settings=elsewhere, observed_until_s=60)
    verdicts = {name: row["verdict"] for name, row in joined.requests.items()}
    assert verdicts == {key("f"): "failed", key("o"): "ungated", key("i"): "in_flight"}
    # no gate's removal would accept it
    assert {row["sole_failing_gate"] for row in joined.requests.values()} == {None}
    assert not any(row["needs_label"] for row in joined.requests.values())
