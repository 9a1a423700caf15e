"""`goodput alarms`: what alarms say, what they could see, and what an operator says of them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer
from rich.console import Console

from goodput.cli.cells import plain
from goodput.cli.published import Config, LakeRoot, Row, published, rows
from goodput.cli.render import MAX_ROWS, console, table, until_reader_leaves
from goodput.errors import UnknownAlarm, UsageError
from goodput.plumbing.alarm_actions import MATCHED, Action, add_action, read_actions
from goodput.settings.load import load_settings

app = typer.Typer(add_completion=False)

_ALARMS = """
    SELECT * FROM alarms
    WHERE $every OR state IN ('firing', 'pending', 'resolved')
    ORDER BY state <> 'firing', severity, state_since_at DESC, rule, pool, replica
"""
_COUNTS = "SELECT state, count(*) AS alarms FROM alarms GROUP BY state ORDER BY state"
_NAMED = "SELECT * FROM alarms WHERE starts_with(alarm_id, $key) ORDER BY alarm_id"
_EVENTS = """
    SELECT transition, occurred_at, suppressed, coalesce(suppressed_by, reason) AS because, summary FROM alarm_events
    WHERE alarm_id = $key ORDER BY occurred_at DESC, recorded_at DESC LIMIT 20
"""
_POWER = """
    SELECT * FROM alarm_power WHERE $rule IS NULL OR rule = $rule ORDER BY rule, workload, pool, replica
"""
_HEADER = ("alarm", "severity", "state", "since", "series", "what happened")
_POWER_HEADER = ("alarm", "rule", "series", "armed", "fired", "sigma", "sees", "5 %/h in", "1.33 %/h in", "why not")
_UNITS = {"m": 60, "h": 3600, "d": 86400}
Reason = Annotated[str, typer.Option("--reason", help="Why; kept beside it.")]


@app.callback(invoke_without_command=True)
def alarms(context: typer.Context, config: Config = None, lake: LakeRoot = None) -> None:
    """List alarms, explain one, replay what they can see; silence one, or accept a shift as the new normal.

    Without a word of what to do: the alarms that fire, are pending, or were resolved in the last day.

    Example:
      goodput alarms
      goodput alarms show 763c0e7de13f
      goodput alarms silence --for 4h --match pool=chat --reason "load test"
      goodput alarms accept 763c0e7de13f --from 2026-11-20T09:00
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
        found = rows(connection, _ALARMS, {"every": every})
        if found:
            out.print(table(_HEADER, [_line(row) for row in found[:MAX_ROWS]], out.width))
        counts = ", ".join(f"{row['alarms']} {row['state']}" for row in rows(connection, _COUNTS))
        out.print(plain(counts or "Nothing is watched yet."))


def _line(row: Row) -> tuple[object, ...]:
    said = row["summary"] if row["starts_at"] is not None else row["why"]
    state = f"{row['state']} ({row['suppressed']})" if row["suppressed"] else row["state"]
    return (row["alarm_id"], row["severity"], state, row["state_since_at"], _series(row), said)


def _series(row: Row) -> str:
    labels = [f"{name}={row[name]}" for name in ("workload", "pool", "replica") if row[name] is not None]
    return " ".join([str(row["metric"] or row["rule"]), *labels])


@app.command()
def show(
    alarm: Annotated[str, typer.Argument(metavar="ALARM", help="alarm_id, or how it begins.")],
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Explain one alarm: how far, since when, in which shape, what else moved, and the SQL to look at.

    Example: goodput alarms show 763c0e7de13f
    """
    with until_reader_leaves(), published(config, lake) as connection:
        row = _one(rows(connection, _NAMED, {"key": alarm}), alarm)
        out = console()
        out.print(plain(f"{row['alarm_id']}  {row['rule']}  {row['severity']}  {row['state']}"))
        for line in (row["summary"], row["why"]):
            if line:
                out.print(plain(line))
        facts: dict[str, Any] = json.loads(row["explanation"] or "{}")
        sql = facts.pop("sql", None)
        lines = [(name, _fact(value)) for name, value in sorted(facts.items())]
        if lines:
            out.print(table(("fact", "value"), lines, out.width))
        if sql:
            out.print(plain(f'goodput query "{sql}"'))
        past = rows(connection, _EVENTS, {"key": row["alarm_id"]})
        if past:
            names = ("event", "at", "held back", "because", "what happened")
            out.print(table(names, [tuple(event.values()) for event in past], out.width))


def _one(found: list[Row], key: str) -> Row:
    if len(found) != 1:
        raise UnknownAlarm(key, [row["alarm_id"] for row in found])
    return found[0]


def _fact(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return ", ".join(f"{k}: {v}" for k, v in value.items() if v is not None) if isinstance(value, dict) else value


@app.command()
def replay(
    rule: Annotated[str | None, typer.Argument(help="Of this rule alone.")] = None,
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """What each trend alarm can see, replayed over its own last four weeks, and how often it is wrong.

    Example: goodput alarms replay p99_ttft_s_page
    """
    with until_reader_leaves(), published(config, lake) as connection:
        found = rows(connection, _POWER, {"rule": rule})
        out = console()
        if found:
            out.print(table(_POWER_HEADER, [_power_line(row) for row in found[:MAX_ROWS]], out.width))
        armed = [row for row in found if row["armed"]]
        expected = sum(row["false_alarms_per_week"] for row in armed)
        out.print(
            plain(f"{len(armed)} of {len(found)} trend alarms armed; {expected:.2g} false alarms a week expected")
        )


def _power_line(row: Row) -> tuple[object, ...]:
    seen = None if row["smallest_shift"] is None else f"{100 * row['smallest_shift']:.0f} %"
    if row["metric"].endswith("_ratio") and row["smallest_shift"] is not None:
        seen = f"{row['smallest_shift']:.2g}"
    delays = [None if row[name] is None else f"{row[name] / 3600:.0f} h" for name in _DELAYS]
    sigma = None if row["sigma"] is None else f"{row['sigma']:.3f}"
    armed = "yes" if row["armed"] else "no"
    return (row["alarm_id"], row["rule"], _series(row), armed, row["fired"], sigma, seen, *delays, row["why"])


_DELAYS = ("fast_drift_delay_s", "slow_drift_delay_s")


@app.command()
def silence(
    match: Annotated[list[str], typer.Option("--match", help=f"NAME=GLOB; names: {', '.join(MATCHED)}.")],
    length: Annotated[str, typer.Option("--for", help="How long: 30m, 4h, 2d.")],
    reason: Reason = "",
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Tell nobody of alarms that match, until it expires. They are judged and kept all the same.

    Example: goodput alarms silence --match pool=chat --for 4h --reason "load test"
    """
    now = _now()
    begins = now.replace(minute=0, second=0) - timedelta(hours=1)  # what the next run judges ended before now
    ends = now + timedelta(seconds=_seconds(length))
    action = Action(uuid4().hex[:12], "silence", _matches(match), now, begins, ends, reason)
    _add(config, lake, action)
    Console(stderr=True).print(f"silenced until {ends:%Y-%m-%d %H:%M} UTC ({action.action_id})", highlight=False)


@app.command()
def accept(
    alarm: Annotated[str, typer.Argument(metavar="ALARM", help="alarm_id of the trend, or how it begins.")],
    since: Annotated[str, typer.Option("--from", help="Since when the series is normal (UTC, ISO 8601).")],
    reason: Reason = "",
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Accept what a series does since a time as its new normal: the alarm is over, and history is shifted.

    Every trend alarm of that metric and series takes it.

    Example: goodput alarms accept 763c0e7de13f --from 2026-11-20T09:00 --reason "new model"
    """
    with published(config, lake) as connection:
        row = _one(rows(connection, _NAMED, {"key": alarm}), alarm)
    if row["kind"] != "trend":
        raise UsageError(f"{row['alarm_id']} is no trend: {row['kind']} has no baseline that could be moved.")
    now, begins = _now(), _instant(since)
    if begins >= now:
        raise UsageError(f"--from {since} is not in the past.")
    match = {name: _literal(row[name]) for name in ("metric", "workload", "pool", "replica") if row[name] is not None}
    _add(config, lake, Action(uuid4().hex[:12], "accept", match, now, begins, None, reason))
    Console(stderr=True).print(f"accepted; the next run moves the baseline of {_series(row)}", highlight=False)


@app.command()
def actions(config: Config = None, lake: LakeRoot = None) -> None:
    """List what operators said: silences and accepted shifts.

    Example: goodput alarms actions
    """
    said = read_actions(_root(config, lake))
    names = ("id", "kind", "match", "said", "begins", "ends", "reason")
    lines = [
        (a.action_id, a.kind, " ".join(f"{k}={v}" for k, v in a.match.items()), a.said_at, a.begins, a.ends, a.reason)
        for a in said
    ]
    with until_reader_leaves():
        out = console()
        out.print(table(names, lines, out.width) if lines else plain("Nobody said anything."))


def _add(config: Path | None, lake: Path | None, action: Action) -> None:
    add_action(_root(config, lake), action)


def _root(config: Path | None, lake: Path | None) -> Path:
    return load_settings(config, lake=lake).lake_path


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _literal(text: str) -> str:
    """Text as a glob that matches nothing else."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _matches(given: list[str]) -> dict[str, str]:
    pairs = dict(item.partition("=")[::2] for item in given)
    for name, glob in pairs.items():
        if name not in MATCHED or not glob:
            raise UsageError(f"--match {name}={glob}: right would be NAME=GLOB with a name of {', '.join(MATCHED)}.")
    return pairs


def _seconds(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdigit() or int(number) == 0:
        raise UsageError(f"--for {text}: no length of time. Right would be 30m, 4h or 2d.")
    return float(int(number) * _UNITS[unit])


def _instant(text: str) -> datetime:
    try:
        told = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--from {text}: no time. Right would be 2026-11-20T09:00 (UTC).") from error
    return told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)
