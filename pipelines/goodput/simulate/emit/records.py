"""Whose records there are of a day, each with the time at which it is exported; what they contain stands elsewhere.

A record is built when its file is written: a day's records together would fill the memory.
"""

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, Final

from numpy.random import Generator
from opentelemetry.sdk._logs import ReadableLogRecord

from goodput.simulate.emit.day import Day
from goodput.simulate.emit.labels import label_record
from goodput.simulate.emit.metrics import scrape
from goodput.simulate.emit.operations import scale_out_record
from goodput.simulate.emit.otlp_files import OtlpExport
from goodput.simulate.emit.processes import Process, engine_process
from goodput.simulate.emit.spans import ENGINE_FLUSH_NS, client_span, engine_span, health_span, server_span
from goodput.simulate.story import CHAT

_HEALTH_EVERY_S: Final = 60
_SCRAPED_AFTER_NS: Final = 200_000_000

Build = Callable[[], Any]
Timed = tuple[int, Build]


def client_spans(day: Day, workload: str, process: Process) -> list[Timed]:
    """Return the CLIENT spans of a workload's attempts, as `process` ends them."""
    clock = day.clock
    return [
        (clock.ns(attempt.ended_s), partial(client_span, clock, process, exchange, attempt, own))
        for exchange, attempt, own in day.attempts()
        if exchange.arrival.workload == workload
    ]


def gateway_spans(day: Day, rng: Generator) -> list[Timed]:
    """Return the gateway's own SERVER spans: of chat requests, and of its liveness probe."""
    clock = day.clock
    served = [
        (clock.ns(exchange.attempts[-1].ended_s), partial(server_span, clock, exchange, ids[0]))
        for exchange, ids in zip(day.served.exchanges, day.ids.attempts, strict=True)
        if exchange.arrival.workload == CHAT.name
    ]
    probes = [
        (clock.ns(second), partial(health_span, clock, second, int.from_bytes(rng.bytes(16), "big")))
        for second in range(_HEALTH_EVERY_S // 2, int(day.span_s), _HEALTH_EVERY_S)
    ]
    return [*served, *probes]


def engine_spans(day: Day) -> dict[tuple[str, str], list[Timed]]:
    """Return the engines' spans that arrived, by pool and replica."""
    clock = day.clock
    processes = {one: engine_process(one, uid) for one, uid in day.ids.pod_uids.items()}
    found: dict[tuple[str, str], list[Timed]] = {(one.pool, one.replica): [] for one in processes}
    for exchange, attempt, ids in day.attempts():
        if attempt.job is not None and day.engine_reported(attempt):
            incarnation = attempt.incarnation
            flushed_ns = clock.ns(attempt.job.completed_s) + ENGINE_FLUSH_NS
            build = partial(engine_span, clock, processes[incarnation], exchange.arrival, attempt.job, ids)
            found[incarnation.pool, incarnation.replica].append((flushed_ns, build))
    return found


def scrapes(day: Day) -> list[OtlpExport[Build]]:
    """Return one export per scrape, of all processes that ran."""
    processes = {one: engine_process(one, uid) for one, uid in day.ids.pod_uids.items()}
    read = sorted(
        ((sample.at_s, position, one, sample) for position, one in enumerate(processes) for sample in one.samples),
        key=lambda reading: reading[:2],
    )
    return [
        OtlpExport(
            day.clock.ns(at_s) + _SCRAPED_AFTER_NS,
            [partial(scrape, day.clock, [(one, processes[one], sample) for _, _, one, sample in readings])],
        )
        for at_s, readings in groupby(read, key=lambda reading: reading[0])
    ]


def labels(day: Day) -> list[Timed]:
    """Return the labels that were ever given."""
    clock = day.clock
    judged = zip(day.served.exchanges, day.ids.attempts, day.judgements, strict=True)
    return [
        (clock.ns(judgement.judged_s), partial(label_record, clock, exchange, ids[-1], judgement))
        for exchange, ids, judgement in judged
        if judgement is not None and judgement.labelled
    ]


def scale_outs(day: Day, rng: Generator) -> list[Timed]:
    """Return Kubernetes' events of scale-outs."""
    replicas = {pool.name: pool.replicas for pool in day.config.pools}
    records: list[Timed] = []
    for operation in day.config.operations:
        if operation.kind == "scale_out":
            event = scale_out_record(day.clock, operation, replicas[operation.pool], rng)
            replicas[operation.pool] += operation.count
            records.append((day.clock.ns(operation.at_s), partial(_given, event)))
    return records


def _given(record: ReadableLogRecord) -> ReadableLogRecord:
    return record
