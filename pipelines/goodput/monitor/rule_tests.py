"""Tests that users write for their rules: made-up series in, the state that each alarm should have out.

Reading the file is the command line's work; here it is a document that was read already.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, field_validator

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.grid import Floats
from goodput.monitor.series_definitions import LABELS, SERIES_DEFINITIONS
from goodput.settings.model import Settings

_MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
_MOST_HOURS = 366 * 24
_PIECE = re.compile(r"(?P<level>[0-9.eE-]+|_)(\*(?P<factor>[0-9.]+))?x(?P<hours>\d+)")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GivenSeries(_Part):
    """One series from a Monday on: `values` such as `0.6x720 0.6*1.05x24 _x3` (level, growth an hour, hours; _: none).

    `noise` is the standard deviation of its logarithm, seeded; `requests` how many a window is of.
    """

    metric: str
    values: str
    labels: dict[str, str] = Field(default_factory=dict)
    requests: int = 5000
    noise: float = 0.0

    @field_validator("metric")
    @classmethod
    def _watched(cls, value: str) -> str:
        known = sorted({source.metric for source in SERIES_DEFINITIONS})
        if value not in known:
            raise ValueError(f"{value!r} is no metric that can be watched: right would be one of {', '.join(known)}")
        return value


class Expected(_Part):
    """State of the alarm of a rule, of the series with these labels, once `at_hour` hours are over."""

    at_hour: int
    rule: str
    state: str
    labels: dict[str, str] = Field(default_factory=dict)


class RuleTests(_Part):
    """One file of tests."""

    series: list[GivenSeries]
    expect: list[Expected]


def broken(tests: RuleTests, settings: Settings) -> Iterator[str]:
    """What is not as expected, one line each."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for seed, series in enumerate(tests.series):
        for relation, frame in _rows(series, seed, settings.alarms.window_s):
            frames.setdefault(relation, []).append(frame)
    rows = {relation: pl.concat(parts, how="diagonal_relaxed") for relation, parts in frames.items()}
    for expected in tests.expect:
        until = _MONDAY + timedelta(hours=expected.at_hour)
        seen = {name: frame.filter(pl.col("window_start") < until) for name, frame in rows.items()}
        found = Evaluation(Evidence(seen, settings), until).alarms()
        states = [row["state"] for row in found if _is(row, expected)]
        if states != [expected.state]:
            where = " ".join([expected.rule, *(f"{name}={value}" for name, value in expected.labels.items())])
            yield f"hour {expected.at_hour}: {where} is {' and '.join(states) or 'not there'}, not {expected.state}"


def _is(row: Mapping[str, Any], expected: Expected) -> bool:
    return row["rule"] == expected.rule and all(row.get(name) == value for name, value in expected.labels.items())


def _rows(series: GivenSeries, seed: int, window_s: int) -> Iterator[tuple[str, pl.DataFrame]]:
    values = np.repeat(levels(series.values), 3600 // window_s)
    values = values * np.exp(np.random.default_rng(seed).normal(0, series.noise, len(values)))
    for source in SERIES_DEFINITIONS:
        if source.metric == series.metric:
            count = {name: series.requests for name in (source.requests, source.weight) if name}
            frame = pl.DataFrame(
                {
                    "window_start": [_MONDAY + timedelta(seconds=at * window_s) for at in range(len(values))],
                    source.value: values,
                }
            ).with_columns(
                pl.lit(window_s).alias("window_s"),
                *(pl.lit(value).alias(name) for name, value in source.where),
                *(pl.lit(series.labels.get(name)).alias(name) for name in LABELS if name in source.labels),
                *(pl.lit(n).alias(name) for name, n in count.items()),
                *(pl.lit(None, pl.Float64).alias(name) for name in (source.beside, source.body) if name),
            )
            yield source.relation, frame.filter(pl.col(source.value).is_finite())


def levels(text: str) -> Floats:
    """The values that `0.6x720 0.6*1.05x24 _x3` means; raises ValueError where it means none."""
    parts = []
    for word in text.split():
        found = _PIECE.fullmatch(word)
        if found is None:
            raise ValueError(f"{word!r}: right would be LEVELxHOURS, LEVEL*FACTORxHOURS or _xHOURS")
        level = np.nan if found["level"] == "_" else float(found["level"])
        growth = float(found["factor"] or 1.0) ** np.arange(1, min(int(found["hours"]), _MOST_HOURS) + 1)
        parts.append(level * growth)
    return np.concatenate(parts)[:_MOST_HOURS] if parts else np.empty(0)
