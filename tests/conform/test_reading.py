"""Sources that workers read: the same rows, accounts and refusals as where one process reads them all."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, START_NS, TRACE, Row, log, logs_line, put, span, spans_line
from goodput.conform import reading
from goodput.conform.ingest import Ingested, ingest
from goodput.errors import SecretUnusable
from goodput.plumbing.runner import Died, Runner
from goodput.plumbing.source_ledger import read
from goodput.plumbing.workspace import Workspace
from goodput.runners.shipping import done, packed, unpacked

TABLES = ("serving_records", "span_links", "label_records", "quarantine")
HOUR_NS = 3_600 * 10**9
EVALUATION = {"gen_ai.evaluation.name": "judge", "gen_ai.evaluation.score.value": 1.0}
SETTINGS = """
landing = ["landing"]
lake = "lake"
limits.quarantined_ratio = 0.2
[sources.log]
format = "csv"
path = "*.csv"
columns.started_at = { column = "at", unit = "epoch_s" }
"""


class Workers:
    """Two of them, which get and give bytes, as those in other processes do; the last to begin ends first."""

    width = 2

    def __init__(self) -> None:
        self.given: list[int] = []  # files of each share

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        shares = list(items)
        self.given = [len(share.files) for share in shares]
        for share in reversed(shares):
            yield share, self.answer(work, share)

    def answer(self, work: Callable[[Any], Any], share: Any) -> Any:
        return unpacked(done(packed(work, share)))


class Dying(Workers):
    """Every other share is its worker's end, after it was read."""

    def answer(self, work: Callable[[Any], Any], share: Any) -> Any:
        found = super().answer(work, share)
        self.given.append(0)
        return Died("killed") if len(self.given) % 2 else found


class Elsewhere(Workers):
    """Machines that have none of the files."""

    def answer(self, work: Callable[[Any], Any], share: Any) -> Any:
        folder = share.files[0][0].landing
        hidden = folder.rename(folder.with_name("hidden"))
        try:
            return super().answer(work, share)
        finally:
            hidden.rename(folder)


def chat(number: int, hour: int = 0, **given: Any) -> Row:
    start_ns = START_NS + hour * HOUR_NS
    own = {"spanId": f"{number:016x}", "startTimeUnixNano": str(start_ns), "endTimeUnixNano": str(start_ns + 10**9)}
    return span(said={**CHAT, "gen_ai.response.finish_reasons": ["stop"]}, **{**own, **given})


def lines(number: int) -> list[str]:
    """Spans of two hours, one twice, one that is no request, one that ends before it starts, and a label."""
    route = span("route m", {}, spanId=f"{number + 100:016x}")
    backwards = chat(number + 200, endTimeUnixNano=str(START_NS - 1))
    return [
        spans_line(chat(number), chat(number + 300, hour=number % 3), chat(number), route, backwards),
        logs_line(log({**EVALUATION, "gen_ai.response.id": f"r{number}"}, traceId=TRACE)),
    ]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A lake of seven sources; then one has grown, of one no row is good by other settings, four are new, one of them
    cannot be read."""
    landing = tmp_path / "landing"
    landing.mkdir()
    path = tmp_path / "goodput.toml"
    path.write_text(SETTINGS)
    put(landing / "log.csv", "at\n1795165200\n1795165201\n")
    for number in range(1, 7):
        put(landing / f"{number}.jsonl", *lines(number))
    ingest(Workspace(path))
    put(landing / "1.jsonl", *lines(1), *lines(50))
    path.write_text(SETTINGS.replace("epoch_s", "iso8601"))
    for number in range(7, 10):
        put(landing / f"{number}.jsonl", *lines(number))
    (landing / "garbage.jsonl.gz").write_bytes(b"no gzip at all")
    return path


def ingested(config: Path, runner: Runner | None, monkeypatch: pytest.MonkeyPatch, share_bytes: int = 1) -> Ingested:
    monkeypatch.setattr(reading, "_WORTH_IT_BYTES", share_bytes)
    monkeypatch.setattr(reading, "_SHARES", 1000)
    workspace = Workspace(config)
    workspace.runner = runner
    return ingest(workspace)


def state(config: Path) -> dict[str, Any]:
    """Rows and digests of every table, and the ledger but for the time of reading."""
    lake = Workspace(config).lake
    found: dict[str, Any] = {
        table: (sorted(json.dumps(row, default=str) for row in rows(config, table)), dict(lake.catalog[table].contents))
        for table in TABLES
    }
    return found | {"ledger": read(lake).drop_columns(["ingested_ns"]).sort_by("source_id").to_pylist()}


def rows(config: Path, table: str = "serving_records") -> list[Row]:
    files = Workspace(config).lake.catalog[table].all_files()
    return [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]


@pytest.mark.parametrize("share_bytes", [1, 3_000], ids=["a file each", "a few each"])
@pytest.mark.parametrize("kind", [Workers, Dying, Elsewhere])
def test_workers_read_what_one_process_reads(
    config: Path, kind: type[Workers], share_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = config.parent / "before"
    shutil.copytree(config.parent / "lake", before)
    alone = ingested(config, None, monkeypatch)
    expected = state(config)
    shutil.rmtree(config.parent / "lake")
    before.rename(config.parent / "lake")

    workers = kind()
    together = ingested(config, workers, monkeypatch, share_bytes)
    assert len(workers.given) > 1
    assert state(config) == expected
    told = ("read", "bytes_read", "rows_read", "refused", "superseded", "moved", "rows_quarantined", "failed")
    assert {name: getattr(together, name) for name in told} == {name: getattr(alone, name) for name in told}
    assert {t: sorted(found) for t, found in together.new_sources.items()} == {
        t: sorted(found) for t, found in alone.new_sources.items()
    }


def test_a_source_that_is_worse_than_before_is_refused_though_a_worker_has_written_it(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ingested(config, Workers(), monkeypatch)
    ((_, wrong),) = [(path, wrong) for path, wrong in found.failed if path == "log.csv"]
    assert wrong.startswith("refused, 2 of 2 rows break a rule")
    assert wrong.endswith("the rows of an earlier reading stay in use")
    assert len([row for row in rows(config) if row["span_id"] is None]) == 2
    assert "log.csv" not in {row["path"] for row in rows(config, "quarantine")}


def test_a_file_that_becomes_another_while_workers_read_is_taken_as_it_is_in_the_end(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = config.parent / "landing/9.jsonl"

    class Late(Workers):
        def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
            if f"{9:016x}" in file.read_text():
                put(file, *lines(60))
            yield from super().map(work, items)

    assert ingested(config, Late(), monkeypatch).moved == 0
    spans = [row["span_id"] for row in rows(config)]
    assert (spans.count(f"{9:016x}"), spans.count(f"{60:016x}")) == (0, 1)
    assert ingested(config, None, monkeypatch).read == 0


def test_a_secret_that_workers_do_not_have_is_no_fault_of_theirs(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Strangers(Workers):
        def answer(self, work: Callable[[Any], Any], share: Any) -> Any:
            with monkeypatch.context() as there:
                there.setattr(reading.IngestBatch, "take", _unknown)
                there.setattr(reading.IngestBatch, "take_together", _unknown)
                return super().answer(work, share)

    workers = Strangers()
    found = ingested(config, workers, monkeypatch)
    assert len(workers.given) > 1
    assert found.read >= 4


def _unknown(*_: Any) -> None:
    raise SecretUnusable("privacy.identity_key", "is not there")


def test_few_bytes_are_read_here(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers()
    ingested(config, workers, monkeypatch, share_bytes=10**6)
    assert workers.given == []
