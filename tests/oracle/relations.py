"""Each published relation beside its computation."""

from collections.abc import Callable
from fractions import Fraction
from math import hypot

from goodput.plumbing.workspace import Workspace
from oracle import (
    attempt_relations,
    engine_relations,
    judgements,
    label_relations,
    load_relations,
    money_relations,
    operation_relations,
    sessions,
    waste,
    windows,
)
from oracle.compare import Comparison, epoch_us, keyed, microseconds, rows
from oracle.fleet import LATENCIES, Row
from oracle.slices import DIMENSIONS, Key
from oracle.truth import Truth
from oracle.units import counts_sessions

CUT = ("window_at", "window_s", "slice", "slice_value", *DIMENSIONS)
REQUEST = (
    *("workload", "attempts", "retry_count", "delivering_attempt_id", "tenant", "session_id", "model", "replica"),
    *("pool", "route", "ttft_s", "e2e_s", "tpot_s", "queue_s", "itl_p95_s", "jitter_s", "input_tokens", "verdict"),
    *(
        "cache_write_tokens",
        "reasoning_tokens",
        "cached_input_tokens",
        "output_tokens",
        "outcome",
        "pass_success",
        "pass_retries",
        "pass_quality",
        "tpot_na",
    ),
    *(
        "streamed",
        "finish_reason",
        "error_type",
        "needs_label",
        "sole_failing_gate",
        "late_by",
        *(f"pass_{gate}" for gate in LATENCIES),
    ),
)


def requests(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation requests."""
    published = keyed(rows(workspace, "SELECT * FROM requests"), "request_key")
    for row in published.values():
        row |= {name: epoch_us(row[name]) for name in ("arrived_at", "ended_at")}
    computed = {
        row["request_key"]: {name: row[name] for name in REQUEST}
        | {name: microseconds(row[name]) for name in ("arrived_at", "ended_at")}
        for row in truth.requests
    }
    costs = waste.request_costs(truth.ledger)
    for key, row in computed.items():
        row["cost_usd"] = costs.get(key)
    found.rows("requests", published, computed)


def goodput(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation goodput."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM goodput"
    published = keyed(rows(workspace, sql), *CUT)
    found.rows("goodput", published, {key: row | _cost(truth, key) for key, row in truth.goodput.items()})


def _cost(truth: Truth, key: Key) -> Row:
    """Cost columns of a row of goodput."""
    cost, row = truth.waste.costs(key), truth.goodput[key]
    names = ("goodput_rps", "goodput_ci_low_rps", "goodput_ci_high_rps", "goodput_lower_rps", "goodput_upper_rps")
    units, low, high, lower, upper = (float(row[name] or 0) * key[1] for name in names)
    usd, error = cost["cost_usd"], cost["cost_error_usd"]
    cost["cost_per_accepted_usd"] = usd / Fraction(units) if usd is not None and units > 1e-9 else None
    if row["definition"] == "unweighted":
        cost["wasted_ratio"] = None
    are_bounds = units < 1e-9 or (abs(low - lower) < 1e-9 and abs(high - upper) < 1e-9)
    is_credit = usd is not None and usd < 0
    for name, side, end in (("low", -1, low if is_credit else high), ("high", 1, high if is_credit else low)):
        price = None
        if usd is not None and error is not None and end > 1e-9:
            price = (float(usd) + side * error) / end
            if not are_bounds:
                middle = float(usd) / units
                price = middle + side * hypot(middle - float(usd) / end, error / units)
            price = price if name == "high" or is_credit else max(price, 0.0)
        cost[f"cost_per_accepted_ci_{name}_usd"] = price
    cost["no_cost_interval"] = None
    if usd is None:
        cost["no_cost_interval"] = "cost_unknown"
    elif high < 1e-9 or (is_credit and low < 1e-9):
        cost["no_cost_interval"] = "nothing_accepted"
    elif error is None:
        cost["no_cost_interval"] = "error_unknown"
    elif cost["unpriced"]:
        cost["no_cost_interval"] = "work_unpriced"
    if cost["unpriced"]:
        cost["cost_per_accepted_ci_high_usd"] = None
    return cost


def gate_failures(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation gate_failures."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM gate_failures"
    found.rows("gate_failures", keyed(rows(workspace, sql), *CUT, "gate"), windows.gate_failures(truth.windows))


def quality(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation quality."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM quality"
    published = keyed(rows(workspace, sql), "window_at", "window_s", "workload", "model", "evaluator", "label")
    found.rows("quality", published, judgements.quality(truth.fleet, truth.requests, truth.slices))


def waste_rows(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation waste."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM waste"
    found.rows("waste", keyed(rows(workspace, sql), *CUT, "bucket"), truth.waste.rows())


def session_rows(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation sessions."""
    published = keyed(rows(workspace, "SELECT * FROM sessions"), "session_id")
    computed = sessions.sessions(truth.requests, waste.request_costs(truth.ledger))
    for row in published.values():
        row |= {name: epoch_us(row[name]) for name in ("started_at", "ended_at")}
    for row in computed.values():
        row |= {name: microseconds(row[name]) for name in ("started_at", "ended_at")}
    found.rows("sessions", published, computed)


def accepted_units(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation accepted_units: the slice of workloads in what they call their units."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM accepted_units"
    published = keyed(rows(workspace, sql), "window_at", "window_s", "workload")
    computed = {}
    for key, row in truth.goodput.items():
        start, window_s, slice_, _, workload, *_ = key
        if slice_ == "workload":
            unit = "session" if counts_sessions(truth.fleet, workload) else "request"
            computed[start, window_s, workload] = {
                "unit": unit,
                "unit_label": truth.fleet.workloads.get(workload, {}).get("unit_label", unit),
                **{name: row[name] for name in ("offered", "accepted", "goodput_ratio", "definition", "partial")},
                "accepted_per_hour": row["goodput_rps"] and row["goodput_rps"] * 3600,
                **{f"accepted_per_hour_ci_{end}": row[f"goodput_ci_{end}_rps"] * 3600 for end in ("low", "high")},
                **{f"goodput_ratio_ci_{end}": row[f"goodput_ratio_ci_{end}"] for end in ("low", "high")},
            }
            cost = _cost(truth, key)
            prices = (f"cost_per_accepted{end}_usd" for end in ("", "_ci_low", "_ci_high"))
            names = ("cost_usd", "direct_cost_usd", *prices, "no_cost_interval")
            computed[start, window_s, workload] |= {name: cost[name] for name in names}
    found.rows("accepted_units", published, computed)


RELATIONS: tuple[Callable[[Workspace, Truth, Comparison], None], ...] = (
    requests,
    goodput,
    gate_failures,
    quality,
    label_relations.session_labels,
    money_relations.cost_ledger,
    money_relations.cost_records,
    money_relations.reconciliation,
    money_relations.unused_cost_lines,
    waste_rows,
    session_rows,
    accepted_units,
    attempt_relations.attempts,
    attempt_relations.binding_gate,
    engine_relations.replica_samples,
    engine_relations.replica_windows,
    engine_relations.replica_histograms,
    engine_relations.cache_effect,
    engine_relations.coverage_rows,
    operation_relations.ops_events,
    operation_relations.disruptions,
    operation_relations.disruption_cost,
    operation_relations.disruption_frequency,
    load_relations.frontier,
)
