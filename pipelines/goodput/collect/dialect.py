"""What a dialect of OTLP is: a test for its spans or log records, and a table of emitted name, type -> canonical name.

The dialects themselves are modules of their own (vllm, genai, evaluation); running them is `spans`' work.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from goodput.collect.otlp.attributes import Wanted

AttributeType = Literal["string", "int", "float", "bool", "strings"]


@dataclass(frozen=True)
class Field:
    """One canonical column and the attributes that may carry it, the first that is there wins."""

    canonical: str
    type: AttributeType
    emitted: tuple[str, ...]

    def value(self) -> pl.Expr:
        """The column's value."""
        return pl.coalesce(self.emitted).alias(self.canonical)


@dataclass(frozen=True)
class Dialect:
    """One vocabulary: which rows speak it, what its attributes mean, and what only it needs to work out."""

    name: str
    table: str
    matches: pl.Expr
    fields: tuple[Field, ...]
    finish: Callable[[pl.DataFrame], pl.DataFrame]
    also_wanted: tuple[Wanted, ...] = ()  # attributes that `matches` and `finish` look at

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Every attribute that has to be decoded into a column."""
        mapped = tuple(Wanted(name, field.type) for field in self.fields for name in field.emitted)
        return mapped + self.also_wanted
