"""What alarms read and what they leave: evidence from a database of measured relations, and rows of the four tables.

All that this stage reads is read here. How evidence becomes verdicts is `evaluate`'s work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from goodput.contracts import arrow_schema, contract
from goodput.monitor.causes import LOOK_BACK_S
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.good_requests import COLUMNS
from goodput.monitor.judged_days import JudgedDays
from goodput.monitor.lookback import Lookback, lookback
from goodput.monitor.method import METHOD
from goodput.monitor.observe import RESTARTS
from goodput.monitor.silent_telemetry import SILENT
from goodput.monitor.unreported import with_unreported
from goodput.monitor.windows import longer_windows_s, needs_requests
from goodput.plumbing.alarm_actions import Action, of_kind
from goodput.plumbing.fingerprint import fingerprint, fingerprint_of_frame
from goodput.settings.alarms import metrics_of, rules_of
from goodput.settings.model import Settings
from goodput.settings.watched import metric_of, watched_relations

TABLES = ("alarms", "alarm_events", "alarm_series", "alarm_power")
_OPERATIONS = ("occurred_at", "kind", "pool", "replica", "revision")
_ALWAYS = {"slice", "window_s", "window_start", "partial", "workload", "pool", "offered", "goodput_rps"}


@dataclass(frozen=True)
class AlarmTables:
    """Rows of each of TABLES by its name, and what a run reports.

    `inputs` are fingerprints of what tables were computed from: `alarms` (and all that is judged with it) and
    `alarm_power`; the next evaluation does again only what is computed from something else.
    """

    rows: Mapping[str, pl.DataFrame]
    inputs: Mapping[str, str]
    new_events: int
    firing: int


def read_evidence(
    connection: duckdb.DuckDBPyConnection,
    settings: Settings,
    now: datetime,
    *,
    actions: Sequence[Action] = (),
    before: Mapping[str, pl.DataFrame] | None = None,
) -> Evidence:
    """Rows of measured relations and ops_events that verdicts at `now` need, from a connection that has them.

    A relation that is not there has no rows. Rows of hours that begin after `now` are left out: one wrong clock must
    not put all history out of reach. `before` holds the tables that the last evaluation left.
    """
    previous = before or {}
    until = _until(now)
    seen_live = any(row["rule"] == SILENT and row["state"] != "learning" for row in _rows(previous.get("alarms")))
    relations = _relations(connection, settings)
    looks = _lookback(connection, relations, until, _rows(previous.get("alarm_events")))
    if looks is None:
        return Evidence({}, settings, actions, seen_live=seen_live)
    rows = {relation.name: relation.rows(connection, looks.since, until) for relation in relations}
    there = {name: frame for name, frame in rows.items() if frame.height}
    operations = _operations(connection, looks.since)
    return Evidence(there, settings, actions, operations, seen_live, looks.settled, _newest(connection))


def looked_back(
    connection: duckdb.DuckDBPyConnection, settings: Settings, now: datetime, recorded: pl.DataFrame
) -> dict[str, datetime]:
    """From when on `read_evidence` reads each relation that it reads, given the rows of alarm_events."""
    relations = _relations(connection, settings)
    looks = _lookback(connection, relations, _until(now), _rows(recorded))
    return {} if looks is None else {relation.name: looks.since for relation in relations}


def _until(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


def _relations(connection: duckdb.DuckDBPyConnection, settings: Settings) -> "list[_Relation]":
    return [found for name in watched_relations() if (found := _relation(connection, name, settings))]


def _lookback(
    connection: duckdb.DuckDBPyConnection,
    relations: "Sequence[_Relation]",
    until: datetime,
    recorded: list[dict[str, Any]],
) -> Lookback | None:
    """How far back verdicts before `until` look; None without rows."""
    hours = [hour for relation in relations if (hour := relation.newest_hour(connection, until))]
    return lookback(max(hours), recorded) if hours else None


def alarm_tables(
    evidence: Evidence,
    before: Mapping[str, pl.DataFrame],
    now: datetime,
    *,
    inputs: Mapping[str, str] | None = None,
    judged: JudgedDays | None = None,
) -> AlarmTables:
    """Judge `evidence` at `now`: the new rows of all tables, given those `before` and the `inputs` they are made from.

    Days that were `judged` before are not judged again, and those that are judged now are added to them.

    alarm_events only grows. Of evidence that was judged before, only what the clock alone decides is judged again.
    """
    due = {"alarms": _evidence_fingerprint(evidence, now), "alarm_power": _power_inputs(evidence, now)}
    recorded = _rows(before.get("alarm_events"))
    evaluation = Evaluation(evidence, now, judged or JudgedDays())
    if before.keys() >= set(TABLES) and due == dict(inputs or {}):
        added = evaluation.new_clock_events(recorded)
        others = [row for row in _rows(before["alarms"]) if row["rule"] != SILENT]
        alarms = [*others, *evaluation.clock_alarms()]
        kept = {name: before[name] for name in ("alarm_series", "alarm_power")}
    else:
        added, alarms = evaluation.new_events(recorded), evaluation.alarms()
        series = _polars(evaluation.series().to_arrow().cast(arrow_schema("alarm_series")))
        kept = {"alarm_series": series}
        again = "alarm_power" not in before or due["alarm_power"] != (inputs or {}).get("alarm_power")
        kept["alarm_power"] = (
            _frame("alarm_power", evaluation.power()) if again else _as_it_stands(before["alarm_power"], evaluation)
        )
    alarms = with_unreported(alarms, [*recorded, *added])
    events = _frame("alarm_events", [*recorded, *added])
    rows = {"alarms": _frame("alarms", alarms), "alarm_events": events, **kept}
    return AlarmTables(rows, due, len(added), sum(row["state"] == "firing" for row in alarms))


def _as_it_stands(power: pl.DataFrame, evaluation: Evaluation) -> pl.DataFrame:
    """What an earlier run of the day replayed, and of now which alarms may page, and why others may not."""
    rows = evaluation.standing()
    changed = {name: power.schema[name] for name in ("alarm_id", "fired", "armed", "why", "false_alarms_per_week")}
    if set(power["alarm_id"]) != {row["alarm_id"] for row in rows}:  # a series began, or ended
        return _frame("alarm_power", evaluation.power())
    newest = pl.DataFrame(rows, schema=changed, orient="row")
    kept = power.drop(*changed.keys() - {"alarm_id"})
    return kept.join(newest, on="alarm_id", maintain_order="left").select(power.columns)


def _evidence_fingerprint(evidence: Evidence, now: datetime) -> str:
    """What verdicts depend on beside the clock, and which silences it has begun and not ended."""
    silences = of_kind(evidence.actions, "silence")
    silent = [one.action_id for one in silences if one.begins <= now < (one.ends or one.begins)]
    rows = {name: fingerprint_of_frame(frame) for name, frame in sorted(evidence.rows.items())}
    actions = [vars(action) for action in evidence.actions]
    more = (
        silent,
        evidence.operations,
        evidence.seen_live,
        evidence.settled,
        METHOD,
        str(arrow_schema("alarm_series")),
    )
    return fingerprint(rows, evidence.settings.model_dump(), actions, *more)


def _power_inputs(evidence: Evidence, now: datetime) -> str:
    """What a replay depends on: the settings of alarms, actions of operators, and the day."""
    settings = evidence.settings
    slos = {name: slo.model_dump() for name, slo in settings.slo.items()}
    actions = [vars(action) for action in evidence.actions]
    return fingerprint(settings.alarms.model_dump(), slos, actions, now.date(), str(arrow_schema("alarm_power")))


@dataclass(frozen=True)
class _Relation:
    """A relation of the connection: which of its columns are read in which order, and the SQL condition of its rows."""

    name: str
    columns: tuple[str, ...]
    order: tuple[str, ...]
    watched: str

    def newest_hour(self, connection: duckdb.DuckDBPyConnection, until: datetime) -> datetime | None:
        """The hour of the newest row before `until`; None without any."""
        hour = f"epoch_us(date_trunc('hour', max(window_start))) FROM {self.name} WHERE {self.watched}"
        ((at_us,),) = connection.execute(f"SELECT {hour} AND window_start < $1", [until]).fetchall()
        return None if at_us is None else datetime.fromtimestamp(at_us // 1_000_000, UTC)

    def rows(self, connection: duckdb.DuckDBPyConnection, since: datetime, until: datetime) -> pl.DataFrame:
        """Rows of windows that begin from `since` on and before `until`, in order: sums of floats depend on it."""
        where = f"{self.watched} AND window_start >= $1 AND window_start < $2"
        select = f"SELECT {', '.join(self.columns)} FROM {self.name} WHERE {where} ORDER BY {', '.join(self.order)}"  # noqa: S608
        return _fetched(connection, select, since, until)


def _relation(connection: duckdb.DuckDBPyConnection, name: str, settings: Settings) -> _Relation | None:
    """A measured relation; None where the connection has none of that name, or no rule looks at it."""
    watched = [metric for metric in map(metric_of, metrics_of(rules_of(settings.alarms))) if metric is not None]
    asked = {column for metric in watched if metric.relation == name for column in metric.columns}
    there = _columns(connection, name) if asked or name == "goodput" else set()
    lengths = {int(settings.alarms.window_s)}
    if any(metric.relation == name and needs_requests(metric) for metric in watched):
        lengths.update(longer_windows_s(settings))
    if name == "goodput" and settings.slo:
        lengths.add(min(settings.windows_s))
        asked |= COLUMNS
    where = f"window_s IN ({', '.join(map(str, sorted(lengths)))})"
    where += " AND slice = 'workload_pool'" if "slice" in there else ""
    order = ("window_s", "window_start", *contract(name).primary_key)
    columns, ordered = sorted((asked | _ALWAYS) & there), (column for column in dict.fromkeys(order) if column in there)
    return _Relation(name, tuple(columns), tuple(ordered), where) if there else None


def _newest(connection: duckdb.DuckDBPyConnection) -> datetime | None:
    """When telemetry was last observed; None without any."""
    if not _columns(connection, "watermark"):
        return None
    ((at_us,),) = connection.execute("SELECT epoch_us(max(observed_until_at)) FROM watermark").fetchall()
    return None if at_us is None else datetime.fromtimestamp(at_us / 1e6, UTC)


def _columns(connection: duckdb.DuckDBPyConnection, name: str) -> set[str]:
    try:
        return set(connection.sql(f"SELECT * FROM {name} LIMIT 0").columns)  # noqa: S608
    except duckdb.CatalogException:
        return set()


def _operations(connection: duckdb.DuckDBPyConnection, since: datetime) -> list[dict[str, Any]]:
    """Operations that may explain an alarm, and all restarts: the age of a pool counts from the last of them."""
    columns = _columns(connection, "ops_events").intersection(_OPERATIONS)
    if not columns:
        return []
    kinds = ", ".join(f"'{kind}'" for kind in RESTARTS)
    where = f"occurred_at >= $1 OR kind IN ({kinds})"
    earliest = since - timedelta(seconds=LOOK_BACK_S)
    select = f"SELECT {', '.join(sorted(columns))} FROM ops_events WHERE {where}"  # noqa: S608
    return _rows(_fetched(connection, select, earliest))


def _fetched(connection: duckdb.DuckDBPyConnection, select: str, *values: datetime) -> pl.DataFrame:
    return _polars(connection.sql(select, params=list(values)).to_arrow_table())


def _rows(frame: pl.DataFrame | None) -> list[dict[str, Any]]:
    return [] if frame is None else frame.to_dicts()


def _frame(table: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    schema = pl.Schema(arrow_schema(table))
    return pl.DataFrame([[row.get(name) for name in schema] for row in rows], schema=schema, orient="row")


def _polars(table: pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)  # noqa: S101  (of a table)
    return found
