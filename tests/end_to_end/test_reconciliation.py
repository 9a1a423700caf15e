"""Bills reconciled with what is published, by hand and as users read it (docs/semantics.md#reconciliation)."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from collect.test_cost_dialects import CHARGE, as_csv
from end_to_end.test_bills_in_any_order import SETTINGS, lines, settle
from goodput.cli.main import app
from goodput.errors import PartitionsBlocked
from goodput.plumbing import work
from goodput.plumbing.workspace import Workspace
from published import ask

CALLS = """id,start,end,ttft,in,out,model,replica,pool,session
1,2026-11-20T10:00:00Z,2026-11-20T10:02:30Z,0.5,100,20,m-1,a,chat,s1
2,2026-11-20T10:02:30Z,2026-11-20T10:05:00Z,1.5,100,20,m-1,a,chat,s1
"""
WIDE = CliRunner(env={"COLUMNS": "200"})
MONEY = ("billed_usd", "outside_usd", "displaced_usd", "allocated_usd", "difference_usd")


def hourly(day: int, usd: float) -> list[dict[str, str]]:
    """FOCUS charges of each hour of a day, for pool chat."""
    hours = [f"2026-11-{day}T{hour:02d}:00:00Z" for hour in range(24)] + [f"2026-11-{day + 1}T00:00:00Z"]
    return [
        {**CHARGE, "ChargePeriodStart": begin, "ChargePeriodEnd": end, "EffectiveCost": str(usd / 24)}
        for begin, end in pairwise(hours)
    ]


def days(at: Workspace) -> list[tuple[Any, ...]]:
    """(day, source, basis, billed, outside, displaced, allocated) of each row; each adds up."""
    rows = ask(at, f"SELECT day(day_start), dialect, basis, {', '.join(MONEY)} FROM reconciliation ORDER BY ALL").rows()
    assert all(abs(row[-1]) <= 1e-9 * max(1, abs(row[3])) for row in rows)
    return [row[:-1] for row in rows]


def near(*usd: float) -> tuple[Any, ...]:
    return tuple(pytest.approx(value, abs=1e-9) for value in usd)


def test_a_day_s_bill_with_five_minutes_of_telemetry_is_in_windows_of_that_day(tmp_path: Path) -> None:
    at = settle(tmp_path / "lake", [("", {"calls-20.csv": CALLS, "focus.csv": as_csv(*hourly(20, 240))})])
    for window_s in (3600, 86400):
        spent = f"SELECT sum(usd) FROM waste WHERE slice = 'overall' AND window_s = {window_s}"
        assert ask(at, spent).item() == pytest.approx(240)
    assert days(at) == [(20, "focus", "billing", *near(240, 0, 0, 240))]


def test_a_month_s_bill_with_one_day_of_telemetry_is_outside_but_for_that_day(tmp_path: Path) -> None:
    month = {"from": "2026-11-01T00:00:00Z", "until": "2026-12-01T00:00:00Z", "amount": 300, "pool": "chat", "id": "1"}
    at = settle(tmp_path / "lake", [("", {"calls-20.csv": CALLS, "gpu-1.jsonl": lines(month)})])
    found = days(at)
    assert [row[0] for row in found] == list(range(1, 31))
    assert [row[3:] for row in found] == [
        near(10, 0, 0, 10) if day == 20 else near(10, 10, 0, 0) for day in range(1, 31)
    ]

    shown = WIDE.invoke(app, ["reconcile", "--config", str(tmp_path / "lake/goodput.toml")]).output
    (source,) = [line.split() for line in shown.splitlines() if line.lstrip().startswith("gpu ")]
    assert source == ["gpu", "billing", "300.00", "10.00", "290.00", "0.00", "10.00", "0.00"]
    some = ["reconcile", "--by-day", "--since", "2026-11-20", "--until", "2026-11-22", "--config"]
    shown = WIDE.invoke(app, [*some, str(tmp_path / "lake/goodput.toml")]).output
    assert [line.split() for line in shown.splitlines() if line.lstrip().startswith("2026-")] == [
        ["2026-11-20", "10.00", "10.00", "0.00", "0.00", "10.00", "0.00"],
        ["2026-11-21", "10.00", "0.00", "10.00", "0.00", "0.00", "0.00"],
    ]


def test_what_invoices_say_beside_what_use_cost_is_told(tmp_path: Path) -> None:
    """A commitment is invoiced at 30 dollars and covers a use of 10, which is invoiced at nothing."""
    day = {"ChargePeriodStart": "2026-11-20T00:00:00Z", "ChargePeriodEnd": "2026-11-21T00:00:00Z"}
    bill = [
        {**CHARGE, **day, "EffectiveCost": "0", "BilledCost": "30"},
        {**CHARGE, **day, "EffectiveCost": "10", "BilledCost": "0"},
    ]
    settle(tmp_path / "lake", [("", {"calls-20.csv": CALLS, "focus.csv": as_csv(*bill)})])
    asked = ["reconcile", "--config", str(tmp_path / "lake/goodput.toml")]
    assert "these records invoice 30.00 and their use cost 10.00" in WIDE.invoke(app, asked).output
    assert "invoice" not in WIDE.invoke(app, [*asked, "--since", "2026-11-21"]).output


DISPLACED = SETTINGS.replace('basis = "billing"', 'basis = "allocation"')


def test_what_a_bill_displaces_of_an_allocation_is_said(tmp_path: Path) -> None:
    """Replica a for 10:00 to 11:00: an allocation of 12 USD; a bill of 10 USD from 10:30 on displaces half of it."""
    hour = {"from": "2026-11-20T10:00:00Z", "until": "2026-11-20T11:00:00Z", "amount": 12, "replica": "a", "id": "1"}
    bill = {**CHARGE, "ChargePeriodStart": "2026-11-20T10:30:00Z", "ChargePeriodEnd": "2026-11-20T11:00:00Z"}
    bill |= {"EffectiveCost": "10", "Tags": '{"replica": "a"}'}

    files = {"calls-20.csv": CALLS, "gpu-1.jsonl": lines({**hour, "pool": "chat"}), "focus.csv": as_csv(bill)}
    at = settle(tmp_path / "lake", [("", files)], DISPLACED)
    assert days(at) == [
        (20, "focus", "billing", *near(10, 0, 0, 10)),
        (20, "gpu", "allocation", *near(12, 0, 6, 6)),
    ]
    # busy for five minutes of the hour, on an accepted call and one that is late: 1 USD of the allocation's 6
    buckets = "SELECT accepted_usd, slow_usd, idle_usd FROM reconciliation ORDER BY dialect"
    assert ask(at, buckets).rows() == [near(0, 0, 10), near(0.5, 0.5, 5)]


def test_bills_of_days_that_are_blocked_are_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until their hours are computed nothing is reconciled, and who asks is told what is blocked."""
    broken = {"2026-11-20T10": ("verdict_invalid: 1 row",)}
    monkeypatch.setattr(
        work, "audit", lambda table, parts: {p: broken[p] for p in parts if table == "requests" and p in broken}
    )
    landed = {"calls-20.csv": CALLS, "focus.csv": as_csv(*hourly(20, 240))}
    with pytest.raises(PartitionsBlocked):
        settle(tmp_path, [("", landed)])
    found = WIDE.invoke(app, ["reconcile", "--config", str(tmp_path / "goodput.toml")])
    assert found.exit_code == 1
    assert "No bill has been read" not in found.output
    assert "Nothing is reconciled yet, as partitions are blocked." in found.output
    assert "verdict_invalid" in found.output
