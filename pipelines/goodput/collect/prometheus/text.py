"""Prometheus text and OpenMetrics, as a target shows them to a scrape, to readings of the metrics that are known.

Whole columns at a time; a line that cannot be read takes no other with it. What a name means is the dialects' work.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from goodput.collect.label_sets import label_texts
from goodput.collect.prometheus.histograms import BOUND, fold_histograms
from goodput.collect.series import CREATED, family

_NAME = r"^([a-zA-Z_:][a-zA-Z0-9_:]*)"
# A brace or a blank may stand in a quoted label value; behind a "#" an OpenMetrics exemplar follows.
_LABELS = r'(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?'
_SAMPLE = _NAME + r"\s*" + _LABELS + r"\s+(\S+)(?:\s+([-+0-9.eE]+))?\s*(?:#.*)?$"
# What looks like a sample: of other lines not even the first word is a name.
_BEGINS = _NAME + r"(?:\s*\{|\s+(?:[-+.]?[0-9]|[-+]?(?i:nan|inf)))"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"'
_BOUND = r'(?:^|,)\s*le\s*=\s*"([^"]*)"'
_UNTOLD = ("untyped", "unknown")
TARGETS = 16  # whose scrapes may be read in turn
_END_OF_OPENMETRICS = "# EOF"


@dataclass(frozen=True)
class Scrape:
    """One scrape: readings of known metrics, lines that cannot be read, and how many sample lines there are in all.

    `folded` counts lines that are part of a reading of another line: buckets, sums, and when a counter began.
    """

    readings: pl.DataFrame
    bad: pl.DataFrame  # line, text
    unread: pl.DataFrame  # name without suffixes, readings: of metrics that `names` does not have
    folded: int
    samples: int


def lines_of(content: str) -> pl.DataFrame:
    """The lines of a scrape, column `text`."""
    return pl.DataFrame({"text": content.split("\n")}).select(pl.col("text").str.strip_chars(" \t\r"))


def numbered(lines: pl.DataFrame) -> pl.DataFrame:
    """Lines with their numbers, from 1."""
    return lines.select(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("line"), "text")


def parse(lines: pl.DataFrame, names: Collection[str], histograms: Collection[str], scraped_ns: int | None) -> Scrape:
    """Readings of the metrics called by `names`; `time_ns` is the line's own time, else `scraped_ns`.

    `histograms`: those of the names whose lines make one reading.
    """
    is_comment = pl.col("text").str.starts_with("#")
    samples = lines.filter(~is_comment & (pl.col("text") != "")).with_columns(
        emitted=pl.col("text").str.extract(_BEGINS)
    )
    is_wanted = samples.select(pl.col("emitted").is_null() | pl.col("emitted").is_in(list(names))).to_series()
    wanted, unread = samples.filter(is_wanted), samples.filter(~is_wanted)
    parts = wanted.with_columns(pl.col("text").str.extract_groups(_SAMPLE).alias("parts")).with_columns(
        inner=pl.col("parts").struct.field("2").fill_null(""),
        value=number(pl.col("parts").struct.field("3")),
        stamp=pl.col("parts").struct.field("4"),
    )
    readable = pl.col("value").is_not_null()
    good = parts.filter(readable)
    comments = lines.filter(is_comment)
    openmetrics = comments.height > 0 and comments["text"][-1] == _END_OF_OPENMETRICS
    began = pl.col("emitted").str.ends_with(CREATED)
    lines_of_values = good.filter(~began).pipe(_bounded)
    readings = (
        lines_of_values.join(_labels(lines_of_values), on="inner", how="left", maintain_order="left")
        .pipe(_described, comments)
        .join(_began(good.filter(began)), on=["family", "inner"], how="left", maintain_order="left")
        .with_columns(time_ns=pl.coalesce(_nanoseconds(openmetrics=openmetrics), pl.lit(scraped_ns, pl.Int64)))
        .select(
            "line",
            pl.lit(0, pl.Int32).alias("position"),
            "emitted",
            "description",
            "type",
            pl.lit("cumulative").alias("temporality"),
            pl.col("began_ns").alias("start_ns"),
            pl.when(pl.col("began_ns").is_not_null()).then(pl.lit(value=True)).alias("from_zero"),
            "time_ns",
            "value",
            "labels",
            BOUND,
        )
        .pipe(fold_histograms, histograms)
    )
    return Scrape(
        readings,
        bad=parts.filter(~readable).select("line", "text"),
        unread=unread.group_by(family(pl.col("emitted")).alias("name")).agg(readings=pl.len()),
        folded=good.height - readings.height,
        samples=samples.height,
    )


def _bounded(samples: pl.DataFrame) -> pl.DataFrame:
    """The samples with the upper bound of a histogram's bucket, which is then no label."""
    is_bucket = pl.col("emitted").str.ends_with("_bucket")
    bound = number(pl.col("inner").str.extract(_BOUND))
    plain = pl.col("inner").str.replace(_BOUND, "").str.strip_chars_start(",")
    return samples.with_columns(
        pl.when(is_bucket).then(bound).alias(BOUND), inner=pl.when(is_bucket).then(plain).otherwise("inner")
    )


def _began(samples: pl.DataFrame) -> pl.DataFrame:
    """When the counters with these labels began, cut to seconds as the names of scrapes are."""
    return samples.select(
        family(pl.col("emitted")).alias("family"), "inner", began_ns=pl.col("value").cast(pl.Int64) * 10**9
    ).unique(["family", "inner"], keep="last")


def number(text: pl.Expr) -> pl.Expr:
    """Text as a number; NULL where it is none."""
    # A sign before "Inf" is the only form that the cast does not know.
    return text.str.replace(r"^\+", "").cast(pl.Float64, strict=False)


def _nanoseconds(*, openmetrics: bool) -> pl.Expr:
    """OpenMetrics writes seconds, the older text format milliseconds."""
    if openmetrics:
        return (pl.col("stamp").cast(pl.Float64, strict=False) * 1e6).round().cast(pl.Int64, strict=False) * 1000
    return pl.col("stamp").cast(pl.Int64, strict=False) * 1_000_000


def _labels(samples: pl.DataFrame) -> pl.DataFrame:
    """The label set of each distinct text between braces."""
    distinct = samples.select("inner").unique(maintain_order=True)
    return distinct.with_columns(labels=_label_sets(tuple(distinct["inner"])))


@lru_cache(TARGETS)  # a target writes the same series in each scrape
def _label_sets(texts: tuple[str, ...]) -> pl.Series:
    distinct = pl.DataFrame({"inner": texts}, schema={"inner": pl.String}).with_row_index("row")
    each = distinct.select("row", pl.col("inner").str.extract_all(_LABEL).alias("label")).explode("label").drop_nulls()
    parts = each.with_columns(pl.col("label").str.extract_groups(_LABEL).alias("parts")).select(
        "row",
        name=pl.col("parts").struct.field("1"),
        value=_unescaped(pl.col("parts").struct.field("2")),
    )
    return label_texts(parts, distinct.height)


def _unescaped(text: pl.Expr) -> pl.Expr:
    held = text.str.replace_all(r"\\", "\0", literal=True)
    plain = held.str.replace_all(r"\n", "\n", literal=True).str.replace_all(r"\"", '"', literal=True)
    return plain.str.replace_all("\0", "\\", literal=True)


def _described(samples: pl.DataFrame, comments: pl.DataFrame) -> pl.DataFrame:
    """The samples with their family's type and help text, which stand in comments."""
    declared = _families(tuple(comments["text"]))
    rows = samples.with_columns(family=family(pl.col("emitted"))).with_columns(
        pl.coalesce(_looked_up(name, *families) for name in ("emitted", "family")).alias(column)
        for column, families in declared.items()
    )
    said_type = pl.col("type").str.to_lowercase().str.strip_chars()
    return rows.with_columns(type=pl.when(~said_type.is_in(_UNTOLD)).then(said_type))


@lru_cache(TARGETS)
def _families(comments: tuple[str, ...]) -> dict[str, tuple[pl.Series, pl.Series]]:
    """What comments say of families: their names, and the types and help texts beside them."""
    parts = pl.col("text").str.extract_groups(r"^#\s*(TYPE|HELP)\s+(\S+)\s+(.*)$").alias("parts")
    declarations = pl.DataFrame({"text": comments}, schema={"text": pl.String}).select(parts).unnest("parts")
    declared = {}
    for word, column in (("TYPE", "type"), ("HELP", "description")):
        last = declarations.filter(pl.col("1") == word).unique("2", keep="last")
        declared[column] = (last["2"], last["3"])
    return declared


def _looked_up(name: str, families: pl.Series, declarations: pl.Series) -> pl.Expr:
    """What is declared of the family that column `name` names; NULL where nothing is."""
    return pl.col(name).replace_strict(families, declarations, default=None, return_dtype=pl.String)
