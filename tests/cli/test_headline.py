"""What a run ends with: goodput of the day, its cost, and the three largest leaks, worked out by hand."""

from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from goodput.cli.headline import print_headline
from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import connect, sql_file
from published import run_at

BEGIN_S = 1_795_165_200  # 2026-11-20T09:00:00Z
SETTINGS = """
landing = ["landing"]
lake = "lake"
max_request_lifetime_s = 15.0
[workloads.qa]
ttft_s = 1.0
retry_budget = 0
[alarms]
enabled = false
[rates.all]
usd_per_gpu_hour = 3600.0
[sources.rows]
format = "csv"
path = "*.csv"
constants = { pool = "p", replica = "r", route = "main" }
[sources.rows.columns]
attempt_id = "id"
request_key = "request"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
input_tokens = "in"
output_tokens = "out"
outcome = "outcome"
"""
# One replica for a dollar a second, up for 90 s: 60 busy, 30 idle. 50 output tokens share the busy time, $1.20 each.
ATTEMPTS = """id,request,start,end,ttft,in,out,outcome
1,accepted-a,0,10,0.5,0,10,ok
2,slow,10,30,1.5,0,20,ok
3,accepted-b,60,70,0.5,0,10,ok
4,tried-twice,70,80,,0,4,error
5,tried-twice,80,90,0.5,0,6,ok
"""


def test_the_three_largest_leaks_are_told_with_what_they_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    header, *rows = [line.split(",") for line in ATTEMPTS.splitlines()]
    timed = [[*row[:2], *(str(BEGIN_S + int(at)) for at in row[2:4]), *row[4:]] for row in rows]
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/rows.csv").write_text("\n".join(map(",".join, [header, *timed])) + "\n")
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    run_at(tmp_path / "goodput.toml")
    print_headline(tmp_path / "goodput.toml", None)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert " ".join(printed[0]) == "From 2026-11-20 00:00 UTC, 24 h, partly observed, not final yet"
    # $90 / 2 accepted; accepted $24, retry (the try that failed) $4.80: neither is among the three
    assert next(line for line in printed if line[0] == "all")[-1] == "$45.00"
    after = printed[[line[0] for line in printed].index("leak") + 2 :]
    assert [line[:3] for line in after[:3]] == [
        ["idle", "$30.00", "33.3"],
        ["slow", "$24.00", "26.7"],
        ["over_budget", "$7.20", "8.0"],
    ]
    lines = [" ".join(line) for line in printed]
    assert any(
        line.startswith("- medium: 1 attempt(s) lasted up to 20 s, longer than max_request_lifetime_s (15 s)")
        for line in lines
    )


def test_requests_that_no_workload_selects_are_named_and_cost_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    # the replica is up from 0 s to 40 s, busy all the time: $10 for each request
    (tmp_path / "landing").mkdir()
    rows = ["id,request,model,start,end,ttft,in,out,outcome"]
    models = ("llama-8b", "gpt-x", "gpt-x", "gpt-x")
    rows += [
        f"{n},r{n},{model},{BEGIN_S + 10 * n},{BEGIN_S + 10 * n + 10},0.5,0,10,{'error' if n == 3 else 'ok'}"
        for n, model in enumerate(models)
    ]
    (tmp_path / "landing/rows.csv").write_text("\n".join(rows) + "\n")
    selecting = SETTINGS.replace("[workloads.qa]", '[workloads.qa]\nmatch = { model = "llama-*" }')
    (tmp_path / "goodput.toml").write_text(selecting + 'model = "model"\n')
    run_at(tmp_path / "goodput.toml")
    print_headline(tmp_path / "goodput.toml", None)
    out = capsys.readouterr().out
    # one accepted, two ungated, one failed: it stays failed
    assert next(line.split() for line in out.splitlines() if line.startswith("all"))[:4] == ["all", "4", "25.0", "%"]
    assert [line.split()[:2] for line in out.splitlines() if line.startswith(("ungated", "failed"))] == [
        ["ungated", "$20.00"],
        ["failed", "$10.00"],
    ]
    assert "2 request(s) match no workload of the settings" in out
    assert "(2 of model gpt-x, route main)" in out


def test_replicas_that_only_records_and_only_metrics_show_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "landing/vllm-0").mkdir(parents=True)
    for second in (0, 60):
        reading = f'vllm:request_success_total{{model_name="m",finished_reason="stop"}} {second}\n'
        (tmp_path / f"landing/vllm-0/{BEGIN_S + second}.prom").write_text(reading)
    rows = ["id,request,start,end,ttft,in,out,outcome", f"1,r1,{BEGIN_S},{BEGIN_S + 50},0.5,0,10,ok"]
    (tmp_path / "landing/rows.csv").write_text("\n".join(rows) + "\n")
    config = tmp_path / "goodput.toml"
    config.write_text(SETTINGS)
    run_at(config)
    print_headline(config, None)
    # r was busy for 50 s, vllm-0 read for 60 s, at a dollar a second
    warned = "- high: Replicas in records alone: r; in metrics alone: vllm-0. They cost $50.00 and $60.00"
    assert warned in " ".join(capsys.readouterr().out.split())
    config.write_text(SETTINGS + '[replicas.vllm-0]\nnames = ["r"]\n')
    run_at(config)
    print_headline(config, None)
    assert "in metrics alone" not in " ".join(capsys.readouterr().out.split())


def test_workloads_without_a_quality_gate_are_named_beside_those_that_have_one() -> None:
    with connect() as connection:
        connection.execute(
            """
            CREATE TEMP TABLE goodput AS
            SELECT TIMESTAMPTZ '2026-11-20 00:00Z' AS window_start, 86400 AS window_s, * FROM (VALUES
                ('overall', NULL, 0.72), ('workload', 'qa', 1.0), ('workload', 'fast', 0.0), ('workload', 'bulk', 0.0),
                ('workload', 'unassigned', NULL)) AS rows(slice, workload, quality_gated_ratio)
            """
        )
        connection.execute("CREATE TEMP VIEW latest_window AS SELECT DISTINCT window_start, window_s FROM goodput")
        asked = sql_file("without_quality").text
        assert connection.execute(asked).fetchall() == [
            (
                "No quality gate judges 28.0 % of the requests that pass every other gate (workload bulk, fast): "
                "goodput counts them by success and latency alone",
            )
        ]
        # where no workload has one, the headline's `definition` says so
        connection.execute("UPDATE goodput SET quality_gated_ratio = 0 WHERE quality_gated_ratio > 0")
        assert connection.execute(asked).fetchall() == []


@pytest.mark.parametrize(("accepted", "offered"), [(77, 80), (1, 3), (0, 7), (7, 7), (399, 400)])
def test_bounds_that_are_the_value_itself_print_as_it(accepted: int, offered: int) -> None:
    rps = accepted / 86400
    row: dict[str, object] = {field.name: None for field in arrow_schema("goodput")} | {
        **{"window_s": 86400, "window_start": datetime(2026, 11, 20, tzinfo=UTC), "slice": "overall"},
        **{"offered": offered, "accepted": accepted, "goodput_ratio": accepted / offered},
        **{"goodput_rps": rps, "goodput_ci_low_rps": rps, "goodput_ci_high_rps": rps},
    }
    with connect() as connection:
        connection.register("goodput", pa.Table.from_pylist([row], arrow_schema("goodput")))
        connection.register("waste", arrow_schema("waste").empty_table())
        connection.execute("CREATE TEMP TABLE workloads AS SELECT 'chat' AS workload, 'request' AS unit_label")
        connection.execute("CREATE TEMP VIEW latest_window AS SELECT window_start, window_s FROM goodput")
        ((found,),) = connection.sql(f"SELECT goodput FROM ({sql_file('headline').text})").fetchall()
    value = f"{Decimal(100 * accepted) / offered:.12f}"
    shown = Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP)
    assert found == f"{shown} % ({shown}..{shown})"


def test_a_cost_that_is_not_all_or_not_there_says_so() -> None:
    """Four routes: all of the work priced, half of it, none of it, and nothing accepted; then no cost anywhere."""
    day = {"window_s": 86400, "window_start": datetime(2026, 11, 20, tzinfo=UTC), "slice": "workload_route"}

    def window(route: str, cost_usd: float | None, accepted: int, unpriced: int = 0) -> dict[str, object]:
        row: dict[str, object] = {field.name: None for field in arrow_schema("goodput")}
        price = cost_usd / accepted if cost_usd is not None and accepted else None
        counted = {"offered": 10, "accepted": accepted, "goodput_rps": accepted / 86400, "unpriced": unpriced}
        return (
            row
            | day
            | {"workload": "chat", "route": route, "cost_usd": cost_usd, "cost_per_accepted_usd": price}
            | counted
        )

    def spent(route: str, usd: float | None) -> dict[str, object]:
        row: dict[str, object] = {field.name: None for field in arrow_schema("waste")}
        return row | day | {"workload": "chat", "route": route, "bucket": "accepted", "usd": usd}

    rows = [window("all", 5.0, 10), window("half", 5.0, 10, 7), window("none", None, 10, 7), window("failed", 5.0, 0)]
    waste = [spent("all", 5.0), spent("half", 5.0), spent("none", None), spent("failed", 5.0)]
    found = []
    for costs in (waste, []):
        with connect() as connection:
            connection.register("goodput", pa.Table.from_pylist(rows, schema=arrow_schema("goodput")))
            connection.register("waste", pa.Table.from_pylist(costs, schema=arrow_schema("waste")))
            connection.execute("CREATE TEMP TABLE workloads AS SELECT 'chat' AS workload, 'request' AS unit_label")
            connection.execute("CREATE TEMP TABLE latest_window AS SELECT DISTINCT window_s, window_start FROM goodput")
            asked = f"SELECT slice, per_accepted FROM ({sql_file('headline').text})"
            found.append(dict(connection.sql(asked).fetchall()))
    priced, unpriced = found
    assert priced["chat all"].startswith("$0.5")
    assert priced["chat half"] == f"at least {priced['chat all']}"
    assert (priced["chat none"], priced["chat failed"]) == ("no bill or price", "none accepted")
    assert unpriced["chat none"] is None
