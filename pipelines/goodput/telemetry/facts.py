"""What each stage of a run tells of what it did: attributes of its span, quantities, and records of what went wrong.

Of telemetry that was read it holds numbers, names of tables and partitions, and the paths of files that failed: no text
of rows, and no reasons, which may quote them; `sources`, `blocked_partitions` and `warnings` have these.
"""

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import duckdb

from goodput.conform.ingest import Ingested
from goodput.errors import SourcesFailed
from goodput.plumbing import interrupt, source_ledger
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.database import published
from goodput.plumbing.lake import Lake
from goodput.plumbing.plan import Outcome
from goodput.plumbing.sql_files import sql_file
from goodput.plumbing.telemetry import Severity, Telemetry, WorkSpan
from goodput.plumbing.verify import Damage

if TYPE_CHECKING:
    from goodput.notify.deliver import Delivered  # imported only where there are channels

_NS = 10**9
_SEVERITIES: dict[str, Severity] = {"high": "error", "medium": "warning", "low": "info"}


def of_run(
    telemetry: Telemetry, span: WorkSpan, ingested: Ingested, outcomes: Iterable[Outcome], duration_s: float
) -> None:
    """The whole of a run, however it ends; what it raises says how, and files that failed make it exit with 1 too."""
    rows = sum(sum(outcome.rows.values()) for outcome in outcomes)
    span.note(read=ingested.read, refused=ingested.refused, unchanged=ingested.unchanged, rows=rows)
    span.note(exit=SourcesFailed.exit_code if ingested.failed else 0)
    if ingested.failed:
        span.fail(SourcesFailed.__name__)
    telemetry.put("goodput.run.duration", duration_s)


def of_ingest(telemetry: Telemetry, span: WorkSpan, lake: Lake, ingested: Ingested) -> None:
    """Sources read and failed, their bytes and rows, and how old the newest telemetry is."""
    if not telemetry.is_on:
        return
    span.note(read=ingested.read, refused=ingested.refused, unchanged=ingested.unchanged, rows=ingested.rows_read)
    telemetry.add("goodput.ingested.sources", ingested.read)
    telemetry.add("goodput.ingested.bytes", ingested.bytes_read)
    telemetry.add("goodput.ingested.rows", ingested.rows_read)
    telemetry.put("goodput.sources.failed", len(ingested.failed))
    telemetry.put("goodput.rows.quarantined", ingested.rows_quarantined)
    now_ns = time.time_ns()
    seen = source_ledger.observed(lake, now_ns)
    if seen is not None:
        telemetry.put("goodput.lag", (now_ns - seen[1]) / _NS)
    for path, wrong in ingested.failed:
        kind = wrong.partition(",")[0]  # what follows may name columns of the file
        telemetry.record("source.failed", f"{path}: {kind}", "warning", path=path, problem=kind)


def of_node(telemetry: Telemetry, span: WorkSpan, outcome: Outcome) -> None:
    """Partitions and rows that a node computed, and what of it is blocked."""
    span.note(computed=len(outcome.computed), rows=sum(outcome.rows.values()), blocked=len(outcome.blocked))
    telemetry.add("goodput.partitions.computed", len(outcome.computed))
    for table, rows in outcome.rows.items():
        telemetry.add("goodput.rows", rows, table=table)
    for item in outcome.blocked:
        message = f"{item.table} {item.partition} is blocked: {item.kind}"
        telemetry.record(
            "partition.blocked", message, "error", table=item.table, partition=item.partition, problem=item.kind
        )
    if outcome.blocked:
        span.fail(outcome.blocked[0].kind)


def of_remade(telemetry: Telemetry, remade: Iterable[Damage]) -> None:
    """Parts of the lake that were damaged and are made again."""
    for damage in remade:
        message = f"{damage.table} {damage.part.partition} is made again: it {damage.reason}"
        telemetry.record("part.remade", message, "warning", table=damage.table, partition=damage.part.partition)


def of_published(telemetry: Telemetry, lake: Lake) -> None:
    """What is blocked and what `warnings` has once all is published."""
    if not telemetry.is_on:
        return
    telemetry.put("goodput.partitions.blocked", len(Blocked(lake).all()))
    try:
        with published(lake) as connection:
            kinds = connection.sql(sql_file("warned_kinds").text).to_arrow_table().to_pylist()
    except duckdb.Error as error:  # its part is unreadable: that is reported where it is read for more than this
        interrupt.check(error)
        return
    for severity in _SEVERITIES:
        telemetry.put("goodput.warnings", sum(kind[severity] for kind in kinds), severity=severity)
    for kind in kinds:
        name, subjects, severity = kind["kind"], kind["subjects"], _SEVERITIES[kind["severity"]]
        telemetry.record("warning", f"{name}: {subjects}", severity, kind=name, subjects=subjects)


def of_alarms(telemetry: Telemetry, span: WorkSpan, counts: Mapping[str, int]) -> None:
    """Alarms that fire, and what is new of them."""
    span.note(new_events=counts["new_events"])
    telemetry.put("goodput.alarms.firing", counts["firing"])


def of_deliveries(telemetry: Telemetry, span: WorkSpan, delivered: "Delivered") -> None:
    """What became of deliveries, and what is left."""
    span.note(enqueued=delivered.enqueued)
    for outcome, attempts in (("delivered", delivered.drained.delivered), ("failed", delivered.drained.failed)):
        telemetry.put("goodput.delivery.attempts", attempts, outcome=outcome)
    for state, left in (("pending", delivered.pending), ("dead", delivered.dead)):
        telemetry.put("goodput.deliveries", left, state=state)


def of_failed_deliveries(telemetry: Telemetry, error: Exception) -> None:
    """That nothing could be delivered."""
    telemetry.record("alarms.undelivered", "alarms are not delivered", "error", problem=type(error).__name__)
