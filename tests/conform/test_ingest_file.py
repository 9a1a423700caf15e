"""One file into the lake: parts by hour of event time, quarantine with its places, and an account that adds up."""

import json
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pyarrow.parquet as pq
import pytest

from collect.telemetry import (
    CHAT,
    SECOND_NS,
    START_NS,
    TRACE,
    Row,
    landed,
    log,
    logs_line,
    put,
    settings,
    span,
    spans_line,
)
from goodput.collect import spans
from goodput.collect.landing import identify
from goodput.collect.received import LandedFile
from goodput.conform.batch import IngestBatch
from goodput.conform.commit import commit
from goodput.conform.guard import Guard
from goodput.conform.ingest_file import FileIngest
from goodput.contracts import arrow_schema
from goodput.plumbing.lake import Lake
from goodput.plumbing.source_ledger import SourceEntry
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Settings

HOUR_NS = 3600 * SECOND_NS
EVALUATION = {"gen_ai.evaluation.name": "judge", "gen_ai.evaluation.score.value": 1.0}
TABLES = ("serving_records", "span_links", "label_records", "quarantine")


def take(lake: Lake, path: Path, given: Settings | None = None, reader: str = "unclaimed") -> SourceEntry:
    file = LandedFile(path, path.parent, reader)
    chosen = given or settings()
    with connect() as connection:
        batch = IngestBatch(lake, connection, Guard(chosen))
        files = FileIngest(batch, chosen)
        files.read(file, identify(file, chosen))
        files.finish()
        commit(lake, batch, {})
    (entry,) = batch.entries
    return entry


def rows(lake: Lake, table: str) -> list[Row]:
    return [row for path in lake.catalog[table].all_files() for row in pq.ParquetFile(path).read().to_pylist()]


def account(entry: SourceEntry, lake: Lake) -> dict[str, Any]:
    """Identity R of one source on its own: what was read is kept, duplicate, quarantined or ignored."""
    kept = sum(row["source_id"] == entry.source_id for t in TABLES[::2] for row in rows(lake, t))
    assert entry.rows_read == kept + entry.rows_duplicate + entry.rows_quarantined + sum(entry.ignored.values())
    return {
        "kept": kept,
        "duplicate": entry.rows_duplicate,
        "quarantined": entry.rows_quarantined,
        "ignored": entry.ignored,
    }


def chat(number: int, **given: Any) -> Row:
    said = {**CHAT, "gen_ai.response.finish_reasons": ["stop"], **given.pop("said", {})}
    return span(said=said, **{"spanId": f"{number:016x}", **given})


def mixed_file(path: Path) -> Path:
    """Ten rows: three good spans, one twice more, one that ends before it starts, one that is no request, a label
    twice and one of nothing, and a line that is nothing at all.
    """
    backwards = chat(4, endTimeUnixNano=str(START_NS - 1))
    return put(
        path,
        spans_line(chat(1), chat(2), chat(1)),
        spans_line(chat(3), backwards, span("route m", {}, spanId=f"{9:016x}"), chat(1)),
        logs_line(log(EVALUATION, traceId=TRACE), log(EVALUATION, traceId=TRACE), log(EVALUATION)),
        '{"resourceSpans": [7]}',
    )


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    entry = take(lake, mixed_file(tmp_path / "t.jsonl"))
    assert entry.rows_read == 11
    assert account(entry, lake) == {
        "kept": 4,
        "duplicate": 3,
        "quarantined": 3,
        "ignored": {"span_is_no_request": 1},
    }
    assert (entry.status, entry.reason, entry.torn_tail_bytes) == ("read", None, 0)
    assert (entry.path, entry.landing, entry.reader) == ("t.jsonl", str(tmp_path), "otlp")
    assert (entry.first_event_ns, entry.last_event_ns) == (START_NS, START_NS + 2 * SECOND_NS)
    assert len(rows(lake, "span_links")) == 1


def test_quarantine_tells_file_line_position_rule_and_reason(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    entry = take(lake, mixed_file(tmp_path / "sub/t.jsonl"))
    found = rows(lake, "quarantine")
    assert [(row["line"], row["position"], row["table_name"], row["rule"]) for row in found] == [
        (2, 1, "serving_records", "ends_before_start"),
        (3, 2, "label_records", "subject_kind_missing"),
        (4, 0, None, "line_unreadable"),
    ]
    assert {(row["source_id"], row["path"]) for row in found} == {(entry.source_id, "t.jsonl")}
    assert all(row["reason"] for row in found)
    assert [row["excerpt"] for row in found] == [None] * 3


def test_the_text_of_refused_rows_is_kept_where_the_settings_say_so(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    take(lake, mixed_file(tmp_path / "t.jsonl"), settings(privacy={"quarantine_text": True}))
    found = rows(lake, "quarantine")
    assert all(row["excerpt"] for row in found)
    assert found[2]["excerpt"].startswith('{"resourceSpans"')


def test_trap_1_of_spans_sent_twice_the_first_of_a_file_stays(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    first = chat(1, said={"gen_ai.usage.output_tokens": 5})
    second = chat(1, said={"gen_ai.usage.output_tokens": 6})
    take(lake, put(tmp_path / "t.jsonl", spans_line(first), spans_line(second)))
    (row,) = rows(lake, "serving_records")
    assert (row["output_tokens"], row["line"]) == (5, 1)


def test_a_bad_copy_does_not_take_the_place_of_a_good_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    bad = chat(1, said={"gen_ai.usage.output_tokens": -1})
    entry = take(lake, put(tmp_path / "t.jsonl", spans_line(bad, chat(1))))
    assert (entry.rows_quarantined, entry.rows_duplicate, len(rows(lake, "serving_records"))) == (1, 0, 1)


def test_the_same_file_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    lakes = [Lake(tmp_path / "a"), Lake(tmp_path / "b")]
    path = mixed_file(tmp_path / "t.jsonl")
    for lake in lakes:
        take(lake, path)
    files = [sorted(p.relative_to(lake.root) for p in lake.root.glob("conformed/**/*.parquet")) for lake in lakes]
    assert files[0] == files[1]
    assert len(files[0]) == 4
    for name in files[0]:
        assert (lakes[0].root / name).read_bytes() == (lakes[1].root / name).read_bytes()


def test_the_parts_have_the_types_of_their_contracts(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    take(lake, mixed_file(tmp_path / "t.jsonl"))
    for table in TABLES:
        (path,) = lake.catalog[table].all_files()
        assert pq.read_schema(path).remove_metadata() == arrow_schema(table)


def test_trap_20_the_hour_is_that_of_the_event_not_of_its_arrival_or_start(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    long = chat(1, endTimeUnixNano=str(START_NS + HOUR_NS))  # from 09:00:00 to 10:00:00
    short = chat(2, endTimeUnixNano=str(START_NS + HOUR_NS - 1))
    endless = chat(3, endTimeUnixNano="0")
    judged = log(EVALUATION, traceId=TRACE, timeUnixNano=str(START_NS + 30 * HOUR_NS))
    link = span("route", {}, spanId="9" * 16, endTimeUnixNano=str(START_NS + 2 * HOUR_NS))
    entry = take(lake, put(tmp_path / "t.jsonl", spans_line(long, short, endless, link), logs_line(judged)))
    found = {
        table: {hour: sum(pq.read_metadata(part.path).num_rows for part in parts) for hour, parts in held.items()}
        for table in TABLES[:3]
        if (held := lake.catalog[table].parts)
    }
    assert found == {
        "serving_records": {"2026-11-20T09": 2, "2026-11-20T10": 1},
        "span_links": {"2026-11-20T11": 1},
        "label_records": {"2026-11-21T15": 1},
    }
    assert lake.catalog["serving_records"].contents == {
        "2026-11-20T09": entry.source_id,
        "2026-11-20T10": entry.source_id,
    }
    assert entry.partitions == {table: sorted(hours) for table, hours in found.items()}
    assert (entry.first_event_ns, entry.last_event_ns) == (START_NS, START_NS + HOUR_NS)


def test_durations_of_the_dialect_become_instants(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    said = {"gen_ai.latency.e2e": 0.2536, "gen_ai.latency.time_to_first_token": 0.11555}
    flushed = str(START_NS + 254_920_000)
    take(lake, put(tmp_path / "t.jsonl", spans_line(span("llm_request", said, kind="server", endTimeUnixNano=flushed))))
    (row,) = rows(lake, "serving_records")
    assert (row["ended_ns"], row["first_token_ns"]) == (START_NS + 253_600_000, START_NS + 115_550_000)


def test_trap_29_absurd_numbers_are_quarantined_and_break_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    absurd = [
        chat(1, endTimeUnixNano=str(2**63 - 1)),
        chat(2, startTimeUnixNano=str(2**63 - 1), endTimeUnixNano=str(2**63 - 1)),
        chat(3, startTimeUnixNano=str(2**64 - 1)),
        chat(4, said={"gen_ai.response.time_to_first_chunk": 1e300}),
        chat(5, said={"gen_ai.response.time_to_first_chunk": "NaN"}),
        chat(6, said={"gen_ai.response.time_to_first_chunk": "-Infinity"}),
        chat(7, startTimeUnixNano="0"),
        chat(8, traceId=""),
        chat(9, spanId="zz"),
        chat(10, said={"http.response.status_code": 2**40}),
        span("other", {}, spanId="e" * 16, endTimeUnixNano=str(2**63 - 1)),
    ]
    entry = take(lake, put(tmp_path / "t.jsonl", spans_line(*absurd, chat(11))))
    assert account(entry, lake) == {
        "kept": 1,
        "duplicate": 0,
        "quarantined": 10,
        "ignored": {"span_is_no_request": 1},
    }
    assert [row["position"] for row in rows(lake, "quarantine")] == list(range(10))
    assert rows(lake, "span_links") == []


def test_every_row_of_a_known_log_is_accounted_for(tmp_path: Path) -> None:
    def row(request: int, **said: object) -> str:
        known = {"request_id": f"r{request}", "request_received_ms": START_NS // 10**6 + request, "output_tokens": 1}
        at = {
            "schema": "dynamo.request.trace.v1",
            "event_type": "request_end",
            "event_time_unix_ms": known["request_received_ms"],
        }
        return json.dumps({**at, "request": {**known, **said}})

    lake = Lake(tmp_path / "lake")
    lines = [row(1), row(2), row(1), row(3, output_tokens=-1), row(4, output_tokens="many"), "{torn", '{"other": 1}']
    entry = take(lake, put(tmp_path / "trace.jsonl", *lines))
    assert (entry.reader, entry.status, entry.rows_read) == ("objects", "read", 7)
    assert account(entry, lake) == {
        "kept": 2,
        "duplicate": 1,
        "quarantined": 3,
        "ignored": {"row_of_no_known_format": 1},
    }
    assert {(bad["line"], bad["rule"]) for bad in rows(lake, "quarantine")} == {
        (4, "output_tokens_out_of_range"),
        (5, "attribute_unreadable"),
        (6, "row_not_json"),
    }


def test_a_file_that_is_no_use_is_refused_whole(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary,\n")
    entry = take(lake, path)
    assert (entry.status, entry.rows_read, entry.size_bytes) == ("refused", 0, 12)
    assert entry.reason is not None
    assert "neither OTLP nor any format" in entry.reason
    assert not (lake.root / "conformed").exists()


@pytest.mark.parametrize("error", [ZeroDivisionError("my pin is 4711"), pl.exceptions.PanicException("my pin is 4711")])
def test_a_file_at_which_its_reader_breaks_is_refused_and_says_no_text_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """No reader is known to break so; the next one found must not stop the files beside it."""
    lake = Lake(tmp_path / "lake")

    def breaking(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(spans, "_frame", breaking)
    entry = take(lake, put(tmp_path / "t.jsonl", spans_line(span(said=CHAT))))
    assert (entry.status, entry.rows_read) == ("refused", 0)
    assert entry.reason is not None
    assert f"{type(error).__name__} in test_ingest_file.py, line" in entry.reason
    assert "4711" not in entry.reason


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError()], ids=repr)
def test_what_is_not_the_file_s_fault_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def breaking(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(spans, "_frame", breaking)
    with pytest.raises(type(error)):
        take(Lake(tmp_path / "lake"), put(tmp_path / "t.jsonl", spans_line(span(said=CHAT))))


def test_an_empty_file_is_read_and_holds_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    path = tmp_path / "t.jsonl"
    path.touch()
    entry = take(lake, path)
    assert (entry.status, entry.reason, entry.rows_read, entry.first_event_ns) == ("read", None, 0, None)


def test_a_torn_last_line_is_counted_in_bytes_and_waits(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    path = put(tmp_path / "t.jsonl", spans_line(chat(1)))
    torn = spans_line(chat(2))[:100]
    path.write_text(path.read_text() + torn)
    entry = take(lake, path)
    assert (entry.rows_read, entry.torn_tail_bytes, entry.rows_quarantined) == (1, 100, 0)


def test_a_table_goes_the_same_way(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    path = tmp_path / "runs.csv"
    path.write_text("id,t,e2e,out\na,1795165200,0.5,3\na,1795165200,0.5,3\nb,1795165200,-1,3\n")
    columns = {
        "attempt_id": {"column": "id"},
        "started_at": {"column": "t", "unit": "epoch_s"},
        "e2e_s": {"column": "e2e", "unit": "s"},
        "output_tokens": {"column": "out"},
    }
    given = settings(sources={"runs": {"format": "csv", "path": "*.csv", "columns": columns}})
    entry = take(lake, path, given, "runs")
    assert account(entry, lake) == {"kept": 1, "duplicate": 1, "quarantined": 1, "ignored": {}}
    (row,) = rows(lake, "serving_records")
    assert (row["record_id"], row["ended_ns"], row["outcome"]) == ("a", START_NS + SECOND_NS // 2, "ok")


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    path = mixed_file(tmp_path / "t.jsonl")
    told: list[int] = []
    file = landed(path)
    with connect() as connection:
        batch = IngestBatch(Lake(tmp_path / "lake"), connection)
        FileIngest(batch, settings(), told.append).read(file, identify(file, settings()))
    assert sum(told) == path.stat().st_size


def test_a_source_is_the_same_rows_in_whatever_blocks_they_come(tmp_path: Path) -> None:
    lakes = [Lake(tmp_path / "a"), Lake(tmp_path / "b")]
    spans = [chat(n) for n in range(1, 41)]
    take(lakes[0], put(tmp_path / "one.jsonl", spans_line(*spans)))
    take(lakes[1], put(tmp_path / "many.jsonl", *(spans_line(item) for item in spans)))
    frames = [
        pl.DataFrame(rows(lake, "serving_records")).drop("source_id", "line", "position").sort("record_id")
        for lake in lakes
    ]
    assert frames[0].equals(frames[1])
