"""What `goodput explain` says of the cost of a request: what was spent on it, and which bill or price says so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from declared import bills, source
from published import run_at

Run = Callable[..., Any]
CALLS = {"request_key": "id", "started_at": "start", "ended_at": "end", "input_tokens": "in", "output_tokens": "out"}
CALLS |= {"model": "model", "replica": "replica"}
UNITS = {"started_at": "iso8601", "ended_at": "iso8601"}
# each alone on its replica; the second has no replica, and a model with a listed price
ROWS = """id,start,end,in,out,model,replica
long,2026-11-20T10:50:00Z,2026-11-20T11:10:00Z,100,20,m,a
bought,2026-11-20T10:20:00Z,2026-11-20T10:20:10Z,1000,100,api,
"""
BILL = "line,from,until,usd,replica\nL1,2026-11-20T10:00:00Z,2026-11-20T12:00:00Z,24,a\n"
PRICES = {"api": {"litellm_provider": "v", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    settings = source("calls", "calls.csv", "attempts", units=UNITS, constants='outcome = "ok"', **CALLS)
    settings += bills("gpu", "gpu.csv", 'basis = "billing"', amount_usd="usd", replica="replica", cost_id="line")
    (tmp_path / "landing").mkdir()
    (tmp_path / "goodput.toml").write_text(f'landing = ["landing"]\nlake = "lake"\n{settings}')
    (tmp_path / "landing/calls.csv").write_text(ROWS)
    (tmp_path / "landing/gpu.csv").write_text(BILL)
    (tmp_path / "landing/prices.json").write_text(json.dumps(PRICES))
    return run_at(tmp_path / "goodput.toml").lake.root


@pytest.mark.parametrize(
    ("key", "usd", "charge"),
    [
        # 20 minutes of $12 an hour, over the end of an hour
        ("long", 4.0, {"basis": "billing", "pays_for": "a", "amount_usd": 24.0, "path": "gpu.csv", "line": 2}),
        ("bought", 0.0012, {"basis": "token_price", "pays_for": "api", "input_token_usd": 1e-6, "path": "prices.json"}),
    ],
)
def test_what_a_request_cost_is_traced_to_the_line_that_says_so(
    goodput: Run, key: str, usd: float, charge: dict[str, object]
) -> None:
    said = json.loads(goodput("explain", key, "--format", "json").stdout)
    assert sum(cost["usd"] for cost in said["costs"]) == pytest.approx(usd)
    assert said["request"]["cost_usd"] == pytest.approx(usd)
    (found,) = said["charges"]
    assert {name: found[name] for name in charge} == charge
    printed = goodput("explain", key).stdout
    assert f"In all ${usd:g}" in printed
    assert f"{charge['path']}:" in printed.partition("Bills and prices behind them")[2]
