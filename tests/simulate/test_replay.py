"""A trace replayed: cache hits against what its hashes alone say, and against what the pipeline makes of telemetry."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from goodput.cli.main import app
from goodput.errors import TraceUnreadable
from goodput.simulate.demo import demo_settings
from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.day import Day
from goodput.simulate.emit.identity import identify
from goodput.simulate.emit.landing import otlp_files, write_files
from goodput.simulate.fleet.config import FleetConfig, Policy, PoolSpec
from goodput.simulate.replay import ENGINE, Fared, fared, read_trace, replay, room_for_all
from published import run_at

MOONCAKE = Path(__file__).parents[3] / "shared/data/mooncake-conversation.jsonl"
needs_trace = pytest.mark.skipif(not MOONCAKE.is_file(), reason="the shared trace is not beside this checkout")
Line = dict[str, object]


def reusable(lines: list[dict[str, list[int]]], replicas: int = 1) -> float:
    """Share of tokens in whole blocks that came before at the same of so many replicas, which take turns."""
    seen: dict[int, set[int]] = defaultdict(set)
    found = 0
    for number, line in enumerate(lines):
        whole = set(line["hash_ids"][: line["input_length"] // 512])
        found += len(whole & seen[number % replicas])
        seen[number % replicas] |= whole
    return 512 * found / sum(line["input_length"] for line in lines)


def conversations() -> Iterator[Line]:
    """Forty users of up to six turns each; the first block is common to all, ten requests share a tick of 3 s."""
    chance, hashes = random.Random(4), iter(range(1, 100_000))
    open_ = [[0, next(hashes)] for _ in range(40)]
    for number in range(200):
        blocks = open_[chance.randrange(40)]
        whole, rest = 512 * len(blocks), chance.randrange(1, 512)
        line = {"input_length": whole + rest, "output_length": chance.randrange(1, 90)}
        yield {"timestamp": number // 10 * 3000, **line, "hash_ids": [*blocks, next(hashes)]}
        blocks += [next(hashes) for _ in range(chance.randrange(1, 5))]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in conversations()))
    return path


def lines_of(path: Path) -> list[dict[str, list[int]]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_command_shows_what_hashes_say_where_nothing_is_forgotten(trace: Path) -> None:
    shown = CliRunner().invoke(app, ["replay", str(trace), "--kv-tokens", "10000000"])
    assert shown.exit_code == 0
    table = {line[:23].strip(): line[23:].split() for line in shown.stdout.splitlines()}
    lines = lines_of(trace)
    assert table["round-robin"] == [f"{reusable(lines, replicas):.1%}" for replicas in (1, 2, 4, 8)]
    assert table["one cache of all"] == table["cache without end"] == [f"{reusable(lines):.1%}"] * 4
    # each replica computes the first block, which all conversations share, for itself
    first_block = 512 / sum(line["input_length"] for line in lines)
    assert table["sticky"] == [f"{reusable(lines) - (replicas - 1) * first_block:.1%}" for replicas in (1, 2, 4, 8)]


def test_prompts_longer_than_the_memory_are_told_apart(trace: Path) -> None:
    shown = CliRunner().invoke(app, ["replay", str(trace), "--kv-tokens", "1024"])
    too_long = sum(line["input_length"] + line["output_length"] > 0.99 * 1024 for line in lines_of(trace))
    assert f"{too_long} prompts are longer than a replica's memory" in shown.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "truncated"),
        ('{"timestamp": 0, "input_length": 513, "output_length": 1, "hash_ids": [1]}', "2 blocks of 512, not 1"),
        ('{"timestamp": 0, "input_length": -1, "output_length": 1, "hash_ids": [1]}', ">= 1"),
        ('{"timestamp": 0, "input_length": 5, "hash_ids": [1]}', "output_length"),
    ],
)
def test_a_line_that_is_none_is_named(trace: Path, line: str, said: str) -> None:
    with trace.open("a") as stream:
        stream.write(line)
    with pytest.raises(TraceUnreadable, match=rf"trace\.jsonl, line 201: .*{said}"):
        read_trace(trace)


@needs_trace
def test_a_real_hour_between_its_bounds() -> None:
    arrivals = read_trace(MOONCAKE)[:1000]

    def hit_ratio(policy: Policy, replicas: int, kv_tokens: int) -> float:
        return fared(replay(arrivals, policy, replicas, kv_tokens)).hit_ratio or 0.0

    endless = hit_ratio("round-robin", 1, room_for_all(arrivals))
    assert endless == pytest.approx(reusable(lines_of(MOONCAKE)[:1000]), abs=1e-12)
    by_turns, by_prefix = (hit_ratio(policy, 4, 400_000) for policy in ("round-robin", "prefix-aware"))
    assert 0 < by_turns < by_prefix < hit_ratio("round-robin", 1, 4 * 400_000) < endless


@needs_trace
def test_the_pipeline_measures_the_hits_of_a_replayed_trace(tmp_path: Path) -> None:
    arrivals = read_trace(MOONCAKE)[:100]
    served = replay(arrivals, "prefix-aware", 2, ENGINE.kv_tokens)
    told = fared(served)
    rng, config = np.random.default_rng(1), FleetConfig((PoolSpec("chat", 2, ENGINE),), {})
    clock = Clock.from_start(datetime(2026, 11, 20, 9, tzinfo=UTC))
    day = Day(clock, 3600.0, config, served, identify(served, rng), [None] * len(arrivals))
    write_files(tmp_path / "landing", day, otlp_files(day, rng), rng, lambda _: None)
    (tmp_path / "goodput.toml").write_text(demo_settings())
    lake = run_at(tmp_path / "goodput.toml").lake
    table = lake.catalog["cache_by_replica"]
    days = [partition for partition in table.parts if "T" not in partition]
    rows = pl.read_parquet(table.files(days), hive_partitioning=False)
    measured = Fared(rows["input_tokens"].sum(), rows["cached_input_tokens"].sum(), 0)
    assert measured == told
    assert 0 < measured.hit_ratio < reusable(lines_of(MOONCAKE)[:100])
