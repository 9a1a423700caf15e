"""[sources.NAME] of goodput.toml: files that need no code, what their columns mean, and what is wrong with that.

Reading such files is collect's work (`collect.tabular`).
"""

import re
import warnings
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, field_validator

from goodput.errors import Mistake
from goodput.settings.columns import ATTRIBUTE, NEEDED, SUBJECTS, mappable_columns, unit_mistakes
from goodput.settings.settings_model import Count, Names, SettingsModel, Unusable

SPENT_AT_ONCE = ("request_key", "session_id")  # costs of one of these have no time of their own to be spread over


def _constant(value: object) -> object:
    if isinstance(value, str | int | float):
        return value
    raise Unusable(f"{value!r} is not usable", "text, a number, true or false")


Constant = Annotated[str | int | float | bool, PlainValidator(_constant)]


class MappedColumn(SettingsModel):
    """One emitted column with its unit: a duration unit, or a time format (semantics of `columns`).

    `plus_s`: seconds from a time that the file gives to the one that is meant, as from the day of a line to its end.
    """

    column: str
    unit: str | None = None
    tz: str = "UTC"
    plus_s: Count = 0


def _dotted(prefix: str, value: object) -> dict[str, object]:
    """A table within tables, as TOML makes it of dotted keys, by whole names."""
    if not isinstance(value, dict) or isinstance(value.get("column"), str):
        return {prefix: value}
    return {name: item for key, inner in value.items() for name, item in _dotted(f"{prefix}.{key}", inner).items()}


class TableSource(SettingsModel):
    """A file of logs, labels, events or costs that needs no code: where it is and which column means what."""

    format: Literal["csv", "jsonl", "parquet"]
    path: str
    path_pattern: str | None = None
    table: Literal["attempts", "quality_labels", "ops_events", "cost_records"] = "attempts"
    constants: dict[str, Constant] = Field(default_factory=dict)
    nulls: Names = ()  # texts that stand for no value, in any column
    columns: dict[str, MappedColumn]

    @field_validator("columns", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        flat = {key: item for key, item in value.items() if key != "attributes"}
        if "attributes" in value:
            flat |= _dotted("attributes", value["attributes"])
        return {key: {"column": item} if isinstance(item, str) else item for key, item in flat.items()}

    @property
    def canonical(self) -> dict[str, MappedColumn]:
        """The columns of the contract with what gives them."""
        return {name: item for name, item in self.columns.items() if not name.startswith(ATTRIBUTE)}

    @property
    def attributes(self) -> dict[str, str]:
        """The emitted column of each attribute that is no column of the contract."""
        return {
            name.removeprefix(ATTRIBUTE): item.column
            for name, item in self.columns.items()
            if name.startswith(ATTRIBUTE)
        }

    @field_validator("path")
    @classmethod
    def _stays_below(cls, value: str) -> str:
        if value.startswith("/") or ".." in value.split("/"):
            raise Unusable(f"{value!r} leads out of the landing path", "a glob below the landing path, such as *.csv")
        return value

    @field_validator("path_pattern")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                compiled_pattern(value)
            except re.error as error:
                right = "a regular expression of Python; each (?P<name>...) gives the column `name`"
                raise Unusable(f"{value!r} is no regular expression: {error}", right) from error
        return value


def mapping_mistakes(name: str, source: TableSource) -> Iterator[Mistake]:
    """Everything that is wrong with the columns and constants of one declared source."""
    key = f"sources.{name}"
    known = mappable_columns(source.table)
    given = {**dict.fromkeys(source.constants, "constants"), **dict.fromkeys(source.columns, "columns")}
    for column, where in given.items():
        if column not in known:
            yield from _no_column(f"{key}.{where}.{column}", column, source.table, where)
    for column, mapped in source.columns.items():
        if column in known or column.startswith(ATTRIBUTE):
            kind = known.get(column, "plain")
            yield from unit_mistakes(f"{key}.columns.{column}", kind, mapped)
            if mapped.plus_s and kind != "time":
                problem = f"{mapped.plus_s}: this column is no time"
                yield Mistake(f"{key}.columns.{column}.plus_s", problem, "leave `plus_s` out")
    captured = path_groups(source)
    for needed in NEEDED[source.table]:
        if needed not in given and needed not in captured:
            yield Mistake(f"{key}.columns", f"{needed} is not mapped", f'{needed} = {{ column = "...", unit = "..." }}')
    start, end = (source.columns.get(name) for name in ("period_start", "period_end"))
    if start is not None and start == end and not {*given, *captured} & {*SPENT_AT_ONCE}:
        problem = f"both ends of a period are {end.column!r}, so that its whole cost falls on an instant"
        right = f'period_end = {{ column = "{end.column}", ..., plus_s = 86400 }} where a line is of a day'
        yield Mistake(f"{key}.columns.period_end", problem, right)
    if source.table == "quality_labels" and not {*given, *captured} & {*SUBJECTS}:
        yield Mistake(f"{key}.columns", "no column identifies what a label judges", "one of " + ", ".join(SUBJECTS))


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


def path_groups(source: TableSource) -> set[str]:
    """Names of the groups of a source's path pattern."""
    return set(compiled_pattern(source.path_pattern).groupindex) if source.path_pattern else set()


@cache
def compiled_pattern(pattern: str) -> re.Pattern[str]:
    """A path pattern as Python reads it. Raises re.error.

    That a later Python may read `[[` otherwise is nothing that a user of this one can act on.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(pattern)
