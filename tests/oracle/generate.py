"""Random fleets: pools of replicas, models bought by the token, requests with retries and hedges, and their labels.

Values lie on the grid of the bounds, so that they often equal them.
"""

from random import Random
from typing import Any

from oracle.detail import detail
from oracle.emit import Replica, Stage, request_on
from oracle.engine import sample
from oracle.fleet import HOUR, MIDNIGHT_NS, Fleet, Row, S
from oracle.invoice import invoice
from oracle.judge import EVALUATORS, labels_of
from oracle.operate import operate
from oracle.spend import spend

SLICED_BY = (
    [],
    ["workload_tenant", "attributes.team"],
    ["workload_tenant", "tenant"],
    ["attributes.team", "workload_attributes.team"],
    ["attributes.team", "tenant", "workload_attributes.team", "workload_tenant"],
)


def random_fleet(seed: int) -> Fleet:
    """The fleet of a seed."""
    chance = Random(seed)
    stage = _stage(chance)
    fleet = Fleet(_settings(chance))
    for number in range(chance.choice([20, 60, 60, 150])):
        tries = request_on(stage, f"{number:032x}")
        fleet.records += [record for records in tries for record in records]
        fleet.labels += labels_of(chance, tries)
    spend(chance, stage, fleet)
    invoice(chance, stage, fleet)
    sample(chance, stage, fleet)
    operate(chance, stage, fleet)
    detail(chance, stage, fleet)
    return fleet


def _stage(chance: Random) -> Stage:
    replicas = []
    for n in range(chance.randint(1, 3)):
        model = chance.choice(["llama-8b", "llama-70b"])
        replicas += [Replica(f"p{n}-{m}", f"p{n}", model) for m in range(chance.randint(1, 3))]
    replicas += [Replica(None, None, "gpt-4o")] * chance.randint(0, 1)
    begins = MIDNIGHT_NS + chance.choice([9, 9, 22, 23]) * HOUR + chance.randrange(3600) * S
    return Stage(chance, replicas, begins, chance.choice([1200, 5000, 9000]) * S, chance.random() < 0.7)


def _settings(chance: Random) -> Row:
    return {
        "windows_s": chance.choice([[300, 3600, 86400], [300, 3600, 86400], [900, 3600], [300, 7200, 86400]]),
        "latency_origin": chance.choice(["request", "request", "attempt"]),
        "max_request_lifetime_s": 1800.0,
        "label_lateness_s": 7200.0,
        "long_context_tokens": chance.choice([8192, 500, 100]),
        "max_session_s": chance.choice([1800.0, 3600.0, 14400.0]),
        "slices": {
            "by": chance.choice(SLICED_BY),
            "max_values": chance.choice([1000, 1000, 1, 2]),
            "max_names": chance.choice([1000, 1000, 1, 2]),
        },
        "workloads": {f"w{n}": _workload(chance, n) for n in range(chance.randint(1, 3))},
    }


def _workload(chance: Random, number: int) -> Row:
    def maybe(**given: Any) -> Row:
        return {name: chance.choice(values) for name, values in given.items() if chance.random() < 0.5}

    matches: list[Row] = [{}, {"model": ["llama-*"]}, {"model": ["gpt*", "*70b"]}, {"tenant": ["t1"]}]
    match = chance.choice([*matches, {"attributes": {"team": ["red", "v*"]}}])
    match |= chance.choice([{}, {}, {"route": ["blue"]}, {"pool": ["p0", "p1"]}]) if number < 2 else {}
    missing = {gate: "pass" for gate in ("ttft", "tpot", "itl_p95", "jitter") if chance.random() < 0.4}
    workload = maybe(
        retry_budget=[0, 1],
        ttft_s=[0.5, 1.0],
        tpot_s=[0.05, 0.1],
        e2e_s=[2.0, 4.0],
        itl_p95_s=[0.1],
        jitter_s=[0.3],
        completion_window_s=[5.0],
    )
    quality = {
        "evaluators": chance.sample(EVALUATORS, chance.choice([0, 1, 1, 2])),
        "min_score": 0.5,
        "unlabelled": chance.choice(["estimate", "estimate", "estimate", "fail", "pass"]),
        "sampling": chance.choice(["random", "random", "random", "session", "none"]),
    }
    unit = chance.choice([{}, {}, {"unit": "session"}, {"unit": "session", "unit_label": "task"}])
    return {**workload, **unit, "match": match, "on_missing": missing} | (
        {"quality": quality} if chance.random() < 0.7 else {}
    )
