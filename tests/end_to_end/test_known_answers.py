"""Inputs whose answers are known beforehand: by hand."""

import shutil
from pathlib import Path

from published import ask, run_at

TESTS = Path(__file__).parent.parent

BENCH_SETTINGS = r"""
landing = ["landing"]
lake = "lake"
[workloads.qa]
ttft_s = 1.0
tpot_s = 0.05
retry_budget = 1
[sources.bench]
format = "csv"
path = "*_output_*.csv"
path_pattern = '(?P<route>.+)_output_(?P<offered_rps>[0-9.]+)\.csv'
table = "attempts"
constants = { pool = "demo", outcome = "ok" }
[sources.bench.columns]
started_at = { column = "launch_time", unit = "epoch_s" }
ended_at = { column = "finish_time", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
input_tokens = "prompt_tokens"
output_tokens = "generation_tokens"
session_id = "user_id"
"""
PER_ROUTE = """
SELECT route, sum(offered)::BIGINT AS offered, sum(accepted)::BIGINT AS accepted,
       round(sum(output_token_goodput_tps * window_s))::BIGINT AS accepted_tokens
FROM goodput WHERE slice = 'workload_route' AND window_s = {grain} GROUP BY route ORDER BY route
"""


def test_requests_worked_out_by_hand(tmp_path: Path) -> None:
    # tests/data/bench/README.md works each of the twelve rows out.
    shutil.copytree(TESTS / "data/bench", tmp_path / "landing", ignore=shutil.ignore_patterns("*.md"))
    (tmp_path / "goodput.toml").write_text(BENCH_SETTINGS)
    workspace = run_at(tmp_path / "goodput.toml")
    for grain in (300, 3600, 86400):
        found = ask(workspace, PER_ROUTE.format(grain=grain))
        assert found.rows() == [("cached", 6, 3, 73), ("direct", 6, 3, 143)]
