"""Which columns a declared table source may map, and in which units: derived from the contracts.

The reading of such files is collect's work; only what may be written in settings belongs here.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Literal, Protocol
from zoneinfo import ZoneInfo

from goodput.errors import Mistake

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
SUBJECTS = ("request_key", "response_id", "trace_id", "span_id", "session_id")
NEEDED = {
    "attempts": ("started_at",),
    "quality_labels": ("evaluator", "labelled_at"),
    "ops_events": ("kind", "occurred_at"),
    "cost_records": ("period_start", "period_end", "amount_usd"),
}


@cache
def mappable_columns(table: str) -> dict[str, Kind]:
    """Canonical columns that a source of `table` may give, each with how its unit is read."""
    from goodput.contracts import contract  # noqa: PLC0415  (YAML, only where a source is declared)

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
        kinds.update(dict.fromkeys(SUBJECTS, "plain"))
    return kinds


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
