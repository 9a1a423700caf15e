"""Inputs whose answers are known beforehand: by hand."""

import json
import shutil
from pathlib import Path

import pytest

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
match = { attributes = { step = ["1", "2"] } }
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


SLICED = """
[slices]
by = ["tenant", "attributes.team"]
max_values = 1
"""
TEAMS = """at,end,who,team
1795165200,1795165210,acme,blue
1795165210,1795165220,acme,red
1795165220,1795165250,beta,blue
1795165250,1795165251,,
"""


def test_slices_that_the_settings_list_have_their_goodput_and_their_costs(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/log.csv").write_text(TEAMS)
    settings = """
landing = ["landing"]
lake = "lake"
[rates.all]
usd_per_gpu_hour = 3.6
[workloads.qa]
e2e_s = 20.0
[sources.log]
format = "csv"
path = "*.csv"
constants = { outcome = "ok", pool = "p", replica = "r", layer = "engine", model = "m" }
[sources.log.columns]
started_at = { column = "at", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
tenant = "who"
"""
    (tmp_path / "goodput.toml").write_text(settings)
    workspace = run_at(tmp_path / "goodput.toml")
    columns = "slice_value, offered::INTEGER, accepted::INTEGER"
    asked = f"SELECT {columns} FROM goodput WHERE window_s = 86400 AND slice = $slice ORDER BY slice_value"
    assert ask(workspace, asked.replace("$slice", "'model'")).rows() == [(None, 4, 3)]
    assert ask(workspace, asked.replace("$slice", "'tenant'")).is_empty()

    (tmp_path / "goodput.toml").write_text(settings + SLICED)
    workspace = run_at(tmp_path / "goodput.toml")
    assert ask(workspace, asked.replace("$slice", "'tenant'")).rows() == [
        ("(other)", 1, 0),
        ("acme", 2, 2),
        ("unknown", 1, 1),
    ]
    team = [("(other)", 1, 1), ("blue", 2, 1), ("unknown", 1, 1)]
    assert ask(workspace, asked.replace("$slice", "'attributes.team'")).rows() == team
    # the day's money is on all values of each slice, as on the whole
    money = """
        SELECT slice, sum(cost_usd) AS loaded, sum(direct_cost_usd) AS direct FROM goodput WHERE window_s = 86400
        GROUP BY slice ORDER BY slice
    """
    rows = ask(workspace, money).rows()
    assert len({name for name, _, _ in rows}) == 10
    [(_, loaded, direct)] = [row for row in rows if row[0] == "overall"]
    assert direct > 0
    assert all(row[1:] == (pytest.approx(loaded), pytest.approx(direct)) for row in rows)
    spent = "SELECT slice, sum(usd) FROM waste WHERE window_s = 86400 GROUP BY slice ORDER BY slice"
    assert [usd for _, usd in ask(workspace, spent).rows()] == pytest.approx([loaded] * 10)
    warned = ask(
        workspace, "SELECT subject, affected, total FROM warnings WHERE kind = 'slice_crowded' ORDER BY subject"
    )
    assert warned.rows() == [("attributes.team", 1, 4), ("tenant", 1, 4)]
    gates = (
        "SELECT slice_value, failing FROM gate_failures WHERE window_s = 86400 AND slice = 'tenant' AND gate = 'e2e'"
    )
    assert dict(ask(workspace, gates).rows()) == {"(other)": 1, "acme": 0, "unknown": 0}
    binding = "SELECT slice_value, gate FROM binding_gate WHERE window_s = 86400 AND slice = 'tenant'"
    assert ask(workspace, binding).rows() == [("(other)", "e2e")]
    assert ask(workspace, "FROM restatements").is_empty()

    (tmp_path / "goodput.toml").write_text(settings)
    workspace = run_at(tmp_path / "goodput.toml")
    gone = "SELECT DISTINCT slice, goodput_rps_after FROM restatements ORDER BY slice"
    assert ask(workspace, gone).rows() == [("attributes.team", None), ("tenant", None)]
