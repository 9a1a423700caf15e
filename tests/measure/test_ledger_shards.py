"""The ledger of hours whose attempts are charged in shards: byte by byte that of all attempts at once.

See docs/scale.md#an-hour-that-is-cut.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from by_seconds import Record, Try
from charging import BEGIN_S, HOUR, REPLICAS, attempt_row, record_row, request_row, sample_rows
from goodput.measure.ledger_shards import LEDGER_IN_SHARDS
from goodput.measure.nodes import COST_LEDGER, KNOWN_REPLICAS
from goodput.plumbing.assembly import assemble
from goodput.plumbing.catalog import ALL
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Batch, Context
from goodput.plumbing.runner import InProcess
from goodput.plumbing.sharded import in_shards, is_cut
from goodput.plumbing.work import ComputedBatch, Done, work
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.settings.cluster import Cluster
from goodput.settings.model import Costs, Rate, Settings
from lakes import by_hour, observe, put
from runners.fleet import land

HOURS = tuple(hour_label(HOUR + n) for n in range(2))
Tables = Mapping[str, pa.Table]
Row = dict[str, Any]


# Batches, at once and in shards.


def tables_of(done: Done) -> Tables:
    assert isinstance(done, ComputedBatch), done
    return {
        table: pa.concat_tables(pq.ParquetFile(part.path).read() for _, part in sorted(parts.items()))
        for table, parts in done.parts.items()
    }


def in_so_many(batch: Batch, count: int) -> Tables:
    node = replace(COST_LEDGER, shards=replace(LEDGER_IN_SHARDS, count=lambda _: count))
    ((_, done),) = in_shards([replace(batch, node=node)], InProcess())
    return tables_of(done)


def assert_same(found: Tables, expected: Tables) -> None:
    for table in COST_LEDGER.tables:
        assert found[table].equals(expected[table]), table


# A fleet with everything: see `write_demo`.


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace(land(tmp_path_factory.mktemp("fleet"), hours=4.0, requests=2000))
    run(workspace, deliver=False)
    return workspace


@pytest.mark.parametrize(("hours", "count"), [(1, 2), (3, 7)])
def test_hours_in_shards_are_the_hours_at_once(fleet: Workspace, hours: int, count: int) -> None:
    made = sorted(fleet.lake.catalog["cost_ledger"].parts)[1 : 1 + hours]
    batch = assemble(Context(fleet.lake, fleet.settings), COST_LEDGER, dict.fromkeys(made, "0" * 32))
    expected = tables_of(work(batch))
    assert all(rows.num_rows for rows in expected.values())
    assert_same(in_so_many(batch, count), expected)


def test_hours_are_cut_where_they_have_more_attempts_than_a_shard(fleet: Workspace) -> None:
    hour = sorted(fleet.lake.catalog["attempts"].parts)[1]
    attempts = sum(part.rows for part in fleet.lake.catalog["attempts"].parts[hour])
    for most, is_too_large in ((None, False), (attempts, False), (attempts - 1, True)):
        # the settings refuse shards as small as these
        cluster = Cluster.model_construct(workers=1, ray=None, shard_records=most)
        settings = fleet.settings.model_copy(update={"cluster": cluster})
        batch = assemble(Context(fleet.lake, settings), COST_LEDGER, {hour: "0" * 32})
        assert is_cut(batch) is is_too_large


# Random fleets, with bills for all that a bill may be for.


def random_try(chance: Random, number: int) -> Row:
    replica = chance.choice([*REPLICAS, None, None])
    start = chance.randrange(-600, 7800)
    given = chance.randrange(1, 500)
    bucket = chance.choice(["accepted", "slow", "failed", "retry", "abandoned"])
    attempt = Try(
        f"t{number}",
        bucket,
        start,
        start + chance.choice([0, 20, 900, 4000]),
        replica,
        REPLICAS[replica] if replica else chance.choice([None, "p1", "p9"]),
        "m" if replica else chance.choice(["api", "api", "other"]),
        chance.choice([None, (given, chance.randrange(given), chance.randrange(200))]),
        chance.choice([None, 0, 30]),
        chance.choice([None, (50, 20)]),
    )
    more = {
        "engine_seen": replica is not None and chance.random() < 0.8,
        "streamed": chance.random() < 0.5,
        "tenant": chance.choice(["x", "y", None]),
        "reported_cost_usd": chance.choice([None, 0.01]),
    }
    if attempt.bucket == "abandoned" and chance.random() < 0.5:  # one that waited in vain
        more |= {"output_tokens": None, "input_tokens": None, "first_token_ns": None, "streamed": True}
    elif chance.random() < 0.5:
        more["first_token_ns"] = (BEGIN_S + start) * 10**9 + chance.randrange(10**9)
    return attempt_row(attempt, **more)


def random_record(chance: Random, number: int) -> Row:
    target: dict[str, Any] = chance.choice(
        [
            *({"replica": "a", "pool": "p1"}, {"pool": "p2"}, {"pool": "p9"}, {"model": "api"}, {"model": "unknown"}),
            *({"request_key": f"t{chance.randrange(60)}"}, {"request_key": "nobody's"}, {}),
        ]
    )
    start, basis = chance.randrange(-600, 7800), chance.choice(["billing", "allocation", "rate_card"])
    record = Record(chance.uniform(-1, 100), start, start + chance.choice([0, 300, 5000]), basis=basis, **target)
    more = chance.choice([{}, {}, {"basis": "overhead", "replica": None, "tenant": "x"}])
    return record_row(number, record) | {"session_id": None} | more


def counters(chance: Random) -> list[Row]:
    metrics = ("preemptions", "draft_tokens", "accepted_draft_tokens", "prefix_cache_queried_tokens")
    return [
        {
            **{"replica": replica, "pool": REPLICAS[replica], "layer": "engine", "kind": "counter"},
            **{"metric": metric, "value": 0.0, "increase": float(chance.randrange(1000)), "interval_s": 60.0},
            "sampled_ns": (BEGIN_S + second) * 10**9,
        }
        for replica in ("a", "c")
        for metric in metrics
        for second in range(60, 7200, 60)
    ]


def lake_of(chance: Random, folder: Path) -> Lake:
    attempts = [random_try(chance, number) for number in range(60)]
    requests = [request_row(row) | {"tenant": row["tenant"]} for row in attempts if row["verdict"] is not None]
    samples = [row for replica in ("a", "b") for row in sample_rows(replica, REPLICAS[replica], -300, 6000)]
    lake = Lake(folder / "lake")
    for hour, rows in by_hour(attempts, "ended_ns").items():
        put(lake, "attempts", hour, rows)
    for hour, rows in by_hour([row | {"ns": row["ended_at"] * 1000} for row in requests], "ns").items():
        put(lake, "requests", hour, rows)
    for hour, rows in by_hour(samples + counters(chance), "sampled_ns").items():
        put(lake, "replica_samples", hour, rows)
    put(lake, "cost_records", ALL, [random_record(chance, number) for number in range(25)])
    price = {"model": "api", "valid_from": 0, "input_token_usd": 1e-6, "output_token_usd": 4e-6}
    put(lake, "token_prices", ALL, [price] if chance.random() < 0.5 else [])
    observe(lake, BEGIN_S * 10**9, BEGIN_S * 10**9 + 3 * HOUR_NS)
    return lake


@pytest.mark.parametrize("seed", range(6))
def test_random_hours_in_shards_are_the_hours_at_once(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    lake = lake_of(chance, tmp_path)
    rates = {"p1": Rate(pool=("p1",), usd_per_gpu_hour=3.0)} if seed % 2 else {}
    context = Context(lake, Settings(costs=Costs(step_s=300), windows_s=(300,), rates=rates))
    around = {hour_label(HOUR + n): "0" * 32 for n in range(-1, 4)}
    known = tables_of(work(assemble(context, KNOWN_REPLICAS, around)))["known_replicas"]
    for hour, rows in by_hour([row | {"ns": row["epoch_hour"] * HOUR_NS} for row in known.to_pylist()], "ns").items():
        put(lake, "known_replicas", hour, rows)
    batch = assemble(context, COST_LEDGER, dict.fromkeys(HOURS, "0" * 32))
    expected = tables_of(work(batch))
    assert expected["cost_ledger"].num_rows > 60
    for count in (2, 5, 40):  # some without an attempt
        assert_same(in_so_many(batch, count), expected)
