"""`goodput alarms`: the alarms, one explained.

Their replay is in `alarm_replay`, what operators do to them in `alarm_actions`.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from goodput.cli.alarm_actions import NAMED, accept, actions, one_alarm, series_of, silence, try_rules, unsilence
from goodput.cli.alarm_replay import replay
from goodput.cli.cells import plain
from goodput.cli.database import Config, LakeRoot, Row, published, rows
from goodput.cli.formats import destination
from goodput.cli.render import MAX_ROWS, console, table, until_reader_leaves
from goodput.errors import UsageError

app = typer.Typer(add_completion=False)

_ALARMS = """
    SELECT * FROM alarms
    WHERE $every OR state IN ('firing', 'pending', 'resolved')
    ORDER BY state <> 'firing', severity, state_since_at DESC, rule, pool, replica, labels
"""
_COUNTS = "SELECT state, count(*) AS alarms FROM alarms GROUP BY state ORDER BY state"
_EVENTS = """
    SELECT transition, occurred_at, suppressed, coalesce(suppressed_by, reason) AS because, summary FROM alarm_events
    WHERE alarm_id = $key ORDER BY occurred_at DESC, recorded_at DESC LIMIT 20
"""
_SERIES = "SELECT * FROM alarm_series WHERE alarm_id = $key ORDER BY window_start"
NONE_YET = "Nothing is watched yet: that begins with the first whole hour, and trends with a week of them."
_HEADER = ("alarm", "severity", "state", "since", "series", "what happened")


@app.callback(invoke_without_command=True)
def alarms(context: typer.Context, config: Config = None, lake: LakeRoot = None) -> None:
    """List alarms, explain one, replay what they can see; silence one, or accept a shift as the new normal.

    Without a command: the alarms that fire, are pending, or were resolved in the last day.

    Example:
      goodput alarms
      goodput alarms show 763c0e7de13f
      goodput alarms silence --for 4h --match pool=chat --reason "load test"
      goodput alarms accept 763c0e7de13f --from 2026-11-20T09:00
      goodput alarms test drift.yaml
    """
    if context.invoked_subcommand is None:
        listed(config=config, lake=lake)


@app.command("list")
def listed(
    every: Annotated[bool, typer.Option("--all", help="Inactive and learning ones too.")] = False,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """List alarms: what fires first.

    Example: goodput alarms list --all
    """
    with until_reader_leaves(), published(config, lake) as connection:
        out = console()
        found, counts = current(connection, every=every)
        if found:
            out.print(table(_HEADER, [_line(row) for row in found[:MAX_ROWS]], out.width))
        out.print(plain(", ".join(f"{number} {state}" for state, number in counts.items()) or NONE_YET))


def current(connection: duckdb.DuckDBPyConnection, *, every: bool) -> tuple[list[Row], dict[str, int]]:
    """Alarms that fire, are pending or were resolved in the last day, or every one; and how many are in each state."""
    counts = {row["state"]: row["alarms"] for row in rows(connection, _COUNTS)}
    return rows(connection, _ALARMS, {"every": every}), counts


def explained(connection: duckdb.DuckDBPyConnection, key: str) -> tuple[Row, dict[str, Any], list[Row]]:
    """The alarm that `key` begins, what explains it by name, and its latest 20 events. Raises UnknownAlarm."""
    row = one_alarm(rows(connection, NAMED, {"key": key}), key)
    return row, json.loads(row["explanation"] or "{}"), rows(connection, _EVENTS, {"key": row["alarm_id"]})


def _line(row: Row) -> tuple[object, ...]:
    what = row["summary"] if row["starts_at"] is not None else row["why"]
    state = f"{row['state']} ({row['suppressed']})" if row["suppressed"] else row["state"]
    return (row["alarm_id"], row["severity"], state, row["state_since_at"], series_of(row), what)


@app.command()
def show(
    alarm: Annotated[str, typer.Argument(metavar="ALARM", help="alarm_id, or how it begins.")],
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw its series into this PNG too.")
    ] = None,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Explain one alarm: how far, since when, in which shape, what else moved, and the SQL to look at.

    Example:
      goodput alarms show 763c0e7de13f
      goodput alarms show 763c0e7de13f --plot alarm.png
    """
    with until_reader_leaves(), published(config, lake) as connection:
        row, facts, past = explained(connection, alarm)
        if plot is not None:
            _draw(row, rows(connection, _SERIES, {"key": row["alarm_id"]}), plot)
        out = console()
        out.print(plain(f"{row['alarm_id']}  {row['rule']}  {row['severity']}  {row['state']}"))
        for line in (row["summary"], row["why"]):
            if line:
                out.print(plain(line))
        sql = facts.pop("sql", None)
        lines = [(name, _fact(value)) for name, value in sorted(facts.items())]
        if lines:
            out.print(table(("fact", "value"), lines, out.width))
        if sql:
            out.print(plain(f'goodput query "{sql}"'))
        if past:
            names = ("event", "at", "held back", "because", "what happened")
            out.print(table(names, [tuple(event.values()) for event in past], out.width))


def _draw(alarm: Row, series: list[Row], file: Path) -> None:
    from goodput.notify.chart import chart_of  # noqa: PLC0415  (only a picture waits for it)
    from goodput.notify.plot import draw  # noqa: PLC0415

    if not series:
        raise UsageError(f"{alarm['alarm_id']} has nothing to draw: it did not fire in the last 28 days.")
    with destination(file) as stream:
        stream.write(draw(chart_of(alarm, series)))


def _fact(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return ", ".join(f"{k}: {v}" for k, v in value.items() if v is not None) if isinstance(value, dict) else value


_ORDERS = (
    *(("replay", replay), ("silence", silence), ("unsilence", unsilence), ("accept", accept)),
    *(("actions", actions), ("test", try_rules)),
)
for _name, _order in _ORDERS:
    app.command(_name)(_order)
