"""A lake in an object store, as users have it: the same tables, from any machine, whatever dies or is damaged."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from end_to_end.test_same_sources_same_tables import sources
from goodput.cli.main import app
from goodput.errors import (
    CacheOfAnotherLake,
    FederatedIntoStore,
    HeadMissing,
    LakeBusy,
    LakesUnnamed,
    LeaseLost,
    NotInObjectStore,
    NotPublished,
    SettingsError,
    StoreFailed,
)
from goodput.plumbing.alarm_actions import Action, add_action, read_actions
from goodput.plumbing.database import LAKE_VARIABLE
from goodput.plumbing.object_store.bucket import Bucket
from goodput.plumbing.object_store.lease import Lease
from goodput.plumbing.object_store.published import download_published
from goodput.plumbing.verify import damages, parts_of
from goodput.plumbing.workspace import Workspace
from goodput.rebuild import rebuild
from goodput.run import run
from goodput.settings.load import load_settings
from plumbing.object_store.conftest import Machines
from published import RESTATED
from s3_server import watched

pytestmark = pytest.mark.only("goodput")

BY_THE_CLOCK = {"goodput": RESTATED, "sources": ("ingested_at",), "alarm_events": ("recorded_at",)}
KILLS = 5
RUN = [sys.executable, "-c", "from goodput.cli.main import main; main()", "run", "--config"]


def everything(workspace: Workspace) -> dict[str, pl.DataFrame]:
    """All that a lake publishes, but when, and after which numbers that held before, it was made."""
    lake = workspace.lake
    with duckdb.connect(str(lake.database), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"SET VARIABLE {LAKE_VARIABLE} = $1", [str(lake.root.absolute())])
        asking = lake.store.reading(connection)
        names = asking.sql(
            "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
        ).fetchall()
        return {
            name: _in_order(asking.sql(f'FROM "{name}"'), BY_THE_CLOCK.get(name, ()))
            for (name,) in sorted(names)
            if name != "restatements"
        }


def _in_order(found: duckdb.DuckDBPyRelation, without: tuple[str, ...]) -> pl.DataFrame:
    rows = pl.DataFrame(found.to_arrow_table()).drop(without)
    return rows.sort([name for name, kind in rows.schema.items() if not kind.is_nested()], nulls_last=True)


def assert_equal(found: Mapping[str, pl.DataFrame], wanted: Mapping[str, pl.DataFrame]) -> None:
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if not found[name].equals(wanted[name])] == []


def land(machines: Machines, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (machines.landing / name).write_text(text)


def of_files(machines: Machines) -> dict[str, pl.DataFrame]:
    """What a lake in a folder makes of all that has landed, in one run."""
    workspace = Workspace(machines.with_files())
    run(workspace)
    return everything(workspace)


def run_at(config: Path) -> Workspace:
    workspace = Workspace(config)
    run(workspace)
    return workspace


@pytest.fixture
def files() -> dict[str, str]:
    """Sources of every kind over some hours."""
    return sources(random.Random(18))


@pytest.fixture
def few() -> dict[str, str]:
    """Two files of attempts, in two hours."""
    hours = {"one.csv": 1_795_165_200, "two.csv": 1_795_168_800}
    return {name: "id,start_ns,end_ns,ttft,out,model\n" + "".join(_lines(name, at)) for name, at in hours.items()}


def _lines(name: str, at: int) -> list[str]:
    begun = [at + 60 * number for number in range(1, 10)]
    return [f"{name}-{n},{s}000000000,{s + 9}000000000,0.{n},30,m-a\n" for n, s in enumerate(begun, 1)]


@pytest.mark.only
def test_it_publishes_what_a_lake_in_a_folder_does(machines: Machines, files: dict[str, str]) -> None:
    land(machines, files)
    assert_equal(everything(run_at(machines.named("a"))), of_files(machines))


@pytest.mark.only
def test_workers_make_of_it_what_one_process_does(machines: Machines, files: dict[str, str]) -> None:
    """They read what the run fetched, on a machine whose copy is empty but for the log, and send nothing themselves."""
    land(machines, files)
    whole = everything(run_at(machines.named("a")))
    workspace = Workspace(machines.named("b", more="[cluster]\nworkers = 2\n"))
    ran = run(workspace, datetime(2026, 2, 25, tzinfo=UTC), datetime(2026, 2, 26, tzinfo=UTC))
    assert ran.hours_computed > 2
    assert_equal(everything(workspace), whole)


def test_a_run_with_nothing_new_asks_no_more_of_the_store_however_much_is_there(
    machines: Machines, few: dict[str, str], endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = machines.named("a")
    asked = []
    with watched(endpoint) as (address, seen):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        for name in sorted(few):
            land(machines, {name: few[name]})
            run_at(config)
            run_at(config)  # notes files as old that had just been written
            seen.clear()
            assert not run(Workspace(config)).changed
            asked.append([method for method, _ in seen])
    lease = [
        "GET",
        *(["PUT"] * 3),
        "POST",
        "GET",
        "PUT",
        "PUT",
    ]  # the head, a probe of the store, the lease and its end
    assert asked == [lease, lease]


def test_a_late_file_on_another_machine_with_an_empty_cache(machines: Machines, files: dict[str, str]) -> None:
    names = sorted(files)
    land(machines, {name: files[name] for name in names[:-1]})
    run_at(machines.named("a"))
    land(machines, files)
    elsewhere = run_at(machines.named("b"))
    wanted = of_files(machines)
    assert_equal(everything(elsewhere), wanted)
    back = Workspace(machines.named("a"))
    run(back)
    assert_equal(everything(back), wanted)


def test_any_machine_asks_what_another_has_published(machines: Machines, few: dict[str, str]) -> None:
    land(machines, few)
    run_at(machines.named("a"))
    wanted = of_files(machines)
    asked = machines.named("b")
    found = CliRunner().invoke(
        app, ["query", "--config", str(asked), "--format", "csv", "SELECT count(*) FROM requests"]
    )
    assert found.output.split() == ["count_star()", str(wanted["requests"].height)]
    assert found.exit_code == 0
    request = wanted["requests"]["request_key"][0]
    explained = CliRunner().invoke(app, ["explain", "--config", str(asked), request])
    assert explained.exit_code == 0, explained.output


def test_the_cache_is_bounded_and_what_is_gone_of_it_comes_again(machines: Machines, few: dict[str, str]) -> None:
    land(machines, few)
    config = machines.named("a", max_bytes=1)
    root = run_at(config).lake.root
    time.sleep(0.01)
    held = list(root.glob("*/*/period=*/*.parquet"))
    lake = Workspace(config).lake
    with lake.lock():
        some = sorted(part.path for _, part in parts_of(lake))[:1]
        for path in held:
            os.utime(path, (1, 1))
        some[0].unlink(missing_ok=True)
        lake.store.fetch(some)
        assert sorted(root.glob("*/*/period=*/*.parquet")) == some
    assert_equal(everything(Workspace(config)), of_files(machines))


@pytest.mark.only  # processes that are killed compute all tables, and come as far as they come
def test_killed_at_any_instant_and_run_again(machines: Machines, files: dict[str, str]) -> None:
    rng = random.Random(3)
    config, names = machines.named("a"), rng.sample(sorted(files), k=len(files))
    for kill in range(KILLS):
        land(machines, {name: files[name] for name in names[kill::KILLS]})
        process = subprocess.Popen([*RUN, str(config)], stderr=subprocess.DEVNULL, env=os.environ.copy())
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(2.0, 7.0))
        process.kill()
        process.wait()
    wanted = of_files(machines)
    assert_equal(everything(run_at(config)), wanted)
    assert_equal(everything(run_at(machines.named("b"))), wanted)


def test_two_writers_one_waits_or_is_refused(machines: Machines, few: dict[str, str]) -> None:
    land(machines, few)
    here, there = Workspace(machines.named("a")), Workspace(machines.named("b"))
    here.lake.open()
    with here.lake.lock(), pytest.raises(LakeBusy, match=str(here.lake.root)):
        run(there)
    assert (there.lake.root / ".lock").read_bytes() == b""  # it has left nothing that somebody must look for
    run(there)
    assert_equal(everything(there), of_files(machines))


@pytest.mark.parametrize("harm", ["deleted", "damaged"])
def test_a_part_that_the_store_lost_is_named_and_made_again(machines: Machines, few: dict[str, str], harm: str) -> None:
    land(machines, few)
    config = machines.named("a")
    lake = run_at(config).lake
    bucket = Bucket(machines.url)
    (part, *_) = lake.catalog["requests"].parts[max(lake.catalog["requests"].parts)]
    key = part.path.relative_to(lake.root).as_posix()
    if harm == "deleted":
        bucket.delete([key])
    else:
        bucket.write(key, b"x" * part.size_bytes)
    part.path.unlink()  # else the store is given it again
    found = CliRunner().invoke(app, ["verify", "--config", str(config)], env={"COLUMNS": "200"})
    assert found.exit_code == 1
    assert ("is missing" if harm == "deleted" else "holds other bytes") in found.output
    assert CliRunner().invoke(app, ["verify", "--config", str(config), "--repair"]).exit_code == 1
    assert_equal(everything(run_at(config)), of_files(machines))
    whole = Workspace(config).lake
    whole.pull()
    assert not list(damages(parts_of(whole), whole.store))
    assert bucket.read(key) is not None


def test_a_part_that_a_run_misses_is_made_again_by_it(machines: Machines, few: dict[str, str]) -> None:
    names = sorted(few)
    land(machines, {name: few[name] for name in names[:-1]})
    lake = run_at(machines.named("a")).lake
    bucket = Bucket(machines.url)
    lost = [part for parts in lake.catalog["attempts"].parts.values() for part in parts]
    bucket.delete([part.path.relative_to(lake.root).as_posix() for part in lost])
    land(machines, few)
    assert_equal(everything(run_at(machines.named("b"))), of_files(machines))


def test_a_part_that_is_damaged_in_the_cache_alone_comes_again(machines: Machines, few: dict[str, str]) -> None:
    land(machines, few)
    config = machines.named("a")
    lake = run_at(config).lake
    (part, *_) = lake.catalog["requests"].parts[max(lake.catalog["requests"].parts)]
    part.path.write_bytes(b"x" * part.size_bytes)
    assert CliRunner().invoke(app, ["verify", "--config", str(config)]).exit_code == 0
    assert not part.path.exists()
    assert_equal(everything(Workspace(config)), of_files(machines))


def test_a_part_that_is_whole_here_alone_is_given_to_the_store_again(machines: Machines, few: dict[str, str]) -> None:
    """The copy may be the last one: of what no source has, nothing else gives it again."""
    land(machines, few)
    lake = run_at(machines.named("a")).lake
    before = everything(run_at(machines.named("b")))
    bucket, parts = Bucket(machines.url), lake.catalog["source_ledger"].parts["all"]
    for part in parts:
        bucket.delete([str(part.path.relative_to(lake.root))])
    verified = CliRunner().invoke(app, ["verify", "--config", str(machines.named("a"))])
    assert verified.exit_code == 0, verified.output
    for part in parts:
        assert bucket.has(str(part.path.relative_to(lake.root)))
        assert part.path.exists()
    assert_equal(everything(run_at(machines.named("c"))), before)


def test_small_files_that_are_damaged_in_the_store_are_kept_again(machines: Machines, few: dict[str, str]) -> None:
    """Else no other machine can run or ask, and the one that could mend it never looks."""
    land(machines, few)
    before, bucket = everything(run_at(machines.named("a"))), Bucket(machines.url)
    keys = [key for key in bucket.tags("files") if "goodput.duckdb" in key or "lake.json" in key]
    assert len(keys) == 2
    for key in keys:
        bucket.write(key, b"x")
    with pytest.raises(StoreFailed):
        run(Workspace(machines.named("b")))
    verified = CliRunner().invoke(app, ["verify", "--config", str(machines.named("a"))])
    assert verified.exit_code == 0, verified.output
    assert_equal(everything(run_at(machines.named("b"))), before)
    (key,) = [key for key in bucket.tags("files") if "goodput.duckdb" in key]
    bucket.delete([key])
    (Workspace(machines.named("a")).lake.root / "goodput.duckdb").unlink()
    verified = CliRunner().invoke(app, ["verify", "--config", str(machines.named("a"))])
    assert verified.exit_code == 1


def test_a_first_run_that_could_not_write_a_head_is_none(
    machines: Machines, few: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves small files in the store, and no table."""
    land(machines, few)

    def refused(*_: object) -> None:
        raise StoreFailed(machines.url, "no")

    with monkeypatch.context() as patched:
        patched.setattr(Lease, "change", refused)
        with pytest.raises(StoreFailed):
            run(Workspace(machines.named("a")))
    assert Bucket(machines.url).tags("files")
    assert_equal(everything(run_at(machines.named("b"))), of_files(machines))


def test_a_lake_without_its_head_is_no_new_one(machines: Machines, few: dict[str, str]) -> None:
    land(machines, few)
    workspace = run_at(machines.named("a"))
    before, bucket = everything(workspace), Bucket(machines.url)
    head = bucket.read("head.json")
    assert head is not None
    bucket.delete(["head.json"])
    for name in ("a", "b"):
        with pytest.raises(HeadMissing, match=r"head\.json is missing"):
            run(Workspace(machines.named(name)))
    assert bucket.read("head.json") is None
    assert_equal(everything(workspace), before)
    bucket.write("head.json", head.content)
    assert_equal(everything(run_at(machines.named("b"))), before)


def test_a_driver_that_lost_its_lease_commits_nothing(
    machines: Machines, few: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    land(machines, few)
    config = machines.named("a")
    late, new = run_at(config), Workspace(machines.named("b"))
    wanted = everything(late)
    with pytest.raises(LeaseLost):
        _commit_late(late, new, monkeypatch)
    for workspace in (new, Workspace(config), Workspace(machines.named("c"))):
        run(workspace)
        assert_equal(everything(workspace), wanted)


def _commit_late(late: Workspace, new: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit after another has taken over, as one would that stood still between a look at the lease and the commit."""
    with late.lake.lock(), monkeypatch.context() as patched:
        patched.setattr(Lease, "_is_over", lambda *_: True)
        run(new)
        patched.setattr(Lease, "check", lambda _: None)
        table = late.lake.catalog["serving_records"]
        table.replace(dict.fromkeys(table.parts, ()))


@pytest.mark.only
def test_prune_and_forget_work_on_it_and_rebuild_is_refused_by_name(
    machines: Machines, few: dict[str, str], endpoint: str
) -> None:
    land(machines, few)
    config = machines.named("a", more="[retention]\nrecords_days = 1\n")
    run_at(config)
    before = everything(Workspace(config))
    pruned = CliRunner().invoke(app, ["prune", "--config", str(config)])
    assert pruned.exit_code == 0, pruned.output
    elsewhere = machines.named("b", more="[retention]\nrecords_days = 1\n")
    after = run_at(elsewhere)
    assert after.lake.catalog["serving_records"].parts == {}
    assert everything(after)["goodput"].equals(before["goodput"])
    with pytest.raises(NotInObjectStore, match="rebuild does not work"):
        rebuild(Workspace(config))


def test_who_is_erased_is_in_no_object_and_in_no_copy(machines: Machines, few: dict[str, str], tmp_path: Path) -> None:
    land(machines, few)
    here, there = machines.named("a"), machines.named("b")
    for config in (here, there):
        text = config.read_text()
        config.write_text(text.replace('attempt_id = "id"', 'attempt_id = "id"\ntenant = "id"'))
        run_at(config)
        Workspace(config).lake.store.fetch(part.path for _, part in parts_of(Workspace(config).lake))
    assert _tenants(Workspace(there).lake.root) > {"one.csv-3"}
    erased = CliRunner().invoke(app, ["erase", "one.csv-3", "--config", str(here)])
    assert "Other machines empty their copies" in erased.output
    bucket = Bucket(machines.url)
    for key in bucket.tags(""):
        if "/period=" in key:
            (tmp_path / "objects" / key).parent.mkdir(parents=True, exist_ok=True)
            assert bucket.download(key, tmp_path / "objects" / key)
    assert len(_tenants(tmp_path / "objects")) == len(_tenants(Workspace(here).lake.root)) > 1
    run_at(there)
    for root in (tmp_path / "objects", Workspace(here).lake.root, Workspace(there).lake.root):
        assert "one.csv-3" not in _tenants(root)


def _tenants(root: Path) -> set[str]:
    """Values of `tenant` in all parts below a folder."""
    parts = [pq.ParquetFile(path) for path in root.glob("*/*/period=*/*.parquet")]
    rows = [part.read(["tenant"])["tenant"].to_pylist() for part in parts if "tenant" in part.schema_arrow.names]
    return {tenant for tenants in rows for tenant in tenants if tenant}


def test_what_is_said_of_an_alarm_on_one_machine_is_known_on_all(machines: Machines, few: dict[str, str]) -> None:
    land(machines, few)
    run_at(machines.named("a"))
    at = datetime(2026, 11, 20, tzinfo=UTC)
    said = [Action(name, "silence", {"rule": "*"}, at, at, None, "why") for name in ("one", "two", "three")]
    for name, action in zip("bcb", said, strict=True):
        lake = Workspace(machines.named(name)).lake
        add_action(lake.root, action, lake.store)
    back = Workspace(machines.named("a")).lake
    back.pull()
    assert read_actions(back.root) == said


def test_what_does_not_go_with_it_is_told(machines: Machines, tmp_path: Path) -> None:
    with pytest.raises(NotPublished):
        Workspace(machines.named("a")).lake.require()
    config = machines.named("a", more='[channels.ops]\nkind = "slack"\nurl = { env = "HOOK" }\n')
    with pytest.raises(SettingsError, match="outbox"):
        load_settings(config)
    run_at(machines.named("b"))
    other = machines.named("b")
    other.write_text(other.read_text().replace(machines.url, f"{machines.url}-other"))
    with pytest.raises(CacheOfAnotherLake, match="folder"):
        run(Workspace(other))


def test_lakes_in_a_store_and_in_a_folder_are_put_together_from_anywhere(
    machines: Machines, few: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whoever knows the address alone: nothing of the lake in the store is on that machine before or after."""
    land(machines, few)
    run_at(machines.with_files())
    nothing = CliRunner().invoke(app, ["federate", machines.url])
    assert isinstance(nothing.exception, LakesUnnamed)  # an address of this test has a longer name than fits
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    monkeypatch.chdir(fresh)
    given = ["here=../files/lake", f"there={machines.url}/"]
    early = CliRunner().invoke(app, ["federate", *given])
    assert isinstance(early.exception, NotPublished)
    assert f"nothing is published yet: {machines.url}/goodput.duckdb does not exist" in str(early.exception)
    run_at(machines.named("a"))
    run_at(machines.named("b"))  # another machine: what is published lies below another name now
    assert CliRunner().invoke(app, ["federate", *given]).exit_code == 0
    assert os.listdir(fresh) == ["federated"]
    of_all = "SELECT lake, sum(offered)::INTEGER FROM goodput WHERE slice = 'overall' AND window_s = 3600 GROUP BY 1"
    with duckdb.connect(str(fresh / "federated" / "goodput.duckdb"), read_only=True) as connection:
        assert connection.sql(f"{of_all} ORDER BY 1").fetchall() == [("here", 18), ("there", 18)]


def test_a_lake_in_a_store_without_a_name_has_that_of_its_prefix(
    machines: Machines, few: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    land(machines, few)
    machines.url = f"{machines.url}/eu"
    run_at(machines.named("a"))
    ended = CliRunner().invoke(app, ["federate", machines.url, "--into", "all"])
    assert ended.exit_code == 0, ended.output
    with duckdb.connect("all/goodput.duckdb", read_only=True) as connection:
        assert connection.sql("SELECT DISTINCT lake FROM goodput").fetchall() == [("eu",)]
    failed = CliRunner().invoke(app, ["federate", machines.url, "--into", f"{machines.url}/all"])
    assert isinstance(failed.exception, FederatedIntoStore)
    assert f"{machines.url}/all is an address" in str(failed.exception)


def test_a_database_that_is_replaced_while_it_is_read_is_read_anew(
    machines: Machines, few: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(machines, few)
    lake = run_at(machines.named("a")).lake
    download, downloaded = Bucket.download, []

    def replaced(bucket: Bucket, key: str, to: Path) -> bool:
        if not downloaded:
            with lake.lock():
                lake.store.keep(lake.database)
        downloaded.append(key)
        return download(bucket, key, to)

    monkeypatch.setattr(Bucket, "download", replaced)
    assert download_published(machines.url, "goodput.duckdb", tmp_path / "found")
    assert (tmp_path / "found").read_bytes() == lake.database.read_bytes()
    assert len({*downloaded}) == 2
