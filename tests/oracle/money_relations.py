"""Relations of money by the record beside their computation: docs/semantics.md#money."""

from fractions import Fraction
from typing import Any

from goodput.plumbing.workspace import Workspace
from oracle import bills, reconcile
from oracle.compare import Comparison, keyed, microseconds, rows
from oracle.fleet import Row, S
from oracle.truth import Truth

MONEY = ("usd", "error_usd", "common_error_usd", "input_usd", "cached_input_usd", "output_usd")


def cost_ledger(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation cost_ledger."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS step_at FROM cost_ledger"
    names = ("step_at", "bucket", "attempt_id", "replica", "workload", "model", "pool", "route")
    computed = [row | {"step_at": row["step_ns"] // S} for row in truth.ledger]
    found.rows("cost_ledger", added(rows(workspace, sql), names), added(computed, names))


def reconciliation(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation reconciliation."""
    sql = "SELECT *, epoch(day_start)::BIGINT AS day_at FROM reconciliation"
    published = keyed(rows(workspace, sql), "day_at", "dialect", "basis")
    found.rows("reconciliation", published, reconcile.reconciliation(truth.account))


def unused_cost_lines(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation unused_cost_lines: which lines of exported bills, each once however often it was exported, and why."""
    sql = "SELECT * REPLACE (epoch_ns(period_start) AS period_start) FROM unused_cost_lines WHERE dialect = 'focus'"
    names = ("line", "billing_account", "sub_account", "amount", "currency", "service", "period_start")
    lines = [
        (number, line | {"billing_account": line["account"]}, reason)
        for number, line, reason in bills.unused_lines(truth.fleet)
    ]
    computed = {
        (number, *(line[name] for name in names[1:])): {name: line[name] for name in names[1:]} | {"reason": reason}
        for number, line, reason in lines
    }
    found.rows("unused_cost_lines", keyed(rows(workspace, sql), *names), computed)


def cost_records(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation cost_records: what is paid for the same over the same period."""
    times = "epoch_us(period_start) AS period_start, epoch_us(period_end) AS period_end"
    published = rows(workspace, f"SELECT * REPLACE ({times}) FROM cost_records")
    computed = [
        record | {name: microseconds(record[name]) for name in ("period_start", "period_end")}
        for record in truth.account.records
    ]
    found.rows("cost_records", _alike(published), _alike(computed))


def _alike(records: list[Row]) -> dict[Any, Row]:
    """What records for one purpose and period come to, and how many they are."""
    names = ("dialect", "basis", "pool", "replica", "model", "workload", "tenant", "period_start", "period_end")
    sums: dict[Any, Row] = {}
    for record in records:
        known = {name: record.get(name) for name in names}
        one = sums.setdefault(tuple(known.values()), known | {"amount_usd": 0.0, "lines": 0})
        one["amount_usd"] += float(Fraction(str(record["amount_usd"])))
        one["lines"] += 1
    return sums


def added(found: list[Row], names: tuple[str, ...]) -> dict[Any, Row]:
    """Amounts of rows by the values of some columns; usd is None where no row has any."""
    sums: dict[Any, Row] = {}
    nothing = {**dict.fromkeys(MONEY), "gpu_s": 0, "tokens": 0, "estimated": False}
    for row in found:
        one = sums.setdefault(tuple(row[name] for name in names), {**nothing})
        one["gpu_s"] += row["gpu_s"] or 0
        one["tokens"] += row["tokens"]
        one["estimated"] |= row["estimated"]
        for name in MONEY:
            if row.get(name) is not None:
                one[name] = (one[name] or 0) + row[name]
    return sums
