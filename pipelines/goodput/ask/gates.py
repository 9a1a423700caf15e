"""Why a request has its verdict: each gate as it was measured, which one decided, and that in one sentence.

The verdict itself is read, never computed again (docs/semantics.md#gates-and-verdicts).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from goodput.ask.cells import apart, plain, significant
from goodput.ask.request_record import RequestRecord
from goodput.settings.gates import COUNT_GATES, GATES, LATENCY_GATES

LATENCIES: dict[str, str] = {name: gate.measured for name, gate in LATENCY_GATES.items()}
MEASURED: Mapping[str, str] = LATENCIES | {name: gate.measured for name, gate in COUNT_GATES.items()}


_BETWEEN_TOKENS = (
    "engines report times between tokens for all requests of a window together (itl_s in relation replica_histograms), "
    "not for each request"
)


class Result(StrEnum):
    """What became of one gate."""

    passed = "pass"
    failed = "FAIL"
    not_applicable = "not applicable"
    not_measured = "not measured"
    passed_unmeasured = "not measured, passes"
    no_label = "no label yet"
    not_over = "not over yet"


@dataclass(frozen=True)
class GateResult:
    """One gate of a request: measured value and bound (seconds, or a count), and whether it decided."""

    gate: str
    measured: str | float | None
    bound: float | None
    result: Result
    decided: bool


def gates(record: RequestRecord) -> list[GateResult]:
    """The gates that exist for the request, in the order in which verdicts are decided."""
    found = [
        (gate, _measured(record, gate), record.bounds.get(gate), _result(record, gate))
        for gate in GATES
        if gate == "success" or gate in record.bounds or record.request[f"pass_{gate}"] is not None
    ]
    deciding = _deciding(record.request["verdict"], {gate: result for gate, _, _, result in found})
    return [GateResult(*reading, decided=reading[0] == deciding) for reading in found]


def headline(record: RequestRecord, found: list[GateResult]) -> str:
    """The verdict and its reason in one sentence."""
    verdict: str = record.request["verdict"]
    return f"{verdict}: {_REASONS[verdict](record, found)}"


def _measured(record: RequestRecord, gate: str) -> str | float | None:
    request = record.request
    if gate == "success":
        return plain(request["outcome"])
    if gate == "quality":
        judged = [label["passed"] for label in record.labels if label["current"] and label["passed"] is not None]
        return f"{sum(judged)} of {len(judged)} labels pass" if judged else None
    value: float | None = request[MEASURED[gate]]
    return value


def _result(record: RequestRecord, gate: str) -> Result:
    request = record.request
    passed = request[f"pass_{gate}"]
    if passed is not None:
        return Result.passed if passed else Result.failed
    if request["verdict"] == "in_flight":
        return Result.not_over
    if gate == "quality":
        return Result.no_label
    if (gate == "tpot" and request["tpot_na"]) or _measured(record, gate) is not None:
        return Result.not_applicable
    return Result.passed_unmeasured if gate in record.passing_unmeasured else Result.not_measured


def _deciding(verdict: str, results: dict[str, Result]) -> str | None:
    decides = {
        "failed": (("success",), Result.failed),
        "over_budget": (tuple(COUNT_GATES), Result.failed),
        "slow": (tuple(LATENCIES), Result.failed),
        "rejected": (("quality",), Result.failed),
        "unevaluable": (GATES, Result.not_measured),
        "unlabelled": (("quality",), Result.no_label),
    }
    among, wanted = decides.get(verdict, ((), Result.passed))
    return next((gate for gate in among if results.get(gate) is wanted), None)


def _failure(record: RequestRecord, _: list[GateResult]) -> str:
    request = record.request
    delivering = [a for a in record.attempts if a["attempt_id"] == request["delivering_attempt_id"]]
    if any(attempt["ended_at"] is None for attempt in delivering):
        return "it was never seen to end"
    if request["outcome"] == "unknown":
        return "no record shows that a complete answer was delivered"
    cause = [str(a[name]) for a in delivering for name in ("error_type", "http_status") if a[name] is not None]
    return f"the last attempt ended in {request['outcome']}" + (f" ({plain(', '.join(cause))})" if cause else "")


def _over_budget(_: RequestRecord, found: list[GateResult]) -> str:
    return "; ".join(_overruns(found))


def _overruns(found: list[GateResult]) -> Iterator[str]:
    results = {gate.gate: gate for gate in found if gate.result is Result.failed}
    for name, counted in COUNT_GATES.items():
        if over := results.get(name):
            made = f"{over.measured} {counted.one if over.measured == 1 else counted.several}"
            allowed = "more than the budget allows" if over.bound is None else f"and the budget is {over.bound:g}"
            yield f"{made}, {allowed}"


def _too_slow(record: RequestRecord, found: list[GateResult]) -> str:
    return "; ".join([*_excesses(found), *_by_what(record)])


def _by_what(record: RequestRecord) -> Iterator[str]:
    """What alone made it late; nothing where it did not wait, or nobody reported how long."""
    by, queue_s = record.request["late_by"], record.request["queue_s"]
    waited = f"its {significant(queue_s)} s in the engine's queue" if queue_s else None
    if by == "queue":
        yield f"in time but for {waited}"
    elif by == "retries":
        yield "in time but for earlier tries" + (f" and {waited}" if waited else "")
    elif by == "prefill":
        yield "its prefill alone took longer than that"
    elif by == "work" and waited:
        yield f"late without {waited} too"


def _excesses(found: list[GateResult]) -> Iterator[str]:
    for gate in found:
        if gate.gate in LATENCIES and gate.result is Result.failed and isinstance(gate.measured, float):
            if gate.bound is None:
                yield f"{gate.gate} {significant(gate.measured)} s is over its bound"
            else:
                measured, bound = apart(gate.measured, gate.bound)
                yield f"{gate.gate} {measured} s is over its bound of {bound} s"


def _rejected(record: RequestRecord, _: list[GateResult]) -> str:
    return "; ".join(_rejections(record)) or "an evaluator failed it"


def _rejections(record: RequestRecord) -> Iterator[str]:
    for label in record.labels:
        if label["current"] and label["passed"] is False:
            judged = [significant(label["score"])] if label["score"] is not None else []
            judged += [label["label"]] if label["label"] is not None else []
            yield plain(f"{label['evaluator']} failed it" + (f" ({', '.join(judged)})" if judged else ""))


def _unmeasured(_: RequestRecord, found: list[GateResult]) -> str:
    missing = [gate.gate for gate in found if gate.result is Result.not_measured]
    reason = f"no source measured {', '.join(missing)}, for which a bound is set"
    return f"{reason}; {_BETWEEN_TOKENS}" if {"itl_p95", "jitter"} & set(missing) else reason


_REASONS: dict[str, Callable[[RequestRecord, list[GateResult]], str]] = {
    "failed": _failure,
    "ungated": lambda *_: "no workload of the settings selects it, so no gate judged the answer",
    "over_budget": _over_budget,
    "slow": _too_slow,
    "rejected": _rejected,
    "unevaluable": _unmeasured,
    "unlabelled": lambda *_: "it passes every other gate, but the quality gate still waits for a label",
    "in_flight": lambda *_: "it was not seen to end yet, and counts in no window until then",
    "accepted": lambda *_: "every gate that applies passes",
}
