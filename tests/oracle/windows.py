"""Counts, rates and estimates of each window and slice: docs/semantics.md#windows, #sessions."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from oracle.estimate import definition, estimated, is_unweighted, quality_gated_ratio
from oracle.fleet import GATES, VERDICTS, Fleet, Row, seconds
from oracle.quantiles import quantile
from oracle.slices import Key, Slices, window_of, windows_between
from oracle.spans import Span, overlap
from oracle.units import units

LOW_N = 100
CAUSES = ("queue", "retries", "prefill", "work")  # of late answers
OF_UNITS = ("success", "quality")  # what a session passes as a whole; all else is measured of requests


@dataclass
class Window:
    """What one row of goodput counts and times."""

    ended: list[Row] = field(default_factory=list)  # requests, or sessions where a workload counts those
    timed: list[Row] = field(default_factory=list)  # requests
    arrivals: int = 0
    workloads: set[str] = field(default_factory=set)  # of which a request arrived, ended or was under way


def windows(fleet: Fleet, requests: list[Row], slices: Slices) -> dict[Key, Window]:
    """Every window and slice in which something arrived, ended or was under way."""
    found: dict[Key, Window] = defaultdict(Window)
    counted = units(fleet, requests)
    for window_s in fleet.settings["windows_s"]:
        for row in requests:
            last = row["arrived_at"] if row["ended_at"] is None else row["ended_at"]
            for start in windows_between(row["arrived_at"], last, window_s):
                for key in slices.keys(row, start, window_s):
                    found[key].workloads.add(row["workload"])
            for key in _at(slices, row, "ended_at", window_s):
                found[key].timed.append(row)
        for unit in counted:
            for key in _at(slices, unit, "arrived_at", window_s):
                found[key].arrivals += 1
                found[key].workloads.add(unit["workload"])
            for key in _at(slices, unit, "ended_at", window_s):
                found[key].ended.append(unit)
                found[key].workloads.add(unit["workload"])
    return dict(found)


def _at(slices: Slices, row: Row, name: str, window_s: int) -> Iterable[Key]:
    """Slices of the window that holds one of a row's times; none where it has not come."""
    return () if row[name] is None else slices.keys(row, window_of(row[name], window_s), window_s)


def goodput(fleet: Fleet, key: Key, window: Window, carriers: set[str], observed: Span) -> Row:
    """Every column of a row of `goodput` that follows from requests; `carriers` bear its cost."""
    start, window_s = key[:2]
    rows = window.ended
    succeeded = [row for row in rows if row["pass_success"]]
    verdicts = Counter(row["verdict"] for row in rows)
    seen = overlap(observed, (start * 10**9, (start + window_s) * 10**9))
    needing = [row for row in rows if row["needs_label"]]
    labelled = [row for row in needing if row["pass_quality"] is not None]
    result: Row = {
        "offered": len(rows),
        "arrivals": window.arrivals,
        "succeeded": len(succeeded),
        **{verdict: verdicts[verdict] for verdict in VERDICTS},
        **{f"{cause}_late": sum(row.get("late_by") == cause for row in rows) for cause in CAUSES},
        "throughput_rps": Fraction(len(succeeded), window_s),
        "quality_gated_ratio": quality_gated_ratio(rows),
        "quality_coverage_ratio": Fraction(len(labelled), len(needing)) if needing else None,
        "output_tps": Fraction(sum(row["output_tokens"] or 0 for row in succeeded), window_s),
        "need_label": len(needing),
        "labelled": len(labelled),
        "retry_ratio": Fraction(sum(row["retry_count"] > 0 for row in rows), len(rows)) if rows else None,
        "low_n": sum(row["verdict"] != "unevaluable" for row in succeeded) < LOW_N,
        "observed_s": seconds(seen),
        "throughput_observed_rps": len(succeeded) / seconds(seen) if seen else None,
        "partial": seen < window_s * 10**9,
        "definition": definition(fleet, rows, window.workloads or carriers),
    }
    return {
        **result,
        **_accepted(fleet, window_s, rows, seen),
        **_judged(succeeded, labelled),
        **_latencies(window.timed),
        **_binding(rows),
        **_unseen(window),
    }


def _unseen(window: Window) -> Row:
    """Coverage of the requests' replicas, and how many requests nobody saw beside them."""
    covered = [row["coverage_ppm"] for row in window.timed if row["coverage_ppm"] is not None]
    unseen = [row["unobserved_ppm"] for row in window.ended if row.get("unobserved_ppm") is not None]
    return {
        "coverage_ratio": Fraction(sum(covered), len(covered) * 10**6) if covered else None,
        "unobserved": Fraction(sum(unseen), 10**6) if unseen else None,
    }


def bounds(row: Row, window_s: int) -> Row:
    """The goodput ratio if none, or all, of what nobody saw was accepted."""
    if row["unobserved"] is None or row["goodput_rps"] is None or not row["offered"] + row["unobserved"]:
        return {"goodput_ratio_low": None, "goodput_ratio_high": None}
    accepted, all_of_them = row["goodput_rps"] * window_s, row["offered"] + row["unobserved"]
    return {
        "goodput_ratio_low": accepted / all_of_them,
        "goodput_ratio_high": (accepted + row["unobserved"]) / all_of_them,
    }


def _accepted(fleet: Fleet, window_s: int, rows: list[Row], seen_ns: int) -> Row:
    """Estimates with bounds and intervals; no estimate where labels come from nobody's draw."""
    accepted, tokens = estimated(fleet, window_s, rows)
    if is_unweighted(fleet, rows):
        accepted[""] = tokens[""] = None
    rates = {name: None if value is None else value / window_s for name, value in accepted.items()}
    of_offered = {name: value / len(rows) if rows and value is not None else None for name, value in accepted.items()}
    return {
        **{f"goodput_{name}_rps" if name else "goodput_rps": rate for name, rate in rates.items()},
        "goodput_ratio": of_offered[""],
        "goodput_ratio_ci_low": of_offered["ci_low"],
        "goodput_ratio_ci_high": of_offered["ci_high"],
        "goodput_observed_rps": accepted[""] / seconds(seen_ns) if seen_ns and accepted[""] is not None else None,
        **{
            f"output_token_goodput_{name}_tps" if name else "output_token_goodput_tps": value and value / window_s
            for name, value in tokens.items()
            if name not in {"lower", "upper"}
        },
    }


def _judged(succeeded: list[Row], labelled: list[Row]) -> Row:
    judged = [row["pass_quality"] for row in succeeded if row["pass_quality"] is not None]
    passed = [row for row in labelled if row["pass_quality"]]
    return {
        "quality_judged": len(judged),
        "quality_pass_ratio": Fraction(sum(judged), len(judged)) if judged else None,
        "quality_pass_in_bounds_ratio": Fraction(len(passed), len(labelled)) if labelled else None,
    }


def _latencies(requests: list[Row]) -> Row:
    """Percentiles of succeeded requests and shares that fail a gate."""
    result: Row = {"tpot_na": sum(row["tpot_na"] for row in requests)}
    succeeded = [row for row in requests if row["pass_success"]]
    for name in ("ttft", "tpot", "e2e", "queue"):
        values = [
            Fraction(str(v)) if isinstance(v, float) else v for row in succeeded if (v := row[f"{name}_s"]) is not None
        ]
        result[f"n_{name}"] = len(values)
        result |= {f"p{q}_{name}_s": quantile(values, Fraction(q, 100)) for q in (50, 95, 99)}
    for gate in ("ttft", "tpot", "e2e"):
        measured = [row[f"pass_{gate}"] for row in requests if row[f"pass_{gate}"] is not None]
        result[f"{gate}_fail_ratio"] = Fraction(measured.count(False), len(measured)) if measured else None
    return result


def _binding(rows: list[Row]) -> Row:
    """The gate that would accept the most if it were not there, of several the first."""
    alone = Counter(row["sole_failing_gate"] for row in rows if row["sole_failing_gate"])
    most = max(alone.values(), default=0)
    return {
        "binding_gate": next((gate for gate in GATES if most and alone[gate] == most), None),
        "binding_gate_requests": most,
    }


def gate_failures(found: dict[Key, Window]) -> dict[Key, Row]:
    """How often each gate fails in each window and slice, and how often it alone does, by key and gate."""
    failures = {}
    for key, window in found.items():
        for gate in GATES:
            rows = window.ended if gate in OF_UNITS else window.timed
            passed = [row[f"pass_{gate}"] for row in rows]
            gated, failing = len(passed) - passed.count(None), passed.count(False)
            alone = sum(row["sole_failing_gate"] == gate for row in window.ended)
            if gated or alone:
                ratio = Fraction(failing, gated) if gated else None
                counts = {"gated": gated, "failing": failing, "only_failing": alone, "fail_ratio": ratio}
                failures[*key, gate] = counts
    return failures
