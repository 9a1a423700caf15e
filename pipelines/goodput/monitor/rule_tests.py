"""Tests that users write for their rules: made-up series in, the state that each alarm should have out.

Reading the file is the command line's work; here it is a document that was read already.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from operator import itemgetter
from typing import Annotated, Any, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, field_validator, model_validator

from goodput.contracts import polars_schema
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.grid import Floats
from goodput.settings.metrics import AlarmMetric
from goodput.settings.model import Settings
from goodput.settings.settings_model import SettingsModel, Unusable
from goodput.settings.watched import metric_of, near

_MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
_MOST_HOURS = 366 * 24
_PIECE = re.compile(r"(?P<level>[0-9.eE-]+|_)(\*(?P<factor>[0-9.]+))?x(?P<hours>\d+)")


class GivenSeries(SettingsModel):
    """One series from a Monday on: `values` such as `0.6x720 0.6*1.05x24 _x3` (level, growth an hour, hours; _: none).

    `noise` is the standard deviation of its logarithm, seeded; `requests` how many a window is of.
    """

    metric: str
    values: str
    labels: dict[str, str] = Field(default_factory=dict)
    requests: Annotated[int, Field(gt=0)] = 5000
    noise: Annotated[float, Field(ge=0, le=10)] = 0.0

    @field_validator("metric")
    @classmethod
    def _watched(cls, value: str) -> str:
        if metric_of(value) is None:
            raise Unusable(f"{value!r} is no metric that can be watched", ", ".join(near(value)))
        return value

    @field_validator("values")
    @classmethod
    def _has_levels(cls, value: str) -> str:
        levels(value)
        return value

    @property
    def watched(self) -> AlarmMetric:
        """The metric itself."""
        metric = metric_of(self.metric)
        assert metric is not None  # noqa: S101  (others are refused)
        return metric


class Expected(SettingsModel):
    """State of the alarm of a rule, of the series with these labels, once `at_hour` hours are over."""

    at_hour: Annotated[int, Field(gt=0)]
    rule: str
    state: Literal["inactive", "learning", "pending", "firing", "resolved"]
    labels: dict[str, str] = Field(default_factory=dict)


class RuleTests(SettingsModel):
    """One file of tests."""

    series: Annotated[list[GivenSeries], Field(min_length=1)]
    expect: Annotated[list[Expected], Field(min_length=1)]

    @model_validator(mode="after")
    def _within_the_series(self) -> Self:
        hours = max(len(levels(series.values)) for series in self.series)
        late = [str(expected.at_hour) for expected in self.expect if expected.at_hour > hours]
        if late:
            raise Unusable(
                f"at_hour {', '.join(late)} of `expect` is after the last series has ended", f"at most {hours}"
            )
        return self


def broken(tests: RuleTests, settings: Settings) -> Iterator[str]:
    """What is not as expected, one line each."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for seed, series in enumerate(tests.series):
        relation, frame = _rows(series, seed, settings.alarms.window_s)
        frames.setdefault(relation, []).append(frame)
    rows = {relation: pl.concat(parts, how="diagonal_relaxed") for relation, parts in frames.items()}
    for expected in tests.expect:
        until = _MONDAY + timedelta(hours=expected.at_hour)
        seen = {name: frame.filter(pl.col("window_start") < until) for name, frame in rows.items()}
        found = Evaluation(Evidence(seen, settings), until).alarms()
        states = [row["state"] for row in found if _is(row, expected)]
        if states != [expected.state]:
            where = " ".join([expected.rule, *(f"{name}={value}" for name, value in expected.labels.items())])
            known = " and ".join(states) or "not there"
            is_it = f"once {expected.at_hour} hours are over, {where} is {known}, not {expected.state}"
            yield f"{is_it}; {_when(rows, settings, expected)}"


def _when(rows: Mapping[str, pl.DataFrame], settings: Settings, expected: Expected) -> str:
    """When the alarm changes over all hours of the series."""
    last = pl.concat(frame["window_start"] for frame in rows.values()).max()
    assert isinstance(last, datetime)  # noqa: S101
    until = last + timedelta(seconds=settings.alarms.window_s)
    evaluation = Evaluation(Evidence(rows, settings), until)
    names = {*settings.alarms.rules, *(one.rule for one in evaluation.rule_series)}
    if expected.rule not in names:
        near_names = get_close_matches(expected.rule, sorted(names), 3)
        return f"no rule has this name{': nearest are ' + ', '.join(near_names) if near_names else ''}"
    events = [event for event in evaluation.new_events([]) if _is(event, expected)]
    changes = [
        f"{event['transition']} once {(event['occurred_at'] - _MONDAY) / timedelta(hours=1):g} are over"
        for event in sorted(events, key=itemgetter("occurred_at"))
        if event["transition"] != "firing" or event["occurred_at"] == event["starts_at"]
    ]
    return f"over all of them it is {', '.join(changes)}" if changes else "it never fires over all of them"


def _is(row: Mapping[str, Any], expected: Expected) -> bool:
    labels = json.loads(row.get("labels") or "{}")
    return row["rule"] == expected.rule and all(labels.get(name) == value for name, value in expected.labels.items())


def _rows(series: GivenSeries, seed: int, window_s: int) -> tuple[str, pl.DataFrame]:
    """The relation that the series is of, and its rows there."""
    metric = series.watched
    values = np.repeat(levels(series.values), 3600 // window_s)
    values = values * np.exp(np.random.default_rng(seed).normal(0, series.noise, len(values)))
    of = float(window_s if (metric.of or "").endswith("_s") else series.requests)
    trials = of / 3600 if metric.chart == "rate" else of
    times = trials if metric.counted else 1.0  # a column of counts has the events themselves
    starts = [_MONDAY + timedelta(seconds=at * window_s) for at in range(len(values))]
    frame = pl.DataFrame({"window_start": starts, metric.column: values * times}).with_columns(
        pl.lit(window_s).alias("window_s"),
        *(pl.lit(value).alias(name) for name, value in metric.where),
        *(pl.lit(series.labels.get(name), pl.String).alias(name) for name in metric.labels),
        *(pl.lit(of).alias(name) for name in (metric.of,) if name),
    )
    given = frame.filter(pl.col(metric.column).is_finite())
    others = {name: kind for name, kind in polars_schema(metric.relation).items() if name not in given.columns}
    whole = {"partial": pl.lit(value=False)} if "partial" in others else {}
    unknown = {name: pl.lit(None, kind) for name, kind in others.items()}
    return metric.relation, given.with_columns(**(unknown | whole))


def levels(text: str) -> Floats:
    """The values that `0.6x720 0.6*1.05x24 _x3` means; raises Unusable where it means none."""
    parts, hours = [], 0
    for word in text.split():
        found = _PIECE.fullmatch(word)
        if found is None:
            raise Unusable(f"{word!r} is no stretch of hours", "LEVELxHOURS, LEVEL*FACTORxHOURS or _xHOURS")
        level = np.nan if found["level"] == "_" else float(found["level"])
        hours += int(found["hours"])
        if hours > _MOST_HOURS:
            raise Unusable(f"{text!r} is more than a year", f"at most {_MOST_HOURS} hours")
        parts.append(level * float(found["factor"] or 1.0) ** np.arange(1, int(found["hours"]) + 1))
    found_levels = np.concatenate(parts or [np.empty(0)])
    if np.isinf(found_levels).any():
        raise Unusable(f"{text!r} has a value that is no number", "levels that a metric can have")
    if np.isnan(found_levels).all():
        raise Unusable("no hour with a value is given", "LEVELxHOURS, LEVEL*FACTORxHOURS or _xHOURS")
    return found_levels
