"""Makes `disruptions`, day by day of the events, and what kinds of operations cost: which is stale, and computing it.

The arithmetic is in sql/. A day reads the base windows of the week before it and of the time that its events may last;
the tables by kind read those of the last week and are made whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.join.staleness import JoinInputs
from goodput.join.whole import CELL
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake, inputs_of, write_parquet
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts, sql_file
from goodput.settings.model import OpsKind, Settings

BY_DAY = "disruptions"
BY_KIND = ("disruption_cost", "disruption_frequency")
WINDOWS = ("pool_windows",)
_BASELINE = (*WINDOWS, "disrupting_events", "disruption_baselines")
_JUDGED = ("baseline_draws", "disruption_ends", "disrupted_windows", "disruption_draws")
_FROM = ("goodput", "cache_by_replica")
_BASELINE_S = 7 * 86400
_DAY_S = 86400
_DRAWS = 500
_SEED = 7


@dataclass(frozen=True)
class DisruptionInputs:
    """Everything that the three tables are computed from, as it lies in the lake now."""

    join: JoinInputs

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @property
    def reach_s(self) -> float:
        """The longest that a disruption may last."""
        return max(_caps(self.join.settings).values())

    @cached_property
    def _parts(self) -> dict[str, dict[str, Path]]:
        return {
            table: {cell: paths[0] for cell, paths in self.lake.parts("measured", table).items()}
            for table in (*_FROM, BY_DAY)
        }

    @cached_property
    def events(self) -> pl.DataFrame:
        """Every ops event: event_id, kind, occurred_at, pool, replica and revision."""
        part = self.lake.part("joined", "ops_events", CELL)
        found = pq.read_table(part) if part.exists() else arrow_schema("ops_events").empty_table()
        names = ["event_id", "kind", "occurred_at", "pool", "replica", "revision"]
        return pl.DataFrame(found.select(names)).sort("occurred_at", "event_id")

    @cached_property
    def _rules(self) -> list[Any]:
        names = ("macros", *_BASELINE, *_JUDGED, BY_DAY, *BY_KIND)
        settings = self.join.settings
        agreed = [str(contract(table)) for table in (BY_DAY, *BY_KIND)]
        return [[sql_file(n).text for n in names], agreed, settings.disruptions.model_dump(), min(settings.windows_s)]

    def files(self, table: str, from_s: float, until_s: float) -> dict[str, Path]:
        """Parts of a table, by cell, that hold the base windows of a stretch (Unix seconds)."""
        first, last = (_moment(at_s).strftime("%Y-%m-%d") for at_s in (from_s, until_s))
        hourly = min(self.join.settings.windows_s) <= 3600
        found = self._parts[table].items()
        return {cell: path for cell, path in found if first <= cell[:10] <= last and ("T" in cell) is hourly}

    def stretch_of(self, day: str) -> tuple[float, float]:
        """Event time that the disruptions of a day depend on, in Unix seconds."""
        start_s = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
        return start_s - _BASELINE_S - self.reach_s, start_s + _DAY_S + 2 * self.reach_s

    def of_day(self, day: str) -> str:
        """Fingerprint of what the part of a day must be made from."""
        from_s, until_s = self.stretch_of(day)
        near = self.events.filter(pl.col("occurred_at").is_between(_moment(from_s - self.reach_s), _moment(until_s)))
        used = [self._made_from(table, from_s, until_s) for table in _FROM]
        return fingerprint(self._rules, used, near.to_dicts(), *self.observed(from_s, until_s))

    def observed(self, from_s: float, until_s: float) -> tuple[float, float]:
        """The part of a stretch that telemetry was observed in, in Unix seconds."""
        first_s, last_s = (ns / 1e9 for ns in self.join.observed)
        return max(first_s, from_s), min(last_s, until_s)

    def _made_from(self, table: str, from_s: float, until_s: float) -> dict[str, str | None]:
        return {cell: inputs_of(path) for cell, path in self.files(table, from_s, until_s).items()}

    def stale_days(self) -> dict[str, str]:
        """Cells of `disruptions` that were not made from what lies in the lake now, with its fingerprint."""
        days = set(self.events["occurred_at"].dt.strftime("%Y-%m-%d")) | set(self._parts[BY_DAY])
        wanted = {f"day={day}": self.of_day(day) for day in sorted(days)}
        return {c: made for c, made in wanted.items() if inputs_of(self.lake.part("measured", BY_DAY, c)) != made}

    @cached_property
    def last_week(self) -> tuple[float, float]:
        """Stretch that the tables by kind tell of: whole days around the last 7 that were measured."""
        days = sorted(cell[:10] for cell in self._parts["goodput"])
        until = datetime.strptime(days[-1], "%Y-%m-%d").replace(tzinfo=UTC) if days else _moment(0)
        return until.timestamp() - _BASELINE_S, until.timestamp() + _DAY_S - 1

    def recent(self) -> list[str]:
        """Parts of `disruptions` of that stretch."""
        first, last = (_moment(at_s).strftime("%Y-%m-%d") for at_s in self.last_week)
        return [str(path) for day, path in self._parts[BY_DAY].items() if first <= day <= last]

    def stale_kinds(self) -> dict[str, str]:
        """The cell of the tables by kind, if it was not made from what lies in the lake now."""
        used = [self._made_from(table, *self.last_week) for table in _FROM]
        wanted = fingerprint(self._rules, used, [inputs_of(Path(path)) for path in self.recent()])
        present = {inputs_of(self.lake.part("measured", table, CELL)) for table in BY_KIND}
        return {} if present == {wanted} else {CELL: wanted}


def disrupt_days(inputs: DisruptionInputs, cells: Iterable[str]) -> int:
    """Write the candidates of `disruptions` for the cells of days; how many rows they have."""
    return sum(_disrupt_day(inputs, cell) for cell in cells)


def _disrupt_day(inputs: DisruptionInputs, cell: str) -> int:
    day = cell.removeprefix("day=")
    from_s, until_s = inputs.stretch_of(day)
    events_s = (from_s + _BASELINE_S, until_s - inputs.reach_s)
    with connect() as connection:
        for table in _FROM:
            files = [str(path) for path in inputs.files(table, from_s, until_s).values()]
            read_parts(connection, table, files, arrow_schema(table))
        connection.register("ops_events", inputs.events.to_arrow())
        rows = pl.DataFrame(disrupt(connection, inputs.join.settings, events_s, inputs.observed(from_s, until_s)))
    mine = rows.filter(pl.col("occurred_at").dt.strftime("%Y-%m-%d") == day)
    part = mine.to_arrow().cast(arrow_schema(BY_DAY))
    write_parquet(inputs.lake.part("candidate", BY_DAY, cell), part, inputs=inputs.of_day(day))
    return mine.height


def disrupt(
    connection: duckdb.DuckDBPyConnection,
    settings: Settings,
    events_s: tuple[float, float],
    observed_s: tuple[float, float],
) -> pa.Table:
    """Rows of `disruptions` of the events in [from, until) Unix seconds (semantics 7), telemetry observed in another.

    Reads relations goodput, cache_by_replica and ops_events, which reach from 7 days before to what an event may last
    after them.
    """
    _register(connection, settings, events_s, observed_s)
    for relation in _BASELINE:
        compute(connection, relation)
    (most,) = connection.sql("SELECT coalesce(max(windows), 0) FROM disruption_baselines").fetchall()[0]
    longest = int(max(_caps(settings).values()) // min(settings.windows_s)) + 3
    register(connection, "draws", _draws(max(int(most), longest)))
    for relation in _JUDGED:
        compute(connection, relation)
    return _rows(connection, BY_DAY, "occurred_at, event_id")


def cost_kinds(inputs: DisruptionInputs, made_from: str) -> dict[str, int]:
    """Write the candidates of the tables by kind; their rows."""
    with connect() as connection:
        for table in _FROM:
            files = [str(path) for path in inputs.files(table, *inputs.last_week).values()]
            read_parts(connection, table, files, arrow_schema(table))
        read_parts(connection, BY_DAY, inputs.recent(), arrow_schema(BY_DAY))
        found = by_kind(connection, inputs.join.settings)
    for table, rows in found.items():
        write_parquet(inputs.lake.part("candidate", table, CELL), rows, inputs=made_from)
    return {table: rows.num_rows for table, rows in found.items()}


def by_kind(connection: duckdb.DuckDBPyConnection, settings: Settings) -> dict[str, pa.Table]:
    """Rows of `disruption_cost` and `disruption_frequency`, of disruptions and their inputs (semantics 7)."""
    _register(connection, settings, (0.0, 0.0), (0.0, 0.0))
    for relation in (*WINDOWS, *BY_KIND):
        compute(connection, relation)
    return {
        "disruption_cost": _rows(connection, "disruption_cost", "kind, pool"),
        "disruption_frequency": _rows(connection, "disruption_frequency", "kind, pool, events_per_day"),
    }


def _register(
    connection: duckdb.DuckDBPyConnection, settings: Settings, events_s: Sequence[float], observed_s: Sequence[float]
) -> None:
    options = {
        "base_s": [min(settings.windows_s)],
        "tolerance_ratio": [settings.disruptions.recovery_tolerance_ratio],
        "baseline_s": [_BASELINE_S],
        "baseline_windows": [12],
        "load_tolerance_ratio": [0.2],
        "from_s": [events_s[0]],
        "until_s": [events_s[1]],
        "observed_from_s": [observed_s[0]],
        "observed_until_s": [observed_s[1]],
    }
    caps = _caps(settings)
    register(connection, "disruption_options", pa.table(options))
    register(connection, "disruption_caps", pa.table({"kind": list(caps), "cap_s": list(caps.values())}))


def _caps(settings: Settings) -> dict[str, float]:
    chosen = settings.disruptions
    return {kind: chosen.caps_s.get(kind, chosen.cap_s) for kind in get_args(OpsKind)}


def _draws(windows: int) -> pa.Table:
    """Uniform numbers that pick windows of the baseline (u) and of the disruption (v); draw 0 takes each window once.

    Drawn window by window, so that the numbers of the first windows do not hang on how many there are.
    """
    u, v = (np.random.default_rng([_SEED, side]).random((windows, _DRAWS + 1)).ravel() for side in (0, 1))
    picks = np.repeat(np.arange(windows, dtype=np.int64), _DRAWS + 1)
    draws = np.tile(np.arange(_DRAWS + 1, dtype=np.int32), windows)
    return pa.table({"draw": draws, "pick": picks, "u": u, "v": v})


def _rows(connection: duckdb.DuckDBPyConnection, table: str, order: str) -> pa.Table:
    columns = ", ".join(f'"{column.name}"' for column in contract(table).columns)
    source = f'"{table}"' if table in BY_KIND else f"({sql_file(table).text})"
    found = connection.sql(f"SELECT {columns} FROM {source} ORDER BY {order}")  # noqa: S608  (of the contract)
    return found.to_arrow_table().cast(arrow_schema(table))


def _moment(at_s: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at_s)
