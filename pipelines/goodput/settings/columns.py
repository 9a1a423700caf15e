"""Which columns a declared table source may map, and in which units: derived from the contracts.

The reading of such files is collect's work; only what may be written in settings belongs here.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol
from zoneinfo import ZoneInfo

from goodput.errors import Mistake

if TYPE_CHECKING:
    from goodput.settings.model import TableSource  # which declares dialects by what stands here

Kind = Literal["time", "duration", "plain"]


class Mapped(Protocol):
    """The unit or time format that settings give for a column."""

    @property
    def unit(self) -> str | None:
        """Of a duration, or the format of a time; None where neither is given."""

    @property
    def tz(self) -> str:
        """The zone of times that name none."""


ATTRIBUTE = "attributes."  # in front of a name that is no column of the contract
TIME_UNITS = ("epoch_s", "epoch_ms", "epoch_us", "epoch_ns", "iso8601")
DURATION_UNITS = ("s", "ms", "us", "ns")
RECORDS_OF = {
    "attempts": "serving_records",
    "quality_labels": "label_records",
    "ops_events": "event_records",
    "cost_records": "cost_lines",
}
_SET_BY_THE_PIPELINE = {
    "record_id",
    "source_id",
    "line",
    "position",
    "dialect",
    "attributes",
    "replica_names",
    "subject_kind",
    "subject_id",
    "placeholder_rate",
}
_SUBJECTS = ("request_key", "response_id", "trace_id", "span_id", "session_id")
NEEDED = {
    "attempts": ("started_at",),
    "quality_labels": ("evaluator", "labelled_at"),
    "ops_events": ("kind", "occurred_at"),
    "cost_records": ("period_start", "period_end", "amount_usd"),
}


@cache
def mappable_columns(table: str) -> dict[str, Kind]:
    """Canonical columns that a source of `table` may give, each with how its unit is read."""
    from goodput.plumbing.contracts import contract  # noqa: PLC0415  (YAML, only where a source is declared)

    kinds: dict[str, Kind] = {}
    for column in contract(RECORDS_OF[table]).columns:
        if column.name.endswith("_ns"):
            name = column.name.removesuffix("_ns")
            kinds[name if name.endswith(("_start", "_end")) else f"{name}_at"] = "time"
        elif column.name not in _SET_BY_THE_PIPELINE:
            kinds[column.name] = "duration" if column.name.endswith("_s") else "plain"
    if table == "attempts":
        kinds["attempt_id"] = "plain"
    elif table == "quality_labels":
        kinds.update(dict.fromkeys(_SUBJECTS, "plain"))
    return kinds


def mapping_mistakes(name: str, source: "TableSource") -> Iterator[Mistake]:
    """Everything that is wrong with the columns and constants of one declared source."""
    key = f"sources.{name}"
    known = mappable_columns(source.table)
    given = {**dict.fromkeys(source.constants, "constants"), **dict.fromkeys(source.columns, "columns")}
    for column, where in given.items():
        if column not in known:
            yield from _no_column(f"{key}.{where}.{column}", column, source.table, where)
    for column, mapped in source.columns.items():
        if column in known or column.startswith(ATTRIBUTE):
            yield from unit_mistakes(f"{key}.columns.{column}", known.get(column, "plain"), mapped)
    captured = path_groups(source)
    for needed in NEEDED[source.table]:
        if needed not in given and needed not in captured:
            yield Mistake(f"{key}.columns", f"{needed} is not mapped", f'{needed} = {{ column = "...", unit = "..." }}')
    if source.table == "quality_labels" and not {*given, *captured} & {*_SUBJECTS}:
        yield Mistake(f"{key}.columns", "no column identifies what a label judges", "one of " + ", ".join(_SUBJECTS))


def _no_column(key: str, column: str, table: str, where: str) -> Iterator[Mistake]:
    """What is wrong with a name that is no column of the contract; nothing where it is an attribute."""
    keeps = table == "attempts" and where == "columns"
    if column.startswith(ATTRIBUTE):
        if not keeps:
            yield Mistake(key, f"the {where} of {table} have no attributes", "[sources.NAME.columns] of attempts")
        return
    near = get_close_matches(column, mappable_columns(table), 3) or sorted(mappable_columns(table))
    right = ", ".join(near) + (f"; or {ATTRIBUTE}{column} to keep what is no column" if keeps else "")
    yield Mistake(key, f"{table} has no such column", right)


def path_groups(source: "TableSource") -> set[str]:
    """Names of the groups of a source's path pattern."""
    return set(re.compile(source.path_pattern).groupindex) if source.path_pattern else set()


def unit_mistakes(key: str, kind: Kind, mapped: Mapped) -> Iterator[Mistake]:
    """What is wrong with the unit, time format or time zone of a column of this kind."""
    if kind == "plain" and mapped.unit is not None:
        yield Mistake(f"{key}.unit", f"{mapped.unit!r}: this column has no unit", "leave `unit` out")
    elif kind == "duration" and mapped.unit not in DURATION_UNITS:
        yield Mistake(f"{key}.unit", f"{mapped.unit!r} is no unit of a duration", ", ".join(DURATION_UNITS))
    elif kind == "time" and not _is_time_format(mapped.unit):
        right = ", ".join(TIME_UNITS) + ", or a strptime format such as %Y-%m-%d %H:%M:%S"
        yield Mistake(f"{key}.unit", f"{mapped.unit!r} is no time format", right)
    if not _is_zone(mapped.tz):
        yield Mistake(f"{key}.tz", f"{mapped.tz!r} is no time zone", "an IANA name such as UTC or Europe/Berlin")


def _is_time_format(unit: str | None) -> bool:
    if unit in TIME_UNITS:
        return True
    return unit is not None and "%" in unit and datetime(2026, 1, 2).strftime(unit) != unit


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True
