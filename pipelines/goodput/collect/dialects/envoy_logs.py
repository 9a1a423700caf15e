"""Envoy's access log as OTLP log records: the keys of the access logs in files, each an attribute that is a text.

A record carries trace and span id of the span of the request, where Envoy traces as well.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, texts
from goodput.collect.dialects import envoy
from goodput.collect.dialects.http_routes import asks_to_generate
from goodput.collect.row_id import row_ids


def _key(path: str) -> str:
    """The attribute that is called as the last name of a JSON path."""
    return path.removeprefix("$.").strip('"')


def _keys(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_key(path) for path in paths)


# Read as texts, because "-" stands for no value: a number that is none would have its row refused.
_FIELDS = tuple(Field(f.canonical, "string", _keys(f.emitted)) for f in envoy.FIELDS)
_NUMBERS = {f.canonical: pl.Int64 if f.type == "int" else pl.Float64 for f in envoy.FIELDS if f.type != "string"}
_IDENTITY = ("trace_id", "span_id", "call_id", "time_ns", "body_text", "http_status", "e2e_s")


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    frame = frame.with_columns(_value(field.canonical) for field in _FIELDS)
    numbers = frame.with_columns(pl.col(name).cast(kind, strict=False) for name, kind in _NUMBERS.items())
    rows = envoy.canonical(
        numbers,
        content_type=pl.coalesce(_value(name) for name in _keys(envoy.CONTENT_TYPE)),
        trace_id=pl.col("trace_id"),
        started=pl.col("time_ns"),
    )
    # The span is a record of its own, and its id is that one's.
    return rows.with_columns(record_id=row_ids(frame.select(_IDENTITY)), span_id=pl.lit(None, pl.String))


def _value(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "-").then(pl.col(name)).alias(name)


_PATH, _METHOD = (pl.coalesce(_keys(paths)) for paths in (envoy.PATH, envoy.METHOD))
_SIGNATURE = ("response_code", "duration")
_OF_ENVOY = _keys(envoy.OF_ENVOY)

ENVOY_LOG = Dialect(
    name="envoy.log",
    table="serving_records",
    matches=pl.all_horizontal(pl.col(_SIGNATURE).is_not_null()) & pl.any_horizontal(pl.col(_OF_ENVOY).is_not_null()),
    fields=_FIELDS,
    finish=_finish,
    also_wanted=texts(*_keys((*envoy.PATH, *envoy.METHOD, *envoy.CONTENT_TYPE))),
    signature=texts(*_SIGNATURE, *_OF_ENVOY),
    ignored=(Ignore("http_not_generating", ~asks_to_generate(_PATH, _METHOD)),),
)
