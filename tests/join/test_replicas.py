"""Which replica an attempt ran on, and which model it was, where its own record does not say.

See docs/semantics.md#which-replica.
"""

import random
from typing import Any

import pytest

from goodput.settings.model import ReplicaNames, ServedModel, Settings, Workload, WorkloadMatch
from river import Joined, Row, at_ns, join, key, record

TRACES = [f"{n:032x}" for n in range(1, 40)]


def call(n: int, address: str, replica: str | None, layer: str = "gateway", **given: Any) -> list[Row]:
    """A call to an address in a trace of its own, and the engine's record of it, if any."""
    start = given.pop("start", n * 10)
    engine = given.pop("engine", {})
    rows = [record(f"c{n}", start, start + 5, trace=TRACES[n], layer=layer, address=address, model="m", **given)]
    if replica:
        below = {"parent": f"c{n}", "trace": TRACES[n], "layer": "engine", "replica": replica, **engine}
        rows.append(record(f"e{n}", start + 1, start + 4, **below))
    return rows


def sample(replica: str, at: float = 60, model: str | None = "m", **given: Any) -> Row:
    """A reading of a gauge of a replica."""
    return {
        "record_id": f"{replica}:{at}:{model}",
        "series_id": f"{replica}:{model}",
        "source_id": "s2",
        "line": 1,
        "position": 0,
        "dialect": "vllm",
        "layer": "engine",
        "replica": replica,
        "model": model,
        "metric": "running_requests",
        "kind": "gauge",
        "emitted": "vllm:num_requests_running",
        "labels": "{}",
        "preference": 0,
        "sampled_ns": at_ns(at),
        "value": 1.0,
        **given,
    }


def replicas(joined: Joined) -> dict[str, str | None]:
    """The replica of each attempt by the number of its call."""
    return {name.partition(":")[2]: row["replica"] for name, row in joined.attempts.items()}


def test_what_a_client_calls_is_no_replica_and_what_a_gateway_calls_is_the_last_resort() -> None:
    rows = [*call(1, "10.0.0.1:8000", None, "client"), *call(2, "10.0.0.2:8000", None)]
    assert replicas(join(rows)) == {"c1": None, "c2": "10.0.0.2:8000"}


@pytest.mark.parametrize("layer", ["client", "gateway"])
def test_an_address_stands_for_the_replica_that_its_calls_reached(layer: str) -> None:
    rows = [*call(1, "a:1", "vllm-0", layer), *call(2, "a:1", None, layer), *call(3, "b:1", "vllm-1", layer)]
    assert replicas(join(rows)) == {"c1": "vllm-0", "c2": "vllm-0", "c3": "vllm-1"}


@pytest.mark.parametrize("layer", ["client", "gateway"])
def test_an_address_in_front_of_several_replicas_names_none(layer: str) -> None:
    rows = [*call(1, "a:1", "vllm-0", layer), *call(2, "a:1", "vllm-1", layer), *call(3, "a:1", None, layer)]
    assert replicas(join(rows)) == {"c1": "vllm-0", "c2": "vllm-1", "c3": None}


def test_an_address_is_learnt_from_the_hours_beside_and_from_no_others() -> None:
    rows = [
        *call(1, "a:1", "vllm-0", start=1800),
        *call(2, "a:1", None, start=3600 + 1800),
        *call(3, "a:1", None, start=2 * 3600 + 1800),
    ]
    assert replicas(join(rows)) == {"c1": "vllm-0", "c2": "vllm-0", "c3": "a:1"}


def test_a_call_id_that_two_tries_share_does_not_mix_their_addresses() -> None:
    rows = [
        *call(1, "a:1", "vllm-0"),
        record("t1", 20, 21, trace=TRACES[2], layer="gateway", address="a:1", call_id="K", outcome="error"),
        record("t2", 22, 25, trace=TRACES[2], layer="gateway", address="b:1", call_id="K"),
        record("e2", 23, 24, trace=TRACES[3], layer="engine", replica="vllm-1", call_id="K"),
        *call(4, "a:1", None),
    ]
    assert replicas(join(rows))["c4"] == "vllm-0"


def test_an_answer_s_id_leads_from_a_gateway_to_the_engine_that_it_called() -> None:
    rows = [
        record("g", 0, 5, trace=TRACES[1], layer="gateway", address="a:1", response_id="R"),
        record("e", 1, 4, trace=TRACES[2], layer="engine", replica="vllm-0", response_id="R"),
        *call(3, "a:1", None),
    ]
    assert replicas(join(rows))["c3"] == "vllm-0"


def test_names_of_one_process_are_one_replica() -> None:
    engine = {"replica_names": "vllm-0 u0 i0"}
    rows = [
        *call(1, "a:1", "vllm-0", engine=engine),
        record("e2", 20, 21, trace=TRACES[2], layer="engine", replica="u0"),
        record("e3", 30, 31, trace=TRACES[3], layer="engine", replica="i0"),
    ]
    assert replicas(join(rows)) == {"c1": "vllm-0", "e2": "vllm-0", "e3": "vllm-0"}


def test_a_name_that_two_replicas_have_stands_for_neither() -> None:
    rows = [
        *call(1, "a:1", "vllm-0", engine={"replica_names": "vllm-0 node-1"}),
        *call(2, "b:1", "vllm-1", engine={"replica_names": "vllm-1 node-1"}),
        record("e3", 30, 31, trace=TRACES[3], layer="engine", replica="node-1"),
    ]
    assert replicas(join(rows)) == {"c1": "vllm-0", "c2": "vllm-1", "e3": "node-1"}


def test_labels_of_metrics_say_which_pod_listens_at_an_address() -> None:
    labels = '{"pod": "vllm-0", "instance": "a:1"}'
    of_exporter = '{"exported_pod": "vllm-1", "pod": "dcgm-0", "instance": "b:1"}'
    samples = [sample("vllm-0", labels=labels), sample("vllm-1", labels=of_exporter), sample("vllm-2")]
    rows = [*call(1, "a:1", None, "client"), *call(2, "b:1", None, "client"), *call(3, "b:1", None)]
    assert replicas(join(rows, samples=samples)) == {"c1": "vllm-0", "c2": None, "c3": "b:1"}


def test_the_only_address_of_a_model_is_the_only_replica_that_serves_it() -> None:
    rows = [*call(1, "a:1", None), *call(2, "a:1", None, "client")]
    assert replicas(join(rows, samples=[sample("vllm-0"), sample("vllm-9", model="other")])) == {
        "c1": "vllm-0",
        "c2": "vllm-0",
    }
    assert replicas(join(rows, samples=[sample("vllm-0"), sample("vllm-1")])) == {"c1": "a:1", "c2": None}
    two = [*rows, *call(3, "b:1", None)]
    assert replicas(join(two, samples=[sample("vllm-0")])) == {"c1": "a:1", "c2": None, "c3": "b:1"}


def test_declared_names_come_before_what_is_learnt() -> None:
    settings = Settings(replicas={"mine": ReplicaNames(names=("a:1", "vllm-0", "x:1"))})
    rows = [
        *call(1, "a:1", "vllm-0"),
        *call(2, "a:1", None),
        *call(3, "x:1", None, "client"),
        record("e4", 30, 31, trace=TRACES[4], layer="engine", replica="u0"),
        *call(5, "b:1", "vllm-0", engine={"replica_names": "vllm-0 u0"}),
    ]
    assert set(replicas(join(rows, settings=settings)).values()) == {"mine"}


def test_order_and_copies_change_nothing() -> None:
    rows = [row for n in range(1, 30) for row in call(n, f"a:{n % 4}", f"vllm-{n % 3}" if n % 5 else None)]
    once = replicas(join(rows))
    copies = [row | {"source_id": "zz"} for row in rows[::3]]
    mixed = random.Random(3).sample(rows + copies, len(rows) + len(copies))
    assert replicas(join(mixed)) == once


MATCHING = Settings(workloads={"w": Workload(match=WorkloadMatch(model=("m*",)))})


@pytest.mark.parametrize(
    ("samples", "model", "found_in"),
    [
        ([], None, None),
        ([sample("vllm-0", model="m1")], "m1", "scrape"),
        ([sample("vllm-0", model="m1", at=-1800)], "m1", "scrape"),
        ([sample("vllm-0", model="m1", at=-2 * 3600)], None, None),
        ([sample("vllm-0", model="m1"), sample("vllm-0", model="m2")], None, None),
        ([sample("vllm-1", model="m1")], None, None),
    ],
    ids=["no metrics", "same hour", "hour before", "too far", "two models", "another replica"],
)
def test_a_model_that_no_record_names_is_that_of_the_replica(
    samples: list[Row], model: str | None, found_in: str | None
) -> None:
    joined = join([record("e", 0, 1, layer="engine", replica="vllm-0")], settings=MATCHING, samples=samples)
    assert (joined.attempt["model"], joined.attempt["model_from"], joined.request["model"]) == (model, found_in, model)
    assert joined.request["verdict"] == ("accepted" if model else "ungated")


def test_a_record_s_own_model_comes_first_and_the_settings_last() -> None:
    settings = Settings(
        served_models={"a": ServedModel(replica=("vllm-1",), model="s1"), "b": ServedModel(pool=("p*",), model="s2")}
    )
    rows = [
        record("e0", 0, 1, trace=TRACES[0], layer="engine", replica="vllm-0", pool="p1", model="r"),
        record("e1", 0, 1, trace=TRACES[1], layer="engine", replica="vllm-0", pool="p1"),
        record("e2", 0, 1, trace=TRACES[2], layer="engine", replica="vllm-1", pool="p1"),
        record("e3", 0, 1, trace=TRACES[3], layer="engine", replica="vllm-2", pool="p1"),
        record("e4", 0, 1, trace=TRACES[4], layer="engine", replica="vllm-2", pool="q"),
    ]
    joined = join(rows, settings=settings, samples=[sample("vllm-0", model="m1")])
    found = {
        n: (row["model"], row["model_from"]) for n in range(5) for row in [joined.attempts[key(f"e{n}", TRACES[n])]]
    }
    assert found == {
        0: ("r", "record"),
        1: ("m1", "scrape"),
        2: ("s1", "settings"),
        3: ("s2", "settings"),
        4: (None, None),
    }


def test_what_failed_before_its_engine_wrote_anything_failed_in_the_pool_of_its_replica() -> None:
    served = call(1, "10.0.0.1:8000", "pod-1", engine={"pool": "chat"})
    refused = call(2, "10.0.0.1:8000", None, outcome="error")
    later = call(3, "10.0.0.1:8000", None, start=3700, outcome="error")  # no record of the replica in that hour
    pools = {name.partition(":")[2]: row["pool"] for name, row in join([*served, *refused, *later]).attempts.items()}
    assert pools == {"c1": "chat", "c2": "chat", "c3": None}
    # of two pools none is the replica's own
    moved = call(4, "10.0.0.1:8000", "pod-1", engine={"pool": "batch"})
    assert join([*served, *moved, *refused]).attempts[f"{TRACES[2]}:c2"]["pool"] is None
