"""Each published relation beside its computation."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from goodput.plumbing.workspace import Workspace
from oracle import bills, engine_relations, judgements, reconcile, sessions, waste, windows
from oracle.compare import Comparison, epoch_us, keyed, microseconds, rows
from oracle.fleet import LATENCIES, Row, S
from oracle.slices import DIMENSIONS, Key
from oracle.truth import Truth
from oracle.units import counts_sessions

CUT = ("window_at", "window_s", "slice", "slice_value", *DIMENSIONS)
REQUEST = (
    *("workload", "attempts", "retry_count", "delivering_attempt_id", "tenant", "session_id", "model", "replica"),
    *("pool", "route", "ttft_s", "e2e_s", "tpot_s", "queue_s", "itl_p95_s", "jitter_s", "input_tokens", "verdict"),
    *("cached_input_tokens", "output_tokens", "outcome", "pass_success", "pass_retries", "pass_quality", "tpot_na"),
    *(
        "streamed",
        "finish_reason",
        "error_type",
        "needs_label",
        "sole_failing_gate",
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
    if truth.is_told_everything:
        costs = waste.request_costs(truth.ledger)
        for key, row in computed.items():
            row["cost_usd"] = costs.get(key)
    found.rows("requests", published, computed)


def goodput(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation goodput; its cost where nothing is estimated."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM goodput"
    published = keyed(rows(workspace, sql), *CUT)
    # where cost is estimated, so is who bears it in a window without a request
    sure = truth.goodput.keys() if truth.is_told_everything else truth.windows.keys() | published.keys()
    found.rows("goodput", published, {key: row for key, row in truth.goodput.items() if key in sure})
    if truth.is_told_everything:
        of_waste = rows(workspace, "SELECT *, epoch(window_start)::BIGINT AS window_at FROM waste WHERE error_usd <> 0")
        unsure = {tuple(row[name] for name in CUT) for row in of_waste}
        ends = ("wasted_ci_low_ratio", "wasted_ci_high_ratio")
        costs = {key: _cost(truth, key) for key in truth.goodput}
        computed = {
            key: {name: value for name, value in cost.items() if name not in ends or key not in unsure}
            for key, cost in costs.items()
        }
        found.rows("goodput", published, computed)


def _cost(truth: Truth, key: Key) -> Row:
    """Cost columns of a row of goodput."""
    cost, row = truth.waste.costs(key), truth.goodput[key]
    ends = {"cost_per_accepted_usd": "goodput_rps"}
    ends |= {
        "cost_per_accepted_ci_low_usd": "goodput_ci_high_rps",
        "cost_per_accepted_ci_high_usd": "goodput_ci_low_rps",
    }
    for name, rate in ends.items():
        units = (row[rate] or 0) * key[1]
        cost[name] = None if cost["cost_usd"] is None or units <= 0 else cost["cost_usd"] / Fraction(units)
    return cost


def gate_failures(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation gate_failures."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM gate_failures"
    found.rows("gate_failures", keyed(rows(workspace, sql), *CUT, "gate"), windows.gate_failures(truth.windows))


def quality(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation quality."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM quality"
    published = keyed(rows(workspace, sql), "window_at", "window_s", "workload", "model", "evaluator", "label")
    found.rows("quality", published, judgements.quality(truth.fleet, truth.requests))


def cost_ledger(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation cost_ledger, where nothing is estimated."""
    if not truth.is_told_everything:
        return
    sql = "SELECT *, epoch(window_start)::BIGINT AS step_at FROM cost_ledger"
    names = ("step_at", "bucket", "attempt_id", "replica", "workload", "model", "pool", "route")
    computed = [row | {"step_at": row["step_ns"] // S} for row in truth.ledger]
    found.rows("cost_ledger", added(rows(workspace, sql), names), added(computed, names))


def reconciliation(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation reconciliation, where nothing is estimated."""
    if truth.is_told_everything:
        sql = "SELECT *, epoch(day_start)::BIGINT AS day_at FROM reconciliation"
        published = keyed(rows(workspace, sql), "day_at", "dialect", "basis")
        found.rows("reconciliation", published, reconcile.reconciliation(truth.account))


def unused_cost_lines(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation unused_cost_lines: which lines of exported bills, each once however often it was exported, and why."""
    sql = "SELECT * REPLACE (epoch_ns(period_start) AS period_start) FROM unused_cost_lines WHERE dialect = 'focus'"
    names = ("line", "sub_account", "amount", "currency", "service", "period_start")
    computed = {
        (number, *(line[name] for name in names[1:])): {name: line[name] for name in names[1:]} | {"reason": reason}
        for number, line, reason in bills.unused_lines(truth.fleet)
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


def waste_rows(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation waste, where nothing is estimated; intervals where the slice has no stated error either."""
    if not truth.is_told_everything:
        return
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM waste"
    published = keyed(rows(workspace, sql), *CUT, "bucket")
    unsure = {key[:-1] for key, row in published.items() if row["error_usd"] != 0}
    ends = ("ci_low_usd", "ci_high_usd", "share_ci_low_ratio", "share_ci_high_ratio")
    computed = {
        key: {name: value for name, value in row.items() if name not in ends or key[:-1] not in unsure}
        for key, row in truth.waste.rows().items()
    }
    found.rows("waste", published, computed)


def added(found: list[Row], names: tuple[str, ...]) -> dict[Any, Row]:
    """Amounts of rows by the values of some columns; usd is None where no row has any."""
    sums: dict[Any, Row] = {}
    for row in found:
        one = sums.setdefault(tuple(row[name] for name in names), {"usd": None, "gpu_s": 0, "tokens": 0})
        one["gpu_s"] += row["gpu_s"] or 0
        one["tokens"] += row["tokens"]
        if row["usd"] is not None:
            one["usd"] = (one["usd"] or 0) + row["usd"]
    return sums


def session_rows(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation sessions."""
    published = keyed(rows(workspace, "SELECT * FROM sessions"), "session_id")
    costs = waste.request_costs(truth.ledger) if truth.is_told_everything else None
    computed = sessions.sessions(truth.requests, costs)
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
            if truth.is_told_everything:
                cost = _cost(truth, key)
                prices = (f"cost_per_accepted{end}_usd" for end in ("", "_ci_low", "_ci_high"))
                names = ("cost_usd", "direct_cost_usd", *prices)
                computed[start, window_s, workload] |= {name: cost[name] for name in names}
    found.rows("accepted_units", published, computed)


RELATIONS: tuple[Callable[[Workspace, Truth, Comparison], None], ...] = (
    requests,
    goodput,
    gate_failures,
    quality,
    cost_ledger,
    cost_records,
    reconciliation,
    unused_cost_lines,
    waste_rows,
    session_rows,
    accepted_units,
    engine_relations.replica_samples,
    engine_relations.replica_windows,
    engine_relations.replica_histograms,
    engine_relations.cache_effect,
    engine_relations.coverage_rows,
)
