"""What there is to say about one request, for whoever shows it: its lines, tables and plain data.

How it is shown is the command's matter, or the page's; what decided is in `gates`, whence facts came in `provenance`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

from goodput.ask.cells import apart, plain, shown, significant
from goodput.ask.database import Row
from goodput.ask.gates import LATENCIES, GateResult, Result, gates, headline
from goodput.ask.provenance import Fact, facts
from goodput.ask.request_record import RequestRecord, place


@dataclass(frozen=True)
class Section:
    """A table with its title, and a sentence below it; a text of up to `fold_at` characters is not folded."""

    title: str
    columns: Sequence[str]
    lines: Sequence[Sequence[object]]
    note: str = ""
    fold_at: int = 24


def explanation(request_record: RequestRecord) -> dict[str, Any]:
    """The explanation as plain data: request, headline, gates, attempts with records and facts, labels, costs."""
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
        "costs": request_record.costs,
        "charges": request_record.charges,
    }


def sections(request_record: RequestRecord) -> Iterator[Section]:
    """The tables that explain a request: gates, attempts, labels, costs, then records and facts of each attempt."""
    request = request_record.request
    measured = [_gate(gate) for gate in gates(request_record)]
    yield Section("Gates, in the order in which verdicts are decided", _GATE_COLUMNS, measured)
    attempts = [_attempt(attempt, request) for attempt in request_record.attempts]
    waited = any(_waited_longer(attempt, request) for attempt in request_record.attempts)
    notes = [_WAITED] if waited else []
    pruned = request["attempts"] - len(attempts)
    if pruned > 0:
        notes.append(f"{pruned} attempt(s) of it were pruned, and what their records said is not known now.")
    yield Section("Attempts", _ATTEMPT_COLUMNS, attempts, " ".join(notes))
    if request_record.labels:
        yield Section("Labels", _LABEL_COLUMNS, [_label(label) for label in request_record.labels])
    yield from _spent(request_record)
    for attempt in request_record.attempts:
        yield from _origins(request_record, attempt)


def _spent(request_record: RequestRecord) -> Iterator[Section]:
    """What it cost, and who says so; nothing where no price is known of any of it."""
    costs = request_record.costs
    if all(cost["usd"] is None for cost in costs):
        return
    numbers = {attempt["attempt_id"]: attempt["attempt_index"] for attempt in request_record.attempts}
    lines = [_cost(cost, numbers) for cost in costs]
    total = fsum(cost["usd"] for cost in costs if cost["usd"] is not None)
    known = "at least " if any(cost["usd"] is None and cost["tokens"] for cost in costs) else ""
    note = f"In all {known}${significant(total)}, without idle time and overhead, which `waste` shares by window."
    yield Section("Costs", _COST_COLUMNS, lines, note)
    if request_record.charges:
        yield Section("Bills and prices behind them", _CHARGE_COLUMNS, [_charge(row) for row in request_record.charges])


def _origins(request_record: RequestRecord, attempt: Row) -> Iterator[Section]:
    """Where what is known of an attempt came from."""
    records = _records(request_record, attempt)
    name = f"attempt {attempt['attempt_index']}"
    lines = [(r["layer"], r["dialect"], r["record_id"], place(r)) for r in records]
    missing = len(attempt["record_ids"]) - len(records)
    pruned = f"{missing} record(s) of it were pruned: where the facts that they gave came from is not known now."
    yield Section(f"Records behind {name}, outermost first", _RECORD_COLUMNS, lines, pruned if missing else "")
    yield Section(f"Facts of {name}", _FACT_COLUMNS, [_fact(fact) for fact in facts(attempt, records)], fold_at=16)


def sole_gate(request_record: RequestRecord) -> str:
    """Which gate alone stands against the request, in a sentence; nothing where none does."""
    sole = request_record.request["sole_failing_gate"]
    if not sole:
        return ""
    waits = any(gate.result is Result.no_label for gate in gates(request_record))
    return f"Only the gate {sole} stands against it{'; no label has judged it yet' if waits else ''}."


def described(request: Row) -> Iterator[tuple[str, str]]:
    """What the request was, each fact with its name: key and workload, when, how it ended, where and for whom."""
    finish = f" ({plain(request['finish_reason'])})" if request["finish_reason"] else ""
    yield "request", f"{plain(request['request_key'])}, workload {plain(request['workload'])}"
    yield "arrived", shown(request["arrived_at"])
    yield "ended", shown(request["ended_at"])
    yield "outcome", f"{plain(request['outcome'])}{finish}"
    where = [f"{name} {shown(request[name])}" for name in ("model", "pool", "route", "replica") if request[name]]
    if where:
        yield "served", ", ".join(where)
    who = [f"{name} {shown(request[key])}" for name, key in _WHO if request[key]]
    if who:
        yield "for", ", ".join(who)


_WHO = (("tenant", "tenant"), ("session", "session_id"))
_WAITED = "The gates measure what the user waited, from the arrival of the first attempt."
_GATE_COLUMNS = ("gate", "measured", "bound", "verdict", "")
_ATTEMPT_COLUMNS = (
    *("attempt", "started", "outcome", "replica", "ttft_s", "e2e_s", "input_tokens", "output_tokens"),
    *("error", "answer"),
)
_LABEL_COLUMNS = ("evaluator", "score", "label", "passed", "judged", "state", "from")
_COST_COLUMNS = ("attempt", "bucket", "usd", "error_usd", "by", "replica", "from", "until")
_CHARGE_COLUMNS = ("by", "for", "from", "until", "amount_usd", "input_token_usd", "output_token_usd", "place")
_RECORD_COLUMNS = ("layer", "dialect", "record", "place")
_FACT_COLUMNS = ("fact", "value", "from", "place", "in other layers")


def _gate(gate: GateResult) -> tuple[object, ...]:
    measured, bound = shown(gate.measured), shown(gate.bound)
    if isinstance(gate.measured, float):
        if gate.bound is not None and gate.measured != gate.bound:
            measured, bound = apart(gate.measured, gate.bound)
        measured += " s"
    if gate.bound is not None and gate.gate in LATENCIES:
        bound += " s"
    return gate.gate, measured, bound, gate.result.value, "decided" if gate.decided else ""


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


def _cost(cost: Row, numbers: Mapping[str, int]) -> tuple[object, ...]:
    error = "unknown" if cost["error_usd"] is None and cost["usd"] is not None else cost["error_usd"]
    values = (cost[name] for name in ("basis", "replica", "from_at", "until_at"))
    return numbers.get(cost["attempt_id"]), cost["bucket"], cost["usd"], error, *values


def _charge(charge: Row) -> tuple[object, ...]:
    names = ("basis", "pays_for", "from_at", "until_at", "amount_usd", "input_token_usd", "output_token_usd")
    return *(charge[name] for name in names), place(charge)


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
