"""What a dialect is: a test for the rows that speak it, and a table of emitted name, type -> canonical name.

The dialects themselves are modules of `dialects`, which of them there are stands in `dialects.registry`; running them
is the work of the readers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.events import EventTime, EventValue

AttributeType = Literal["string", "int", "float", "bool", "strings"]


@dataclass(frozen=True)
class Field:
    """One canonical column and the attributes or JSON paths that may carry it, the first that is there wins."""

    canonical: str
    type: AttributeType
    emitted: tuple[str, ...]

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """The names that may carry the column, with the type as which they are decoded."""
        return tuple(Wanted(name, self.type) for name in self.emitted)

    def value(self) -> pl.Expr:
        """The column's value; an empty text says nothing."""
        emitted = [pl.col(name) for name in self.emitted]
        if self.type == "string":
            emitted = [pl.when(one != "").then(one) for one in emitted]
        return pl.coalesce(emitted).alias(self.canonical)


def texts(*names: str) -> tuple[Wanted, ...]:
    """Names that are looked at as text."""
    return tuple(Wanted(name, "string") for name in names)


def documents(*names: str) -> tuple[Wanted, ...]:
    """Names looked at where they are text, such as JSON; other emitters may put anything there."""
    return tuple(Wanted(name, "string", lenient=True) for name in names)


def below(root: str, finish: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """`finish` for JSON objects whose names stand below `root`: it sees them as if they stood at the top."""
    return lambda frame: finish(
        frame.rename(lambda name: f"${name.removeprefix(root)}" if name.startswith(f"{root}.") else name)
    )


@dataclass(frozen=True)
class Ignore:
    """Rows of a dialect that are ignored by rule and counted under its name: health checks, warm-up."""

    rule: str
    holds: pl.Expr


@dataclass(frozen=True)
class Reject:
    """Rows of a dialect that no contract could take, quarantined under its name with what to do about it."""

    rule: str
    holds: pl.Expr
    reason: str


@dataclass(frozen=True, eq=False)  # expressions cannot be compared: a dialect equals itself alone
class Dialect:
    """One vocabulary: which rows speak it, what its names mean, and what only it needs to work out.

    Of a span or log record a name is an attribute; of a JSON object it is a path such as "$.usage.prompt_tokens".
    `matches` looks at the columns of `signature` (and, of spans and log records, at every fixed column and at
    `also_wanted`); `finish` sees every wanted column and the canonical ones, and gives the rows of `table`. Of a JSON
    object it sees `text` as well, and both see `parent_paths` of the object around it as "parent.meta.page".
    """

    name: str
    table: str
    matches: pl.Expr
    fields: tuple[Field, ...]
    finish: Callable[[pl.DataFrame], pl.DataFrame]
    also_wanted: tuple[Wanted, ...] = ()  # names that `finish` looks at
    signature: tuple[Wanted, ...] = ()  # names that `matches` looks at
    ignored: tuple[Ignore, ...] = ()
    rejected: tuple[Reject, ...] = ()  # of JSON objects
    # Of JSON objects: path of the array inside an object whose elements are the rows; one that ends in ".*" is of the
    # members of a map, whose names stand in `key`, and an object is such a map where its signature is found in it.
    rows: str | None = None
    parent_paths: tuple[Wanted, ...] = ()  # of the object around such rows
    pattern: str | None = None  # of lines that hold no JSON: a regular expression whose named groups are the object
    unset: tuple[str, ...] = ("",)  # of JSON objects: texts that stand for no value
    marks_try: bool = False  # of spans: each row is counted as a try of the request above it
    first_token_events: tuple[str, ...] = ()  # of spans: events at the first of which, `event_ns`, the answer began
    event_values: tuple[EventValue | EventTime, ...] = ()  # of spans: what else `finish` looks at in their events
    from_engine: bool = False  # the resource of its rows is the serving process itself, so it names replica and pool

    @cached_property
    def wanted(self) -> tuple[Wanted, ...]:
        """Every name that has to be decoded into a column; each file asks for them."""
        mapped = tuple(wanted for field in self.fields for wanted in field.wanted)
        return mapped + self.also_wanted + self.signature

    def kept(
        self, rows: pl.DataFrame, ignore: Callable[[str, pl.Series], None], also: tuple[Ignore, ...] = ()
    ) -> pl.DataFrame:
        """The rows that no rule, of the dialect or `also`, ignores; `ignore` gets the lines that each does, in turn."""
        for rule in (*self.ignored, *also):
            # Beside a column, so that a rule that is constant has a value for each row as well.
            holds = rows.select(pl.first().alias("row"), rule.holds.fill_null(value=False).alias("holds"))["holds"]
            if holds.any():  # else every column would be copied for nothing
                ignore(rule.rule, rows["line"].filter(holds))
                rows = rows.filter(~holds)
        return rows
