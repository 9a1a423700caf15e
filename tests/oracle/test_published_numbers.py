"""Every published number of random fleets, computed a second time in plain Python from docs/semantics.md alone.

Each fleet is published a second time after a change of which the new tables are known without computing anything.
`make drill-oracle` does the first for hundreds of fleets.
"""

from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from oracle import scope
from oracle.check import arriving, compared
from oracle.compare import Comparison
from oracle.features import ALL, features
from oracle.fleet import DAY, Fleet, S
from oracle.generate import random_fleet
from oracle.tables import Tables, differences, is_time, mapped, tables
from oracle.transform import WORKLOADS, dearer, renamed, shifted, with_windows
from oracle.write import write
from published import run_at

ARRIVING, CHANGED, WINDOWED = SEEDS = (71, 976, 1553)  # small, with every feature together: see `cover.py`
USD = ("usd", "_usd")


def published(fleet: Fleet, folder: Path) -> Tables:
    """The tables of a fleet, every number of which is the one that is computed."""
    workspace = run_at(write(fleet, folder / "as_it_is"))
    found = compared(workspace, fleet)
    assert len(found.compared) > 50
    missing = scope.unexplained(found.compared)
    assert missing == set(), "compute them in tests/oracle, or say in oracle/scope.py why not"
    assert found.differences == []
    return tables(workspace)


def test_these_fleets_have_everything() -> None:
    assert {name for seed in SEEDS for name in features(random_fleet(seed))} == ALL


def test_rows_and_files_in_any_order_in_any_number_of_runs(tmp_path: Path) -> None:
    fleet = random_fleet(ARRIVING)
    restated = Comparison()
    workspace = arriving(fleet, tmp_path / "arriving", Random(7), 2, restated)
    assert restated.compared["restatements", "offered_after"] > 0
    assert restated.differences == []
    assert differences(tables(workspace), published(fleet, tmp_path)) == []


def test_other_days_prices_and_names_of_workloads(tmp_path: Path) -> None:
    fleet, days, before = random_fleet(CHANGED), 33, {new: old for old, new in WORKLOADS.items()}

    def back(name: str, value: Any) -> Any:
        if is_time(value):
            return value - timedelta(days=days)
        if name.endswith("_ns") and value is not None:
            return value - days * DAY
        if name == "workload":
            return before.get(value, value)
        return value / 2 if name.endswith(USD) and value is not None else value

    changed = tables(run_at(write(renamed(dearer(shifted(fleet, days), 2)), tmp_path / "changed")))
    for row in changed["replica_samples"]:
        row["value"] -= days * DAY // S if row["metric"] == "process_started_s" else 0
    assert differences(mapped(changed, back), published(fleet, tmp_path)) == []


def test_other_windows(tmp_path: Path) -> None:
    fleet = random_fleet(WINDOWED)
    added = [seconds for seconds in (900, 1800, 43200) if seconds not in fleet.settings["windows_s"]]
    asked = with_windows(fleet, [*fleet.settings["windows_s"], *added])
    found = tables(run_at(write(asked, tmp_path / "asked")))
    kept = {
        name: [row for row in of if row.get("window_s") not in added or name == "coverage"]
        for name, of in found.items()
    }
    assert differences(kept, published(fleet, tmp_path)) == []
