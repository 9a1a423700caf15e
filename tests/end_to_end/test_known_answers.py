"""Inputs whose answers are known beforehand: by hand."""

import json
import shutil
from pathlib import Path

from published import ask, run_at
from river import join, record

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


DECLARED = r"""
landing = ["landing"]
lake = "lake"
[attributes]
keep = ["tier"]
[workloads.blue]
ttft_s = 1.0
match = { attributes = { team = "blue" } }
[workloads.steps]
match = { attributes = { step = "[12]" } }
[workloads.eu]
match = { attributes = { "acme.region" = "eu-*" } }
[sources.log]
format = "csv"
path = "*.csv"
path_pattern = '(?P<route>.+)_step(?P<step>\d)\.csv'
constants = { outcome = "ok" }
[sources.log.columns]
started_at = { column = "at", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
e2e_s = { column = "e2e", unit = "s" }
attributes.team = "Team"
"""
CHAT = """at,ttft,e2e,Team,tier,acme.region
1795165200,0.5,2,blue,gold,
1795165200,0.5,2,blue,gold,
1795165201,2.0,2,blue,,
1795165202,2.0,2,red,gold,eu-1
"""
SEARCH = """at,ttft,e2e,Team,acme.region
1795165203,0.5,2,,eu-1
1795165204,0.5,2,,us-1
"""


def test_attributes_of_a_declared_log_select_workloads_and_can_be_asked_for(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    for name, content in (("a/b/chat_step1.csv", CHAT), ("search_step3.csv", SEARCH), ("copy/chat_step1.csv", CHAT)):
        (landing / name).parent.mkdir(parents=True, exist_ok=True)
        (landing / name).write_text(content)
    (tmp_path / "goodput.toml").write_text(DECLARED)
    workspace = run_at(tmp_path / "goodput.toml")
    counted = (
        "SELECT workload, route, count(*)::BIGINT AS n, count(*) FILTER (verdict = 'accepted')::BIGINT AS accepted"
    )
    found = ask(workspace, f"{counted} FROM requests GROUP BY ALL ORDER BY ALL")
    # the two equal rows are two requests, the same file in another folder is the same file
    assert found.rows() == [
        ("blue", "chat", 3, 2),
        ("eu", "search", 1, 1),
        ("steps", "chat", 1, 1),
        ("unassigned", "search", 1, 0),
    ]
    gold = "SELECT count(*)::BIGINT FROM requests WHERE attributes->>'tier' = 'gold' AND attributes->>'step' = '1'"
    assert ask(workspace, gold).item() == 3
    assert ask(
        workspace, "SELECT identity_ok FROM (SELECT bool_and(rows_read = rows_kept) AS identity_ok FROM sources)"
    ).item()
    (landing / "search_step3.csv").rename(landing / "search_step2.csv")
    run_at(tmp_path / "goodput.toml")
    moved = ask(workspace, f"{counted} FROM requests WHERE route = 'search' GROUP BY ALL ORDER BY ALL")
    assert moved.rows() == [("steps", "search", 2, 2)]


def test_an_attribute_is_that_of_the_first_try_and_layer_that_carries_it() -> None:
    team, tier = '{"team":"a","tier":"x"}', '{"tier":"y","org":"o"}'
    rows = [
        record("c1", 0, 2, outcome="error", request_key="k"),
        record("g1", 0.1, 1.9, layer="gateway", parent="c1", attributes=team, outcome="error"),
        record("e1", 0.2, 1.8, layer="engine", parent="g1", attributes=tier, outcome="error"),
        record("c2", 3, 4, request_key="k", attributes='{"team":"b","later":"z"}'),
    ]
    found = json.loads(join(rows).requests["k"]["attributes"])
    assert found == {"team": "a", "tier": "x", "org": "o", "later": "z"}
    assert join([record("c1", 0, 2, request_key="k")]).requests["k"]["attributes"] is None
