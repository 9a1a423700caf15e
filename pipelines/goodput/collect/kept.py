"""Attributes that are kept as they are: a JSON object of texts, the same text for the same attributes."""

from collections.abc import Mapping

import polars as pl


def attributes_json(values: Mapping[str, pl.Expr]) -> pl.Expr:
    """JSON object of the values by name, sorted, without those that are NULL; NULL where there are none."""
    members = [_member(name, values[name].cast(pl.String)) for name in sorted(values)]
    if not members:
        return pl.lit(None, pl.String)
    together = pl.concat_str(members, separator=",", ignore_nulls=True)
    return pl.when(together != "").then(pl.concat_str(pl.lit("{"), together, pl.lit("}")))


def _member(name: str, value: pl.Expr) -> pl.Expr:
    encoded = pl.struct(value.alias(name)).struct.json_encode()
    return pl.when(value.is_not_null()).then(encoded.str.head(-1).str.tail(-1))
