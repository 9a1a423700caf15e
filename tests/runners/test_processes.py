"""Workers of this machine: the same tables as without, whoever is killed when; what breaks blocks itself alone."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goodput.conform import reading
from goodput.errors import LakeUnreadable, WorkersUnusable
from goodput.plumbing import batches, plan
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.lake import Lake
from goodput.plumbing.runner import Died
from goodput.plumbing.sharded import in_shards
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.runners import processes as module
from goodput.runners.pool import Pooled
from goodput.runners.processes import processes
from goodput.runners.shipping import packed
from goodput.settings.model import Settings
from runners import work
from runners.fleet import assert_same, land

ROOT = Path(__file__).parent.parent.parent
NOON = "2026-11-20T12"
# Whoever starts the tests may have it ignored, as a shell does for what it runs behind it.
_HEARD = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
MAIN = f"{_HEARD}from goodput.cli.main import main; main()"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a fleet, beside a lake that this process alone has made."""
    file = land(tmp_path_factory.mktemp("fleet"))
    run(Workspace(file), deliver=False)
    return file


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hour is a batch of its own, and workers find what this process finds."""
    monkeypatch.setattr(batches, "_ROWS_TOGETHER", 1)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def expected(fleet: Path) -> Lake:
    return Lake(fleet.parent / "lake")


def test_two_workers_make_the_same_lake(fleet: Path, tmp_path: Path) -> None:
    workspace = Workspace(fleet, lake_path=tmp_path / "lake", workers=2)
    done = run(workspace, deliver=False)
    assert done.hours_computed >= 4
    assert_same(workspace.lake, expected(fleet))
    assert run(workspace, deliver=False).hours_computed == 0


def test_workers_read_the_sources_too(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which every third reading costs the worker's life."""
    give, given = module._Worker.give, []

    def dangerous(worker: module._Worker, number: int, payload: bytes) -> None:
        give(worker, number, payload)
        if b"goodput.conform.reading" in payload and worker.is_ready:
            given.append(number)
            if len(given) % 3 == 0:
                threading.Timer(0.02 * (len(given) % 4), worker.kill).start()

    monkeypatch.setattr(reading, "_WORTH_IT_BYTES", 1)
    monkeypatch.setattr(reading, "_SHARES", 1000)
    monkeypatch.setattr(module._Worker, "give", dangerous)
    workspace = Workspace(fleet, lake_path=tmp_path / "lake", workers=2)
    done = run(workspace, deliver=False)
    assert len(given) > 5
    assert done.ingested.read == sum(path.is_file() for path in (fleet.parent / "landing").rglob("*"))
    assert_same(workspace.lake, expected(fleet), spread=True)
    assert not list(workspace.lake.root.rglob("*.tmp"))


def test_workers_that_are_killed_at_work_change_nothing(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fifth thing that is given out costs its worker's life, at once or a little later."""
    give, given, deaths = module._Worker.give, [], []

    def dangerous(worker: module._Worker, number: int, payload: bytes) -> None:
        give(worker, number, payload)
        given.append(number)
        if len(given) % 5 == 0:
            deaths.append(worker)
            threading.Timer(0.02 * (len(given) % 4), worker.kill).start()

    monkeypatch.setattr(module._Worker, "give", dangerous)
    workspace = Workspace(fleet, lake_path=tmp_path / "lake", workers=2)
    run(workspace, deliver=False)
    assert len(deaths) > 5
    assert_same(workspace.lake, expected(fleet))
    assert not list(workspace.lake.root.rglob("*.tmp"))


@pytest.fixture
def cut(fleet: Path) -> Path:
    """Settings of the same fleet by which each hour is cut into a few shards."""
    file = fleet.with_name("cut.toml")
    file.write_text(f"{fleet.read_text()}\n[cluster]\nshard_records = 1000\n")
    return file


def test_hours_that_are_cut_make_the_same_lake(
    fleet: Path, cut: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    monkeypatch.setattr(plan, "in_shards", lambda *given: counts.append(1) or in_shards(*given))
    workspace = Workspace(cut, lake_path=tmp_path / "lake")
    run(workspace, deliver=False)
    assert len(counts) >= 4
    assert_same(workspace.lake, expected(fleet))
    assert not (workspace.lake.root / "shards").exists()


def test_workers_that_are_killed_at_a_shard_change_nothing(
    fleet: Path, cut: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at work that cuts, computes a shard or unites shards, now and then, at once or a little later."""
    give, given, deaths = module._Worker.give, [], []

    def dangerous(worker: module._Worker, number: int, payload: bytes) -> None:
        give(worker, number, payload)
        if b"goodput.plumbing.sharded" in payload and worker.is_ready:
            given.append(number)
            if len(given) % 3 == 0:
                deaths.append(worker)
                threading.Timer(0.1 * (len(deaths) % 4), worker.kill).start()

    monkeypatch.setattr(module._Worker, "give", dangerous)
    workspace = Workspace(cut, lake_path=tmp_path / "lake", workers=2)
    run(workspace, deliver=False)
    assert len(deaths) >= 3
    assert_same(workspace.lake, expected(fleet))
    assert not (workspace.lake.root / "shards").exists()


# --- what is given to workers


def test_what_kills_its_worker_is_given_up_alone() -> None:
    deaths: list[int] = []
    with processes(2, lambda: deaths.append(1)) as pool:
        found = dict(Pooled(pool).map(work.dies, range(5)))
    assert found.pop(2) == Died("the worker process ended by signal SIGKILL")
    assert found == {0: 0, 1: 1, 3: 9, 4: 16}
    assert len(deaths) == 3


def test_last_words_of_a_worker_are_its_reason_and_no_output(capfd: pytest.CaptureFixture[str]) -> None:
    with processes(2, lambda: None) as pool:
        assert list(Pooled(pool).map(work.says, [1])) == [
            (1, Died("the worker process ended by exit code 3: last words"))
        ]
    assert capfd.readouterr() == ("", "")


def test_an_error_of_ours_arrives_as_it_was() -> None:
    with processes(2, lambda: None) as pool, pytest.raises(LakeUnreadable, match="part: cannot be read") as raised:
        list(Pooled(pool).map(work.finds_damage, [1]))
    assert raised.value.path == Path("/lake/part")


def test_workers_that_cannot_begin_end_the_run_with_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    monkeypatch.setattr(module.sys, "executable", shutil.which("false"))
    with processes(2, lambda: None) as pool, pytest.raises(WorkersUnusable, match="exit code 1"):
        list(Pooled(pool).map(work.dies, [1]))


@pytest.fixture
def killed_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """Has the next workers killed before they can work, as a machine out of memory does; where each notes it."""

    def kill(count: int) -> Path:
        folder = tmp_path / "killed"
        folder.mkdir()
        (tmp_path / "sitecustomize.py").write_text(
            "import os, sys\n"
            "from pathlib import Path\n"
            f"folder = Path({str(folder)!r})\n"
            f"if 'goodput.runners.worker' in sys.orig_argv and len(list(folder.iterdir())) < {count}:\n"
            "    (folder / str(os.getpid())).touch()\n"
            "    os.kill(os.getpid(), 9)\n"
        )
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
        return folder

    return kill


def test_a_worker_that_is_killed_before_it_can_work_is_followed_by_another(
    killed_at_start: Callable[[int], Path],
) -> None:
    killed = killed_at_start(2)
    with processes(1, lambda: None) as pool:
        assert dict(Pooled(pool).map(work.double, [1, 2])) == {1: 2, 2: 4}
    assert len([*killed.iterdir()]) == 2


def test_a_run_gives_up_where_every_worker_is_killed_before_it_can_work(
    killed_at_start: Callable[[int], Path],
) -> None:
    killed = killed_at_start(100)
    with processes(2, lambda: None) as pool, pytest.raises(WorkersUnusable, match="signal SIGKILL"):
        list(Pooled(pool).map(work.double, range(5)))
    assert 3 <= len([*killed.iterdir()]) <= 4


def test_workers_with_other_sql_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goodput.runners.shipping.code", lambda: "another")
    with processes(2, lambda: None) as pool, pytest.raises(WorkersUnusable, match="another version of Goodput"):
        list(Pooled(pool).map(work.dies, [1]))


def test_receivers_and_their_secrets_are_not_given_to_workers() -> None:
    settings = Settings.model_validate({"telemetry": {"endpoint": "http://nobody:secret@collector:4318"}})
    given = packed(work.dies, settings)
    assert b"secret" not in given
    assert settings.telemetry.endpoint is not None


# --- whole commands


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project, to be changed, in which every hour is a batch of its own."""
    for name in ("pipelines/goodput", "sql", "schemas"):
        shutil.copytree(ROOT / name, tmp_path / "checkout" / name, ignore=shutil.ignore_patterns("__pycache__"))
    change(tmp_path / "checkout/pipelines/goodput/plumbing/batches.py", "_TOGETHER = 2_500_000", "_TOGETHER = 1")
    return tmp_path / "checkout"


def command(checkout: Path, fleet: Path, lake: Path, *more: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(checkout / "pipelines")}
    said = [sys.executable, "-c", MAIN, "run", "--config", str(fleet), "--lake", str(lake), *more]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(said, text=True, env=environment, cwd=lake.parent, **pipes)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def workers_of(pid: int) -> list[int]:
    """Processes that this one has begun and that are workers."""
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [child for child in children if b"goodput.runners.worker" in Path(f"/proc/{child}/cmdline").read_bytes()]


def within(seconds: float) -> Iterator[None]:
    """So long, look by look."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.05)


def at_work(driver: "subprocess.Popen[str]") -> list[int]:
    """Its workers, once there are two."""
    for _ in within(90.0):
        assert driver.poll() is None, driver.communicate()
        found = workers_of(driver.pid)
        if len(found) == 2:
            return found
    raise AssertionError("no workers")


def are_gone(workers: list[int]) -> bool:
    return any(not any(Path(f"/proc/{worker}").exists() for worker in workers) for _ in within(15.0))


def test_an_sql_error_blocks_its_hour_alone(checkout: Path, fleet: Path, tmp_path: Path) -> None:
    noon = 498_648 + 12  # hours since the Unix epoch
    given = "    FROM label_records\n)"
    refused = f"WHERE if(labelled_ns // 3600000000000 = {noon}, error('no noon'), true)"
    change(checkout / "sql/join/label_rows.sql", given, given.replace("\n", f" {refused}\n"))
    ended = command(checkout, fleet, tmp_path / "lake", "--workers", "2")
    said = ended.communicate()[1]
    assert ended.returncode == 1, said
    own = [item for item in Blocked(Lake(tmp_path / "lake")).all() if item.blocked_by is None]
    assert [(item.table, item.partition) for item in own] == [("label_rows", NOON)]
    assert "no noon" in own[0].reason


def test_an_hour_that_kills_its_workers_is_blocked_alone(checkout: Path, fleet: Path, tmp_path: Path) -> None:
    is_noon = f"batch.node.name == 'join' and '{NOON}' in batch.partitions"
    kill = f"    if {is_noon}:\n        __import__('os').kill(__import__('os').getpid(), 9)\n"
    computes = "    return attempt(lambda began_ns: _worked(batch"
    change(checkout / "pipelines/goodput/plumbing/work.py", computes, kill + computes)
    ended = command(checkout, fleet, tmp_path / "lake", "--workers", "2")
    said = ended.communicate()[1]
    assert ended.returncode == 1, said
    own = [item for item in Blocked(Lake(tmp_path / "lake")).all() if item.blocked_by is None]
    reason = "the worker process ended by signal SIGKILL"
    assert [(item.table, item.partition, item.reason) for item in own] == [("attempts", NOON, reason)]
    assert "ran out of memory: give it more, or compute with fewer workers" in said


def test_after_a_driver_that_was_killed_the_next_run_makes_the_same_lake(
    checkout: Path, fleet: Path, tmp_path: Path
) -> None:
    driver = command(checkout, fleet, tmp_path / "lake", "--workers", "2")
    workers = at_work(driver)
    for _ in within(90.0):
        if list((tmp_path / "lake").glob("joined/requests/period=*/*.parquet")):
            break
    driver.kill()
    driver.communicate()
    assert are_gone(workers)
    workspace = Workspace(fleet, lake_path=tmp_path / "lake", workers=2)
    run(workspace, deliver=False)
    assert_same(workspace.lake, expected(fleet))


def test_ctrl_c_ends_workers_and_says_one_line(checkout: Path, fleet: Path, tmp_path: Path) -> None:
    driver = command(checkout, fleet, tmp_path / "lake", "--workers", "2")
    workers = at_work(driver)
    driver.send_signal(signal.SIGINT)
    output = driver.communicate(timeout=60)
    assert output == ("", "Interrupted. What was finished is kept: another run goes on from there.\n")
    assert driver.returncode == 130
    assert are_gone(workers)
