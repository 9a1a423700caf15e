"""What a run tells of itself, as a collector receives it: one trace, quantities that are those of its tables, records.

Two requests at noon and one in the evening, half a day apart on one replica, and a file that no reader can read.
"""

import re
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from goodput import steps
from goodput.cli.main import app
from goodput.errors import LakeBusy, PartitionsBlocked
from goodput.plumbing import work
from goodput.plumbing.workspace import Workspace
from goodput.run import Ran, run
from goodput.telemetry.quantities import QUANTITIES
from notify.receiver import Script
from published import ask, copied
from receive.conftest import receiving
from telemetry.collector import Collector, Span, collecting

DAY_S = 1_795_132_800  # 2026-11-20T00:00:00Z
NOON, EVENING = "2026-11-20T12", "2026-11-20T20"
STARTS_S = {"a": DAY_S + 12 * 3600, "b": DAY_S + 12 * 3600, "c": DAY_S + 20 * 3600}
LINES = ["id,start,end,ttft,who", *(f"{name},{at},{at + 10},0.5,al" for name, at in STARTS_S.items())]
SETTINGS = """
landing = ["landing"]
windows_s = [3600, 86400]
[workloads.chat]
ttft_s = 1.0
[sources.rows]
format = "csv"
path = "*.csv"
constants = { outcome = "ok", replica = "r", pool = "p", model = "m" }
[sources.rows.columns]
attempt_id = "id"
session_id = "who"
started_at = { column = "start", unit = "epoch_s" }
ended_at = { column = "end", unit = "epoch_s" }
ttft_s = { column = "ttft", unit = "s" }
"""


@dataclass(frozen=True)
class First:
    """A run, its lake, what it told, and the time that it began after and ended before in Unix nanoseconds."""

    project: Path
    ran: Ran
    collector: Collector
    before_ns: int
    after_ns: int


def make(folder: Path) -> Path:
    (folder / "landing").mkdir()
    (folder / "landing/rows.csv").write_text("\n".join(LINES) + "\n")
    (folder / "goodput.toml").write_text(SETTINGS)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> First:
    """The first run of a lake, and what a collector was told of it."""
    project = make(tmp_path_factory.mktemp("first"))
    with collecting() as collector:
        before_ns = time.time_ns()
        ran = told(project, collector)
        return First(project, ran, collector, before_ns, time.time_ns())


@pytest.fixture
def made(first: First, tmp_path: Path) -> Path:
    """A copy of that lake."""
    return copied(first.project / "goodput.toml", tmp_path / "made").parent


def told(project: Path, collector: Collector, more: str = "") -> Ran:
    """One run that is told of to a collector."""
    (project / "goodput.toml").write_text(f'{SETTINGS}[telemetry]\nendpoint = "{collector.url}/"\n{more}')
    return run(Workspace(project / "goodput.toml"))


def tree(spans: list[Span]) -> list[tuple[str, str]]:
    """The name of each span's parent, and its own, without repetition."""
    names = {span.span_id: span.name for span in spans} | {b"": ""}
    return list(dict.fromkeys((names[span.parent_id], span.name) for span in spans))


def one(spans: list[Span], name: str) -> Span:
    (found,) = [span for span in spans if span.name == name]
    return found


def test_a_run_is_one_trace_of_its_steps_and_of_the_partitions_within(first: First) -> None:
    spans = first.collector.spans
    assert len({span.trace_id for span in spans}) == 1
    computed = [outcome.node.name for outcome in first.ran.outcomes]
    steps = ["ingest", *(f"compute {name}" for name in computed), "publish", "judge"]
    assert {(above, name) for above, name in tree(spans) if name != "partitions"} == {
        ("", "goodput run"),
        *(("goodput run", step) for step in steps),
    }
    assert [name for above, name in tree(spans) if above == "goodput run"] == steps  # in this order
    assert {above for above, name in tree(spans) if name == "partitions"} <= {f"compute {name}" for name in computed}
    by_id = {span.span_id: span for span in spans}
    for span in spans:
        whole = by_id.get(span.parent_id)
        first_ns, last_ns = (whole.begins_ns, whole.ends_ns) if whole else (first.before_ns, first.after_ns)
        assert first_ns <= span.begins_ns <= span.ends_ns <= last_ns, span.name
        assert span.error is None
    (resource,) = [dict(items) for items in {tuple(sorted(each.items())) for each in first.collector.resources}]
    assert resource["service.name"] == "goodput"


def test_nodes_that_are_computed_side_by_side_are_steps_of_the_run_alike(first: First, project: Path) -> None:
    """With workers, spans overlap: none is within another node's."""
    with collecting() as collector:
        told(project, collector, "[cluster]\nworkers = 2\n")
    nodes = [span for span in collector.spans if span.name.startswith("compute ")]
    assert any(a.begins_ns < b.begins_ns < a.ends_ns for a in nodes for b in nodes)
    assert set(tree(collector.spans)) == set(tree(first.collector.spans))
    of_partitions = [span for span in collector.spans if span.name == "partitions"]
    names = {span.span_id: span.name for span in collector.spans}
    assert all(names[span.parent_id] == f"compute {span.attributes['goodput.node']}" for span in of_partitions)


def test_spans_say_which_partitions_and_how_many_rows(first: First) -> None:
    ran, collector = first.ran, first.collector
    workspace = Workspace(first.project / "goodput.toml")
    joined = one(collector.spans, "compute join")
    parts = [span for span in collector.spans if span.parent_id == joined.span_id]
    hours = {hour for outcome in ran.outcomes if outcome.node.name == "join" for hour in outcome.computed}
    assert (min(hours), max(hours)) == (NOON, "2026-11-20T21")  # a request may have another try within an hour
    assert [(span.attributes["goodput.first"], span.attributes["goodput.last"]) for span in parts] == [
        (min(hours), max(hours))
    ]
    assert parts[0].attributes["goodput.partitions"] == len(hours)
    tables = parts[0].attributes["goodput.tables"].split(", ")
    assert {"requests", "attempts"} <= {*tables}
    stored = [pq.read_table(file).num_rows for table in tables for file in workspace.lake.catalog[table].all_files()]
    assert parts[0].attributes["goodput.rows"] == joined.attributes["goodput.rows"] == sum(stored) >= 3
    root = one(collector.spans, "goodput run")
    told_of = {name: root.attributes[f"goodput.{name}"] for name in ("read", "refused", "unchanged", "exit")}
    assert told_of == {"read": 1, "refused": 0, "unchanged": 0, "exit": 0}


def test_quantities_are_those_of_the_tables(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = steps.judge  # two requests make no alarm fire
    monkeypatch.setattr(steps, "judge", lambda *given: {**judge(*given), "firing": 2, "new_events": 1})
    with collecting() as collector:
        began_s = time.monotonic()
        ran = told(project, collector)
        took_s = time.monotonic() - began_s
    workspace = Workspace(project / "goodput.toml")
    value = collector.value
    assert value("goodput.ingested.sources") == 1
    assert value("goodput.ingested.bytes") == (project / "landing/rows.csv").stat().st_size
    assert value("goodput.ingested.rows") == 3
    for table in ("requests", "attempts", "goodput", "cost_ledger", "coverage"):
        ((rows,),) = ask(workspace, f"SELECT count(*) FROM {table}").rows()
        assert value("goodput.rows", table=table) == rows, table
    assert value("goodput.lag") == pytest.approx(time.time() - (DAY_S + 20 * 3600 + 10), abs=took_s + 1)
    assert 0 < value("goodput.run.duration") <= took_s
    assert value("goodput.sources.failed") == value("goodput.rows.quarantined") == 0
    assert value("goodput.partitions.computed") == sum(len(outcome.computed) for outcome in ran.outcomes)
    assert value("goodput.partitions.blocked") == 0
    assert value("goodput.alarms.firing") == 2
    assert one(collector.spans, "judge").attributes["goodput.new_events"] == 1
    for severity in ("high", "medium", "low"):
        ((rows,),) = ask(workspace, f"SELECT count(*) FROM warnings WHERE severity = '{severity}'").rows()
        assert value("goodput.warnings", severity=severity) == rows, severity
    assert {(point.name, point.unit) for point in collector.points} <= {(n, q.unit) for n, q in QUANTITIES.items()}


def test_a_run_with_nothing_new_tells_that(project: Path) -> None:
    run(Workspace(project / "goodput.toml"))
    with collecting() as collector:
        told(project, collector)
    assert tree(collector.spans)[:3] == [("", "goodput run"), ("goodput run", "ingest"), ("goodput run", "publish")]
    assert collector.value("goodput.ingested.sources") == collector.value("goodput.ingested.bytes") == 0
    assert one(collector.spans, "goodput run").attributes["goodput.unchanged"] == 1


def test_files_that_failed_are_named_and_their_content_is_not(project: Path) -> None:
    (project / "landing/other.csv").write_text("someone's,prompt\n1,2\n")
    (project / "landing/half.csv").write_text("\n".join([LINES[0], LINES[1].replace("a,", "d,"), "e,x,y,z,bo"]) + "\n")
    with collecting() as collector:
        ran = told(project, collector)
    assert (ran.ingested.read, ran.ingested.refused, ran.ingested.rows_quarantined) == (2, 1, 1)
    ingest = one(collector.spans, "ingest")
    failed = [record for record in collector.records if record.event == "goodput.source.failed"]
    assert {(r.severity, r.attributes["goodput.path"], r.attributes["goodput.problem"]) for r in failed} == {
        ("WARN", "other.csv", "refused"),
        ("WARN", "half.csv", "1 of 2 rows in quarantine"),
    }
    assert {(record.trace_id, record.span_id) for record in failed} == {(ingest.trace_id, ingest.span_id)}
    root = one(collector.spans, "goodput run")
    assert (root.attributes["goodput.exit"], root.error) == (1, "SourcesFailed")
    assert collector.value("goodput.sources.failed") == 2
    assert collector.value("goodput.rows.quarantined") == 1
    assert b"someone's" not in collector.bodies


def test_a_blocked_partition_fails_its_spans_and_is_a_record_without_what_its_rows_say(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(table: str, parts: dict[str, list[Path]]) -> dict[str, tuple[str, ...]]:
        failing = "ttft_s_minimum: is below 0: 1 row, for example session_id='al'"
        return {NOON: (failing,)} if table == "requests" and NOON in parts else {}

    monkeypatch.setattr(work, "audit", broken)
    with collecting() as collector, pytest.raises(PartitionsBlocked) as stopped:
        told(project, collector)
    spans = collector.spans
    root, joined = one(spans, "goodput run"), one(spans, "compute join")
    (batch,) = [span for span in spans if span.parent_id == joined.span_id]
    assert joined.error == batch.error == "ttft_s_minimum"
    assert (root.error, root.attributes["goodput.exit"]) == ("PartitionsBlocked", 1)
    assert one(spans, "compute waste").error == "waits"
    assert one(spans, "ingest").error is None
    told_of = {
        (r.attributes["goodput.table"], r.attributes["goodput.partition"], r.attributes["goodput.problem"], r.severity)
        for r in collector.records
        if r.event == "goodput.partition.blocked"
    }
    assert told_of == {
        (item.table, item.partition, "waits" if item.blocked_by else "ttft_s_minimum", "ERROR")
        for item in stopped.value.blocked
        if not item.reason.startswith("is made with")  # one for each partition of a step, not for each of its tables
    }
    assert ("requests", NOON, "ttft_s_minimum", "ERROR") in told_of
    assert collector.value("goodput.partitions.blocked") == len(stopped.value.blocked)
    assert b"session_id='al'" not in collector.bodies


def test_a_damaged_part_that_is_made_again_is_a_record(made: Path) -> None:
    (part,) = Workspace(made / "goodput.toml").lake.catalog["serving_records"].parts[NOON]
    part.path.write_bytes(b"something else")
    late = "\n".join([LINES[0], LINES[1].replace("a,", "late,")])
    (made / "landing/late.csv").write_text(late + "\n")
    with collecting() as collector:
        ran = told(made, collector)
    (record,) = [record for record in collector.records if record.event == "goodput.part.remade"]
    assert (record.attributes["goodput.table"], record.attributes["goodput.partition"]) == ("serving_records", NOON)
    assert record.span_id == one(collector.spans, "goodput run").span_id
    assert ran.ingested.read == 2  # late.csv, and what the damaged part was made of
    assert collector.value("goodput.ingested.sources") == 1 + 2  # in the second look both are read


def test_deliveries_are_counted_by_what_became_of_them(project: Path) -> None:
    heartbeat = 'kind = "webhook"\nallow_private = true\nmatch = { severity = "none" }\n'
    with collecting() as collector, collecting(Script([503])) as busy:
        channels = f'[channels.well]\n{heartbeat}url = "{collector.url}/hook"\n'
        channels += f'[channels.busy]\n{heartbeat}url = "{busy.url}/hook"\n'
        told(project, collector, channels)
    assert collector.value("goodput.delivery.attempts", outcome="delivered") == 1
    assert collector.value("goodput.delivery.attempts", outcome="failed") == 1
    assert collector.value("goodput.deliveries", state="pending") == 1
    assert collector.value("goodput.deliveries", state="dead") == 0
    assert one(collector.spans, "deliver").attributes["goodput.enqueued"] == 2


def test_a_round_of_deliveries_by_itself_is_a_trace(project: Path) -> None:
    with collecting() as collector:
        run(Workspace(project / "goodput.toml"), deliver=False)
        hook = (
            f'kind = "webhook"\nallow_private = true\nmatch = {{ severity = "none" }}\nurl = "{collector.url}/hook"\n'
        )
        own = f'[telemetry]\nendpoint = "{collector.url}/"\n[channels.well]\n{hook}'
        (project / "goodput.toml").write_text(SETTINGS + own)
        ended = CliRunner().invoke(app, ["notify", "--config", str(project / "goodput.toml")])
    assert ended.exit_code == 0, ended.output
    (root,) = collector.spans
    assert (root.name, root.parent_id, root.attributes["goodput.enqueued"]) == ("goodput notify", b"", 1)
    assert collector.value("goodput.delivery.attempts", outcome="delivered") == 1
    assert collector.value("goodput.deliveries", state="pending") == 0


def test_an_error_that_ends_a_run_is_its_status(project: Path) -> None:
    other = Workspace(project / "goodput.toml").lake
    with collecting() as collector, other.lock(), pytest.raises(LakeBusy):
        told(project, collector)
    root = one(collector.spans, "goodput run")
    assert (root.error, root.attributes["goodput.exit"]) == ("LakeBusy", 1)


def test_to_our_own_receiver_it_is_nobodys_request(project: Path) -> None:
    with receiving(project / "landing") as receiver:
        (project / "goodput.toml").write_text(f'{SETTINGS}[telemetry]\nendpoint = "http://127.0.0.1:{receiver.port}"\n')
        run(Workspace(project / "goodput.toml"))
    (project / "goodput.toml").write_text(SETTINGS)
    run(Workspace(project / "goodput.toml"))
    workspace = Workspace(project / "goodput.toml")
    received = ask(workspace, "SELECT rows_read, rows_ignored, status FROM sources WHERE path LIKE 'otlp/%'").rows()
    assert [(read > 20, ignored == read, status) for read, ignored, status in received] == [(True, True, "read")] * 2
    assert ask(workspace, "SELECT count(*) FROM requests").rows() == [(3,)]


def test_the_page_lists_every_quantity_with_its_unit() -> None:
    page = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    listed = re.findall(r"^\| `(goodput\.[a-z.]+)` \| (s|By|\{\w+\}) \| (.+) \|$", page, re.MULTILINE)
    assert listed == [(name, quantity.unit, quantity.meaning) for name, quantity in QUANTITIES.items()]
