"""Declared table files: hand-worked and real ones give the counts that are known of them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collect.discovered import discover
from collect.tables import T0, Outcome
from goodput.collect.tabular import read_table
from goodput.settings.model import FileLimits, Settings
from goodput.settings.sources import TableSource

BENCH = Path(__file__).parent.parent / "data/bench"
SHARED = Path(__file__).parent.parent.parent.parent / "shared/data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not beside this checkout")


BENCH_SOURCE = {
    "format": "csv",
    "path": "*_output_*.csv",
    "path_pattern": r"(?P<route>.+)_output_(?P<offered_rps>[0-9.]+)\.csv",
    "constants": {"pool": "demo", "outcome": "ok"},
    "columns": {
        "started_at": {"column": "launch_time", "unit": "epoch_s"},
        "ended_at": {"column": "finish_time", "unit": "epoch_s"},
        "ttft_s": {"column": "ttft", "unit": "s"},
        "input_tokens": "prompt_tokens",
        "output_tokens": "generation_tokens",
        "session_id": "user_id",
    },
}


def accepted(rows: pl.DataFrame) -> dict[str, tuple[int, int, int]]:
    """Per route: requests, those with ttft <= 1.0 s and tpot <= 0.05 s, output tokens of those."""
    e2e_s = (pl.col("ended_ns") - pl.col("started_ns")) / 1e9
    tpot_s = (e2e_s - pl.col("ttft_s")) / (pl.col("output_tokens") - 1)
    meets = (pl.col("ttft_s") <= 1.0) & ((pl.col("output_tokens") <= 1) | (tpot_s <= 0.05))
    counted = rows.group_by("route").agg(
        pl.len().alias("n"),
        meets.sum().alias("ok"),
        pl.col("output_tokens").filter(meets).sum().alias("tokens"),
    )
    return {row["route"]: (row["n"], row["ok"], row["tokens"]) for row in counted.to_dicts()}


def read_folder(folder: Path, source: dict[str, Any]) -> pl.DataFrame:
    settings = Settings.model_validate({"landing": str(folder), "sources": {"bench": source}})
    found = discover(settings)
    frames = []
    for file in found.files:
        if file.reader == "bench":
            for block in read_table(file, settings.sources["bench"], settings.limits):
                assert block.refused == []
                frames.append(block.tables["serving_records"])
    return pl.concat(frames)


def test_hand_worked_files_give_the_hand_worked_counts() -> None:
    rows = read_folder(BENCH, BENCH_SOURCE)
    assert accepted(rows) == {"direct": (6, 3, 143), "cached": (6, 3, 73)}  # tests/data/bench/README.md
    first = rows.filter(pl.col("route") == "direct").to_dicts()[0]
    del first["record_id"]
    assert first == {
        "line": 2,
        "position": 0,
        "dialect": "bench",
        "layer": "gateway",
        "started_ns": T0 * 10**9,
        "ended_ns": T0 * 10**9 + 2_500_000_000,
        "session_id": "1",
        "pool": "demo",
        "route": "direct",
        "ttft_s": 0.5,
        "input_tokens": 512,
        "output_tokens": 41,
        "outcome": "ok",
        "attributes": '{"offered_rps":"0.5"}',
    }


@needs_shared
def test_a_real_benchmark_gives_the_counts_of_an_independent_script() -> None:
    rows = read_folder(SHARED / "aibrix-v0.3.0", BENCH_SOURCE)
    assert accepted(rows) == {
        "aibrix_kvcache_dram": (2558, 1945, 128_078),
        "aibrix_kvcache_external": (2558, 2236, 130_142),
        "aibrix_naive": (2494, 53, 5_300),
        "aibrix_naive_prefix_routing": (2462, 572, 57_200),
        "naive": (2490, 64, 6_400),
        "ps_stack": (2558, 1857, 185_700),
    }
    assert rows["record_id"].n_unique() == 15_120


@needs_shared
def test_a_real_log_without_a_last_line_end_is_read_whole() -> None:
    columns = {
        "started_at": {"column": "TIMESTAMP", "unit": "iso8601"},
        "input_tokens": "ContextTokens",
        "output_tokens": "GeneratedTokens",
    }
    source = TableSource.model_validate({"format": "csv", "path": "*", "columns": columns})
    found = Outcome(SHARED / "azure-llm-2023-conv.csv", source, FileLimits(), {})
    assert (found.rows_read, found.refused, found.torn_tail_bytes) == (19_366, [], 0)
    last = found.frame.tail(1).to_dicts()[0]
    start = datetime(2023, 11, 16, 19, 14, 8, tzinfo=UTC)
    assert last["started_ns"] == int(start.timestamp()) * 10**9 + 402_527_000  # ...:08.4025270
    assert (last["line"], last["input_tokens"], last["output_tokens"]) == (19_367, 197, 183)


@needs_shared
def test_a_real_json_lines_trace_is_read_whole() -> None:
    columns = {"started_at": {"column": "timestamp", "unit": "epoch_ms"}, "input_tokens": "input_length"}
    source = TableSource.model_validate({"format": "jsonl", "path": "*", "columns": columns})
    path = SHARED / "mooncake-conversation.jsonl"
    found = Outcome(path, source, FileLimits(), {})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert found.frame["started_ns"].to_list() == [line["timestamp"] * 10**6 for line in lines]
    assert found.frame["input_tokens"].to_list() == [line["input_length"] for line in lines]
