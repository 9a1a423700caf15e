"""Calls that two emitters of one layer both report: each would be counted as a request of its own where nothing joins.

Records of different layers are views of one attempt and no double.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import polars as pl

_NEAR_NS = 50_000_000
_LEAST_SHARE = 0.5  # of the smaller side: fewer that agree in time do so by chance
_BY_TIME = "same times and tokens"
_COLUMNS = ("record_id", "trace_id", "span_id", "parent_span_id", "started_ns", "ended_ns", "model", "output_tokens")


@dataclass(frozen=True)
class Double:
    """Two emitters of a layer that report the same calls: how many, as a share of the smaller, and by what sign."""

    first: str
    second: str
    layer: str
    calls: int
    share: float
    sign: str


def doubles(records: pl.DataFrame) -> list[Double]:
    """Probable double counts among serving records (columns of the contract; `scope`: what recorded them)."""
    scope = pl.col("scope").replace("", None)
    once = records.unique("record_id", keep="first", maintain_order=True)  # delivered again it is the same record
    named = once.with_columns(emitter=pl.concat_str("dialect", scope, separator=" ", ignore_nulls=True))
    found: list[Double] = []
    for (layer,), of_layer in named.group_by("layer", maintain_order=True):
        by_emitter = dict(sorted((str(name), rows) for (name,), rows in of_layer.group_by("emitter")))
        for (first, a), (second, b) in combinations(by_emitter.items(), 2):
            if _covers(a) == _covers(b):  # else one is of the request and the other of its tries
                found += _between(str(layer), first, second, a, b)
        if layer != "engine":  # where several answers to one request share an id
            found += (one for name, rows in by_emitter.items() for one in _within(str(layer), name, rows))
    return sorted(found, key=lambda double: (-double.calls, double.first, double.second))


def _covers(records: pl.DataFrame) -> bool:
    return bool(records["covers_tries"].fill_null(value=False).all())


def _between(layer: str, first: str, second: str, a: pl.DataFrame, b: pl.DataFrame) -> Iterator[Double]:
    fewer, more = (a, b) if a.height <= b.height else (b, a)
    found: set[str] = set()
    signs = []
    for sign, matched in _signs(fewer, more):
        new = matched - found
        enough = sign != _BY_TIME or len(found | new) >= _LEAST_SHARE * fewer.height
        if new and enough:
            found |= new
            signs.append(sign)
    if found:
        yield Double(first, second, layer, len(found), len(found) / fewer.height, ", ".join(signs))


def _signs(fewer: pl.DataFrame, more: pl.DataFrame) -> Iterator[tuple[str, set[str]]]:
    """For each sign the records of `fewer` that one of `more` reports as well."""
    for column, sign in (("response_id", "same response id"), ("call_id", "same call id")):
        yield sign, _ids(fewer.drop_nulls(column).join(more.drop_nulls(column), on=column, how="semi"))
    above, below = ["trace_id", "parent_span_id"], ["trace_id", "span_id"]
    inside = _ids(fewer.join(more, left_on=above, right_on=below, how="semi"))
    around = _ids(fewer.join(more, left_on=below, right_on=above, how="semi"))
    yield "one span inside the other", inside | around
    yield _BY_TIME, _near(fewer, more)


def _ids(records: pl.DataFrame) -> set[str]:
    return set(records["record_id"])


def _near(fewer: pl.DataFrame, more: pl.DataFrame) -> set[str]:
    """Records for which another begins and ends at the same time, and states the same where both state it."""
    left = fewer.select(_COLUMNS).drop_nulls(["started_ns", "ended_ns"]).sort("started_ns", "record_id")
    right = more.select(_COLUMNS).drop_nulls(["started_ns", "ended_ns"]).sort("started_ns", "record_id")
    pairs = left.join_asof(
        right, on="started_ns", strategy="nearest", tolerance=_NEAR_NS, suffix="_other", coalesce=False
    ).drop_nulls("record_id_other")
    alike = pairs.filter(
        ((pl.col("ended_ns") - pl.col("ended_ns_other")).abs() <= _NEAR_NS)
        & (pl.col("output_tokens") == pl.col("output_tokens_other")).fill_null(value=True)
        & (pl.col("model") == pl.col("model_other")).fill_null(value=True)
    )
    return _ids(alike.unique("record_id_other", keep="first", maintain_order=True))


def _within(layer: str, name: str, rows: pl.DataFrame) -> Iterator[Double]:
    """Several records of one answer by one emitter."""
    known = rows.drop_nulls("response_id")
    more = known.height - known["response_id"].n_unique()
    if more:
        yield Double(name, name, layer, more, more / rows.height, "same response id")
