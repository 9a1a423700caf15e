"""`goodput explain`: why one request was or was not accepted, with the record behind every fact."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from goodput.cli.cells import apart, plain, shown
from goodput.cli.database import Config, LakeRoot, Row, published
from goodput.cli.gates import GateResult, Result, gates, headline
from goodput.cli.provenance import Fact, facts
from goodput.cli.render import console, table, until_reader_leaves
from goodput.cli.request_record import RequestRecord, place, read_request_record
from goodput.errors import UnknownRequest
from goodput.settings.load import load_settings


class ExplainFormat(StrEnum):
    """How an explanation is written."""

    text = "text"
    json = "json"


def explain(
    key: Annotated[str, typer.Argument(help="A request key, or the id of an attempt, trace, span or response.")],
    config: Config = None,
    lake: LakeRoot = None,
    format: Annotated[ExplainFormat, typer.Option("--format")] = ExplainFormat.text,
) -> None:
    """Say why a request was or was not accepted: every gate, attempt, label, and where each fact came from.

    A place reads file:line, with #n for the n-th record of that line, counted from 0.

    Example:
      goodput explain 4bf92f3577b34da6a3ce929d0e0e4736
      goodput explain chatcmpl-123 --format json
    """
    with until_reader_leaves(), published(config, lake) as connection:
        try:
            request_record = read_request_record(connection, key.strip())  # a line of CSV ends in CR LF
        except UnknownRequest as error:
            raise UnknownRequest(key.strip(), _requests_kept_from(config, lake)) from error
        if format is ExplainFormat.json:
            import msgspec  # noqa: PLC0415  (text does not need it)

            encoded = msgspec.json.encode(explanation(request_record), enc_hook=str)
            sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")
        else:
            print_explanation(request_record, console())


def _requests_kept_from(config: Path | None, lake: Path | None) -> str:
    from goodput.plumbing.pruned import read_pruned  # noqa: PLC0415  (slow to import, and seldom asked)

    return read_pruned(load_settings(config, lake=lake).lake_path).gone_before.get("requests", "")


def explanation(request_record: RequestRecord) -> dict[str, Any]:
    """The explanation as plain data: request, headline, gates, attempts with records and facts, labels."""
    found = gates(request_record)
    return {
        "request_key": request_record.request["request_key"],
        "verdict": request_record.request["verdict"],
        "headline": headline(request_record, found),
        "request": request_record.request,
        "gates": [asdict(gate) for gate in found],
        "attempts": [
            {
                **attempt,
                "records": [_record(record) for record in _records(request_record, attempt)],
                "facts": [asdict(fact) for fact in facts(attempt, _records(request_record, attempt))],
            }
            for attempt in request_record.attempts
        ],
        "labels": [{**label, "state": _state(label)} for label in request_record.labels],
    }


def print_explanation(request_record: RequestRecord, out: Console) -> None:
    """The explanation as text for a person."""
    found = gates(request_record)
    _print_request(request_record, found, out)
    _section(out, "Gates, in the order in which verdicts are decided", _GATE_COLUMNS, [_gate(g) for g in found])
    attempts = [_attempt(attempt, request_record.request) for attempt in request_record.attempts]
    _section(out, "Attempts", _ATTEMPT_COLUMNS, attempts)
    if any(_waited_longer(attempt, request_record.request) for attempt in request_record.attempts):
        out.print("The gates measure what the user waited, from the arrival of the first attempt.")
    if request_record.labels:
        _section(out, "Labels", _LABEL_COLUMNS, [_label(label) for label in request_record.labels])
    for attempt in request_record.attempts:
        records = _records(request_record, attempt)
        name = f"attempt {attempt['attempt_index']}"
        lines = [(r["layer"], r["dialect"], r["record_id"], place(r)) for r in records]
        _section(out, f"Records behind {name}, outermost first", _RECORD_COLUMNS, lines)
        missing = len(attempt["record_ids"]) - len(records)
        if missing:
            out.print(
                f"{missing} record(s) of it were pruned: where the facts that they gave came from is not known now."
            )
        _section(out, f"Facts of {name}", _FACT_COLUMNS, [_fact(fact) for fact in facts(attempt, records)], 16)


_GATE_COLUMNS = ("gate", "measured", "bound", "verdict", "")
_ATTEMPT_COLUMNS = (
    *("attempt", "started", "outcome", "replica", "ttft_s", "e2e_s", "input_tokens", "output_tokens"),
    *("error", "answer"),
)
_LABEL_COLUMNS = ("evaluator", "score", "label", "passed", "judged", "state", "from")
_RECORD_COLUMNS = ("layer", "dialect", "record", "place")
_FACT_COLUMNS = ("fact", "value", "from", "place", "in other layers")


def _print_request(request_record: RequestRecord, found: list[GateResult], out: Console) -> None:
    request = request_record.request
    style = "bold green" if request["verdict"] == "accepted" else "bold red"
    out.print(Text(headline(request_record, found), style=style))
    sole = request["sole_failing_gate"]
    if sole:
        waiting = "; no label has judged it yet" if any(g.result is Result.no_label for g in found) else ""
        out.print(f"Only the gate {sole} stands against it{waiting}.")
    out.print()
    finish = f" ({plain(request['finish_reason'])})" if request["finish_reason"] else ""
    out.print(f"request  {plain(request['request_key'])}, workload {plain(request['workload'])}")
    out.print(f"arrived  {shown(request['arrived_at'])}")
    out.print(f"ended    {shown(request['ended_at'])}")
    out.print(f"outcome  {plain(request['outcome'])}{finish}")
    where = [f"{name} {shown(request[name])}" for name in ("model", "pool", "route", "replica") if request[name]]
    if where:
        out.print(f"served   {', '.join(where)}")
    who = [f"{name} {shown(request[key])}" for name, key in _WHO if request[key]]
    if who:
        out.print(f"for      {', '.join(who)}")


_WHO = (("tenant", "tenant"), ("session", "session_id"))


def _section(
    out: Console, title: str, names: tuple[str, ...], lines: Sequence[tuple[object, ...]], fold_at: int = 24
) -> None:
    out.print()
    out.print(Text(title, style="bold"))
    out.print(table(names, lines, out.width, fold_at=fold_at))


def _gate(gate: GateResult) -> tuple[object, ...]:
    measured, bound = shown(gate.measured), shown(gate.bound)
    if isinstance(gate.measured, float):
        if gate.bound is not None and gate.measured != gate.bound:
            measured, bound = apart(gate.measured, gate.bound)
        measured += " s"
    if gate.bound is not None and gate.gate not in _UNITLESS:
        bound += " s"
    return gate.gate, measured, bound, gate.result.value, "decided" if gate.decided else ""


_UNITLESS = ("retries", "quality")


def _attempt(attempt: Row, request: Row) -> tuple[object, ...]:
    error = ", ".join(str(attempt[name]) for name in ("error_type", "http_status") if attempt[name] is not None)
    decisive = "delivered" if request["pass_success"] else "the last"
    answer = decisive if attempt["attempt_id"] == request["delivering_attempt_id"] else None
    values = (attempt[name] for name in ("outcome", "replica", "ttft_s", "e2e_s", "input_tokens", "output_tokens"))
    return attempt["attempt_index"], attempt["started_at"], *values, error or None, answer


def _waited_longer(attempt: Row, request: Row) -> bool:
    is_delivering = attempt["attempt_id"] == request["delivering_attempt_id"]
    return is_delivering and attempt["ttft_s"] is not None and attempt["ttft_s"] != request["ttft_s"]


def _label(label: Row) -> tuple[object, ...]:
    judged = (label[name] for name in ("evaluator", "score", "label", "passed", "labelled_at"))
    return *judged, _state(label), place(label)


def _state(label: Row) -> str:
    if label["withdrawn"]:
        return "withdrawn"
    return "current" if label["current"] else "superseded"


def _fact(fact: Fact) -> tuple[object, ...]:
    others = "; ".join(f"{other.layer}: {shown(other.value)} ({other.place})" for other in fact.others)
    return fact.fact, fact.value, fact.layer, fact.place or fact.rule, others or None


def _records(request_record: RequestRecord, attempt: Row) -> list[Row]:
    return [
        request_record.records[record_id] for record_id in attempt["record_ids"] if record_id in request_record.records
    ]


def _record(record: Row) -> Row:
    return {name: record[name] for name in _RECORD_FIELDS}


_RECORD_FIELDS = ("record_id", "layer", "dialect", "source_id", "landing", "path", "line", "position")
