"""Prometheus text and OpenMetrics, as a target shows them to a scrape, to readings of the metrics that are known.

Whole columns at a time; a line that cannot be read takes no other with it. What a name means is the dialects' work.
"""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from goodput.collect.label_sets import label_texts

_NAME = r"^([a-zA-Z_:][a-zA-Z0-9_:]*)"
# A brace or a blank may stand in a quoted label value; behind a "#" an OpenMetrics exemplar follows.
_LABELS = r'(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?'
_SAMPLE = _NAME + r"\s*" + _LABELS + r"\s+(\S+)(?:\s+([-+0-9.eE]+))?\s*(?:#.*)?$"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"'
_FAMILY_SUFFIX = r"_(?:total|sum|count)$"
_UNTOLD = ("untyped", "unknown")
_END_OF_OPENMETRICS = "# EOF"


@dataclass(frozen=True)
class Scrape:
    """One scrape: readings of known metrics, lines that cannot be read, and how many sample lines there are in all."""

    readings: pl.DataFrame
    bad: pl.DataFrame  # line, text
    samples: int
    names: frozenset[str]  # of all metrics, known or not


def parse(content: str, names: Collection[str], scraped_ns: int | None) -> Scrape:
    """Readings of the metrics called by `names`; `time_ns` is the line's own time, else `scraped_ns`."""
    lines = pl.DataFrame({"text": content.split("\n")}).with_row_index("line", offset=1)
    lines = lines.with_columns(pl.col("text").str.strip_chars(" \t\r"), pl.col("line").cast(pl.Int64))
    is_comment = pl.col("text").str.starts_with("#")
    samples = lines.filter(~is_comment & (pl.col("text") != "")).with_columns(
        emitted=pl.col("text").str.extract(_NAME), comment=pl.lit(value=False)
    )
    wanted = samples.filter(pl.col("emitted").is_null() | pl.col("emitted").is_in(list(names)))
    parts = wanted.with_columns(pl.col("text").str.extract_groups(_SAMPLE).alias("parts")).with_columns(
        inner=pl.col("parts").struct.field("2").fill_null(""),
        value=_number(pl.col("parts").struct.field("3")),
        stamp=pl.col("parts").struct.field("4"),
    )
    readable = pl.col("value").is_not_null()
    good = parts.filter(readable)
    comments = lines.filter(is_comment)
    openmetrics = comments.height > 0 and comments["text"][-1] == _END_OF_OPENMETRICS
    readings = (
        good.join(_labels(good), on="inner", how="left", maintain_order="left")
        .pipe(_described, comments)
        .select(
            "line",
            pl.lit(0, pl.Int32).alias("position"),
            "emitted",
            "description",
            "type",
            pl.lit("cumulative").alias("temporality"),
            pl.lit(None, pl.Int64).alias("start_ns"),
            pl.coalesce(_nanoseconds(openmetrics=openmetrics), pl.lit(scraped_ns, pl.Int64)).alias("time_ns"),
            "value",
            "labels",
        )
    )
    return Scrape(
        readings,
        parts.filter(~readable).select("line", "text"),
        samples.height,
        frozenset(samples["emitted"].drop_nulls()),
    )


def _number(text: pl.Expr) -> pl.Expr:
    # A sign before "Inf" is the only form that the cast does not know.
    return text.str.replace(r"^\+", "").cast(pl.Float64, strict=False)


def _nanoseconds(*, openmetrics: bool) -> pl.Expr:
    """OpenMetrics writes seconds, the older text format milliseconds."""
    if openmetrics:
        return (pl.col("stamp").cast(pl.Float64, strict=False) * 1e6).round().cast(pl.Int64, strict=False) * 1000
    return pl.col("stamp").cast(pl.Int64, strict=False) * 1_000_000


def _labels(samples: pl.DataFrame) -> pl.DataFrame:
    """The label set of each distinct text between braces."""
    distinct = samples.select("inner").unique(maintain_order=True).with_row_index("row")
    each = distinct.select("row", pl.col("inner").str.extract_all(_LABEL).alias("label")).explode("label").drop_nulls()
    parts = each.with_columns(pl.col("label").str.extract_groups(_LABEL).alias("parts")).select(
        "row",
        name=pl.col("parts").struct.field("1"),
        value=_unescaped(pl.col("parts").struct.field("2")),
    )
    return distinct.with_columns(labels=label_texts(parts, distinct.height)).drop("row")


def _unescaped(text: pl.Expr) -> pl.Expr:
    held = text.str.replace_all(r"\\", "\0", literal=True)
    plain = held.str.replace_all(r"\n", "\n", literal=True).str.replace_all(r"\"", '"', literal=True)
    return plain.str.replace_all("\0", "\\", literal=True)


def _described(samples: pl.DataFrame, comments: pl.DataFrame) -> pl.DataFrame:
    """The samples with their family's type and help text, which stand in comments."""
    parts = pl.col("text").str.extract_groups(r"^#\s*(TYPE|HELP)\s+(\S+)\s+(.*)$").alias("parts")
    said = comments.select(parts).unnest("parts")
    families = {
        column: said.filter(pl.col("1") == word)
        .select(family="2", **{column: pl.col("3")})
        .unique("family", keep="last")
        for word, column in (("TYPE", "type"), ("HELP", "description"))
    }
    rows = samples.with_columns(stem=pl.col("emitted").str.replace(_FAMILY_SUFFIX, ""))
    for column, family in families.items():
        rows = rows.join(family, left_on="emitted", right_on="family", how="left", maintain_order="left")
        rows = rows.join(
            family, left_on="stem", right_on="family", how="left", suffix="_of_stem", maintain_order="left"
        ).with_columns(pl.coalesce(column, f"{column}_of_stem").alias(column))
    said_type = pl.col("type").str.to_lowercase().str.strip_chars()
    return rows.with_columns(type=pl.when(~said_type.is_in(_UNTOLD)).then(said_type))
