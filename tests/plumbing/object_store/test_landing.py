"""Landing zones in a bucket: what the same files give in a folder, and no more asked of the store than is new."""

import json
import random
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import polars as pl
import pytest
from typer.testing import CliRunner

from conform.test_reading import Workers
from end_to_end.test_same_sources_same_tables import QUIET, sources
from goodput.cli.main import app
from goodput.collect import copies as copies_module
from goodput.collect.copies import ObjectCopies
from goodput.conform import reading
from goodput.conform.ingest import ingest
from goodput.errors import ErasedFilesLie, LandingUnwritable, SourceLies, StoreFailed
from goodput.plumbing.object_store.bucket import Bucket
from goodput.plumbing.spill import own_folder
from goodput.plumbing.workspace import Workspace
from goodput.receive.server import folder_for
from goodput.run import Ran, run
from plumbing.object_store.conftest import wrong_credentials
from plumbing.object_store.test_store import assert_equal, everything
from s3_server import watched

PARTITION = "year=%Y/month=%m/day=%d/hour=%H/minute=%M"  # as the Collector's exporter writes by default


class Zone:
    """A bucket with a landing zone, and a lake in a folder that reads it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = f"{url}/landing"
        self.folder = folder
        self.bucket = Bucket(self.url)

    def put(self, files: Mapping[str, str]) -> None:
        for key, text in files.items():
            self.bucket.write(key, text.encode())

    def config(self, landing: str | None = None, more: str = "") -> Path:
        written = QUIET.replace('"landing"', f'"{landing or self.url}"') + more
        path = self.folder / "goodput.toml"
        path.write_text(written)
        return path

    def run(self, landing: str | None = None) -> Ran:
        return run(Workspace(self.config(landing)))


@pytest.fixture
def zone(url: str, tmp_path: Path) -> Zone:
    return Zone(url, tmp_path)


@pytest.fixture
def files() -> dict[str, str]:
    return sources(random.Random(18))


def published(config: Path) -> dict[str, pl.DataFrame]:
    found = everything(Workspace(config))
    return {name: rows.drop("landing", strict=False) for name, rows in found.items()}


def written_at(moment: datetime) -> str:
    return moment.strftime(PARTITION)


def row(name: str, hour: int = 0) -> str:
    begun = 1_795_165_200 + 3600 * hour
    return f"id,start_ns,end_ns,ttft,out,model\n{name},{begun}000000000,{begun + 9}000000000,0.1,30,m-a\n"


def gets(seen: list[tuple[str, str]], key: str) -> int:
    return sum(method == "GET" and urlsplit(path).path.endswith(f"/{key}") for method, path in seen)


def listed(seen: list[tuple[str, str]]) -> list[str]:
    """The prefixes of which something was listed, below the landing zone."""
    asked = [parse_qs(urlsplit(path).query) for _, path in seen]
    return sorted({one["prefix"][0].partition("landing/")[2] for one in asked if "list-type" in one})


def test_it_gives_what_the_same_files_give_in_a_folder(zone: Zone, files: dict[str, str], tmp_path: Path) -> None:
    zone.put({f"2026/11/{name}": text for name, text in files.items()})
    zone.run()
    beside = Zone(zone.url, tmp_path / "beside")
    for name, text in files.items():
        path = beside.folder / "landing/2026/11" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    beside.run("landing")
    found = published(zone.config())
    assert_equal(found, published(beside.config("landing")))
    assert found["requests"].height > 10
    assert list((own_folder() / "landing").glob("*")) == []  # copies are gone


@pytest.mark.parametrize("can_fetch", [True, False], ids=["fetch", "cannot fetch"])
def test_workers_of_other_machines_have_copies_of_their_own(
    zone: Zone, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_fetch: bool
) -> None:
    """What they cannot fetch the run reads from the copies that it has itself."""
    counts = []

    class Elsewhere(Workers):
        def answer(self, work: Callable[[Any], Any], share: Any) -> Any:
            own = own_folder() / "landing"
            hidden = own.rename(own.with_name("hidden"))
            (tmp_path / "there").mkdir(exist_ok=True)
            try:
                with monkeypatch.context() as there:
                    there.setattr(copies_module, "own_folder", lambda: tmp_path / "there")
                    if not can_fetch:
                        there.setattr(Bucket, "download", refuses)
                    read = super().answer(work, share)
            finally:
                hidden.rename(own)
            counts.append((len(share.files), len(read.left)))
            return read

    def refuses(bucket: Bucket, key: str, to: Path) -> bool:
        raise StoreFailed(zone.url, "no credentials")

    zone.put({f"2026/11/{name}": text for name, text in files.items()})
    monkeypatch.setattr(reading, "_WORTH_IT_BYTES", 1)
    workspace = Workspace(zone.config())
    workspace.runner = Elsewhere()
    workspace.lake.open()
    assert ingest(workspace).read == len(files)
    assert len(counts) > 1
    assert sum(left for _, left in counts) == (0 if can_fetch else len(files))
    assert list((tmp_path / "there").rglob("*.*")) == []
    found = zone.run()
    assert found.ingested.read == 0
    beside = Zone(zone.url, tmp_path / "beside")
    beside.folder.mkdir()
    beside.run(zone.url)
    assert_equal(published(zone.config()), published(beside.config(zone.url)))


@pytest.mark.only("requests")
def test_only_what_is_new_is_read(zone: Zone, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with watched(endpoint) as (address, seen):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        zone.put({"one.csv": row("a"), ".hidden.csv": row("b"), "two.csv.tmp": row("c"), ".work/x.csv": row("d")})
        assert zone.run().ingested.read == 1
        ran = zone.run()
        assert (ran.ingested.read, ran.ingested.unchanged) == (0, 1)
        zone.put({"two.csv": row("b")})
        seen.clear()
        ran = zone.run()
        assert (ran.ingested.read, ran.ingested.unchanged, gets(seen, "two.csv")) == (1, 1, 1)
        assert gets(seen, "one.csv") <= 1  # written within the last seconds, it is looked at for certainty
        # written over: another version, which takes the place of what it begins with
        zone.put({"one.csv": row("a") + row("e").splitlines()[1] + "\n"})
        assert (zone.run().ingested.superseded, requests(zone)) == (1, ["a", "b", "e"])
        zone.bucket.delete(["one.csv"])  # as a rule of the bucket does with what is old
        zone.run()
        assert requests(zone) == ["a", "b", "e"]


def requests(zone: Zone) -> list[str]:
    return sorted(published(zone.config())["attempts"]["attempt_id"].str.split(":").list.last())


@pytest.mark.only("requests")
def test_folders_of_the_past_are_not_listed_again(zone: Zone, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    old, late, new = (written_at(now - timedelta(hours=hours)) for hours in (900, 20, 0))
    landing = f"{zone.url}/{PARTITION}"
    zone.put({f"{old}/0.csv": row("a"), f"{late}/0.csv": row("b")})
    with watched(endpoint) as (address, seen):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        assert zone.run(landing).ingested.read == 2  # nothing is known: all is listed
        assert listed(seen) == [""]
        zone.put({f"{late}/1.csv": row("c"), f"{new}/1.csv": row("d"), f"{old}/1.csv": row("too late")})
        seen.clear()
        ran = zone.run(landing)
        hours = [prefix.rstrip("/") for prefix in listed(seen)]
        assert old.rpartition("/")[0] not in hours
        assert {late.rpartition("/")[0], new.rpartition("/")[0]} <= {*hours}
        assert 49 <= len(hours) <= 51  # a day back and a day ahead
        assert (ran.ingested.read, ran.ingested.unchanged) == (2, 2)
        assert requests(zone) == ["a", "b", "c", "d"]
        assert zone.run().ingested.read == 1  # without folders by time all of it is listed


def test_a_zone_larger_than_what_is_here_at_once_is_read_bit_by_bit(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 3 * len(row("00"))
    monkeypatch.setattr(copies_module, "MOST_BYTES", most)
    monkeypatch.setattr("goodput.collect.scan.MOST_BYTES", most)
    held: list[int] = []
    clear = ObjectCopies.clear

    def clearing(self: ObjectCopies) -> None:
        held.append(sum(path.stat().st_size for path in (own_folder() / "landing").glob("*")))
        clear(self)

    monkeypatch.setattr(ObjectCopies, "clear", clearing)
    large = row("large") + "".join(row(f"l{n}").splitlines()[1] + "\n" for n in range(9))
    zone.put({f"{n:02}.csv": row(f"{n:02}") for n in range(10)} | {"05-large.csv": large})
    ran = zone.run()
    assert (ran.ingested.read, ran.ingested.unchanged) == (11, 0)
    assert len(requests(zone)) == 20
    assert len(held) > 3
    assert max(held) <= most + len(large)


@pytest.mark.only("requests")
def test_an_object_that_goes_before_it_is_read_is_left_to_the_next_run(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone.put({"one.csv": row("a"), "two.csv": row("b")})
    download = Bucket.download

    def gone(self: Bucket, key: str, to: Path) -> bool:
        return key != "two.csv" and download(self, key, to)

    monkeypatch.setattr(Bucket, "download", gone)
    assert zone.run().ingested.read == 1
    monkeypatch.setattr(Bucket, "download", download)
    assert zone.run().ingested.read == 1
    assert requests(zone) == ["a", "b"]


def test_a_store_that_fails_fails_the_run_and_leaves_what_is_published(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone.put({"one.csv": row("a")})
    zone.run()
    wrong_credentials(monkeypatch)
    with pytest.raises(StoreFailed, match="the object store failed"):
        zone.run()
    assert requests(zone) == ["a"]
    told = CliRunner().invoke(app, ["doctor", "--config", str(zone.config())]).output
    assert "the object store failed" in " ".join(told.split())


def test_commands_know_objects_by_their_address(zone: Zone, tmp_path: Path) -> None:
    zone.put({"calls/one.csv": row("a")})
    zone.run()
    runner, config = CliRunner(), str(zone.config())
    connected = runner.invoke(app, ["connect", "--config", config, zone.url])
    assert "calls/one.csv" in connected.output
    assert "calls/one.csv" in runner.invoke(app, ["sources", "--config", config]).output
    explained = runner.invoke(app, ["explain", "--config", config, "a"])
    assert "calls/one.csv:2" in explained.output, explained.output
    # what still lies there is not to be forgotten, and the lake is made anew from it
    assert isinstance(runner.invoke(app, ["forget", "--config", config, "calls/one.csv"]).exception, SourceLies)
    before = published(zone.config())
    assert runner.invoke(app, ["rebuild", "--config", config]).exit_code == 0
    assert_equal(published(zone.config()), before)
    with pytest.raises(LandingUnwritable, match="it is no folder"), folder_for(Workspace(zone.config()).settings):
        pass
    shutil.rmtree(tmp_path / "lake")
    assert runner.invoke(app, ["run", "--config", config, "--landing", zone.url]).exit_code == 0


def test_erased_identities_that_objects_still_hold_are_said(zone: Zone) -> None:
    name = f"tenant-{uuid4().hex}"
    attributes = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
    span = {
        **{"traceId": "1" * 32, "spanId": "2" * 16, "name": "chat m", "kind": 3, "status": {}},
        **{"startTimeUnixNano": "1795165200000000000", "endTimeUnixNano": "1795165201000000000"},
        "attributes": [*attributes, {"key": "tenant.id", "value": {"stringValue": name}}],
    }
    zone.put({"spans.jsonl": json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n"})
    zone.run()
    assert published(zone.config())["attempts"]["tenant"].to_list() == [name]
    erased = CliRunner().invoke(app, ["erase", "--config", str(zone.config()), name])
    assert isinstance(erased.exception, ErasedFilesLie)
    assert f"  {zone.url}/spans.jsonl" in str(erased.exception).splitlines()
