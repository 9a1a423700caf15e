"""Telemetry in which rows of different traces belong together, in every way in which they may.

Each motif is one such way. Ids, spans, sessions and moments are few, so that motifs meet each other as well.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle, islice
from random import Random
from typing import Any

import pyarrow as pa

from goodput.contracts import arrow_schema
from goodput.settings.model import Quality, Settings, Workload, WorkloadMatch
from river import Row, at_ns, label, link, record

_HOUR = 3600.0
_KEYS = {"serving_records": "record_id", "span_links": "link_id", "label_records": "record_id"}
_INSTRUMENTATIONS = ("framework", "sdk", "agent")
_UNCOLLECTED = "f" * 16
_GATEWAY: Row = {"layer": "gateway", "dialect": "gateway", "covers_tries": True}
_LOG: Row = {"layer": "gateway", "dialect": "log", "covers_tries": None}
_ENGINE: Row = {"layer": "engine", "dialect": "engine"}


@dataclass(frozen=True)
class MessyHours:
    """What the join is to read: its conformed tables, the settings, and until when telemetry was observed."""

    tables: Mapping[str, pa.Table]
    settings: Settings
    observed_ns: int


def messy_hours(chance: Random, motifs: int, *, is_one_system: bool = False) -> MessyHours:
    """Rows of so many motifs, each as often as the next, with copies and labels; all may be written by one system."""
    telemetry = Telemetry(chance, motifs)
    for motif in islice(cycle(MOTIFS), motifs):
        motif(telemetry)
    if is_one_system:
        for row in telemetry.records:
            row["dialect"] = "one"
    _judge(telemetry, motifs)
    _copy(telemetry)
    rows = (telemetry.records, telemetry.links, telemetry.labels)
    tables = {
        table: pa.Table.from_pylist(_unique(found, _KEYS[table]), schema=arrow_schema(table))
        for table, found in zip(_KEYS, rows, strict=True)
    }
    return MessyHours(tables, _settings(chance), at_ns(5 * _HOUR))


class Telemetry:
    """The rows so far, and new ones: what a motif does not say of a row is drawn."""

    def __init__(self, chance: Random, motifs: int) -> None:
        self.chance = chance
        self.records: list[Row] = []
        self.links: list[Row] = []
        self.labels: list[Row] = []
        self._crowd = motifs
        self._numbers = count(1)
        self._lasts_s = chance.choice([10.0 * motifs, 3 * _HOUR])

    def number(self) -> int:
        """One that no row has yet."""
        return next(self._numbers)

    def trace(self) -> str:
        """The id of a new trace."""
        return f"{self.number():032x}"

    def span(self) -> str:
        """One of few span ids, which traces share."""
        return f"{self.chance.randrange(1, 8 * self._crowd):016x}"

    def id(self) -> str:
        """One of few ids of calls, answers or requests."""
        return f"id-{self.chance.randrange(self._crowd)}"

    def moment(self) -> float:
        """Seconds after START_S, one of many that are the same."""
        return self.chance.randrange(round(self._lasts_s * 20)) / 20

    def sometimes(self, share: float, *values: Any) -> Any:
        """One of the values in this share of cases, else nothing."""
        return self.chance.choice(values) if self.chance.random() < share else None

    def record(self, start: float, lasts: float | None, **given: Any) -> Row:
        """Add a record: a span where its `trace` and `span` are given, else a row that at most knows its trace."""
        number, trace, span = self.number(), given.pop("trace", None), given.pop("span", None)
        end = None if lasts is None else start + lasts
        told = self._told(given.get("layer") or self.chance.choice(["client", "gateway", "engine"]))
        first = None if lasts is None else self.sometimes(0.6, start + lasts / 2)
        row = record(span, start, end, **{"trace": trace, "line": number, "first_token": first, **told, **given})
        if trace is None or span is None:
            row["record_id"] = f"row-{number}"
        self.records.append(row)
        return row

    def link(self, trace: str, span: str, parent: str) -> None:
        """Add a span that is no record."""
        told = {"marks_try": self.sometimes(0.4, True), "session_id": self.sometimes(0.3, "S1", "S4")}
        failed = self.sometimes(0.3, {"outcome": "error", "error_type": "E"}, {"outcome": "timeout"}) or {}
        source_id = self.chance.choice(["s1", "s2"])
        self.links.append(link(span, parent, source_id, trace, end=self.moment(), **told, **failed))

    def _told(self, layer: str) -> Row:
        told = {
            "layer": layer,
            "source_id": self.chance.choice(["s1", "s2"]),
            "dialect": self.chance.choice({"gateway": ["gateway", "log"]}.get(layer, [layer])),
            "outcome": self.chance.choice(["ok"] * 6 + ["error", "cancelled", "unknown"]),
            "streamed": self.sometimes(0.25, True, False),
            "input_tokens": self.sometimes(0.5, 5, 6),
            "output_tokens": self.sometimes(0.5, 1, 9),
            "model": self.sometimes(0.8, "m1", "m2"),
            "session_id": self.sometimes(0.15, "S1", "S2", "S3"),
            "tenant": self.sometimes(0.3, "t1", "t2"),
            "http_status": self.sometimes(0.3, 200, 429, 503),
            "reported_attempts": self.sometimes(0.1, 1, 2, 3),
            "attributes": self.sometimes(0.2, '{"k":"1"}', '{"k":"2","j":"x"}', '{"j":null}'),
        }
        if layer == "engine":
            served = {"replica": self.sometimes(0.7, "r1", "r2", "r3"), "pool": self.sometimes(0.1, "p1", "p2")}
            return {**told, **served, "queue_s": self.sometimes(0.3, 0.1, 0.5)}
        asked = self.sometimes(0.7, *_INSTRUMENTATIONS) if layer == "client" else None
        return {**told, "instrumentation": asked, "address": self.sometimes(0.4, "h:1", "h:2")}


def spans_of_one_trace(telemetry: Telemetry) -> None:
    """Records and, above and between them, spans that are none."""
    chance, trace, began = telemetry.chance, telemetry.trace(), telemetry.moment()
    above = [telemetry.span()]
    telemetry.link(trace, above[0], telemetry.span())
    for _ in range(chance.randint(3, 6)):
        parent, span = chance.choice(above), telemetry.span()
        if chance.random() < 0.3:
            telemetry.link(trace, span, parent)
        else:
            told = {"needs_parent": telemetry.sometimes(0.1, True), "call_id": telemetry.sometimes(0.2, telemetry.id())}
            start, lasts = began + chance.randrange(40) / 20, chance.choice([0.05, 0.5, 1.0, None])
            telemetry.record(start, lasts, trace=trace, span=span, parent=parent, **told)
        above.append(span)


def one_id_in_several_traces(telemetry: Telemetry, column: str) -> None:
    """Records of a trace each, or of none, with the same id."""
    shared, began = telemetry.id(), telemetry.moment()
    for _ in range(telemetry.chance.randint(2, 4)):
        is_span = telemetry.chance.random() < 0.6
        told = {"trace": telemetry.trace(), "span": telemetry.span()} if is_span else {}
        start, lasts = began + telemetry.chance.randrange(20) / 20, telemetry.chance.choice([0.05, 0.5, 1.0])
        telemetry.record(start, lasts, covers_tries=telemetry.sometimes(0.3, True), **told, **{column: shared})


def row_of_a_trace(telemetry: Telemetry) -> None:
    """A log's row that knows its trace and no span of it, and may have a call id besides."""
    trace, began = telemetry.trace(), telemetry.moment()
    parent, call = telemetry.sometimes(0.5, telemetry.span()), telemetry.sometimes(0.3, telemetry.id())
    telemetry.record(began, 1.0, trace=trace, span=telemetry.span(), parent=parent, **_GATEWAY)
    telemetry.record(began + 0.05, 0.5, trace=trace, call_id=call, **_LOG)
    if telemetry.chance.random() < 0.5:
        telemetry.record(began + 0.1, 0.4, trace=trace, span=telemetry.span(), **_ENGINE)


def two_tracers(telemetry: Telemetry) -> None:
    """A gateway's span and, below no span of it, the try that it made."""
    trace, began = telemetry.trace(), telemetry.moment()
    telemetry.record(began, 1.0, trace=trace, span=telemetry.span(), parent=telemetry.span(), **_GATEWAY)
    telemetry.record(began + 0.05, 0.5, trace=trace, span=telemetry.span(), **_ENGINE)


def parallel_choices(telemetry: Telemetry) -> None:
    """Answers to one prompt that an engine records in traces of their own, alike in id, start and prompt."""
    began, call = telemetry.moment(), telemetry.id()
    for lasts in (0.1, 0.2, 0.2):
        told = {"call_id": call, "input_tokens": 5, **_ENGINE}
        telemetry.record(began, lasts, trace=telemetry.trace(), span=telemetry.span(), **told)


def known_doubles(telemetry: Telemetry) -> None:
    """Calls that two instrumentations record: ids show it of three of them, and so it is known of the others."""
    inner, outer = telemetry.chance.sample(_INSTRUMENTATIONS, 2)
    began = telemetry.moment()
    for number in range(5):
        shared = f"answer-{telemetry.number()}" if number < 3 else None
        _double(telemetry, began + 5 * number, inner, outer, response_id=shared)


def unknown_doubles(telemetry: Telemetry) -> None:
    """Calls that look like those, by instrumentations of which no id shows anything."""
    number = telemetry.number()
    _double(telemetry, telemetry.moment(), f"sdk-{number}", f"framework-{number}")


def _double(telemetry: Telemetry, start: float, inner: str, outer: str, **given: Any) -> None:
    tokens = {"input_tokens": telemetry.chance.choice([5, 6, None]), "output_tokens": 9}
    told = {"layer": "client", "outcome": "ok", "model": telemetry.chance.choice(["m1", None]), **tokens, **given}
    for name, begins, lasts in ((outer, start, 1.0), (inner, start + 0.05, 0.9)):
        telemetry.record(begins, lasts, trace=telemetry.trace(), span=telemetry.span(), instrumentation=name, **told)
    if telemetry.chance.random() < 0.3:  # of two that fit, the nearest is its double
        told["response_id"] = None
        traced = {"trace": telemetry.trace(), "span": telemetry.span()}
        telemetry.record(start + 0.05, 0.95, instrumentation=inner, **traced, **told)


def halves(telemetry: Telemetry, *, is_below: bool) -> None:
    """A streamed call until its headers and from them on: below one parent, or in traces of their own; one may lack."""
    began, scope = telemetry.moment(), telemetry.chance.choice(_INSTRUMENTATIONS[:2])
    told: Row = {"layer": "client", "instrumentation": scope, "model": telemetry.sometimes(0.7, "m1", "m2")}
    told |= {"streamed": True, "parent": telemetry.span() if is_below else None}
    trace = telemetry.trace()
    if telemetry.chance.random() < 0.85:
        until: Row = {"headers_ns": at_ns(began + 0.5), "outcome": "unknown"}
        telemetry.record(began, None, trace=trace, span=telemetry.span(), **told, **until)
    if telemetry.chance.random() < 0.85:
        after: Row = {"headers_ns": at_ns(began + 0.55), "outcome": "ok"}
        own = trace if is_below else telemetry.trace()
        telemetry.record(began + 0.55, 1.0, trace=own, span=telemetry.span(), **told, **after)


def refusals(telemetry: Telemetry) -> None:
    """A gateway's span that refused, and its log of that in another place; where there are two, neither is known."""
    began, status = telemetry.moment(), telemetry.chance.choice([429, 503])
    refused: Row = {"outcome": "error", "http_status": status}
    for _ in range(telemetry.chance.choice([1, 1, 1, 2])):
        telemetry.record(began, 0.1, trace=telemetry.trace(), span=telemetry.span(), **_GATEWAY, **refused)
    for _ in range(telemetry.chance.choice([1, 1, 1, 2])):
        call = telemetry.sometimes(0.3, telemetry.id())
        telemetry.record(began + 0.02, 0.05, call_id=call, **_LOG, **refused)


def orphans(telemetry: Telemetry) -> None:
    """Rows without a trace that name one parent."""
    began, parent = telemetry.moment(), telemetry.span()
    for number in range(telemetry.chance.randint(2, 3)):
        layer = telemetry.chance.choice(["engine", "client"])
        told = {"outcome": telemetry.chance.choice(["ok", "error"]), "input_tokens": 5, "layer": layer}
        span = telemetry.sometimes(0.5, telemetry.span())
        telemetry.record(began + 0.4 * number, 0.2, span=span, parent=parent, **told)


def siblings(telemetry: Telemetry) -> None:
    """Tries of a caller below one span of their trace."""
    trace, parent, began = telemetry.trace(), telemetry.span(), telemetry.moment()
    for number in range(telemetry.chance.randint(2, 3)):
        outcome = telemetry.chance.choice(["error", "ok", "cancelled"])
        traced = {"trace": trace, "span": telemetry.span(), "parent": parent}
        telemetry.record(began + 0.5 * number, 0.3, layer="client", outcome=outcome, **traced)


def told_by_one(telemetry: Telemetry) -> None:
    """Records of one replica, of which one names its pool, and of one SDK, of which one shows that it streams."""
    number, began = telemetry.number(), telemetry.moment()
    replica, sdk = f"replica-{number}", f"streaming-sdk-{number}"
    for nth in range(3):
        served: Row = {"replica": replica, "pool": "p1" if nth == 1 else None}
        asked: Row = {"instrumentation": sdk, "streamed": True if nth == 1 else None, "outcome": "ok"}
        for told in ({**_ENGINE, **served}, {"layer": "client", **asked}):
            telemetry.record(began + nth, 0.5, trace=telemetry.trace(), span=telemetry.span(), **told)


def lone(telemetry: Telemetry) -> None:
    """A record that belongs to no other."""
    lasts = telemetry.chance.choice([0.05, 0.5, None])
    telemetry.record(
        telemetry.moment(), lasts, trace=telemetry.sometimes(0.7, telemetry.trace()), span=telemetry.span()
    )


MOTIFS: tuple[Callable[[Telemetry], None], ...] = (
    spans_of_one_trace,
    *(partial(one_id_in_several_traces, column=column) for column in ("call_id", "response_id", "request_key")),
    row_of_a_trace,
    two_tracers,
    parallel_choices,
    known_doubles,
    unknown_doubles,
    partial(halves, is_below=True),
    partial(halves, is_below=False),
    refusals,
    orphans,
    siblings,
    told_by_one,
    lone,
)

# By what a label may name a record: the kind of its subject, and which subject that is of a record.
SUBJECTS: tuple[tuple[str, Callable[[Row], str | None]], ...] = (
    ("span", lambda row: row["record_id"]),
    ("span", lambda row: row["span_id"]),
    ("span", lambda row: row["parent_span_id"]),
    ("span", lambda row: row["trace_id"] and f"{row['trace_id']}:{row['parent_span_id'] or _UNCOLLECTED}"),
    ("response", lambda row: row.get("response_id")),
    ("request", lambda row: row.get("request_key")),
    ("request", lambda row: row["record_id"]),
    ("trace", lambda row: row["trace_id"]),
    ("session", lambda row: row["session_id"]),
)


def _judge(telemetry: Telemetry, motifs: int) -> None:
    """Label records by each kind of subject; many labels are revised, and may name another subject than before."""
    chance = telemetry.chance
    for kind, subject in islice(cycle(SUBJECTS), motifs):
        row = chance.choice([row for row in telemetry.records if subject(row)])
        named = str(subject(row))
        judged: Row = {
            "evaluator": chance.choice(["help", "safe"]),
            "response_id": telemetry.sometimes(0.3, row.get("response_id"), telemetry.id()),
            "score": telemetry.sometimes(0.5, 0.2, 0.9),
            "passed": telemetry.sometimes(0.6, True, False),
            "label": telemetry.sometimes(0.2, "Good"),
            "revised_ns": telemetry.sometimes(0.3, at_ns(telemetry.moment())),
            "withdrawn": chance.random() < 0.1,
        }
        identity: Row = {"label_id": f"label-{chance.randrange(motifs)}", "record_id": f"judged-{telemetry.number()}"}
        telemetry.labels.append(label(kind, named, at=telemetry.moment() + _HOUR, **identity, **judged))


def _copy(telemetry: Telemetry) -> None:
    """Give some rows a copy from another source, which may tell otherwise."""
    chance = telemetry.chance
    told: tuple[Callable[[], Row], ...] = (
        dict,
        lambda: {"call_id": telemetry.id()},
        lambda: {"outcome": "unknown"},
        lambda: {"session_id": "S5"},
        lambda: {"needs_parent": True},
    )
    for row in _some(chance, telemetry.records, 0.08):
        telemetry.records.append({**row, "source_id": chance.choice(["s0", "s3"]), **chance.choice(told)()})
    # a row of which another source knows the trace
    for row in _some(chance, [row for row in telemetry.records if row["span_id"] is None], 0.2):
        telemetry.records.append({**row, "source_id": "s4", "trace_id": telemetry.trace()})
    for row in _some(chance, telemetry.links, 0.1):
        telemetry.links.append({**row, "source_id": "s3", "parent_span_id": telemetry.span()})
    for row in _some(chance, telemetry.labels, 0.3):
        other = chance.choice([row, chance.choice(telemetry.labels)])
        told_of = {name: other[name] for name in ("label_id", "subject_kind", "subject_id")}
        telemetry.labels.append({**row, **told_of, "source_id": chance.choice(["l0", "l2"])})


def _some(chance: Random, rows: Iterable[Row], share: float) -> list[Row]:
    return [row for row in rows if chance.random() < share]


def _unique(rows: Iterable[Row], key: str) -> list[Row]:
    """Rows with one of each key from each source, as ingest leaves them."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        found.setdefault((row["source_id"], row[key]), row)
    return list(found.values())


def _settings(chance: Random) -> Settings:
    workloads = {
        "gated": Workload(
            match=WorkloadMatch(model=("m1",)),
            retry_budget=1,
            ttft_s=0.5,
            quality=Quality(evaluators=("help",), min_score=0.5),
        ),
        "pooled": Workload(match=WorkloadMatch(pool=("p1",)), e2e_s=1.0, quality=Quality()),
    }
    return Settings(workloads=workloads, max_request_lifetime_s=chance.choice([60.0, _HOUR]))
