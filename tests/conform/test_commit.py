"""A run that dies at any of its commits: the next one ends as if it had not, with no row lost and none twice."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, START_NS, TRACE, Row, log, logs_line, put, span, spans_line
from goodput.conform.ingest import Ingested, ingest
from goodput.errors import LakeUnreadable
from goodput.plumbing.catalog import Table
from goodput.plumbing.lake import Lake
from goodput.plumbing.source_ledger import read
from goodput.plumbing.workspace import Workspace

TABLES = ("serving_records", "span_links", "label_records", "quarantine")
COMMITS = ("landed_files", "label_records", "quarantine", "serving_records", "span_links", "source_ledger")
EVALUATION = {"gen_ai.evaluation.name": "judge", "gen_ai.evaluation.score.value": 1.0}


class Killed(BaseException):
    """The process ends here."""


def chat(number: int, **given: Any) -> Row:
    return span(said={**CHAT, "gen_ai.response.finish_reasons": ["stop"]}, **{"spanId": f"{number:016x}", **given})


def lines(number: int) -> list[str]:
    """A span, one that is no request, one that ends before it starts, and a label."""
    route = span("route m", {}, spanId=f"{number + 100:016x}")
    backwards = chat(number + 200, endTimeUnixNano=str(START_NS - 1))
    return [
        spans_line(chat(number), route, backwards),
        logs_line(log({**EVALUATION, "gen_ai.response.id": f"r{number}"}, traceId=TRACE)),
    ]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A lake of nine sources, each in a part of its own; one has grown since, one is new: parts will be merged."""
    landing = tmp_path / "landing"
    landing.mkdir()
    path = tmp_path / "goodput.toml"
    path.write_text('landing = ["landing"]\nlake = "lake"\n')
    for number in range(1, 10):
        put(landing / f"{number}.jsonl", *lines(number))
        ingest(Workspace(path))
    put(landing / "1.jsonl", *lines(1), *lines(50))
    put(landing / "10.jsonl", *lines(10))
    return path


def state(config: Path) -> dict[str, Any]:
    """Rows and digests of every table, and the ledger but for the time of reading."""
    lake = Workspace(config).lake
    found: dict[str, Any] = {}
    for table in TABLES:
        home = lake.catalog[table]
        rows = [row for path in home.all_files() for row in pq.ParquetFile(path).read().to_pylist()]
        found[table] = (sorted(json.dumps(row, default=str) for row in rows), dict(home.contents))
    found["ledger"] = read(lake).drop_columns(["ingested_ns"]).sort_by("path").to_pylist()
    return found


def dying(monkeypatch: pytest.MonkeyPatch, at: int) -> list[str]:
    """Die before commit number `at`; the tables that were committed to."""
    commit, tables = Table._commit, []

    def counted(self: Table, *changes: Any) -> list[Path]:
        if len(tables) == at:
            raise Killed
        tables.append(self.name)
        return commit(self, *changes)

    monkeypatch.setattr(Table, "_commit", counted)
    return tables


@pytest.fixture
def unharmed(config: Path) -> Iterator[dict[str, Any]]:
    """The state after a run that nothing befalls, which is then taken back."""
    shutil.copytree(config.parent / "lake", config.parent / "before")
    done = ingest(Workspace(config))
    assert (done.read, done.superseded) == (2, 1)
    after = state(config)
    assert [len(after[table][0]) for table in TABLES] == [11, 11, 11, 11]
    shutil.rmtree(config.parent / "lake")
    shutil.move(config.parent / "before", config.parent / "lake")
    yield after
    assert state(config) == after


def test_commits_come_in_this_order(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = dying(monkeypatch, 100)
    ingest(Workspace(config))
    assert tuple(tables) == COMMITS


@pytest.mark.parametrize("at", range(len(COMMITS)), ids=COMMITS)
def test_wherever_a_run_dies_the_next_one_ends_as_if_it_had_not(
    config: Path, at: int, unharmed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        dying(patched, at)
        with pytest.raises(Killed):
            ingest(Workspace(config))
    done = ingest(Workspace(config))
    assert done.read == 2
    assert not (config.parent / "lake/ingesting.json").exists()
    assert not {path for path in done.removed if not path.exists()}
    _check_nothing_in_use_is_removed(config, done)


def test_a_run_that_dies_after_its_last_commit_has_done_all(
    config: Path, unharmed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Lake, "drop", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            ingest(Workspace(config))
    assert (config.parent / "lake/ingesting.json").exists()
    done = ingest(Workspace(config))
    removed = {path.parent.parent.name for path in done.removed}
    assert (done.read, removed - {"landed_files"}) == (0, set())
    assert not (config.parent / "lake/ingesting.json").exists()


def test_a_run_may_die_while_it_takes_back_another(
    config: Path, unharmed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in (5, 0, 1, 2):  # the first run before its ledger, the others at commits that take that back
        with monkeypatch.context() as patched:
            dying(patched, at)
            with pytest.raises(Killed):
                ingest(Workspace(config))
    _check_nothing_in_use_is_removed(config, ingest(Workspace(config)))


def test_a_process_that_is_killed(config: Path, unharmed: dict[str, Any]) -> None:
    script = (
        "import os, sys; from pathlib import Path; from goodput.conform.ingest import ingest\n"
        "from goodput.plumbing import source_ledger; from goodput.plumbing.workspace import Workspace\n"
        "source_ledger.change = lambda *_: os._exit(9)\n"
        "ingest(Workspace(Path(sys.argv[1])))"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(config)], env=os.environ, check=False)
    assert ended.returncode == 9
    assert ingest(Workspace(config)).read == 2


def test_a_damaged_journal_is_reported(config: Path) -> None:
    (config.parent / "lake/ingesting.json").write_text("{")
    with pytest.raises(LakeUnreadable, match=r"ingesting\.json: cannot be read"):
        ingest(Workspace(config))


def _check_nothing_in_use_is_removed(config: Path, done: Ingested) -> None:
    catalog = Workspace(config).lake.catalog
    in_use = {Path(path) for table in TABLES for path in catalog[table].all_files()}
    assert in_use
    assert not in_use & set(done.removed)
    assert all(path.exists() for path in in_use)
