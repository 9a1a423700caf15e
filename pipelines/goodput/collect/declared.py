"""Dialects that the settings declare, made into dialects like the built-in ones.

They come after the dialects of named systems and before the conventions that any system may speak.
"""

from collections.abc import Callable, Iterable, Mapping

import polars as pl

from goodput.collect.dialect import AttributeType, Dialect
from goodput.collect.dialects.genai import GENAI
from goodput.collect.dialects.openinference import OPENINFERENCE
from goodput.collect.dialects.registry import OBJECT_DIALECTS, SPAN_DIALECTS
from goodput.collect.mapped import MAPPED, TABLE, MappedField, column_of, type_of
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.records import SPAN_COLUMNS
from goodput.collect.row_id import row_ids
from goodput.globs import regular
from goodput.settings.columns import Kind
from goodput.settings.dialects import DeclaredDialect, DialectMatch, OutcomeRule, fields_of, json_path
from goodput.settings.model import Settings

CONVENTIONS = (GENAI, OPENINFERENCE)
_OF_EVERY_SPAN = {
    *("line", "position", "record_id", "dialect", "trace_id", "span_id", "parent_span_id", "started_ns", "attributes"),
    *("instrumentation", "request_key", "tenant", "session_id", "route", "replica", "pool"),
}
_RESOURCE = "resource."
_Types = Mapping[str, AttributeType]
_STRING: AttributeType = "string"
_NUMBERS: _Types = {"kind": "int", "status_code": "int", "start_ns": "int", "end_ns": "int"}


def span_dialects(settings: Settings) -> tuple[Dialect, ...]:
    """The dialects of spans, in the order in which they are asked."""
    items = _declared(settings, "spans")
    if not items:
        return SPAN_DIALECTS
    types = _types_of_spans([item for _, item in items])
    declared = tuple(_of_spans(name, item, types) for name, item in items)
    first = min(SPAN_DIALECTS.index(convention) for convention in CONVENTIONS)
    return (*SPAN_DIALECTS[:first], *declared, *SPAN_DIALECTS[first:])


def object_dialects(settings: Settings) -> tuple[Dialect, ...]:
    """The dialects of JSON objects, in the order in which they are asked."""
    declared = tuple(_of_objects(name, item) for name, item in _declared(settings, "json_lines"))
    return (*OBJECT_DIALECTS, *declared)


def resource_keys(dialects: Iterable[Dialect]) -> list[Wanted]:
    """The resource attributes that dialects look at, which they call "resource." and their name."""
    return [
        Wanted(w.key.removeprefix(_RESOURCE), w.type)
        for dialect in dialects
        for w in dialect.wanted
        if w.key.startswith(_RESOURCE)
    ]


def _declared(settings: Settings, reads: str) -> list[tuple[str, DeclaredDialect]]:
    return [(f"dialects.{name}", item) for name, item in settings.dialects.items() if item.reads == reads]


def _types_of_spans(items: Iterable[DeclaredDialect]) -> _Types:
    """How each attribute is decoded: as built-in dialects want it, else as all that is declared agrees on."""
    own = _own_types(items, fields_of("spans"))
    built_in = {w.key: w.type for dialect in reversed(SPAN_DIALECTS) for w in dialect.wanted}
    return {**own, **built_in, **dict.fromkeys(SPAN_COLUMNS, _STRING), **_NUMBERS}


def _own_types(items: Iterable[DeclaredDialect], kinds: Mapping[str, Kind]) -> dict[str, AttributeType]:
    """The type of each attribute by the columns that it gives; a text where they differ, or where it gives none."""
    found: dict[str, AttributeType] = {}
    for item in items:
        for field, mapped in item.fields.items():
            own = type_of(column_of(field, kinds[field]), kinds[field])
            for name in mapped.attribute:
                known = found.get(name, own)
                found[name] = own if known == own and not name.startswith(_RESOURCE) else _STRING
    return {name: found.get(name, _STRING) for item in items for name, _ in item.attributes}


def _fields(
    item: DeclaredDialect, kinds: Mapping[str, Kind], types: _Types, emitted: Callable[[str], str]
) -> tuple[MappedField, ...]:
    return tuple(
        MappedField(
            canonical=MAPPED + column_of(field, kinds[field]),
            type=type_of(column_of(field, kinds[field]), kinds[field]),
            emitted=tuple(emitted(name) for name in mapped.attribute),
            kind=kinds[field],
            unit=mapped.unit,
            tz=mapped.tz,
            held_as=tuple(types[name] for name in mapped.attribute),
        )
        for field, mapped in item.fields.items()
    )


def _of_spans(name: str, item: DeclaredDialect, types: _Types) -> Dialect:
    fields = _fields(item, fields_of("spans"), types, str)
    return Dialect(
        name=name,
        table=TABLE,
        matches=_matches(item.match, lambda attribute: _text(attribute, types[attribute])),
        fields=fields,
        finish=lambda frame: _finished_span(frame, item, fields, types),
        also_wanted=tuple(Wanted(n, types[n]) for n, _ in item.attributes if n not in SPAN_COLUMNS),
        from_engine=item.layer == "engine",
    )


def _of_objects(name: str, item: DeclaredDialect) -> Dialect:
    kinds, paths = fields_of("json_lines"), {name: json_path(name) or name for name, _ in item.attributes}
    types = _own_types([item], kinds)
    fields = _fields(item, kinds, types, paths.__getitem__)

    def text(attribute: str) -> pl.Expr:
        return _text(paths[attribute], types[attribute])

    return Dialect(
        name=name,
        table=TABLE,
        matches=_matches(item.match, text),
        fields=fields,
        finish=lambda frame: _finished_object(frame, item, fields, text),
        also_wanted=tuple(Wanted(paths[name], types[name]) for name, _ in item.attributes),
        signature=tuple(Wanted(paths[name], types[name]) for name in item.match.attributes),
    )


def _text(name: str, held: AttributeType) -> pl.Expr:
    return pl.col(name).list.join(",") if held == "strings" else pl.col(name).cast(pl.String)


def _matches(match: DialectMatch, text: Callable[[str], pl.Expr]) -> pl.Expr:
    asked = [(pl.col("name"), match.name), (pl.col("scope_name"), match.scope)]
    asked += [(text(attribute), globs) for attribute, globs in match.attributes.items()]
    holds = [value.str.contains(regular(globs)).fill_null(value=False) for value, globs in asked if globs]
    return pl.all_horizontal(holds)


def _finished_span(
    frame: pl.DataFrame, item: DeclaredDialect, fields: tuple[MappedField, ...], types: _Types
) -> pl.DataFrame:
    status = pl.when(pl.col("status_code") == 2).then(pl.lit("_OTHER"))
    outcome = _outcome(item.outcome, lambda attribute: _text(attribute, types[attribute]))
    otherwise = {name: pl.col(name) for name in _OF_EVERY_SPAN} | {"ended_ns": pl.col("end_ns")}
    found = _found(fields, otherwise)
    failed = found.get("error_type", pl.lit(None, pl.String))
    return frame.select(
        **found,
        layer=pl.lit(item.layer),
        covers_tries=pl.lit(item.covers_tries),
        outcome=outcome,
        error_type=pl.coalesce(failed, status),
    )


def _finished_object(
    frame: pl.DataFrame,
    item: DeclaredDialect,
    fields: tuple[MappedField, ...],
    text: Callable[[str], pl.Expr],
) -> pl.DataFrame:
    otherwise = {name: pl.col(name) for name in ("line", "position", "dialect", "record_id")}
    return frame.with_columns(record_id=row_ids(frame.select("dialect", "text"))).select(
        **_found(fields, otherwise),
        layer=pl.lit(item.layer),
        covers_tries=pl.lit(item.covers_tries),
        outcome=_outcome(item.outcome, text),
    )


def _found(fields: tuple[MappedField, ...], otherwise: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Each column as it is mapped, else as every row has it."""
    found = {field.canonical.removeprefix(MAPPED): pl.col(field.canonical) for field in fields}
    return {
        name: pl.coalesce(one for one in (found.get(name), otherwise.get(name)) if one is not None)
        for name in {**otherwise, **found}
    }


def _outcome(rule: OutcomeRule | None, text: Callable[[str], pl.Expr]) -> pl.Expr:
    if rule is None:
        return pl.lit(None, pl.String)
    stated = pl.coalesce(text(attribute) for attribute in rule.attribute)
    found = [pl.when(stated.str.contains(regular(g))).then(pl.lit(name)) for name, g in rule.globs.items() if g]
    return pl.coalesce(*found, pl.lit(None, pl.String))
