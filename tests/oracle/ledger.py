"""The ledger's direct facts, step by step: docs/semantics.md#money.

Rows are of attempts, of requests that a record names, of idle replicas or pools, of overhead that is not shared yet,
and of nobody. Sharing is the window's work.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import ceil

from oracle.bills import cost_records
from oracle.effort import Efforts
from oracle.facts import Piece
from oracle.fleet import DAY, HOUR, Fleet, Row, S, exact
from oracle.replicas import RANKS, Replicas, is_overhead, names_request, period, spans_of, usd_in
from oracle.spans import Span, length, overlap
from oracle.step import Step, best
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
        self.rows = list(self._rows())

    def _rows(self) -> Iterator[Row]:
        for begin in range(*self.days, self.step_ns):
            step = Step(self.replicas, (begin, begin + self.step_ns))
            self.paid += [Payment(begin, name, record, usd) for name, record, usd in step.paid]
            found = (self._of_replicas(step), self._bought(step), self._named(step.span), self._of_nobody(step.span))
            for row in chain(*found):
                if any(row[name] for name in ("usd", "gpu_s", "tokens")) or row["is_there"]:
                    yield {**NOBODY, **row, "step_ns": begin}

    def _of_replicas(self, step: Step) -> Iterator[Row]:
        span = step.span
        for name, known in step.known.items():
            here = (a for a in self.replicas.attempts.get(name, []) if _is_in(a, span))
            own = [a for a in here if self._runs(a, step)]
            up, busy = length(step.up(name)), length(step.busy[name])
            cost = step.usd[name]
            gpus = self.replicas.rate(name, step.hour)[1]
            busy_usd = None if cost is None else cost * Fraction(busy, up) if up else cost
            doubt = float(step.doubt[name] / abs(cost)) if cost else 0.0
            if up and (cost is not None or known.is_sampled):
                idle = None if cost is None or busy_usd is None else cost - busy_usd
                gpu_s = gpus * Fraction(up - busy, S)
                lost = self._unplaced(step, known.pool)
                marks = Marks(not known.is_sampled or lost > 0 or doubt > 0, doubt + lost, doubt + lost)
                row = _row("idle", idle, gpu_s, 0, pool=known.pool, replica=name, is_there=up > busy, payer=name)
                yield marked(row, marks if known.is_sampled else Marks(True, None, None))
            yield from self._shared(own, step, busy_usd, gpus * Fraction(busy, S), doubt)
        told: set[tuple[str, str]] = set()
        for pool, record, amount in step.unseen:
            doubtful = sum((step.doubt[name] for name in self.replicas.of_pool(pool, step.hour)), Fraction(0))
            row = _row("idle", amount, Fraction(0), 0, pool=pool, record=record)
            first = (pool, record["basis"]) not in told
            told.add((pool, record["basis"]))
            error = float(doubtful) if first else 0.0
            yield row | {"estimated": doubtful > 0, "error_usd": error, "common_error_usd": error}

    def _unplaced(self, step: Step, pool: str | None) -> float:
        """The part of a pool's idle time that attempts which no record places on a replica may have taken."""
        spans = (spans_of([a]) for a in self.attempts if a["replica"] is None and a["pool"] == pool and pool)
        taken = sum(overlap(span, step.span) for ((span),) in spans)
        idle = sum(length(step.up(name)) - length(step.busy[name]) for name in self.replicas.of_pool(pool, step.hour))
        return min(1.0, taken / idle) if idle else 0.0

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
                row = _row(*amounts, **_of(attempt, step), is_there=bucket == "", payer=attempt["replica"])
                marks = Marks(part.estimated or doubt > 0, part.error + doubt, part.common + doubt)
                yield marked(row, marks)

    def _bought(self, step: Step) -> Iterator[Row]:
        """Attempts that are bought by the token, and what their models are billed."""
        here = [a for a in self.attempts if _is_in(a, step.span) and not self._runs(a, step)]
        billed: dict[str, list[Row]] = defaultdict(list)
        for record in self.records:
            if self._is_for_model(record) and overlap(period(record), step.span):
                billed[record["model"]].append(record)
        for model, records in billed.items():
            if not any(attempt["model"] == model for attempt in here):
                for record in best(records):
                    usd = usd_in(record, [step.span])
                    yield _row("unattributed", usd, Fraction(0), 0, model=model, record=record)
        for model in {attempt["model"] for attempt in here}:
            own = [attempt for attempt in here if attempt["model"] == model]
            yield from self._of_model(own, step, best(billed[model]))

    def _of_model(self, own: list[Row], step: Step, records: list[Row]) -> Iterator[Row]:
        """Attempts of one model in a step, and the records that bill it."""
        name = f"model {own[0]['model']}"
        paid = [Payment(step.span[0], name, record, usd_in(record, [step.span])) for record in records]
        billed = sum((payment.usd for payment in paid), Fraction(0))
        self.paid += paid
        pieces = [Piece(self.fleet, attempt, step.span) for attempt in own]
        works = [(piece.reported or Fraction(0)) * piece.share for piece in pieces]
        for piece, work in zip(pieces, works, strict=True):
            price = self._price(piece.attempt)
            cost = None if price is None else price * piece.share
            cost = billed * (work / sum(works) if sum(works) else Fraction(1, len(works))) if records else cost
            where, cut, payer = self.buckets[piece.name], _of(piece.attempt, step), name if records else None
            tokens = sum((piece.tokens(kind) or Fraction(0) for kind in ("input_tokens", "output_tokens")), Fraction(0))
            yield _row(where, cost, Fraction(0), tokens, **cut, is_there=True, payer=payer)

    def _price(self, attempt: Row) -> Fraction | None:
        price = self.fleet.prices.get(attempt["model"])
        given, output = attempt["input_tokens"], attempt["output_tokens"]
        if price is None or given is None:
            return exact(attempt["reported_cost_usd"]) or None
        cached = attempt["cached_input_tokens"] or 0
        amounts = ((given - cached, "input"), (cached, "cached"), (output or 0, "output"))
        return sum((tokens * Fraction(price[kind]) for tokens, kind in amounts), Fraction(0))

    def _is_for_model(self, record: Row) -> bool:
        by_resource = record.get("pool") or record.get("replica") or names_request(record)
        return record["basis"] in RANKS and bool(record.get("model")) and not by_resource

    def _named(self, span: Span) -> Iterator[Row]:
        """Records that name a request or a session, in the bucket of each verdict."""
        for record in self.records:
            if not names_request(record) or not overlap(period(record), span):
                continue
            usd, found = usd_in(record, [span]), self._judged(record)
            for request in found:
                row = {name: request[name] for name in ("workload", "model", "pool", "route", "tenant", "request_key")}
                row["attempt_id"] = request["delivering_attempt_id"]
                yield _row(bucket_of(request), usd / len(found), Fraction(0), 0, **row, record=record)
            if not found:
                yield _row("unattributed", usd, Fraction(0), 0, **_scope(record), record=record)

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
                yield _row("overhead", usd_in(record, [span]), Fraction(0), 0, **_scope(record), record=record)
        others: dict[tuple[str | None, ...], list[Row]] = defaultdict(list)
        for record in self.replicas.charged(span[0] // HOUR)[2]:
            if not self._is_for_model(record) and overlap(period(record), span):
                named = tuple(record.get(name) for name in ("replica", "pool", "model"))
                others[named if any(named) else (record["cost_id"],)].append(record)
        for records in others.values():
            for record in best(records):
                yield _row("unattributed", usd_in(record, [span]), Fraction(0), 0, **_scope(record), record=record)


def _is_named(record: Row, request: Row) -> bool:
    if record.get("request_key"):
        return bool(record["request_key"] == request["request_key"])
    return bool(record["session_id"] == request["session_id"])


def _scope(record: Row) -> Row:
    return {name: record.get(name) for name in ("pool", "replica", "model", "workload", "route", "tenant")}


def _of(attempt: Row, step: Step) -> Row:
    row = {name: attempt[name] for name in ("attempt_id", "request_key", "workload", "model", "route", "replica")}
    known = step.known.get(attempt["replica"])
    return {**row, "pool": (known and known.pool) or attempt["pool"], "tenant": attempt["tenant"]}


def _row(
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


def _is_in(attempt: Row, span: Span) -> bool:
    return part_of(attempt, span) > 0
