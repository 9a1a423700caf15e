"""What a series of readings means, by the metric dialects: its canonical metric, its kind, whose it is.

Worked out once for each different series; the readings themselves are `samples`' work.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

import polars as pl

from goodput.collect.dialects.registry import METRIC_DIALECTS
from goodput.collect.label_sets import label
from goodput.collect.metric import HISTOGRAM_PARTS, Metric, MetricDialect
from goodput.collect.row_id import row_ids
from goodput.settings.model import Settings

Feed = Literal["otlp", "prometheus", "query_range"]
_FEEDS: tuple[Feed, ...] = ("otlp", "prometheus", "query_range")
RESOURCE = "resource."  # in front of the columns of resource attributes
VERSION_KEY = "service.version"  # of the resource; the version of a scope is that of a library, or of a collector
_ACCEPTED = {
    "counter": ("counter", "histogram", "summary"),
    "gauge": ("gauge", "info"),
    "histogram": ("histogram",),
}
_SUFFIX = r"_(?:total|sum|count|bucket|created)$"
CREATED = "_created"
_IDENTITY = ("layer", "replica", "metric", "emitted", "labels", "version", "feed", "temporality")
_REMEMBERED = 64  # sets of series: each scrape of a target shows the same


@dataclass(frozen=True)
class SeriesContext:
    """What names the replica, pool, model and version of a series, and the feed that brings it.

    `replica`, `pool`, `model` and `version`: labels, and columns of resource attributes; `target` is the replica of
    series that name none.
    """

    feed: Feed
    replica: tuple[str, ...]
    pool: tuple[str, ...]
    model: tuple[str, ...]
    version: tuple[str, ...]
    target: str | None


@dataclass(frozen=True)
class _Meaning:
    """One metric of a dialect, and how it ranks among those that report the same."""

    metric: Metric
    dialect: MetricDialect
    rank: int


@cache
def metric_names() -> frozenset[str]:
    """Every name of a line or point that a dialect reads: metrics, parts of histograms, and when either began."""
    parts = {name + part for name in histogram_names() for part in HISTOGRAM_PARTS}
    names = parts.union(_meanings())
    began = {name_of_family(name) + CREATED for name in names - _gauges()}
    return frozenset(names | began)


@cache
def histogram_names() -> frozenset[str]:
    """The names of the histograms that a dialect reads as such."""
    return frozenset(
        name for name, found in _meanings().items() if any(item.metric.kind == "histogram" for item in found)
    )


def name_of_family(name: str) -> str:
    """The name of the metric that a name of Prometheus text belongs to."""
    return re.sub(_SUFFIX, "", name)


def family(name: pl.Expr) -> pl.Expr:
    """The same of a column of names."""
    return name.str.replace(_SUFFIX, "")


def is_left_out(name: pl.Expr) -> pl.Expr:
    """Whether metrics of this name, without its suffix, are left out by rule or read in part, rather than unknown."""
    by_rule, known = _left_out()
    return name.str.contains(by_rule) | name.is_in(known)


@cache
def _left_out() -> tuple[str, tuple[str, ...]]:
    """What `is_left_out` looks for: a pattern of the rules, and the families of metrics that are read."""
    by_rule = "|".join(item for dialect in METRIC_DIALECTS for item in dialect.left_out)
    return f"^(?:{by_rule})$", tuple({name_of_family(known) for known in _meanings()})


@cache
def _gauges() -> frozenset[str]:
    return frozenset(name for name, found in _meanings().items() if all(item.metric.kind == "gauge" for item in found))


def context(settings: Settings, feed: Feed, target: str | None) -> SeriesContext:
    """The context of a file's series as the settings want them named."""
    attributes, labels = settings.attributes, settings.metric_labels
    return SeriesContext(
        feed,
        replica=(*_of_resource(attributes.replica), *labels.replica),
        pool=(*_of_resource(attributes.pool), *labels.pool),
        model=labels.model,
        version=(RESOURCE + VERSION_KEY, *labels.version),
        target=target,
    )


def read_series(distinct: pl.DataFrame, whose: SeriesContext) -> pl.DataFrame:
    """One row per row of `distinct`, in its order: what it means.

    `distinct` has text columns: emitted, type, temporality, description, labels and any "resource." ones. `meaning`
    is known, unknown, ambiguous or left out; `wrong` says why the readings of a series must be refused.
    """
    return _read(tuple(distinct.columns), tuple(distinct.iter_rows()), whose)


@lru_cache(maxsize=_REMEMBERED)
def _read(columns: tuple[str, ...], rows: tuple[tuple[str | None, ...], ...], whose: SeriesContext) -> pl.DataFrame:
    distinct = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row").with_row_index("series")
    versioned = distinct.with_columns(version=_first(whose.version, columns))
    parts = [part for (name,), of_name in versioned.group_by("emitted") for part in _meant(of_name, str(name), whose)]
    series = pl.concat(parts, how="diagonal_relaxed")
    return series.with_columns(series_id=row_ids(series.select(_IDENTITY))).sort("series").drop("series", "feed")


@cache
def _meanings() -> dict[str, list[_Meaning]]:
    found: dict[str, list[_Meaning]] = {}
    for rank, dialect in enumerate(METRIC_DIALECTS):
        for metric in dialect.metrics:
            for name in metric.spellings:
                found.setdefault(name, []).append(_Meaning(metric, dialect, rank))
    return found


def _meant(rows: pl.DataFrame, name: str, whose: SeriesContext) -> Iterable[pl.DataFrame]:
    """The series of one emitted name in canonical words, by meaning."""
    rest, known = rows, name in _meanings()
    for meaning in _meanings().get(name, ()):
        holds = pl.lit(value=True) if meaning.metric.when is None else meaning.metric.when.fill_null(value=False)
        yield _worded(rest.filter(holds), meaning, whose)
        rest = rest.filter(~holds)
    wrong = f"{name} has had several meanings, and neither its help text nor the emitter's version tells which it has"
    yield rest.select(
        *("series", "emitted", "labels", "version"),
        **{name: pl.lit(None, pl.String) for name in ("temporality", "layer", "metric", "replica", "feed")},
        meaning=pl.lit("ambiguous" if known else "unknown"),
        wrong=pl.lit(wrong if known else None, pl.String),
    )


def _worded(rows: pl.DataFrame, meaning: _Meaning, whose: SeriesContext) -> pl.DataFrame:
    metric, columns = meaning.metric, rows.columns
    differs = pl.col("type").is_not_null() & ~pl.col("type").is_in(_ACCEPTED[metric.kind])
    mismatch = f", but {metric.emitted} is a {metric.kind}"
    return rows.select(
        *("series", "emitted", "labels", "version"),
        temporality=pl.col("temporality") if metric.kind != "gauge" else pl.lit(None, pl.String),
        meaning=pl.lit("known" if metric.canonical else "left out"),
        wrong=pl.when(differs).then(pl.concat_str(pl.lit("is emitted as a "), pl.col("type"), pl.lit(mismatch))),
        dialect=pl.lit(meaning.dialect.name),
        layer=pl.lit(meaning.dialect.layer),
        metric=pl.lit(metric.canonical, pl.String),
        kind=pl.lit(metric.kind),
        scale=pl.lit(metric.scale),
        labelled=pl.lit(None, pl.Float64) if metric.value is None else metric.value,
        preference=pl.lit(metric.generation * 100 + meaning.rank * len(_FEEDS) + _FEEDS.index(whose.feed), pl.Int32),
        feed=pl.lit(whose.feed),
        reason=label(metric.reason_label) if metric.reason_label else pl.lit(metric.reason, pl.String),
        replica=pl.coalesce(_first((*metric.replica_labels, *whose.replica), columns), pl.lit(whose.target, pl.String)),
        pool=_first(whose.pool, columns),
        model=_first(whose.model, columns),
    )


def _of_resource(names: Iterable[str]) -> list[str]:
    return [RESOURCE + name.removeprefix(RESOURCE) for name in names]


def _first(names: Iterable[str], columns: Iterable[str]) -> pl.Expr:
    """The first of some resource attributes and labels that says something."""
    there = set(columns)
    found = [
        pl.col(name).replace("", None) if name.startswith(RESOURCE) else label(name)
        for name in names
        if name in there or not name.startswith(RESOURCE)
    ]
    return pl.coalesce(*found, pl.lit(None, pl.String))
