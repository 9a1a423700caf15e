"""Rows of the ledger: an amount in a bucket, who pays for it, and how sure it is: docs/semantics.md#money."""

from dataclasses import dataclass
from fractions import Fraction

from oracle.fleet import Row
from oracle.replicas import RANKS, names_request
from oracle.spans import Span
from oracle.step import Step
from oracle.work import part_of

NOBODY: Row = dict.fromkeys(("attempt_id", "request_key", "workload", "model", "pool", "route", "replica", "tenant"))


@dataclass(frozen=True)
class Payment:
    """What a record pays in a step for a replica or model."""

    step_ns: int
    payer: str
    record: Row
    usd: Fraction


@dataclass(frozen=True)
class Marks:
    """How sure a row is: relative to its usd, None where nobody knows."""

    estimated: bool
    error: float | None
    common: float | None


def marked(row: Row, marks: Marks) -> Row:
    """A row with its stated errors."""
    usd = None if row["usd"] is None else abs(float(row["usd"]))
    errors = {"error_usd": marks.error, "common_error_usd": marks.common}
    of_usd = {name: None if usd is None or ratio is None else usd * ratio for name, ratio in errors.items()}
    return row | {"estimated": marks.estimated, **of_usd}


def cut_of(attempt: Row, step: Step) -> Row:
    """Whose an attempt's row is."""
    row = {name: attempt[name] for name in ("attempt_id", "request_key", "workload", "model", "route", "replica")}
    known = step.known.get(attempt["replica"])
    return {**row, "pool": (known and known.pool) or attempt["pool"], "tenant": attempt["tenant"]}


def ledger_row(
    bucket: str,
    usd: Fraction | None,
    gpu_s: Fraction,
    tokens: Fraction | int,
    *,
    is_there: bool = False,
    payer: str | None = None,
    record: Row | None = None,
    **cut: str | None,
) -> Row:
    """A row with who pays for it: the records that pay for a replica or model, or one record alone."""
    amounts = {"bucket": bucket, "usd": usd, "gpu_s": gpu_s, "tokens": tokens}
    known = 0.0 if usd is not None else None
    amounts |= {"estimated": False, "error_usd": known, "common_error_usd": known}
    return {**amounts, "is_there": is_there, "payer": payer, "record": record, **cut}


def is_in(attempt: Row, span: Span) -> bool:
    """Whether some of an attempt lies in a step."""
    return part_of(attempt, span) > 0


def is_for_model(record: Row) -> bool:
    """Whether a record bills a model that is bought by the token."""
    by_resource = record.get("pool") or record.get("replica") or names_request(record)
    return record["basis"] in RANKS and bool(record.get("model")) and not by_resource
