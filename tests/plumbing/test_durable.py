"""What a loss of power may take: nothing that something else refers to.

`make drill-power` cuts the power of a real file system; here are the order of syncs, and what a torn commit leaves.
"""

import os
from pathlib import Path

import polars as pl
import pytest

from conform.rotation_drill import SETTINGS, Trial, Writer
from goodput.contracts import arrow_schema
from goodput.errors import LakeUnreadable
from goodput.plumbing.catalog import ALL
from goodput.plumbing.files import write_atomically
from goodput.plumbing.lake import Lake
from goodput.plumbing.pinned import REMEMBERED
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


def test_files_are_synced_with_their_folders_by_relative_paths_too(
    tmp_path: Path, synced: list[tuple[Path, frozenset[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `goodput demo demo` writes them, and a command that stands in the folder."""
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("demo/report.html", "report.html"):
        write_atomically(Path(name), lambda path: path.write_text("page"))
        assert Path(name).read_text() == "page"
        assert (tmp_path / name).parent in {path for path, _ in synced}


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


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    (tmp_path / "landing").mkdir()
    Writer(Trial(seed=1, steps=3), tmp_path / "landing").write_all()
    return tmp_path / "goodput.toml"


def published(config: Path) -> list[pl.DataFrame]:
    workspace = run_at(config)
    return [table(workspace, name, of_runs) for name, of_runs in TABLES.items()]


def tear(log: Path) -> None:
    """Leave the beginning of the newest commit of a log, or none of it."""
    newest = max(log.glob("*.json"))
    newest.write_bytes(newest.read_bytes()[: len(log.parent.name) % 3 * 40])


@pytest.mark.parametrize("table", ["*", "requests", "attempts", "waste", "landed_files"])
def test_what_is_made_from_other_tables_is_made_again(config: Path, table: str) -> None:
    expected = published(config)
    logs = [log for log in config.parent.glob(f"lake/*/{table}/_delta_log") if log.parts[-3] != "conformed"]
    for log in logs:
        if log.parts[-2] not in ("source_ledger", *REMEMBERED):
            tear(log)
    assert len(logs) > 20 if table == "*" else len(logs) == 1
    assert all(found.equals(before) for found, before in zip(published(config), expected, strict=True))


def test_a_torn_commit_of_sources_is_one_only_while_sources_are_committed(config: Path) -> None:
    """Where none are, a later one may refer to it: to go back would lose rows of files that are never read again."""
    expected = published(config)
    for log in [
        *config.parent.glob("lake/conformed/*/_delta_log"),
        *config.parent.glob("lake/*/source_ledger/_delta_log"),
    ]:
        whole = max(log.glob("*.json")).read_bytes()
        tear(log)
        with pytest.raises(LakeUnreadable, match=f"{log.parent.name}/_delta_log: cannot be read"):
            _ = Lake(config.parent / "lake").catalog[log.parent.name].parts
        max(log.glob("*.json")).write_bytes(whole)
    assert all(found.equals(before) for found, before in zip(published(config), expected, strict=True))


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
