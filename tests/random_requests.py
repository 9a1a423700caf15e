"""Random requests of every shape as serving records and labels, with what was asked and done kept in plain dicts.

Times lie on a grid of 50 ms, as the bounds of `random_settings` do, so that values often equal their bound.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from goodput.settings.model import Quality, Settings, Workload, WorkloadMatch
from river import START_NS, Row

GRID_NS = 50_000_000
MODELS = ("llama-8b", "llama-70b", "gpt-4o", None)
EVALUATORS = ("help", "safe", "style")


@dataclass(frozen=True)
class Case:
    """One request: its tries in order, each the records of one attempt from the outermost in, and its labels."""

    request_key: str
    tries: list[list[Row]]
    labels: list[Row] = field(default_factory=list)

    @property
    def records(self) -> list[Row]:
        """Every record of the request."""
        return [row for records in self.tries for row in records]


def random_settings(chance: Random) -> Settings:
    """One to three workloads with random gates; `unassigned` takes the rest."""

    def maybe(*values: Any) -> Any:
        return chance.choice([None, *values])

    def quality() -> Quality:
        return Quality(
            evaluators=tuple(chance.sample(EVALUATORS, chance.randint(0, 2))),
            min_score=maybe(0.5),
            unlabelled=chance.choice(["estimate", "fail", "pass"]),
        )

    def workload() -> Workload:
        return Workload(
            match=WorkloadMatch(
                model=chance.choice([(), ("llama-*",), ("gpt*", "*70b")]),
                tenant=chance.choice([(), (), ("t1",)]),
            ),
            retry_budget=maybe(0, 1),
            ttft_s=maybe(0.5, 1.0),
            tpot_s=maybe(0.05, 0.1),
            e2e_s=maybe(2.0, 4.0),
            itl_p95_s=maybe(0.1),
            jitter_s=maybe(0.3),
            completion_window_s=maybe(6.0),
            on_missing={gate: "pass" for gate in ("ttft", "tpot", "e2e", "itl_p95", "jitter") if chance.random() < 0.3},
            quality=chance.choice([None, quality(), quality()]),
        )

    return Settings(
        workloads={f"w{n}": workload() for n in range(chance.randint(1, 3))},
        latency_origin=chance.choice(["request", "request", "attempt"]),
        max_request_lifetime_s=1800.0,
    )


def random_cases(chance: Random, count: int, span_s: int) -> list[Case]:
    """`count` requests that arrive within `span_s` seconds after START_S."""
    return [_case(chance, n, chance.randrange(span_s * 20)) for n in range(count)]


def _case(chance: Random, number: int, start: int) -> Case:
    shape = chance.choice(["alone", "alone", "alone", "unended", "key", "sibling", "hidden"])
    tries = _SHAPES[shape](chance, f"{number:032x}", start)
    named = tries[0][0]["request_key"]
    case = Case(named or tries[0][0]["record_id"], tries)
    return Case(case.request_key, tries, _labels(chance, case))


def _alone(chance: Random, trace: str, start: int) -> list[list[Row]]:
    return [_attempt(chance, trace, "a", start, _any_outcome(chance))]


def _unended(chance: Random, trace: str, start: int) -> list[list[Row]]:
    client = _record(chance, trace, "a", start, "unknown")
    return [[client | dict.fromkeys(("ended_ns", "e2e_s", "first_token_ns", "ttft_s"))]]


def _keyed(chance: Random, trace: str, start: int) -> list[list[Row]]:
    """Tries with one configured key in traces of their own, some of them at once, any of which answer."""
    count = chance.randint(2, 3)
    tries = []
    for n in range(count):
        attempt = _attempt(chance, f"{n + 1}{trace[1:]}", "a", start, chance.choice(["ok", _failure(chance)]))
        tries.append([{**attempt[0], "request_key": f"key-{trace}"}, *attempt[1:]])
        start += chance.randint(1, 60)
    return tries


def _siblings(chance: Random, trace: str, start: int) -> list[list[Row]]:
    """Tries under one parent span, each after the failure of the one before."""
    count, tries = chance.randint(2, 3), []
    for n in range(count):
        outcome = _any_outcome(chance) if n == count - 1 else _failure(chance)
        tries.append(_attempt(chance, trace, f"a{n}", start, outcome, parent="f" * 16))
        start = (tries[-1][0]["ended_ns"] - START_NS) // GRID_NS + chance.randint(1, 40)
    return tries


def _hidden(chance: Random, trace: str, start: int) -> list[list[Row]]:
    """One call with several engine tries below it, one of which belongs to the call.

    It is the last unless others answered; of tries that answered at once it is the one with whose end the call ended.
    """
    caller = _record(chance, trace, "a", start, _any_outcome(chance))
    tries = [
        _record(chance, trace, f"e{n}", start + n + 1, chance.choice(["ok", "error"]), layer="engine", parent="a")
        for n in range(chance.randint(2, 3))
    ]
    answered = [row for row in tries if row["outcome"] == "ok"]
    if answered:
        last = max(row["started_ns"] for row in answered)
        had = [row for row in answered if row["ended_ns"] > last or row["started_ns"] == last]
        passed_on = min(had[::-1], key=lambda row: (abs(row["ended_ns"] - caller["ended_ns"]), row["ended_ns"]))
    else:
        passed_on = tries[-1]
    return [[caller, passed_on], *([row] for row in tries if row is not passed_on)]


_SHAPES = {"alone": _alone, "unended": _unended, "key": _keyed, "sibling": _siblings, "hidden": _hidden}


def _any_outcome(chance: Random) -> str:
    return chance.choice(["ok"] * 9 + ["error", "timeout", "cancelled", "unknown"])


def _failure(chance: Random) -> str:
    return chance.choice(["error", "timeout", "cancelled"])


def _attempt(chance: Random, trace: str, span: str, start: int, outcome: str, **given: Any) -> list[Row]:
    client = _record(chance, trace, span, start, outcome, **given)
    if chance.random() < 0.5:
        return [client]
    length = (client["ended_ns"] - client["started_ns"]) // GRID_NS
    said = chance.choice(["ok", "error"])
    return [client, _record(chance, trace, f"{span}e", start, said, length=length, layer="engine", parent=span)]


def _record(chance: Random, trace: str, span: str, start: int, outcome: str, **given: Any) -> Row:
    length = given["length"] if "length" in given else chance.randint(0, 120)
    first = chance.choice([None, chance.randint(0, min(length, 25))])
    early = chance.choice([None, None, None, chance.randint(0, 10)])
    started = START_NS + start * GRID_NS
    return {
        "record_id": f"{trace}:{span}",
        "source_id": "s1",
        "line": 1,
        "position": 0,
        "dialect": "test",
        "layer": given.get("layer", "client"),
        "trace_id": trace,
        "span_id": span,
        "parent_span_id": given.get("parent"),
        "request_key": None,
        "response_id": f"resp-{trace}-{span}",
        "started_ns": started,
        "intended_ns": None if early is None else started - early * GRID_NS,
        "first_token_ns": None if first is None else started + first * GRID_NS,
        "ended_ns": started + length * GRID_NS,
        "ttft_s": None if first is None else first * GRID_NS / 1e9,
        "e2e_s": length * GRID_NS / 1e9,
        "outcome": outcome,
        "streamed": chance.choice([None, None, True, False]),
        "model": chance.choice(MODELS),
        "tenant": chance.choice(["t1", "t2", None]),
        "pool": chance.choice(["p1", "p2", None]),
        "route": chance.choice(["blue", "green", None]),
        "queue_s": chance.choice([None, chance.randint(0, 20) / 20]),
        "itl_p95_s": chance.choice([None, chance.randint(0, 4) / 20]),
        "jitter_s": chance.choice([None, chance.randint(0, 8) / 20]),
        "output_tokens": chance.choice([None, 0, 1, 2, 21, 41]),
        "reported_attempts": chance.choice([None] * 8 + [0, 1, 2, 3]),
    }


def _labels(chance: Random, case: Case) -> list[Row]:
    """Up to four labels at different times after the request, some of them revised or withdrawn."""
    over = max(row["ended_ns"] or row["started_ns"] for row in case.records)
    revisions = [chance.choice([1, 1, 1, 2]) for _ in range(chance.choice([0, 0, 1, 1, 2, 4]))]
    return [row for n, count in enumerate(revisions) for row in _revisions(chance, case, n, count, over)]


def _revisions(chance: Random, case: Case, number: int, count: int, over_ns: int) -> list[Row]:
    judged = chance.choice(case.records)
    subjects = {
        "span": judged["record_id"],
        "response": judged["response_id"],
        "request": case.request_key,
        "trace": judged["trace_id"],
    }
    kind = chance.choice(list(subjects))
    label_id = f"{case.request_key}/label{number}"
    return [
        {
            "record_id": f"{label_id}@{revision}",
            "label_id": label_id,
            "source_id": "l1",
            "line": 1,
            "position": 0,
            "dialect": "test",
            "subject_kind": kind,
            "subject_id": subjects[kind],
            "evaluator": EVALUATORS[number % 3],
            "labelled_ns": over_ns + (number + 5 * revision) * GRID_NS,
            "withdrawn": revision > 0 and chance.random() < 0.5,
            "passed": chance.choice([None, True, False]),
            "score": chance.choice([None, 0.4, 0.5, 0.6]),
            "label": chance.choice([None, "Pass", "fail"]),
        }
        for revision in range(count)
    ]
