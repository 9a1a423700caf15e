"""Files that are read together have the rows and the account that each has by itself."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.telemetry import CHAT, Row, log, logs_line, span, spans_line
from emitters.matrix import DATA
from goodput.collect import spans
from goodput.collect.landing import identify
from goodput.collect.received import LandedFile
from goodput.conform import small_files
from goodput.conform.batch import IngestBatch
from goodput.conform.commit import commit
from goodput.conform.guard import Guard
from goodput.conform.ingest_file import FileIngest
from goodput.plumbing.lake import Lake
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Settings

TABLES = ("serving_records", "span_links", "label_records", "event_records", "sample_records", "quarantine")
TIMES = {"ingested_ns"}
OF_REPLICA = {"attributes": [{"key": "service.instance.id", "value": {"stringValue": "r0"}}]}
SETTINGS = Settings.model_validate({"leave_out": {"probes": {"attributes": {"probe": ["yes"]}}}})


def one(number: int, said: Mapping[str, object] = CHAT, **given: object) -> Row:
    return span(said=said, traceId=f"{number:032x}", spanId=f"{number:016x}", **given)


def metrics_line(*names: str) -> str:
    point = {"timeUnixNano": "1795165200000000000", "asDouble": 1.0}
    metrics = [{"name": name, "gauge": {"dataPoints": [point, point]}} for name in names]
    return json.dumps({"resourceMetrics": [{"resource": OF_REPLICA, "scopeMetrics": [{"metrics": metrics}]}]})


def hand_made() -> Iterator[tuple[str, bytes]]:
    """What each rule counts, sets aside or refuses, in files of their own and together."""
    unread = [one(n, {"gen_ai.usage.input_tokens": "7"}, name=f"agent {'abc'[n]}") for n in (1, 2)]
    lines = {
        "calls": spans_line(one(3, CHAT), one(3, CHAT), one(4, CHAT)),
        "probe": spans_line(one(5, {**CHAT, "probe": "yes"})),
        "unread": spans_line(*unread, one(6, {})),
        "unreadable": spans_line(one(7, {**CHAT, "gen_ai.usage.output_tokens": "many"})),
        "broken": "{",
        "no_otlp": spans_line(one(8, CHAT)) + '\n"text"\n{"resourceSpans": 3}',
        "label": logs_line(
            log({"gen_ai.evaluation.name": "judge", "gen_ai.evaluation.score.value": 1.0}, traceId=f"{3:032x}")
        ),
        "logs": logs_line(log({}, eventName="other"), log({}, eventName="other")),
        "metrics": metrics_line("vllm:num_requests_running", "of.nobody", "of.nobody.else"),
        "more_metrics": metrics_line("of.nobody"),
        # a call that is read, in a file of its own, says nothing of the span around it in another
        "around": spans_line(one(10, {"gen_ai.usage.input_tokens": "7"}, name="agent around")),
        "inside": spans_line(
            span(said=CHAT, traceId=f"{10:032x}", spanId=f"{11:016x}", parentSpanId=f"{10:016x}"),
        ),
        "impossible": spans_line(one(9, CHAT, endTimeUnixNano="1")),
    }
    for name, line in lines.items():
        yield f"{name}.jsonl", f"{line}\n".encode()
    yield "all.jsonl", "".join(f"{line}\n" for line in lines.values()).encode()
    yield "torn.jsonl", (lines["calls"] + "\n" + lines["label"][:40]).encode()
    yield "empty.jsonl", b""
    yield "notes.txt", b"Dear diary,\n"
    yield "other.jsonl.gz", gzip.compress(f"{lines['metrics']}\n".encode(), mtime=0)


def captured() -> Iterator[tuple[str, bytes]]:
    """What real emitters wrote."""
    for path in sorted(DATA.glob("*/telemetry.*")):
        yield f"{path.parent.name}/{path.name}", path.read_bytes()


@pytest.fixture(params=[hand_made, captured])
def landing(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    for name, content in request.param():
        (tmp_path / "landing" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "landing" / name).write_bytes(content)
    return tmp_path / "landing"


def ingested(lake: Lake, landing: Path, apart: bool) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """The account of each file by its path, and the rows of each table in an order of their own."""
    with connect() as connection:
        files = [LandedFile(path, landing, "unclaimed") for path in sorted(landing.rglob("*")) if path.is_file()]
        batch = IngestBatch(lake, connection, Guard(SETTINGS))
        together = FileIngest(batch, SETTINGS)
        for file in files:
            ingest = FileIngest(batch, SETTINGS) if apart else together
            assert ingest.read(file, identify(file, SETTINGS))
            if apart:
                ingest.finish()
        together.finish()
        commit(lake, batch, {})
    accounts = {e.path: {k: v for k, v in vars(e).items() if k not in TIMES} for e in batch.entries}
    return accounts, {table: rows(lake, table) for table in TABLES}


def rows(lake: Lake, table: str) -> list[str]:
    parts = [pq.ParquetFile(path).read() for path in lake.catalog[table].all_files()]
    found = pa.concat_tables(parts).to_pylist() if parts else []
    return sorted(str({k: v for k, v in row.items() if k not in TIMES}) for row in found)


def test_files_are_the_same_together_and_apart(tmp_path: Path, landing: Path) -> None:
    apart, apart_rows = ingested(Lake(tmp_path / "apart"), landing, apart=True)
    together, together_rows = ingested(Lake(tmp_path / "together"), landing, apart=False)
    assert len(apart) > 10
    assert together == apart
    assert together_rows == apart_rows
    assert apart_rows["serving_records"]


def test_every_rule_is_met(tmp_path: Path) -> None:
    """Or the test above would compare nothing."""
    for name, content in hand_made():
        (tmp_path / "landing").mkdir(exist_ok=True)
        (tmp_path / "landing" / name).write_bytes(content)
    found, by_table = ingested(Lake(tmp_path / "lake"), tmp_path / "landing", apart=False)
    assert {rule for entry in found.values() for rule in entry["ignored"]} == {
        *("left_out:probes", "span_looks_like_call:agent b", "span_looks_like_call:agent c"),
        *("span_looks_like_call:agent around", "span_is_no_request", "log_is_no_label", "metric_unknown"),
    }
    assert found["metrics.jsonl"]["unknown_metrics"] == {"of.nobody": 2, "of.nobody.else": 2}
    assert found["calls.jsonl"]["rows_duplicate"] == 1
    assert found["torn.jsonl"]["torn_tail_bytes"] == 40
    assert found["notes.txt"]["status"] == "refused"
    assert [table for table in TABLES if not by_table[table]] == ["event_records"]
    # each row of a file stands in it: 1 for a file of one line, whatever was read before it
    lines = {row.split("'line': ")[1].split(",")[0] for row in by_table["quarantine"] if "unreadable.jsonl" in row}
    assert lines == {"1"}


@pytest.mark.parametrize("broken", [0, 2, 4])
def test_a_file_at_which_reading_breaks_is_refused_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: int
) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    for n in range(5):
        said = {**CHAT, "gen_ai.request.model": "breaks" if n == broken else "m"}
        (landing / f"{n}.jsonl").write_text(spans_line(one(n, said)) + "\n")
    whole = spans._split

    def breaking(frame: Any, dialects: Any) -> Any:
        if "breaks" in str(frame.to_dicts()):
            raise ZeroDivisionError
        return whole(frame, dialects)

    monkeypatch.setattr(spans, "_split", breaking)
    found, by_table = ingested(Lake(tmp_path / "lake"), landing, apart=False)
    assert [path for path, entry in found.items() if entry["status"] == "refused"] == [f"{broken}.jsonl"]
    assert "ZeroDivisionError in test_small_files.py" in found[f"{broken}.jsonl"]["reason"]
    assert len(by_table["serving_records"]) == 4


LINE = spans_line(one(0, CHAT))


@pytest.mark.parametrize(("name", "most"), [("_FILES_AT_ONCE", 3), ("BLOCK_BYTES", 3 * len(LINE)), ("BLOCK_ROWS", 3)])
def test_no_more_wait_than_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    for n in range(7):
        (landing / f"{n}.jsonl").write_text(spans_line(one(n, CHAT)) + "\n")
    monkeypatch.setattr(small_files, name, most)
    taken: list[int] = []
    take = IngestBatch.take_together

    def counted(batch: IngestBatch, source_ids: Sequence[str], block: Any) -> None:
        taken.append(len(source_ids))
        take(batch, source_ids, block)

    monkeypatch.setattr(IngestBatch, "take_together", counted)
    _, by_table = ingested(Lake(tmp_path / "lake"), landing, apart=False)
    assert taken == [3, 3, 1]
    assert len(by_table["serving_records"]) == 7


def test_what_is_not_a_file_s_fault_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/a.jsonl").write_text(spans_line(one(1, CHAT)) + "\n")

    def breaking(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(spans, "_split", breaking)
    with pytest.raises(MemoryError):
        ingested(Lake(tmp_path / "lake"), tmp_path / "landing", apart=False)
