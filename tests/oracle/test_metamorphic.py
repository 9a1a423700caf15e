"""Changes of a random fleet after which the published tables are known without computing anything."""

from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from oracle.fleet import DAY, Fleet
from oracle.generate import random_fleet
from oracle.tables import Tables, differences, is_time, mapped, tables
from oracle.transform import WORKLOADS, dearer, renamed, shifted, with_windows
from oracle.write import files, settings, write
from published import run_at

SEEDS = (20, 25)
USD = ("usd", "_usd")


@pytest.fixture(scope="module", params=SEEDS)
def fleet(request: pytest.FixtureRequest) -> Fleet:
    return random_fleet(request.param)


@pytest.fixture(scope="module")
def published(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return tables(run_at(write(fleet, tmp_path_factory.mktemp("as_it_is"))))


def test_rows_and_files_in_any_order_in_any_number_of_runs(fleet: Fleet, published: Tables, tmp_path: Path) -> None:
    chance = Random(7)
    settings(fleet, tmp_path)
    found = sorted(files(fleet, chance).items())
    chance.shuffle(found)
    for n, (name, text) in enumerate(found):
        path = tmp_path / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if n in {len(found) // 3, 2 * len(found) // 3, len(found) - 1}:
            workspace = run_at(tmp_path / "goodput.toml")
    assert differences(tables(workspace), published) == []


def test_other_days(fleet: Fleet, published: Tables, tmp_path: Path) -> None:
    days = 33

    def back(name: str, value: Any) -> Any:
        if is_time(value):
            return value - timedelta(days=days)
        return value - days * DAY if name.endswith("_ns") and value is not None else value

    moved = tables(run_at(write(shifted(fleet, days), tmp_path)))
    assert differences(mapped(moved, back), published) == []


def test_other_prices(fleet: Fleet, published: Tables, tmp_path: Path) -> None:
    def halved(name: str, value: Any) -> Any:
        return value / 2 if name.endswith(USD) and value is not None else value

    doubled = tables(run_at(write(dearer(fleet, 2), tmp_path)))
    assert differences(mapped(doubled, halved), published) == []


def test_other_names_of_workloads(fleet: Fleet, published: Tables, tmp_path: Path) -> None:
    before = {new: old for old, new in WORKLOADS.items()}
    found = tables(run_at(write(renamed(fleet), tmp_path)))
    assert differences(mapped(found, lambda c, v: before.get(v, v) if c == "workload" else v), published) == []


def test_other_windows(fleet: Fleet, published: Tables, tmp_path: Path) -> None:
    shorter = [900, 1800, 43200]
    found = tables(run_at(write(with_windows(fleet, [*fleet.settings["windows_s"], *shorter]), tmp_path)))
    kept = {
        name: [row for row in of if row.get("window_s") not in shorter or name == "coverage"]
        for name, of in found.items()
    }
    assert differences(kept, published) == []
