"""The quantities that a run tells of itself: name, unit and meaning of each, once (docs/operations.md#own-telemetry).

All are gauges of one run, or of an interval of what runs on: each process would begin a counter anew, and rates of such
counters are wrong.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A unit as UCUM writes it, and what is measured."""

    unit: str
    meaning: str


QUANTITIES = {
    "goodput.run.duration": Quantity("s", "how long the run took, receivers of alarms included"),
    "goodput.lag": Quantity("s", "from the newest telemetry to the moment at which the run looked"),
    "goodput.ingested.sources": Quantity("{source}", "sources read by the run, for a damaged part once more"),
    "goodput.ingested.bytes": Quantity("By", "bytes of these, as they lie in the landing zone"),
    "goodput.ingested.rows": Quantity("{row}", "rows of these"),
    "goodput.sources.failed": Quantity(
        "{source}", "known sources that are refused, not read to their end, or have too many rows in quarantine"
    ),
    "goodput.rows": Quantity("{row}", "rows of a table (`goodput.table`) that the run computed"),
    "goodput.rows.quarantined": Quantity("{row}", "rows in quarantine, of all sources"),
    "goodput.partitions.computed": Quantity("{partition}", "partitions that the run computed"),
    "goodput.partitions.blocked": Quantity("{partition}", "partitions that are blocked"),
    "goodput.warnings": Quantity("{warning}", "rows of `warnings`, by `goodput.severity`"),
    "goodput.alarms.firing": Quantity("{alarm}", "alarms that fire"),
    "goodput.delivery.attempts": Quantity("{attempt}", "attempts, by `goodput.outcome`: delivered, failed"),
    "goodput.deliveries": Quantity("{delivery}", "deliveries that are left, by `goodput.state`: pending, dead"),
    "goodput.received.requests": Quantity("{request}", "requests, by `goodput.outcome`: accepted, refused"),
    "goodput.received.records": Quantity("{record}", "spans, metrics and log records of these, by `goodput.signal`"),
    "goodput.received.bytes": Quantity("By", "bodies of requests that were accepted, as they were sent"),
    "goodput.received.duration": Quantity("s", "mean from the last byte of these until all was on disk"),
}
