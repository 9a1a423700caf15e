"""Instants as JSON emitters write them. Units that a user declares for a column are `tabular.units`' work."""

import polars as pl

from goodput.collect.tabular.units import time_ns


def iso_ns(*texts: str | pl.Expr) -> pl.Expr:
    """Unix nanoseconds of the first text that is there: ISO 8601, UTC where it names no zone; a bare date begins."""
    text = pl.coalesce(pl.col(text) if isinstance(text, str) else text for text in texts)
    whole = pl.when(text.str.len_chars() == len("2026-11-20")).then(text + "T00:00").otherwise(text)
    return time_ns(whole, "iso8601", "UTC")


def epoch_ms_ns(text: str) -> pl.Expr:
    """Unix nanoseconds of a text in Unix milliseconds."""
    return time_ns(pl.col(text), "epoch_ms", "UTC")
