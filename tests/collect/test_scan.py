"""What a look at the landing zone finds against what the ledger knows (docs/semantics.md#sources)."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from goodput.collect import scan as scan_module
from goodput.collect import scanned
from goodput.collect.landing import FileIdentity
from goodput.collect.listing import Listing, list_landing
from goodput.collect.received import LandedFile
from goodput.collect.scan import Scan, scan, unseen
from goodput.errors import LakeUnreadable, LandingMissing
from goodput.plumbing.lake import Lake
from goodput.plumbing.row_table import change_rows, read_rows
from goodput.plumbing.source_ledger import SourceEntry, change, read
from goodput.settings.model import Settings


class Zone:
    """A landing zone, and a ledger kept as `ingest` keeps it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lake = Lake(root / "lake")
        self.given: dict[str, object] = {}
        (root / "landing").mkdir()

    def put(self, name: str, content: str) -> Path:
        path = self.root / "landing" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    @property
    def settings(self) -> Settings:
        return Settings.model_validate(self.given).model_copy(update={"base": self.root})

    def look(self) -> Scan:
        return scan(self.lake, self.settings)

    def forget(self) -> None:
        """Lose the landing index."""
        shutil.rmtree(self.lake.catalog["landed_files"].root)
        self.lake.refresh()

    def take(self) -> list[str]:
        """Look, read everything new, and return the names of what is then in the ledger."""
        found = self.look()
        change(self.lake, [entry(file, identity) for file, identity in found.new], found.superseded)
        if found.settled:
            scanned.note(self.lake, found.settled, found.present)
        return sorted(f"{known['path']} {known['size_bytes']}" for known in read(self.lake).to_pylist())


def entry(file: LandedFile, identity: FileIdentity) -> SourceEntry:
    return SourceEntry(
        *(identity.source_id, identity.content_hash, identity.head_hash, file.relative_path, str(file.landing)),
        *(file.reader, "read", None, identity.size_bytes),
    )


@pytest.fixture
def zone(tmp_path: Path) -> Zone:
    return Zone(tmp_path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that a look opens."""
    names: list[str] = []
    identify = scan_module.identify

    def noted(file: LandedFile, *more: object) -> FileIdentity:
        names.append(file.relative_path)
        return identify(file, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(scan_module, "identify", noted)
    return names


def new(found: Scan) -> list[str]:
    return [file.relative_path for file, _ in found.new]


def test_an_empty_zone_and_a_missing_one(zone: Zone) -> None:
    found = zone.look()
    assert (found.new, found.refused, found.superseded, found.unchanged) == ([], [], set(), 0)
    zone.given = {"landing": ["landing", "elsewhere"]}
    with pytest.raises(LandingMissing, match="elsewhere"):
        zone.look()


def test_what_is_in_the_ledger_is_not_new_again(zone: Zone) -> None:
    zone.put("a.jsonl", "aaa")
    zone.put("b/c.jsonl", "cc")
    found = zone.look()
    assert (new(found), found.unchanged) == (["a.jsonl", "b/c.jsonl"], 0)
    assert zone.take() == ["a.jsonl 3", "b/c.jsonl 2"]
    again = zone.look()
    assert (new(again), again.unchanged, again.superseded) == ([], 2, set())


def test_a_look_reads_nothing_of_what_is_known_where_the_last_one_had_nothing_to_do(zone: Zone) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        os.utime(zone.put(name, name), ns=(1, 1))  # a while ago: what was only just written is looked at once more
    zone.take()
    for table in ("landed_files", "source_ledger"):
        for file in zone.lake.catalog[table].all_files():
            os.truncate(file, 0)
    again = scan(Lake(zone.lake.root), zone.settings)
    assert (again.new, again.unchanged) == ([], 2)
    zone.put("c.jsonl", "c")
    with pytest.raises(LakeUnreadable):
        scan(Lake(zone.lake.root), zone.settings)


def test_a_source_that_is_not_in_the_ledger_is_looked_for_again(zone: Zone) -> None:
    os.utime(zone.put("a.jsonl", "aaa"), ns=(1, 1))
    found = zone.look()
    assert found.settled
    scanned.note(zone.lake, found.settled, found.present)  # as after a run that could not read it
    assert new(zone.look()) == ["a.jsonl"]


def test_a_file_that_was_only_just_written_is_looked_at_once_more(zone: Zone) -> None:
    path = zone.put("a.jsonl", "aaa")
    os.utime(path, ns=(time.time_ns() + 10**12,) * 2)
    assert not zone.look().settled


@pytest.mark.parametrize("changed", ["file", "reading", "index", "ledger"])
def test_what_a_look_goes_by_may_each_be_another(zone: Zone, changed: str) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        os.utime(zone.put(name, name), ns=(1, 1))
    zone.take()
    assert new(zone.look()) == []
    if changed == "file":
        zone.put("a.jsonl", "other")
    elif changed == "reading":
        zone.given = {"attributes": {"model": ["mine"]}}
    elif changed == "index":
        zone.forget()
    else:
        (known, *_) = read(zone.lake).to_pylist()
        change(zone.lake, [], {known["source_id"]})
    found = zone.look()
    assert len(found.new) == {"file": 1, "reading": 2, "index": 0, "ledger": 1}[changed]
    assert found.unchanged == 2 - len(found.new)


def test_a_change_that_leaves_size_and_time_is_found_where_the_file_was_listed_as_it_was_written(zone: Zone) -> None:
    path = zone.put("a.jsonl", "aaa")
    modified_ns = os.stat(path).st_mtime_ns
    zone.take()
    path.write_text("bbb")
    os.utime(path, ns=(modified_ns, modified_ns))  # as a file system does whose clock has not moved on
    assert new(zone.look()) == ["a.jsonl"]


def _replaced(path: Path) -> None:
    other = path.with_name("another.tmp")
    other.write_text("bbb")
    os.utime(other, ns=(1, 1))
    other.replace(path)


def _edited(path: Path) -> None:
    path.write_text("bbb")
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("change", [_replaced, _edited])
def test_other_bytes_of_the_same_size_and_time_are_found(zone: Zone, change: Callable[[Path], None]) -> None:
    path = zone.put("a.jsonl", "aaa")
    os.utime(path, ns=(1, 1))
    zone.take()
    change(path)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (3, 1)
    listed = list_landing(zone.settings).files
    assert unseen(zone.lake, zone.settings, listed)["path"].to_list() == ["a.jsonl"]
    assert new(zone.look()) == ["a.jsonl"]


@pytest.mark.parametrize("change", [lambda path: path.chmod(0o600), lambda path: os.link(path, path.parent / ".x")])
def test_other_rights_or_another_link_cost_one_reading_of_the_bytes(
    zone: Zone, change: Callable[[Path], None], opened: list[str]
) -> None:
    path = zone.put("a.jsonl", "aaa")
    os.utime(path, ns=(1, 1))
    zone.take()
    opened.clear()
    change(path)
    found = zone.look()
    assert (new(found), found.unchanged, found.superseded, found.returned, opened) == ([], 1, set(), set(), ["a.jsonl"])
    zone.look()
    assert opened == ["a.jsonl"]


def test_rows_of_a_version_that_kept_no_inodes_cost_one_reading_of_the_bytes(zone: Zone, opened: list[str]) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        os.utime(zone.put(name, name), ns=(1, 1))
    zone.take()
    index = read_rows(zone.lake, "landed_files")
    older = index.with_columns(changed_ns=pl.lit(None, pl.Int64), inode=pl.lit(None, pl.Int64))
    change_rows(zone.lake, "landed_files", older, index.select("landing", "path"))
    opened.clear()
    found = zone.look()
    assert (new(found), found.unchanged, found.superseded, sorted(opened)) == ([], 2, set(), ["a.jsonl", "b.jsonl"])
    zone.look()
    assert len(opened) == 2


def test_an_unchanged_file_is_not_even_opened(zone: Zone, opened: list[str]) -> None:
    os.utime(zone.put("a.jsonl", "aaa"), (1, 1))
    zone.take()
    zone.put("b.jsonl", "b")
    opened.clear()
    assert new(zone.look()) == ["b.jsonl"]
    assert opened == ["b.jsonl"]


def test_a_file_that_was_only_touched_is_opened_but_not_new(zone: Zone) -> None:
    path = zone.put("a.jsonl", "aaa")
    zone.take()
    os.utime(path, ns=(1, 1))
    found = zone.look()
    assert (new(found), found.unchanged, found.superseded) == ([], 1, set())


def test_a_file_changed_to_other_bytes_of_the_same_length_is_new(zone: Zone) -> None:
    path = zone.put("a.jsonl", "aaa")
    zone.take()
    path.write_text("bbb")
    os.utime(path, ns=(1, 1))
    found = zone.look()
    assert (new(found), found.superseded) == (["a.jsonl"], set())


def test_the_same_content_under_two_names_is_one_source(zone: Zone) -> None:
    zone.put("a.jsonl", "aaa")
    zone.put("b.jsonl", "aaa")
    found = zone.look()
    assert (new(found), found.unchanged) == (["a.jsonl"], 1)
    assert zone.take() == ["a.jsonl 3"]
    zone.put("c.jsonl", "aaa")
    found = zone.look()
    assert (new(found), found.unchanged, found.superseded) == ([], 3, set())


def test_a_grown_file_supersedes_what_it_grew_from(zone: Zone) -> None:
    zone.put("data.jsonl", "one\n")
    (before,) = zone.look().new
    zone.take()
    zone.put("data.jsonl", "one\ntwo\n")
    found = zone.look()
    assert (new(found), found.superseded) == (["data.jsonl"], {before[1].source_id})
    assert zone.take() == ["data.jsonl 8"]
    assert zone.take() == ["data.jsonl 8"]


def test_trap_5_growth_is_seen_when_the_file_was_rotated_meanwhile(zone: Zone) -> None:
    zone.put("data.jsonl", "one\n")
    zone.take()
    zone.put("data-2026.jsonl", "one\ntwo\n")
    zone.put("data.jsonl", "three\n")
    found = zone.look()
    assert new(found) == ["data-2026.jsonl", "data.jsonl"]
    assert len(found.superseded) == 1
    assert zone.take() == ["data-2026.jsonl 8", "data.jsonl 6"]


def test_growth_is_seen_when_the_new_file_is_as_long_as_the_old_one_was(zone: Zone) -> None:
    zone.put("data.jsonl", "one\n")
    zone.take()
    zone.put("data-2026.jsonl", "one\ntwo\n")
    os.utime(zone.put("data.jsonl", "six\n"), ns=(1, 1))
    assert zone.take() == ["data-2026.jsonl 8", "data.jsonl 4"]


def test_a_file_that_begins_as_one_still_there_supersedes_nothing(zone: Zone) -> None:
    zone.put("a.jsonl", "one\n")
    zone.take()
    zone.put("b.jsonl", "one\ntwo\n")
    assert zone.take() == ["a.jsonl 4", "b.jsonl 8"]


def test_an_empty_file_is_the_beginning_of_nothing(zone: Zone) -> None:
    zone.put("a.jsonl", "")
    zone.put("b.jsonl", "bb")
    zone.take()
    zone.put("a.jsonl", "aa")
    assert zone.look().superseded == set()


def test_a_file_that_shrank_is_another_source_and_keeps_the_old_one(zone: Zone) -> None:
    zone.put("a.jsonl", "one\ntwo\n")
    zone.take()
    zone.put("a.jsonl", "one\n")
    assert zone.take() == ["a.jsonl 4", "a.jsonl 8"]


def test_a_rotated_file_that_is_moved_away_keeps_its_rows(zone: Zone) -> None:
    path = zone.put("data-1.jsonl", "one\n")
    zone.put("data.jsonl", "two\n")
    zone.take()
    path.unlink()
    found = zone.look()
    assert (new(found), found.superseded, found.unchanged) == ([], set(), 1)
    assert zone.take() == ["data-1.jsonl 4", "data.jsonl 4"]


def test_trap_5_a_file_that_was_only_renamed_is_the_same_source(zone: Zone) -> None:
    path = zone.put("data.jsonl", "one\n")
    zone.take()
    path.rename(path.with_name("data-2026.jsonl"))
    found = zone.look()
    assert (new(found), found.superseded, found.unchanged) == ([], set(), 1)


@pytest.mark.parametrize(
    "given",
    [
        {"attributes": {"tenant": "org"}},
        {"workloads": {"qa": {"match": {"attributes": {"team": "x"}}}}},
        {"dialects": {"mine": {"layer": "client", "match": {"name": "x"}, "fields": {"model": "m"}}}},
        {"limits": {"max_line_bytes": 2**27}},
        {"limits": {"max_decompressed_bytes": 2**20}},
    ],
)
def test_other_attributes_or_limits_in_the_settings_make_everything_read_anew(
    zone: Zone, given: dict[str, object]
) -> None:
    zone.put("a.jsonl", "one\n")
    zone.take()
    zone.given = given
    found = zone.look()
    assert new(found) == ["a.jsonl"]
    assert found.superseded == set(read(zone.lake)["source_id"].to_pylist())
    assert zone.take() == ["a.jsonl 4"]


def test_limits_make_files_of_every_reader_read_anew_and_the_bound_of_quarantine_none(zone: Zone) -> None:
    sources = {"s": {"format": "csv", "path": "*.csv", "columns": {"started_at": {"column": "t", "unit": "epoch_s"}}}}
    names = ["a.jsonl", "b.csv", "vllm-0/1795165200.prom"]
    for name in names:
        zone.put(name, "one\n")
    zone.given = {"sources": sources}
    zone.take()
    zone.given = {"sources": sources, "limits": {"quarantined_ratio": 0.5}}
    assert new(zone.look()) == []
    zone.given = {"sources": sources, "limits": {"max_line_bytes": 2**27}}
    assert new(zone.look()) == names


def test_a_dialect_makes_neither_scrapes_nor_declared_tables_read_anew(zone: Zone) -> None:
    sources = {"s": {"format": "csv", "path": "*.csv", "columns": {"started_at": {"column": "t", "unit": "epoch_s"}}}}
    for name in ("a.jsonl", "b.csv", "vllm-0/1795165200.prom"):
        zone.put(name, "one\n")
    zone.given = {"sources": sources}
    zone.take()
    mine = {"layer": "client", "match": {"name": "x"}, "fields": {"model": "m"}}
    zone.given = {"sources": sources, "dialects": {"mine": mine}}
    assert new(zone.look()) == ["a.jsonl"]


def test_other_gates_and_windows_read_nothing_anew(zone: Zone) -> None:
    zone.put("a.jsonl", "one\n")
    zone.take()
    zone.given = {"windows_s": [600], "workloads": {"qa": {"ttft_s": 1.0, "match": {"model": "m"}}}}
    assert new(zone.look()) == []


def test_another_mapping_of_a_table_supersedes_what_was_read_by_the_old_one(zone: Zone) -> None:
    def mapped(unit: str) -> dict[str, object]:
        columns = {"started_at": {"column": "t", "unit": unit}}
        return {"sources": {"s": {"format": "csv", "path": "*.csv", "columns": columns}}}

    zone.put("a.csv", "t\n1\n")
    zone.put("b.jsonl", "{}")
    zone.given = mapped("epoch_s")
    zone.take()
    zone.given = mapped("epoch_ms")
    found = zone.look()
    assert (new(found), len(found.superseded), found.unchanged) == (["a.csv"], 1, 1)


def test_a_moved_table_is_the_same_rows_though_its_path_gives_other_columns(zone: Zone) -> None:
    columns = {"started_at": {"column": "t", "unit": "epoch_s"}}
    pattern = r"(?P<route>[^/]+)\.csv"
    zone.given = {"sources": {"s": {"format": "csv", "path": "*.csv", "path_pattern": pattern, "columns": columns}}}
    path = zone.put("chat.csv", "t\n1\n")
    zone.take()
    path.rename(path.with_name("search.csv"))
    assert zone.take() == ["search.csv 4"]
    zone.put("chat.csv", "t\n1\n")  # beside each other they are two measurements that agree
    assert zone.take() == ["chat.csv 4", "search.csv 4"]


def test_a_file_that_lies_as_it_was_replaces_what_it_was_read_as(zone: Zone) -> None:
    os.utime(zone.put("a.jsonl", "one\n"), (1, 1))
    zone.take()
    [before] = read(zone.lake).to_pylist()
    known = {
        name: before[name] for name in ("head_hash", "path", "landing", "reader", "status", "reason", "size_bytes")
    }
    # an earlier version made hashes otherwise
    change(
        zone.lake, [SourceEntry(source_id=before["source_id"], content_hash="other", **known)], [before["source_id"]]
    )
    zone.given = {"attributes": {"tenant": "org"}}
    assert zone.take() == ["a.jsonl 4"]


def test_what_cannot_be_used_is_refused_and_the_rest_goes_on(zone: Zone) -> None:
    zone.put("a.csv", "t\n")
    zone.put("b.jsonl", "b")
    (zone.root / "landing/c.jsonl").symlink_to("/etc/hostname")
    columns = {"started_at": {"column": "t", "unit": "epoch_s"}}
    source = {"format": "csv", "path": "*.csv", "columns": columns}
    zone.given = {"sources": {"x": source, "y": source}}
    found = zone.look()
    assert new(found) == ["b.jsonl"]
    refused = {file.relative_path: reason for file, reason in found.refused}
    assert refused.keys() == {"a.csv", "c.jsonl"}
    assert "claimed by several sources: x, y" in refused["a.csv"]
    assert "link out of the landing path" in refused["c.jsonl"]


def test_a_file_that_vanishes_while_looking_is_no_source_and_the_rest_goes_on(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = zone.put("a.jsonl", "a")
    zone.put("b.jsonl", "b")

    def list_and_lose(settings: Settings, known: pl.DataFrame) -> Listing:
        found = list_landing(settings, known)
        gone.unlink()
        return found

    monkeypatch.setattr(scan_module, "list_landing", list_and_lose)
    found = zone.look()
    assert new(found) == ["b.jsonl"]
    assert found.refused == []


def test_growth_is_seen_after_a_run_that_died_before_the_ledger_was_written(zone: Zone) -> None:
    zone.put("data.jsonl", "one\n")
    zone.take()
    zone.put("data.jsonl", "one\ntwo\n")
    zone.look()  # remembers the file, but nothing comes of it
    assert zone.take() == ["data.jsonl 8"]


def test_nothing_is_forgotten_when_the_memory_of_the_zone_is_lost(zone: Zone) -> None:
    zone.put("data.jsonl", "one\n")
    zone.take()
    zone.forget()
    assert new(zone.look()) == []
    zone.forget()
    zone.put("data.jsonl", "one\ntwo\n")
    assert zone.take() == ["data.jsonl 8"]
