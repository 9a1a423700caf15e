"""What a loss of power may take: nothing that something else refers to.

`make drill-power` cuts the power of a real file system; here are the order of syncs, and what a torn commit leaves.
"""

import os
from pathlib import Path

import polars as pl
import pytest

from conform.rotation_drill import SETTINGS, Trial, Writer
from goodput.plumbing.catalog import ALL
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.files import write_atomically
from goodput.plumbing.lake import Lake
from published import RESTATED, run_at, table

TABLES = {"goodput": RESTATED, "requests": (), "waste": (), "sources": ("ingested_at",)}


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, frozenset[str]]]:
    """Each file that is synced, with the commits of its table at that time."""
    found: list[tuple[Path, frozenset[str]]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        logs = [log for parent in path.parents for log in parent.glob("_delta_log/*.json")]
        found.append((path, frozenset(log.name for log in logs)))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_parts_are_on_disk_before_the_commit_that_names_them_and_the_commit_before_all_else(
    tmp_path: Path, synced: list[tuple[Path, frozenset[str]]]
) -> None:
    lake = Lake(tmp_path)
    home = lake.catalog["alarms"]
    for number in range(2):
        part = lake.write_part("alarms", ALL, arrow_schema("alarms").empty_table(), f"{number:032x}")
        synced.clear()
        home.replace({ALL: (part,)})
        commit = f"{number:020d}.json"
        before = {path for path, logged in synced if commit not in logged}
        after = {path for path, logged in synced if commit in logged}
        assert {part.path, part.path.parent} <= before
        assert {home.root / "_delta_log" / commit, home.root / "_delta_log"} <= after


def test_a_file_is_whole_on_disk_before_it_takes_its_name(
    tmp_path: Path, synced: list[tuple[Path, frozenset[str]]]
) -> None:
    write_atomically(tmp_path / "a.json", lambda path: path.write_text("{}"))
    assert [path for path, _ in synced[:1]] == [tmp_path / ".a.json.tmp"]
    assert {path for path, _ in synced[1:]} >= {tmp_path / "a.json", tmp_path}


def test_a_commit_that_was_torn_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    (tmp_path / "landing").mkdir()
    Writer(Trial(seed=1, steps=3), tmp_path / "landing").write_all()
    workspace = run_at(tmp_path / "goodput.toml")
    expected = {name: table(workspace, name, of_runs) for name, of_runs in TABLES.items()}
    logs = sorted(workspace.lake.root.glob("*/*/_delta_log"))
    assert len(logs) > 20
    for log in logs:
        newest = max(log.glob("*.json"))
        newest.write_bytes(newest.read_bytes()[: len(log.parent.name) % 3 * 40])  # none of it, or the beginning
    again = run_at(tmp_path / "goodput.toml")
    for name, of_runs in TABLES.items():
        assert table(again, name, of_runs).equals(expected[name]), name


def test_a_torn_commit_is_no_commit(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    first, second = (
        lake.write_part("alarms", ALL, arrow_schema("alarms").empty_table(), f"{number:032x}") for number in (1, 2)
    )
    lake.catalog["alarms"].replace({ALL: (first,)})
    lake.catalog["alarms"].replace({ALL: (second,)})
    (lake.catalog["alarms"].root / "_delta_log" / f"{1:020d}.json").write_bytes(b"")
    lake.refresh()
    assert lake.catalog["alarms"].parts == {ALL: (first,)}
    lake.catalog["alarms"].replace({ALL: (second,)})
    lake.refresh()
    assert lake.catalog["alarms"].parts == {ALL: (second,)}
    assert pl.read_parquet(second.path).height == 0
