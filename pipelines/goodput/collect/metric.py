"""What a metric dialect is: a table of emitted metric name, condition -> canonical name, kind, unit.

The dialects themselves are modules of `dialects.metrics`; the canonical names and their units stand in the contract
of `sample_records`; running the dialects is the work of `samples`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

Kind = Literal["gauge", "counter", "histogram"]
Layer = Literal["engine", "gateway", "process"]
HISTOGRAM_PARTS = ("_bucket", "_count", "_sum")  # behind a histogram's name: the lines that Prometheus text has of it
_RAY = "ray_"  # in front of the names of engines that run under Ray, which allows no colon


@dataclass(frozen=True, eq=False)
class Metric:
    """One emitted metric in canonical words; a name whose meaning depends on more stands in several of them.

    Of one replica's canonical metric the readings of the lowest `generation` count: later ones are its older names,
    which some versions emit beside the new.
    """

    emitted: str  # without the suffix "_total" that Prometheus clients append to counters
    canonical: str | None  # None: left out by rule
    kind: Kind
    when: pl.Expr | None = None  # over `description`, `version` and `labels`: the meaning holds only there
    scale: float = 1.0  # canonical value = emitted value x scale; of a histogram what was observed, not its counts
    value: pl.Expr | None = None  # over `labels`: an "info" metric says its numbers there, and its value is always 1
    reason: str | None = None  # of counted requests: why they ended, for all of them
    reason_label: str | None = None  # or the label that says why
    replica_labels: tuple[str, ...] = ()  # labels that name the replica, where the emitter reports on another
    generation: int = 0

    @property
    def spellings(self) -> Iterator[str]:
        """Every name that this one is emitted as: by Prometheus clients, by OTel, and through Ray."""
        is_reading = self.emitted.endswith(HISTOGRAM_PARTS)
        suffixes = ("", "_total") if self.kind == "counter" and not is_reading else ("",)
        plain = self.emitted.replace(":", "_")
        for stem in dict.fromkeys((self.emitted, plain, _RAY + plain, _RAY + self.emitted)):
            yield from (stem + suffix for suffix in suffixes)


@dataclass(frozen=True, eq=False)
class MetricDialect:
    """The metrics of one emitter, and the names that it emits beside them of which no number is made.

    A gateway's stand for many replicas: its own are never added to theirs. What every process emits in the same way
    has the layer "process": it counts where the engine or gateway of that process is known.
    """

    name: str
    metrics: tuple[Metric, ...]
    left_out: tuple[str, ...] = ()  # regular expressions of whole names, without suffixes, that no metric above has
    layer: Layer = "engine"
