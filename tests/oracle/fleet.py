"""A random fleet as plain data: its settings in the shape of goodput.toml and what its emitters wrote, row by row.

Times are whole Unix nanoseconds. Nothing here computes or knows files.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Row = dict[str, Any]

US = 10**3
MS = 10**6
S = 10**9
HOUR = 3600 * S
DAY = 24 * HOUR
MIDNIGHT_NS = 1_795_132_800 * S  # 2026-11-20T00:00:00Z
ATTRIBUTES = ("team", "offered_rps")  # kept as such: no column has them
LATENCIES = ("ttft", "tpot", "e2e", "itl_p95", "jitter", "deadline")
GATES = ("success", "retries", *LATENCIES, "quality")
VERDICTS = ("failed", "ungated", "over_budget", "slow", "rejected", "unevaluable", "unlabelled", "accepted")


@dataclass
class Fleet:
    """Rows of each kind; names of columns are those that a declared source maps."""

    settings: Row
    records: list[Row] = field(default_factory=list)
    labels: list[Row] = field(default_factory=list)
    readings: list[Row] = field(default_factory=list)
    bills: list[list[Row]] = field(default_factory=list)  # file by file
    exports: dict[str, list[Row]] = field(default_factory=dict)  # lines of each exported bill by file
    events: list[Row] = field(default_factory=list)  # tellings of operations
    prices: dict[str, dict[str, str]] = field(default_factory=dict)  # model -> USD per input, cached, output token

    @property
    def workloads(self) -> Row:
        """Settings of the workloads in their order."""
        return self.settings["workloads"]  # type: ignore[no-any-return]


def exact(value: float | str | None) -> Fraction | None:
    """The decimal number that a value was written as."""
    return None if value is None else Fraction(str(value))


def seconds(ns: int) -> Fraction:
    """Nanoseconds in seconds, exactly."""
    return Fraction(ns, S)


def bound_of(workload: Row, gate: str) -> Fraction | None:
    """The bound of a latency gate in seconds; None where the workload does not set it."""
    return exact(workload.get("completion_window_s" if gate == "deadline" else f"{gate}_s"))
