"""What operators do with alarms in `goodput alarms`: silence them, accept shifts.

What they see of alarms is in `alarms`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer
from rich.console import Console

from goodput.ask.alarm_evidence import labels_of, named_alarms, one_alarm, series_of
from goodput.ask.cells import plain
from goodput.ask.database import Row, asked, lake_meant, published
from goodput.cli.options import Config, LakeRoot
from goodput.cli.render import console, table, until_reader_leaves
from goodput.errors import UsageError
from goodput.globs import literal
from goodput.plumbing.alarm_actions import MATCHED, Action, add_action, named_word, newest, of_kind, read_actions
from goodput.plumbing.several_lakes import refuse_several
from goodput.plumbing.store import Store

_UNITS = {"m": 60, "h": 3600, "d": 86400}
_LENGTH = re.compile(r"([1-9][0-9]{0,5})([mhd])")
_LONGEST = timedelta(days=366)
Reason = Annotated[str, typer.Option("--reason", help="Why; kept with it.")]


def silence(
    match: Annotated[list[str], typer.Option("--match", help=f"NAME=GLOB; names: {', '.join(MATCHED)}.")],
    length: Annotated[str, typer.Option("--for", help="How long: 30m, 4h, 2d.")],
    reason: Reason = "",
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """Notify nobody of alarms that match, until it expires. They are judged and recorded all the same.

    Example: goodput alarms silence --match pool=chat --for 4h --reason "load test"
    """
    now = _now()
    begins = _judged_next(now)
    ends = now + _length(length)
    action = Action(uuid4().hex[:12], "silence", _matches(match), now, begins, ends, reason)
    with published(config, lake) as connection:
        rows = named_alarms(connection, "")
    _add(config, lake, action)
    count = sum(action.matches(row) for row in rows)
    meant = f"{count} of {len(rows)} alarms of now match" if count else _of_no_alarm(action, rows)
    message = f"silenced until {ends:%Y-%m-%d %H:%M} UTC ({action.action_id}); {meant}"
    Console(stderr=True).print(message, highlight=False)


def unsilence(
    silenced: Annotated[str, typer.Argument(metavar="ID", help="The silence, or how its id begins.")],
    reason: Reason = "",
    config: Config = None,
    lake: LakeRoot = None,
) -> None:
    """End a silence early: the next run reports what it held back and still fires.

    Example: goodput alarms unsilence 3f0c9a
    """
    (root, store), now = _lake(config, lake), _now()
    silences = of_kind(read_actions(root), "silence")
    found = [one for one in silences if one.action_id.startswith(silenced)]
    if len(found) != 1:
        there = ", ".join(one.action_id for one in silences if one.ends is not None and one.ends > now) or "none"
        raise UsageError(f"{silenced!r} names {len(found)} silences; those that hold: {there}.")
    (one,) = found
    if one.ends is None or one.ends <= now:
        raise UsageError(f"{one.action_id} is over: `goodput alarms actions` shows since when.")
    reasons = "; ".join(filter(None, (one.reason, reason)))
    add_action(root, replace(one, ends=max(one.begins, _judged_next(now)), reason=reasons), store)
    Console(stderr=True).print(f"{one.action_id} is over; the next run reports what still fires", highlight=False)


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
        row = one_alarm(named_alarms(connection, alarm), alarm)
        first = asked(connection, "first_window")[0]["first"]
    from goodput.monitor.rule_kind import rule_kind  # noqa: PLC0415  (numpy is slow to import)
    from goodput.settings.watched import metric_of  # noqa: PLC0415  (contracts are slow to read)

    if not rule_kind(row["kind"]).learns_baseline:
        raise UsageError(f"{row['alarm_id']}: the kind {row['kind']} has no baseline that could be moved.")
    now, begins = _now(), _instant(since)
    if begins >= now:
        raise UsageError(f"--from {since} is not in the past.")
    if first is None or begins < first:
        raise UsageError(f"--from {since} is before all windows that are known: there is nothing to move.")
    metric = metric_of(row["metric"])
    others = dict.fromkeys(metric.labels if metric else (), "")  # labels that the series has not: it is of all of them
    match = {name: literal(word) for name, word in {"metric": row["metric"], **others, **labels_of(row)}.items()}
    _add(config, lake, Action(uuid4().hex[:12], "accept", match, now, begins, None, reason))
    series = series_of(row)
    learns = (
        f"recorded; {series} still learns: it has no baseline that could be moved, and what it did is learned as it was"
    )
    says = learns if row["state"] == "learning" else f"accepted; the next run moves the baseline of {series}"
    Console(stderr=True).print(says, highlight=False)


def actions(config: Config = None, lake: LakeRoot = None) -> None:
    """List what operators did: silences and accepted shifts.

    Example: goodput alarms actions
    """
    root, _ = _lake(config, lake)
    found = newest(read_actions(root))
    names = ("id", "kind", "match", "recorded", "begins", "ends", "reason")
    lines = [
        (a.action_id, a.kind, " ".join(f"{k}={v}" for k, v in a.match.items()), a.said_at, a.begins, a.ends, a.reason)
        for a in found
    ]
    with until_reader_leaves():
        out = console()
        out.print(table(names, lines, out.width) if lines else plain("No silences, no accepted shifts."))


def _of_no_alarm(action: Action, rows: Sequence[Row]) -> str:
    """That a silence matches nothing now, and of each of its names that no alarm has the names that are near."""
    reasons = []
    for name, glob in action.match.items():
        words = sorted({word for row in rows if (word := named_word(row, name))})
        if not any(replace(action, match={name: glob}).matches(row) for row in rows):
            near = ", ".join(get_close_matches(glob, words, 3) or words[:3]) or "none"
            reasons.append(f"no alarm has {name}={glob}; near it: {near}")
    why = "; ".join(reasons) or "none has all of these at once"
    return f"none of {len(rows)} alarms of now matches ({why}); it holds for those that come"


def _add(config: Path | None, lake: Path | None, action: Action) -> None:
    root, store = _lake(config, lake)
    add_action(root, action, store)


def _lake(config: Path | None, lake: Path | None) -> tuple[Path, Store]:
    root, store = lake_meant(config, lake)
    store.pull_published()
    refuse_several(root)
    return root, store


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _judged_next(now: datetime) -> datetime:
    """Since when a silence has to hold, or to be over, for the next run, which judges windows that ended before now."""
    return now.replace(minute=0, second=0) - timedelta(hours=1)


def _matches(given: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in given:
        name, _, glob = item.partition("=")
        if name in pairs:
            raise UsageError(
                f"--match {name} is given twice, and all would have to match: silence one after the other."
            )
        pairs[name] = glob
        if name not in MATCHED or not glob:
            raise UsageError(f"--match {name}={glob}: right would be NAME=GLOB with a name of {', '.join(MATCHED)}.")
    return pairs


def _length(text: str) -> timedelta:
    found = _LENGTH.fullmatch(text)
    if found is None:
        raise UsageError(f"--for {text}: no length of time. Right would be 30m, 4h or 2d.")
    length = timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    if length > _LONGEST:
        raise UsageError(f"--for {text}: a silence is of {_LONGEST.days} days at most; `enabled = false` ends a rule.")
    return length


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--from {text}: no time. Right would be 2026-11-20T09:00 (UTC).") from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
