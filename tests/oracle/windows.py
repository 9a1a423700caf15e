"""Counts, rates and estimates of each window and slice: docs/semantics.md#windows, #goodput-from-a-sample."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

from oracle.estimate import definition, estimated, quality_gated_ratio
from oracle.fleet import GATES, VERDICTS, Fleet, Row, S
from oracle.quantiles import quantile

SLICES = {
    "overall": (),
    "model": ("model",),
    "pool": ("pool",),
    "workload": ("workload",),
    "workload_model": ("workload", "model"),
    "workload_pool": ("workload", "pool"),
    "workload_route": ("workload", "route"),
    "finest": ("workload", "model", "pool", "route"),
}
DIMENSIONS = ("workload", "model", "pool", "route")
LOW_N = 100

Key = tuple[int, int, str, str | None, str | None, str | None, str | None]


def slice_keys(row: Row, slices: dict[str, tuple[str, ...]] | None = None) -> Iterator[tuple[str | None, ...]]:
    """Slice and dimensions of each slice that a row belongs to; what was not reported is `unknown`."""
    for name, cut in (slices or SLICES).items():
        yield name, *((row[column] or "unknown") if column in cut else None for column in DIMENSIONS)


def window_of(ns: int, window_s: int) -> int:
    """Start of the window that holds a moment, in Unix seconds."""
    return ns // S // window_s * window_s


def goodput(fleet: Fleet, requests: Iterable[Row], carriers: dict[Key, set[str]]) -> dict[Key, Row]:
    """Every column of `goodput` that follows from requests, by window and slice; `carriers` bear its cost."""
    ended: dict[Key, list[Row]] = defaultdict(list)
    arrivals: Counter[Key] = Counter()
    workloads: dict[Key, set[str]] = defaultdict(set)
    for row in requests:
        for window_s in fleet.settings["windows_s"]:
            for cut in slice_keys(row):
                key: Key = (window_of(row["arrived_at"], window_s), window_s, *cut)  # type: ignore[assignment]
                arrivals[key] += 1
                workloads[key].add(row["workload"])
                if row["ended_at"] is not None:
                    ended[window_of(row["ended_at"], window_s), window_s, *cut].append(row)  # type: ignore[index]
    for key, names in _under_way(fleet, requests).items():
        workloads[key] |= names
    keys = ended.keys() | workloads.keys()
    return {
        key: _window(fleet, key[1], ended.get(key, []), arrivals[key])
        | {"definition": definition(fleet, ended.get(key, []), workloads[key] | carriers.get(key, set()))}
        for key in keys
    }


def empty(fleet: Fleet, key: Key, carriers: dict[Key, set[str]]) -> Row:
    """A window in which nothing arrived, ended or was under way, such as one in which a replica was idle."""
    return _window(fleet, key[1], [], 0) | {"definition": definition(fleet, [], carriers.get(key, set()))}


def _under_way(fleet: Fleet, requests: Iterable[Row]) -> dict[Key, set[str]]:
    """Windows in which requests were under way that are over by now, with their workloads."""
    found: dict[Key, set[str]] = defaultdict(set)
    for row in requests:
        for window_s in fleet.settings["windows_s"] if row["ended_at"] is not None else ():
            last = window_of(row["ended_at"], window_s)
            for start in range(window_of(row["arrived_at"], window_s), last + 1, window_s):
                for cut in slice_keys(row):
                    found[start, window_s, *cut].add(row["workload"])  # type: ignore[index]
    return found


def _window(fleet: Fleet, window_s: int, rows: list[Row], arrivals: int) -> Row:
    succeeded = [row for row in rows if row["pass_success"]]
    verdicts = Counter(row["verdict"] for row in rows)
    accepted, tokens = estimated(fleet, window_s, rows)
    needing = [row for row in rows if row["needs_label"]]
    labelled = [row for row in needing if row["pass_quality"] is not None]
    result: Row = {
        "offered": len(rows),
        "arrivals": arrivals,
        "succeeded": len(succeeded),
        **{verdict: verdicts[verdict] for verdict in VERDICTS},
        "throughput_rps": Fraction(len(succeeded), window_s),
        **{f"goodput_{name}_rps" if name else "goodput_rps": value / window_s for name, value in accepted.items()},
        "goodput_ratio": accepted[""] / len(rows) if rows else None,
        "quality_gated_ratio": quality_gated_ratio(rows),
        "quality_coverage_ratio": Fraction(len(labelled), len(needing)) if needing else None,
        "output_tps": Fraction(sum(row["output_tokens"] or 0 for row in succeeded), window_s),
        **{
            f"output_token_goodput_{name}_tps" if name else "output_token_goodput_tps": value / window_s
            for name, value in tokens.items()
            if name not in {"lower", "upper"}
        },
        "goodput_ratio_ci_low": accepted["ci_low"] / len(rows) if rows else None,
        "goodput_ratio_ci_high": accepted["ci_high"] / len(rows) if rows else None,
        "need_label": len(needing),
        "labelled": len(labelled),
        "retry_ratio": Fraction(sum(row["retry_count"] > 0 for row in rows), len(rows)) if rows else None,
        "tpot_na": sum(row["tpot_na"] for row in rows),
        "low_n": sum(row["verdict"] != "unevaluable" for row in succeeded) < LOW_N,
    }
    for name in ("ttft", "tpot", "e2e", "queue"):
        values = [
            Fraction(str(v)) if isinstance(v, float) else v for row in succeeded if (v := row[f"{name}_s"]) is not None
        ]
        result[f"n_{name}"] = len(values)
        result |= {f"p{q}_{name}_s": quantile(values, Fraction(q, 100)) for q in (50, 95, 99)}
    for gate in ("ttft", "tpot", "e2e"):
        measured = [row[f"pass_{gate}"] for row in rows if row[f"pass_{gate}"] is not None]
        result[f"{gate}_fail_ratio"] = Fraction(measured.count(False), len(measured)) if measured else None
    return result | _binding(rows)


def _binding(rows: list[Row]) -> Row:
    """The gates that would accept the most requests if they were not there: a tie has no rule of its own."""
    alone = Counter(row["sole_failing_gate"] for row in rows if row["sole_failing_gate"])
    most = max(alone.values(), default=0)
    return {"binding_gate": {gate for gate in alone if alone[gate] == most}, "binding_gate_requests": most}


def gate_failures(fleet: Fleet, requests: Iterable[Row]) -> dict[tuple[Key, str], Row]:
    """How often each gate fails in each window and slice, and how often it alone does."""
    found: dict[tuple[Key, str], Counter[str]] = defaultdict(Counter)
    for row in requests:
        if row["ended_at"] is None:
            continue
        for window_s in fleet.settings["windows_s"]:
            for cut in slice_keys(row):
                key: Key = (window_of(row["ended_at"], window_s), window_s, *cut)  # type: ignore[assignment]
                for gate in GATES:
                    passed = row[f"pass_{gate}"]
                    found[key, gate]["gated"] += passed is not None
                    found[key, gate]["failing"] += passed is False
                    found[key, gate]["only_failing"] += row["sole_failing_gate"] == gate
    return {key: _failures(counts) for key, counts in found.items() if any(counts.values())}


def _failures(counts: Counter[str]) -> Row:
    names = ("gated", "failing", "only_failing")
    ratio = Fraction(counts["failing"], counts["gated"]) if counts["gated"] else None
    return {**{name: counts[name] for name in names}, "fail_ratio": ratio}
