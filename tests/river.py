"""The join and measure stages over hand-written rows, without files or Dagster: what goes in and what comes out."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema, contract
from goodput.join.nodes import JOIN, REPLICA_NAMES
from goodput.join.options import SETTINGS_TABLES
from goodput.join.workloads import workload_rows
from goodput.measure import windows as measured_windows
from goodput.measure.gates import gate_order
from goodput.measure.slices import SETTINGS_TABLES as SLICES
from goodput.measure.slices import all_slices
from goodput.measure.windows import Measured, session_reach_h
from goodput.plumbing.node import request_reach_h
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect, read_parts
from goodput.settings.model import Settings, Workload

Row = dict[str, Any]
START_S = 1_795_165_200  # 2026-11-20T09:00:00Z
START_NS = START_S * 10**9
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def at_ns(seconds: float) -> int:
    """Unix nanoseconds of a moment `seconds` after START_S."""
    return START_NS + round(seconds * 1e9)


def key(span: str, trace: str = TRACE) -> str:
    """record_id of a span."""
    return f"{trace}:{span}"


def record(span: str, start: float = 0.0, end: float | None = 1.0, **given: Any) -> Row:
    """A client's serving record of span `span` from `start` to `end` (seconds after START_S), as conform leaves it.

    `parent` is a span id, `first_token` and `intended` are seconds after START_S; other names are columns.
    """
    trace = given.pop("trace", TRACE)
    first = given.pop("first_token", None)
    intended = given.pop("intended", None)
    return {
        "record_id": f"{trace}:{span}",
        "source_id": "s1",
        "line": 1,
        "position": 0,
        "dialect": "test",
        "layer": "client",
        "trace_id": trace,
        "span_id": span,
        "parent_span_id": given.pop("parent", None),
        "started_ns": at_ns(start),
        "ended_ns": None if end is None else at_ns(end),
        "first_token_ns": None if first is None else at_ns(first),
        "intended_ns": None if intended is None else at_ns(intended),
        "e2e_s": None if end is None else end - start,
        "ttft_s": None if first is None else first - start,
        "outcome": "unknown" if end is None else "ok",
        **given,
    }


def link(span: str, parent: str | None, source_id: str = "s1", trace: str = TRACE, **given: Any) -> Row:
    """The parent link of a span that is no serving record, with what else it tells; it ends at START_S or `end`."""
    return {
        "link_id": f"{trace}:{span}",
        "source_id": source_id,
        "line": 1,
        "position": 0,
        "trace_id": trace,
        "span_id": span,
        "parent_span_id": parent,
        "ended_ns": at_ns(given.pop("end", 0.0)),
        **given,
    }


def label(subject_kind: str, subject_id: str, **given: Any) -> Row:
    """A label by `judge`, given `at` seconds after START_S (default an hour); says pass unless told otherwise."""
    identity = given.pop("label_id", None) or f"{subject_kind}/{subject_id}/{given.get('evaluator', 'judge')}"
    at = given.pop("at", 3600.0)
    judged = {} if {"passed", "score", "label", "withdrawn"} & set(given) else {"passed": True}
    return {
        "record_id": f"{identity}@{at}",
        "label_id": identity,
        "source_id": "l1",
        "line": 1,
        "position": 0,
        "dialect": "test",
        "subject_kind": subject_kind,
        "subject_id": subject_id,
        "evaluator": "judge",
        "labelled_ns": at_ns(at),
        "withdrawn": False,
        **judged,
        **given,
    }


@dataclass(frozen=True)
class Joined:
    """The three relations of the join by their keys."""

    attempts: dict[str, Row]
    requests: dict[str, Row]
    labels: dict[str, Row]
    requests_table: pa.Table

    @property
    def request(self) -> Row:
        """The only request."""
        (row,) = self.requests.values()
        return row

    @property
    def attempt(self) -> Row:
        """The only attempt."""
        (row,) = self.attempts.values()
        return row


def join(
    records: Iterable[Row],
    labels: Iterable[Row] = (),
    links: Iterable[Row] = (),
    settings: Settings | None = None,
    observed_until_s: float = 10 * 86400.0,
    *,
    samples: Iterable[Row] = (),
) -> Joined:
    """Attempts, requests and labels of these rows; telemetry was observed until `observed_until_s` after START_S."""
    chosen = settings or Settings()
    with connect() as connection:
        landed = {
            "serving_records": records,
            "span_links": links,
            "label_records": labels,
            "sample_records": samples,
        }
        for name, rows in landed.items():
            connection.register(name, pa.Table.from_pylist(list(rows), schema=arrow_schema(name)))
        for name in {*REPLICA_NAMES.parameters, *JOIN.parameters} & SETTINGS_TABLES.keys():
            connection.register(name, SETTINGS_TABLES[name](chosen))
        connection.register("observed", as_rows("observed", {"observed_until_ns": at_ns(observed_until_s)}))
        for relation in (*REPLICA_NAMES.relations, *JOIN.relations):
            compute(connection, relation)
        tables = {name: made(connection, name) for name in ("attempts", "requests", "quality_labels")}
    return Joined(
        {row["attempt_id"]: row for row in tables["attempts"].to_pylist()},
        {row["request_key"]: row for row in tables["requests"].to_pylist()},
        {row["label_id"]: row for row in tables["quality_labels"].to_pylist()},
        tables["requests"],
    )


def made(connection: duckdb.DuckDBPyConnection, table: str) -> pa.Table:
    """Rows of a table that a connection has as a relation, in the shape and order of its contract."""
    columns = ", ".join(f'"{column.name}"' for column in contract(table).columns)
    rows = connection.sql(f'SELECT {columns} FROM "{table}" ORDER BY {contract(table).order}')
    return rows.to_arrow_table().cast(arrow_schema(table))


def one_workload(**gates: Any) -> Settings:
    """Settings with a single workload `qa` that selects everything; `latency_origin` and the like are settings."""
    top = {name: gates.pop(name) for name in tuple(gates) if name in Settings.model_fields}
    return Settings(workloads={"qa": Workload(**gates)}, **top)


ALL_TIME = {"from_s": 0, "until_s": 2**40}  # a measured range of whatever there is


@dataclass(frozen=True)
class Stretch:
    """Event time [from_s, until_s) in Unix seconds, and what telemetry was observed at all."""

    from_s: int
    until_s: int
    observed_ns: tuple[int, int]


@dataclass(frozen=True)
class Parts:
    """Files of the tables that windows are made from."""

    requests: Sequence[str]
    attempts: Sequence[str] = ()
    session_hours: Sequence[str] = ()
    coverage: Sequence[str] = ()
    waste: Sequence[str] = ()


def measure(settings: Settings, parts: Parts, grains: Sequence[int], stretch: Stretch) -> Measured:
    """Measured rows of a stretch at the given grains (seconds)."""
    base_s = min(settings.windows_s)
    options = {
        "step_s": math.gcd(*grains),
        "base_s": base_s,
        "session_reach_h": session_reach_h(settings),
        "request_reach_h": request_reach_h(settings),
        "observed_from_ns": stretch.observed_ns[0],
        "observed_until_ns": stretch.observed_ns[1],
    }
    with connect() as connection:
        for name, files in vars(parts).items():
            read_parts(connection, name, files, arrow_schema(name))
        connection.register("grains", as_rows("grains", *({"window_s": grain} for grain in grains)))
        extent = {"from_s": stretch.from_s, "until_s": stretch.until_s}
        connection.register("measured_range", as_rows("measured_range", extent))
        connection.register("partition_size", as_rows("partition_size", {"rows": 0}))
        connection.register("size_options", as_rows("size_options", {"max_exact_requests": 1}))
        connection.register("window_options", as_rows("window_options", options))
        for name, given in SLICES.items():
            connection.register(name, given(settings))
        connection.register("workload_rules", workload_rows(settings))
        connection.register("gates", gate_order())
        return measured_windows.measure(connection, all_slices(settings), is_base_asked=base_s in grains)


def windows(
    folder: Path,
    requests: pa.Table | Sequence[Mapping[str, Any]],
    settings: Settings,
    grains: Sequence[int] = (300,),
    *,
    hours: int = 1,
    observed_s: tuple[float, float] = (-86400.0, 86400.0),
    sessions: pa.Table | None = None,
) -> pl.DataFrame:
    """Rows of goodput for the first `hours` hours after START_S; `sessions` is what `session_hours` says."""
    table = (
        requests
        if isinstance(requests, pa.Table)
        else pa.Table.from_pylist([dict(row) for row in requests], schema=arrow_schema("requests"))
    )
    tables = {"requests": table} if sessions is None else {"requests": table, "session_hours": sessions}
    paths = {name: str(folder / f"{name}.parquet") for name in tables}
    for name, path in paths.items():
        pq.write_table(tables[name], path)
    parts = Parts(**{name: [path] for name, path in paths.items()})
    observed = (at_ns(observed_s[0]), at_ns(observed_s[1]))
    return measure(settings, parts, grains, Stretch(START_S, START_S + hours * 3600, observed)).goodput


def session_hours(requests: Iterable[Row]) -> pa.Table:
    """What `sessions` adds up, of joined requests."""
    rows = pa.Table.from_pylist(list(requests), schema=arrow_schema("requests"))
    with connect() as connection:
        connection.register("requests", rows)
        connection.execute("CREATE TEMP TABLE any_session AS SELECT true AS is_named")
        compute(connection, "session_hours")
        return made(connection, "session_hours")


def at(seconds: float) -> datetime:
    """The moment `seconds` after START_S."""
    return datetime.fromtimestamp(START_S, UTC) + timedelta(seconds=seconds)


def judged(name: str, verdict: str, end: float = 1.0, **given: Any) -> Row:
    """A joined request of workload `qa` with this verdict, over at `end` and arrived one second before (`start`).

    Where the workload has a quality gate say `gated=True`: an accepted request then has passed it.
    """
    gated = given.pop("gated", False) or verdict in {"rejected", "unlabelled"}
    start = given.pop("start", end - 1)
    over = verdict != "in_flight"
    return {
        "request_key": name,
        "workload": "qa",
        "arrived_at": at(start),
        "ended_at": at(end) if over else None,
        "attempts": 1,
        "retry_count": 3 if verdict == "over_budget" else 0,
        "delivering_attempt_id": name,
        "model": "m1",
        "pool": "p1",
        "route": "r1",
        "output_tokens": 10,
        "e2e_s": end - start if over else None,
        "outcome": "error" if verdict == "failed" else "ok",
        "pass_success": verdict != "failed" if over else None,
        "pass_retries": verdict != "over_budget",
        "pass_ttft": False if verdict == "slow" else None if verdict == "unevaluable" else True,
        "pass_quality": {"accepted": True, "rejected": False}.get(verdict) if gated else None,
        "needs_label": gated and verdict in {"accepted", "rejected", "unlabelled"},
        "tpot_na": False,
        "verdict": verdict,
        **given,
    }


VERDICTS = ("failed", "ungated", "over_budget", "slow", "rejected", "unevaluable", "unlabelled", "accepted")


def row_of(frame: pl.DataFrame, minute: float = 0, window_s: int = 300, slice: str = "overall", **names: str) -> Row:
    """The only row of a slice (and of the named workload, model, pool, route) in the window that starts at `minute`."""
    wanted = {"window_start": at(60 * minute), "window_s": window_s, "slice": slice, **names}
    (row,) = [row for row in frame.to_dicts() if all(row[name] == value for name, value in wanted.items())]
    return row
