"""`goodput alarms`: the alarms, one explained.

Their replay is in `alarm_replay`, what operators do to them in `alarm_actions`.
"""

from pathlib import Path
from typing import Annotated

import typer

from goodput.ask.alarm_evidence import (
    EVENT_COLUMNS,
    LIST_COLUMNS,
    counted_alarms,
    drawn_series,
    evidence,
    held_back,
    list_line,
    listed_alarms,
)
from goodput.ask.cells import plain
from goodput.ask.database import Row, published
from goodput.ask.formats import destination
from goodput.cli.alarm_actions import accept, actions, silence, unsilence
from goodput.cli.alarm_replay import replay
from goodput.cli.alarm_tests import try_rules
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import MAX_ROWS, console, table, until_reader_leaves
from goodput.errors import UsageError

app = typer.Typer(add_completion=False)


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
        found = listed_alarms(connection, every=every)
        if found:
            out.print(table(LIST_COLUMNS, [list_line(row) for row in found[:MAX_ROWS]], out.width))
        out.print(plain(counted_alarms(connection)))


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
        found = evidence(connection, alarm)
        row = found.alarm
        if plot is not None:
            _draw(row, drawn_series(connection, row), plot)
        out = console()
        out.print(plain(f"{row['alarm_id']}  {row['rule']}  {row['severity']}  {row['state']}"))
        held = held_back(row)
        for line in (row["summary"], row["why"], held and f"Nobody is notified: {held}"):
            if line:
                out.print(plain(line))
        if found.facts:
            out.print(table(("fact", "value"), found.facts, out.width))
        if found.sql:
            out.print(plain(f'goodput query "{found.sql}"'))
        if found.events:
            out.print(table(EVENT_COLUMNS, [tuple(event.values()) for event in found.events], out.width))


def _draw(alarm: Row, series: list[Row], file: Path) -> None:
    from goodput.notify.chart import chart_of  # noqa: PLC0415  (only a picture waits for it)
    from goodput.notify.plot import draw_one  # noqa: PLC0415

    if not series:
        raise UsageError(f"{alarm['alarm_id']} has nothing to draw: it did not fire in the last 28 days.")
    picture = draw_one(chart_of(alarm, series))
    with destination(file) as stream:
        stream.write(picture)


_ORDERS = (
    *(("replay", replay), ("silence", silence), ("unsilence", unsilence), ("accept", accept)),
    *(("actions", actions), ("test", try_rules)),
)
for _name, _order in _ORDERS:
    app.command(_name)(_order)
