"""Dialects that the settings declare for emitters that no built-in dialect reads, and what is wrong with them.

Reading rows by them is collect's work (`collect.declared`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from goodput.errors import Mistake
from goodput.settings.columns import Kind, mappable_columns, unit_mistakes
from goodput.settings.settings_model import Names, SettingsModel, Unusable

_OF_THE_SPAN = {"attempt_id", "trace_id", "span_id", "parent_span_id"}
_STATED_ELSEWHERE = {
    "layer": "the key `layer` of the dialect",
    "covers_tries": "the key `covers_tries` of the dialect",
    "outcome": "the table `outcome` of the dialect",
}
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PATH = re.compile(r'\$(?:\.(?:"[^"\\]+"|[A-Za-z_][A-Za-z0-9_-]*)|\[[0-9]+\])+')


class MappedAttribute(SettingsModel):
    """The attributes that may carry a column, the first that is there wins, and their unit or time format."""

    attribute: Names
    unit: str | None = None
    tz: str = "UTC"


def _short_form(value: Any) -> Any:
    return {"attribute": value} if isinstance(value, str | list) else value


class DialectMatch(SettingsModel):
    """Which spans or objects speak the dialect: every key that is given must match, each value a glob or a list."""

    name: Names = ()
    scope: Names = ()
    attributes: dict[str, Names] = Field(default_factory=dict)


class OutcomeRule(SettingsModel):
    """Which values of an attribute mean which outcome, as globs; of any other value the status decides."""

    attribute: Names
    ok: Names = ()
    error: Names = ()
    timeout: Names = ()
    cancelled: Names = ()

    @property
    def globs(self) -> Mapping[str, tuple[str, ...]]:
        """The globs of each outcome, failures before success."""
        return {"timeout": self.timeout, "cancelled": self.cancelled, "error": self.error, "ok": self.ok}


class DeclaredDialect(SettingsModel):
    """The vocabulary of one emitter: how its rows are recognised and which attribute is which column."""

    reads: Literal["spans", "json_lines"] = "spans"
    layer: Literal["client", "gateway", "engine"]
    covers_tries: bool = Field(default=False, strict=True)
    match: DialectMatch
    fields: dict[str, Annotated[MappedAttribute, BeforeValidator(_short_form)]]
    outcome: OutcomeRule | None = None

    @field_validator("match")
    @classmethod
    def _not_empty(cls, value: DialectMatch) -> DialectMatch:
        if not (value.name or value.scope or value.attributes) or not all(value.attributes.values()):
            raise Unusable("would match every row", "a name, a scope, or attributes with at least one value each")
        return value

    @property
    def attributes(self) -> Iterator[tuple[str, str]]:
        """Every attribute that is named, with the key of the dialect where it stands."""
        yield from ((name, "match.attributes") for name in self.match.attributes)
        yield from ((name, f"fields.{field}") for field, mapped in self.fields.items() for name in mapped.attribute)
        yield from ((name, "outcome.attribute") for name in (self.outcome.attribute if self.outcome else ()))


def fields_of(reads: str) -> dict[str, Kind]:
    """Columns that a declared dialect may map, each with how its unit is read."""
    left_out = {*_STATED_ELSEWHERE, *(_OF_THE_SPAN if reads == "spans" else ())}
    return {name: kind for name, kind in mappable_columns("attempts").items() if name not in left_out}


def dialect_mistakes(name: str, declared: DeclaredDialect) -> Iterator[Mistake]:
    """Everything that is wrong with the fields of one declared dialect."""
    key, known = f"dialects.{name}", fields_of(declared.reads)
    for field, mapped in declared.fields.items():
        here = f"{key}.fields.{field}"
        if field in _STATED_ELSEWHERE:
            yield Mistake(here, "is no attribute of a row", _STATED_ELSEWHERE[field])
        elif declared.reads == "spans" and field in _OF_THE_SPAN:
            yield Mistake(here, "is that of the span itself", f"leave {field} out")
        elif field not in known:
            near = get_close_matches(field, known, 3) or sorted(known)
            yield Mistake(here, "attempts have no such column", ", ".join(near))
        elif not (mapped.unit == "tokens" and field.endswith("_tokens")):
            yield from unit_mistakes(here, known[field], mapped)
        if not mapped.attribute:
            yield Mistake(f"{here}.attribute", "is empty", "the name of at least one attribute")
    if declared.reads == "json_lines":
        yield from _of_json_lines(key, declared)


def _of_json_lines(key: str, declared: DeclaredDialect) -> Iterator[Mistake]:
    for part in ("name", "scope"):
        if getattr(declared.match, part):
            yield Mistake(f"{key}.match.{part}", f"a JSON line has no {part}", "match.attributes")
    if "started_at" not in declared.fields:
        right = 'started_at = { attribute = "...", unit = "..." }'
        yield Mistake(f"{key}.fields", "started_at is not mapped", right)
    for name, where in declared.attributes:
        if json_path(name) is None:
            yield Mistake(f"{key}.{where}", f"{name!r} is no path in a JSON object", 'usage.input, or $.usage."input"')


def path_of(keys: Sequence[str]) -> str:
    """The name of what stands below these keys of a JSON object, as `json_path` takes it; one with a dot in quotes."""
    if keys[0].startswith("$") or any("." in key for key in keys):
        return "$" + "".join(f".{key}" if _PLAIN_KEY.fullmatch(key) else f'."{key}"' for key in keys)
    return ".".join(keys)


def json_path(name: str) -> str | None:
    """The JSON path that a name such as `usage.input`, or a path itself, stands for; None where it is neither."""
    path = name if name.startswith("$") else "$" + "".join(f'."{step}"' for step in name.split("."))
    return path if _PATH.fullmatch(path) else None
