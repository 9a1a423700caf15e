"""Each published relation beside its computation."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from goodput.plumbing.workspace import Workspace
from oracle import ledger, sessions, waste, windows
from oracle.compare import Comparison, epoch_us, keyed, microseconds, rows
from oracle.fleet import LATENCIES, Fleet, Row, S
from oracle.verdicts import judged_requests

CUT = ("window_at", "window_s", "slice", *windows.DIMENSIONS)
REQUEST = (
    *("workload", "attempts", "retry_count", "delivering_attempt_id", "tenant", "session_id", "model", "replica"),
    *("pool", "route", "ttft_s", "e2e_s", "tpot_s", "queue_s", "itl_p95_s", "jitter_s", "input_tokens", "verdict"),
    *("cached_input_tokens", "output_tokens", "outcome", "pass_success", "pass_retries", "pass_quality", "tpot_na"),
    *("needs_label", "sole_failing_gate", *(f"pass_{gate}" for gate in LATENCIES)),
)


class Truth:
    """What a fleet amounts to, computed once."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        starts = [record["started_at"] for record in fleet.records]
        self.until_ns = max([*starts, *(record["ended_at"] for record in fleet.records if record.get("ended_at"))])
        self.from_ns = min(starts)
        self.attempts, self.requests = judged_requests(fleet, self.until_ns)

    @cached_property
    def is_told_everything(self) -> bool:
        """Whether every attempt on a replica reports its tokens, so that no cost is estimated."""
        for attempt in self.attempts:
            names = ("input_tokens", "cached_input_tokens", "output_tokens")
            if attempt["replica"] and any(attempt[name] is None for name in names):
                return False
        return True

    @cached_property
    def ledger(self) -> list[Row]:
        """Rows of the ledger."""
        return ledger.ledger(self.fleet, self.attempts, self.requests, (self.from_ns, self.until_ns))

    @cached_property
    def waste(self) -> dict[tuple[Any, ...], Row]:
        """Rows of relation waste."""
        return waste.waste(self.fleet, self.ledger, self.requests)

    @cached_property
    def window_costs(self) -> dict[windows.Key, Row]:
        """Cost of each window and slice."""
        return waste.window_costs(self.waste)

    @cached_property
    def carriers(self) -> dict[windows.Key, set[str]]:
        """Workloads that bear GPU time of each window and slice."""
        return waste.carriers(self.waste)

    @cached_property
    def goodput(self) -> dict[windows.Key, Row]:
        """Rows of relation goodput."""
        return windows.goodput(self.fleet, self.requests, self.carriers)


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
    """Relation goodput."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM goodput"
    published = keyed(rows(workspace, sql), *CUT)
    live = {key: windows.empty(truth.fleet, key, truth.carriers) for key in published.keys() - truth.goodput.keys()}
    found.rows("goodput", published, {**truth.goodput, **live})
    if truth.is_told_everything:
        costs = {key: _cost(truth, key) for key in published}
        found.rows("goodput", published, costs)


def _cost(truth: Truth, key: windows.Key) -> Row:
    """Cost columns of a row of goodput."""
    cost = truth.window_costs.get(key, dict.fromkeys(("cost_usd", "direct_cost_usd", "wasted_ratio")))
    units = truth.goodput[key]["goodput_rps"] * key[1] if key in truth.goodput else 0
    per_unit = None if cost["cost_usd"] is None or not units else cost["cost_usd"] / units
    return cost | {"cost_per_accepted_usd": per_unit}


def gate_failures(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation gate_failures."""
    sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM gate_failures"
    computed = windows.gate_failures(truth.fleet, truth.requests)
    flat = {(*key, gate): row for (key, gate), row in computed.items()}
    found.rows("gate_failures", keyed(rows(workspace, sql), *CUT, "gate"), flat)


def cost_ledger(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation cost_ledger, where nothing is estimated."""
    if not truth.is_told_everything:
        return
    sql = "SELECT *, epoch(window_start)::BIGINT AS step_at FROM cost_ledger"
    names = ("step_at", "bucket", "attempt_id", "replica", "workload", "model", "pool", "route")
    computed = [row | {"step_at": row["step_ns"] // S} for row in truth.ledger]
    found.rows("cost_ledger", added(rows(workspace, sql), names), added(computed, names))


def waste_rows(workspace: Workspace, truth: Truth, found: Comparison) -> None:
    """Relation waste, where nothing is estimated."""
    if truth.is_told_everything:
        sql = "SELECT *, epoch(window_start)::BIGINT AS window_at FROM waste"
        found.rows("waste", keyed(rows(workspace, sql), *CUT, "bucket"), truth.waste)


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
    for (start, window_s, slice_, workload, *_), row in truth.goodput.items():
        if slice_ == "workload" and workload in truth.fleet.workloads:
            settings = truth.fleet.workloads[workload]
            computed[start, window_s, workload] = {
                "unit": settings.get("unit", "request"),
                **{name: row[name] for name in ("offered", "accepted", "goodput_ratio", "definition")},
                "accepted_per_hour": row["goodput_rps"] * 3600,
            }
    found.rows("accepted_units", {key: published[key] for key in published.keys() & computed.keys()}, computed)


RELATIONS: tuple[Callable[[Workspace, Truth, Comparison], None], ...] = (
    requests,
    goodput,
    gate_failures,
    cost_ledger,
    waste_rows,
    session_rows,
    accepted_units,
)
