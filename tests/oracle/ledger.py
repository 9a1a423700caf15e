"""The ledger's direct facts, step by step: docs/semantics.md#money.

Rows are of attempts, of requests that a record names, of idle replicas or pools, of overhead that is not shared yet,
and of nobody. Sharing is the window's work.
"""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from math import ceil

from oracle.bills import cost_records
from oracle.bought import Bought
from oracle.effort import Efforts
from oracle.fleet import DAY, HOUR, Fleet, Row, S, exact
from oracle.ledger_rows import NOBODY, Marks, Payment, cut_of, is_for_model, is_in, ledger_row, marked
from oracle.replicas import Replicas, is_overhead, names_request, period, spans_of, usd_in
from oracle.spans import Span, length, overlap, union
from oracle.step import Step, counting


def bucket_of(request: Row) -> str:
    """Where the delivering attempt of a request goes."""
    if request["outcome"] == "cancelled" and request["verdict"] != "in_flight":
        return "abandoned"
    return "unevaluable" if request["verdict"] == "in_flight" else str(request["verdict"])


class Ledger:
    """A fleet's ledger: rows with `step_ns`, `bucket`, usd (None: not known), gpu_s, tokens; and who paid for them."""

    def __init__(self, fleet: Fleet, attempts: list[Row], requests: list[Row], observed: Span) -> None:
        self.fleet, self.attempts, self.requests = fleet, attempts, requests
        self.records = cost_records(fleet)
        self.replicas = Replicas(fleet, attempts, self.records)
        self.step_ns = fleet.settings.get("costs", {}).get("step_s", 300) * S
        self.efforts = Efforts(fleet, self.replicas.samples, self.replicas.attempts, self.step_ns)
        seen = [*observed, *(reading["at"] for reading in fleet.readings)]
        self.days = (min(seen) // DAY * DAY, max(seen) // DAY * DAY + DAY)
        self.buckets = {
            attempt["attempt_id"]: bucket_of(request)
            if attempt["attempt_id"] == request["delivering_attempt_id"]
            else "retry"
            for request in requests
            for attempt in request["tries"]
        }
        self.paid: list[Payment] = []
        self.time: list[Row] = []  # what replica time cost, step by step
        self.bought = Bought(fleet, self.records, self.buckets)
        late = {row["delivering_attempt_id"]: row["late_by"] for row in requests}
        self.rows = [row | {"late_by": late.get(row["attempt_id"])} for row in self._rows()]
        self.paid += self.bought.paid

    def _rows(self) -> Iterator[Row]:
        for begin in range(*self.days, self.step_ns):
            step = Step(self.replicas, (begin, begin + self.step_ns))
            self.paid += [Payment(begin, name, record, usd) for name, record, usd in step.paid]
            self.time += [{"step_ns": begin, **row} for row in step.time()]
            bought = [a for a in self.attempts if is_in(a, step.span) and not self._runs(a, step)]
            found = (
                self._of_replicas(step),
                self.bought.rows(step, bought),
                self._named(step.span),
                self._of_nobody(step.span),
            )
            for row in chain(*found):
                if any(row[name] for name in ("usd", "gpu_s", "tokens")) or row["is_there"]:
                    yield {**NOBODY, **row, "step_ns": begin}

    def _of_replicas(self, step: Step) -> Iterator[Row]:
        span = step.span
        for name, known in step.known.items():
            here = (a for a in self.replicas.attempts.get(name, []) if is_in(a, span))
            own = [a for a in here if self._runs(a, step)]
            up, busy = length(step.up(name)), length(step.busy[name])
            cost = step.usd[name]
            gpus = self.replicas.rate(name, step.hour)[1]
            busy_usd = None if cost is None else cost * Fraction(busy, up) if up else cost
            doubt = float(step.doubt[name] / abs(cost)) if cost else 0.0
            if up and (cost is not None or known.is_sampled):
                idle = None if cost is None or busy_usd is None else cost - busy_usd
                gpu_s = gpus * Fraction(up - busy, S)
                unseen = (up - length(union(step.seen[name]))) / (up - busy) if up > busy else 0.0
                lost = min(1.0, self._unplaced(step, known.pool) + unseen)
                marks = Marks(not known.is_sampled or lost > 0 or doubt > 0, doubt + lost, doubt + lost)
                row = ledger_row("idle", idle, gpu_s, 0, pool=known.pool, replica=name, is_there=up > busy, payer=name)
                yield marked(row, marks if known.is_sampled else Marks(True, None, None))
            yield from self._shared(own, step, busy_usd, gpus * Fraction(busy, S), doubt)
        for pool, record, amount in step.added:
            yield ledger_row("overhead", amount, Fraction(0), 0, pool=pool, record=record)
        told: set[tuple[str, str]] = set()
        for pool, record, amount in step.unseen:
            doubtful = sum((step.doubt[name] for name in self.replicas.of_pool(pool, step.hour)), Fraction(0))
            row = ledger_row("idle", amount, Fraction(0), 0, pool=pool, record=record)
            first = (pool, record["basis"]) not in told
            told.add((pool, record["basis"]))
            error = float(doubtful) if first else 0.0
            yield row | {"estimated": doubtful > 0, "error_usd": error, "common_error_usd": error}

    def _unplaced(self, step: Step, pool: str | None) -> float:
        """The part of a pool's idle time that attempts which no record places on a replica may have taken."""
        taken = sum(
            overlap(span, step.span)
            for attempt in self.attempts
            if attempt["replica"] is None and self._may_run_in(attempt, pool, step)
            for span in spans_of([attempt])
        )
        names = [name for name, known in step.known.items() if known.pool == pool]
        idle = sum(length(step.up(name)) - length(step.busy[name]) for name in names)
        return min(1.0, taken / idle) if idle else 0.0

    def _may_run_in(self, attempt: Row, pool: str | None, step: Step) -> bool:
        """Whether an attempt on no known replica may have been on one of a pool, or on one of which none is known."""
        of = attempt["pool"]
        if of is not None and (of == pool or any(known.pool == of for known in step.known.values())):
            return bool(of == pool)
        return (of is None or pool is None) and not (
            not self._runs(attempt, step) and self.bought.is_priced(attempt, step)
        )

    def _runs(self, attempt: Row, step: Step) -> bool:
        """Whether an attempt takes a replica's time in a step; otherwise it is bought by the token."""
        name = attempt["replica"]
        is_on = name is not None and (step.usd[name] is not None or step.known[name].by_engine)
        return bool(attempt["engine_seen"] or is_on)

    def _shared(self, own: list[Row], step: Step, usd: Fraction | None, gpu_s: Fraction, doubt: float) -> Iterator[Row]:
        """A replica's busy time among its attempts by work."""
        for attempt in own:
            shares = self.efforts.parts(attempt["replica"], step.span[0])[attempt["attempt_id"]]
            for bucket, part in shares.items():
                cost = None if usd is None else usd * Fraction(part.share)
                where = self.buckets[attempt["attempt_id"]] if bucket == "" else bucket
                amounts = (where, cost, gpu_s * Fraction(part.share), Fraction(part.tokens))
                row = ledger_row(*amounts, **cut_of(attempt, step), is_there=bucket == "", payer=attempt["replica"])
                marks = Marks(part.estimated or doubt > 0, part.error + doubt, part.common + doubt)
                yield marked(row, marks)

    def _named(self, span: Span) -> Iterator[Row]:
        """Records that name a request or a session, in the bucket of each verdict."""
        for record in self.records:
            if not names_request(record) or not overlap(period(record), span):
                continue
            usd, found = usd_in(record, [span]), self._judged(record)
            for request in found:
                row = {name: request[name] for name in ("workload", "model", "pool", "route", "tenant", "request_key")}
                row["attempt_id"] = request["delivering_attempt_id"]
                yield ledger_row(bucket_of(request), usd / len(found), Fraction(0), 0, **row, record=record)
            if not found:
                yield ledger_row("unattributed", usd, Fraction(0), 0, **_scope(record), record=record)

    def _judged(self, record: Row) -> list[Row]:
        """Requests that a record names: its period ended after them as labels may, or before them by a lifetime."""
        last = record["period_end"]
        since = last - int(exact(self.fleet.settings["label_lateness_s"]) * S)  # type: ignore[operator]
        named = [row for row in self.requests if _is_named(record, row) and row["ended_at"] is not None]
        until = last + ceil(self.fleet.settings["max_request_lifetime_s"] / 3600) * HOUR
        return [row for row in named if since <= row["ended_at"] < until]

    def _of_nobody(self, span: Span) -> Iterator[Row]:
        """Overhead, which windows share, and what is billed to nothing that telemetry knows."""
        for record in self.records:
            if is_overhead(record) and not names_request(record) and overlap(period(record), span):
                yield ledger_row("overhead", usd_in(record, [span]), Fraction(0), 0, **_scope(record), record=record)
        others: dict[tuple[str | None, ...], list[Row]] = defaultdict(list)
        for record in self.replicas.charged(span[0] // HOUR)[2]:
            if not is_for_model(record) and overlap(period(record), span):
                replica = record.get("replica")
                named = (replica,) if replica else tuple(record.get(name) for name in ("pool", "model"))
                others[named if any(named) else (record["cost_id"],)].append(record)
        for records in others.values():
            for record in counting(records):
                yield ledger_row(
                    "unattributed", usd_in(record, [span]), Fraction(0), 0, **_scope(record), record=record
                )


def _is_named(record: Row, request: Row) -> bool:
    if record.get("request_key"):
        return bool(record["request_key"] == request["request_key"])
    return bool(record["session_id"] == request["session_id"])


def _scope(record: Row) -> Row:
    return {name: record.get(name) for name in ("pool", "replica", "model", "workload", "route", "tenant")}
