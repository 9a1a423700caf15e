"""Four thousand random requests, judged a second time in plain Python from the text of
docs/semantics.md#attempts-and-requests, #gates-and-verdicts, #quality."""

import math
from collections import Counter
from fnmatch import fnmatchcase
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from goodput.settings.model import Settings, Workload
from random_requests import Case, random_cases, random_settings
from river import START_NS, Row, join

OBSERVED_S = 3000.0
LATENCIES = ("ttft", "tpot", "e2e", "itl_p95", "jitter", "deadline")


def outermost(attempt: list[Row], name: str) -> Any:
    return next((row[name] for row in attempt if row[name] is not None), None)


def from_engine(attempt: list[Row], name: str) -> Any:
    return outermost(attempt[::-1], name)


def arrival(attempt: list[Row]) -> int:
    # an inner layer's intended send cannot be later than the send that the outer layer saw
    started, intended = int(attempt[0]["started_ns"]), outermost(attempt, "intended_ns")
    return started if intended is None else min(started, int(intended))


def outcome(attempt: list[Row]) -> str:
    return next((row["outcome"] for row in attempt if row["outcome"] != "unknown"), "unknown")


def delivering(case: Case) -> list[Row]:
    """The attempt whose answer the user had, else the last; tries below a recorded call are spoken for by the call."""
    callers = [attempt for attempt in case.tries if attempt[0]["layer"] == "client"]
    answered = [attempt for attempt in callers if outcome(attempt) == "ok"]
    # what began once an answer was there was asked because that answer was not had
    had = [
        attempt
        for attempt in answered
        if not any(
            other[0]["started_ns"] >= attempt[0]["ended_ns"] and other[0]["started_ns"] > attempt[0]["started_ns"]
            for other in answered
        )
    ]
    first = sorted(had, key=lambda attempt: (-attempt[0]["started_ns"], attempt[0]["record_id"]))
    return min(first, key=lambda attempt: attempt[0]["ended_ns"]) if first else callers[-1]


def workload_of(case: Case, settings: Settings) -> str:
    in_order = sorted(case.tries, key=lambda attempt: attempt[0]["started_ns"])

    def asked(name: str) -> str:
        return next((v for v in (outermost(attempt, name) for attempt in in_order) if v is not None), "")

    def selects(workload: Workload) -> bool:
        wanted = {"model": workload.match.model, "tenant": workload.match.tenant}
        return all(not globs or any(fnmatchcase(asked(n), glob) for glob in globs) for n, globs in wanted.items())

    return next((name for name, workload in settings.workloads.items() if selects(workload)), "unassigned")


def label_passed(label: Row, workload: Workload) -> bool | None:
    assert workload.quality is not None
    if label["passed"] is not None:
        return bool(label["passed"])
    if label["score"] is not None and workload.quality.min_score is not None:
        return bool(label["score"] >= workload.quality.min_score)
    return None if label["label"] is None else label["label"].lower() in workload.quality.pass_labels


def quality(case: Case, workload: Workload) -> bool | None:
    if workload.quality is None:
        return None
    revisions: dict[str, Row] = {}
    for label in sorted(case.labels, key=lambda label: label["labelled_ns"]):
        revisions[label["label_id"]] = label
    current: dict[str, Row] = {}
    for label in sorted(revisions.values(), key=lambda label: label["labelled_ns"]):
        if not label["withdrawn"]:
            current[label["evaluator"]] = label
    said = {name: label_passed(label, workload) for name, label in current.items()}
    named = workload.quality.evaluators or [name for name, passed in said.items() if passed is not None]
    drawn = workload.quality.unlabelled == "estimate" and workload.quality.sampling != "none"
    if drawn and any(said.get(name) is None for name in named):
        return None
    if any(said.get(name) is False for name in named):
        return False
    return True if named and all(said.get(name) for name in named) else None


def latencies(case: Case, settings: Settings) -> dict[str, float | Fraction | None]:
    attempt = delivering(case)
    first_arrival = min(arrival(attempt) for attempt in case.tries)
    origin = arrival(attempt) if settings.latency_origin == "attempt" else first_arrival
    ended, tokens = outermost(attempt, "ended_ns"), from_engine(attempt, "output_tokens")
    whole = outermost(attempt, "streamed") is False
    answered = outcome(attempt) == "ok"
    first = (ended if answered else None) if whole else outermost(attempt, "first_token_ns")
    if ended is None or (not whole and tokens == 0 and outcome(attempt) == "ok"):
        first = None
    ttft = None if first is None else (first - origin) / 1e9
    e2e = None if ended is None else (ended - origin) / 1e9
    known = None not in (ttft, e2e, tokens) and tokens > 1 and not whole and ended >= first
    return {
        "ttft": ttft,
        "e2e": e2e,
        "tpot": Fraction(ended - first, 10**9 * (tokens - 1)) if known else None,
        "itl_p95": outermost(attempt, "itl_p95_s"),
        "jitter": outermost(attempt, "jitter_s"),
        "deadline": None if ended is None else (ended - first_arrival) / 1e9,
    }


def nanoseconds(seconds: float | Fraction) -> Fraction:
    """Of a double, to whole nanoseconds; a fraction stays exact."""
    return seconds * 10**9 if isinstance(seconds, Fraction) else Fraction(round(seconds * 1e9))


def tries_in_all(case: Case) -> int:
    """See docs/semantics.md#which-tries-are-one-request: counts multiply within a try and add over tries."""
    hidden = len(case.tries) > 1 and case.tries[1][0]["parent_span_id"] == case.tries[0][0]["span_id"]
    tried = [case.tries[0][1:], *case.tries[1:]] if hidden else case.tries
    tried = sorted(tried, key=lambda records: records[-1]["started_ns"])
    own = [counted(records) for records in tried]
    count_on = own == list(range(1, len(own) + 1))
    return max(len(own) if count_on else sum(max(n, 1) for n in own), *(counted(records) for records in case.tries))


def counted(records: list[Row]) -> int:
    """What the layers of one attempt count, multiplied; 0 where none counts."""
    counts = [row["reported_attempts"] for row in records if row["reported_attempts"] is not None]
    return math.prod(max(n, 1) for n in counts) if counts else 0


def expected(case: Case, settings: Settings) -> Row:
    """What docs/semantics.md#attempts-and-requests, #gates-and-verdicts, #quality say of a request."""
    attempt, name = delivering(case), workload_of(case, settings)
    workload = settings.workloads.get(name, Workload())
    bounds = {"deadline": workload.completion_window_s} | {
        gate: getattr(workload, f"{gate}_s") for gate in LATENCIES if gate != "deadline"
    }
    values = latencies(case, settings)
    retries = tries_in_all(case) - 1
    unended = outermost(attempt, "ended_ns") is None
    arrived = min(arrival(attempt) for attempt in case.tries)
    in_flight = unended and arrived + settings.max_request_lifetime_s * 1e9 > START_NS + OBSERVED_S * 1e9
    tokens = from_engine(attempt, "output_tokens")
    single = (tokens is not None and tokens <= 1) or outermost(attempt, "streamed") is False
    tpot_na = workload.tpot_s is not None and single
    slow, unknown = set(), set()
    for gate, bound in bounds.items():
        value = values[gate]
        if bound is None or (gate == "tpot" and tpot_na):
            continue
        if value is None:
            if workload.on_missing.get(gate) != "pass":
                unknown.add(gate)
        elif nanoseconds(value) > nanoseconds(bound):
            slow.add(gate)
    failed = {"success"} if unended or outcome(attempt) != "ok" else set()
    over = {"retries"} if workload.retry_budget is not None and retries > workload.retry_budget else set()
    blocking = failed | over | slow | unknown
    passed, gated = quality(case, workload), workload.quality is not None
    verdicts = {
        "in_flight": in_flight,
        "failed": bool(failed),
        "ungated": name == "unassigned",
        "over_budget": bool(over),
        "slow": bool(slow),
        "rejected": passed is False,
        "unevaluable": bool(unknown),
        "unlabelled": gated and passed is None,
        "accepted": True,
    }
    return {
        "workload": name,
        "verdict": next(verdict for verdict, applies in verdicts.items() if applies),
        "attempts": len(case.tries),
        "retry_count": retries,
        "delivering_attempt_id": attempt[0]["record_id"],
        "pass_quality": passed,
        "needs_label": gated and not blocking and not in_flight,
        "tpot_na": tpot_na and not in_flight,
        "ttft_s": values["ttft"],
        "e2e_s": values["e2e"],
        "output_tokens": tokens,
        "model": outermost(attempt, "model"),
    }


@pytest.mark.parametrize("seed", range(4))
def test_sql_agrees_with_plain_python(seed: int) -> None:
    chance = Random(seed)
    settings = random_settings(chance)
    cases = random_cases(chance, 1000, 3000)
    joined = join(
        [row for case in cases for row in case.records],
        [label for case in cases for label in case.labels],
        settings=settings,
        observed_until_s=OBSERVED_S,
    )
    assert joined.requests.keys() == {case.request_key for case in cases}
    for case in cases:
        wanted, found = expected(case, settings), joined.requests[case.request_key]
        assert {name: found[name] for name in wanted} == wanted, case
        tpot = latencies(case, settings)["tpot"]
        assert found["tpot_s"] == (None if tpot is None else pytest.approx(float(tpot)))


def test_the_random_requests_reach_every_verdict() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        chance = Random(seed)
        settings = random_settings(chance)
        seen.update(expected(case, settings)["verdict"] for case in random_cases(chance, 1000, 3000))
    assert len(seen) == 9
    assert min(seen.values()) >= 5
