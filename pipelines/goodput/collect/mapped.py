"""Columns that the settings map to attributes: how an attribute is decoded, and its value in canonical units."""

from dataclasses import dataclass

import polars as pl
from polars.datatypes import DataType

from goodput.collect.dialect import AttributeType, Field
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.tabular.units import per_second, plain, time_ns
from goodput.contracts import polars_schema
from goodput.settings.columns import Kind

TABLE = "serving_records"
MAPPED = "mapped."  # in front of a column that the dialect fills: attributes may be called as columns are
_TEXTS = ("string", "strings")


@dataclass(frozen=True)
class MappedField(Field):
    """A column with the unit or time format in which its attributes are written."""

    kind: Kind = "plain"
    unit: str | None = None
    tz: str = "UTC"
    held_as: tuple[AttributeType, ...] = ()  # how each attribute is decoded

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """The names that may carry the column, each with its own type."""
        return tuple(Wanted(name, held) for name, held in zip(self.emitted, self.held_as, strict=True))

    def value(self) -> pl.Expr:
        """The column's value in canonical units; an empty text says nothing."""
        held = zip(self.emitted, self.held_as, strict=True)
        return pl.coalesce(self._read(_scalar(name, kind), kind) for name, kind in held).alias(self.canonical)

    def _read(self, value: pl.Expr, held: AttributeType) -> pl.Expr:
        if self.kind == "time":
            return time_ns(value.cast(pl.String), self.unit or "", self.tz)
        if self.kind == "duration":
            return value.cast(pl.Float64, strict=False) / per_second(self.unit or "")
        dtype = _dtype(self.canonical.removeprefix(MAPPED))
        return plain(value, dtype) if held in _TEXTS else value.cast(dtype, strict=False)


def _scalar(name: str, held: AttributeType) -> pl.Expr:
    if held == "strings":
        return pl.col(name).list.first()
    return pl.when(pl.col(name) != "").then(pl.col(name)) if held == "string" else pl.col(name)


def _dtype(column: str) -> DataType:
    return polars_schema(TABLE)[column]


def column_of(field: str, kind: Kind) -> str:
    """The contract's column: of times it holds nanoseconds."""
    if field == "attempt_id":
        return "record_id"
    return f"{field.removesuffix('_at')}_ns" if kind == "time" else field


def type_of(column: str, kind: Kind) -> AttributeType:
    """How an attribute that gives the column is decoded."""
    if kind == "time":
        return "string"
    dtype = _dtype(column)
    if dtype == pl.Boolean:
        return "bool"
    return "int" if dtype.is_integer() else "float" if dtype.is_float() else "string"
