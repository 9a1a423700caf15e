"""How large a cluster: what a day of requests takes, costs and waits for, from 10^6 to 10^10 of them.

`python -m benchmarks.scale_model` prints what it assumes, each an option, and a table of whole hours and one of hours
that are cut. What a request costs is measured (`scale_stages`), how a day goes is simulated (`scale_day`).
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from statistics import median
from typing import Any, TypeVar

from benchmarks.scale_day import (
    CORES,
    DAY,
    DAY_H,
    HOUR,
    HOUR_S,
    INGEST,
    KEY,
    OWN,
    Assumed,
    Simulated,
    assumed,
    simulate,
)
from benchmarks.scale_stages import RECORD_BYTES, STAGES

REQUESTS_A_DAY = (1e6, 1e7, 1e8, 1e9, 1e10)
SHARD_REQUESTS = 200_000
_PARTS = {HOUR: "an hour", DAY: "a day", KEY: "the largest key", CORES: "a shard"}
HEADINGS = (
    "requests a day",
    "core-hours a day",
    "memory of a worker",
    "out after the hour: median, worst",
    "stored a day, kept",
    "requests to the store a day",
    "dollars a day: compute, storage, requests",
    "workers needed of given",
    "first bottleneck",
)


@dataclass(frozen=True)
class Prices:
    """What things cost; every field is an option."""

    retention_days: float = assumed(90.0, "until rows are pruned")
    core_hour_usd: float = assumed(0.05, "a core with its memory, while it works")
    gb_month_usd: float = assumed(0.023, "storage")
    write_usd: float = assumed(5e-6, "a PUT")
    read_usd: float = assumed(4e-7, "a GET")


@dataclass(frozen=True)
class Day:
    """What a day of so many requests takes."""

    requests: float
    given: Assumed
    prices: Prices
    took: Simulated

    @property
    def too_large(self) -> str | None:
        """Which task is furthest beyond what a worker can hold, if any is."""
        held, taken = self.took.memory_bytes, self.given.worker_bytes * self.given.spill
        stage, kind = max(held, key=lambda key: held[key])
        return f"{_PARTS[kind]} of the {stage} does not fit a worker" if held[stage, kind] > taken else None

    @property
    def longest(self) -> str:
        """What runs wait for longest, which fills the day first as traffic grows."""
        return max(self.took.path_s, key=lambda name: self.took.path_s[name])

    @property
    def bottleneck(self) -> str:
        """What has no room in memory, or else what runs wait for longest."""
        return self.too_large or self.longest

    @property
    def workers_needed(self) -> float:
        """So many that a day's tasks fit the time that the run's process leaves; infinity where it leaves none."""
        left_s = DAY_H * HOUR_S - self.took.path_s[INGEST] - self.took.path_s[OWN]
        return math.ceil(self.took.worker_core_s / left_s) if left_s > 0 else math.inf

    @property
    def delays_s(self) -> tuple[float, float]:
        """Median and worst hour's, memory being no matter; infinity where numbers come later each day."""
        return (math.inf, math.inf) if self.took.is_behind else (median(self.took.delays_s), max(self.took.delays_s))

    @property
    def core_hours(self) -> float:
        """Of workers and of the run's process."""
        return (self.took.worker_core_s + self.took.own_core_s) / HOUR_S

    @property
    def stored_bytes(self) -> float:
        """That the day adds to the lake."""
        return self.requests * (RECORD_BYTES + sum(stage.stored_bytes for stage in STAGES))

    @property
    def usd(self) -> tuple[float, float, float]:
        """Compute, storage of all days that are kept, and requests to the store."""
        prices = self.prices
        kept_gb = self.stored_bytes * prices.retention_days / 1e9
        asked_usd = self.took.writes * prices.write_usd + self.took.reads * prices.read_usd
        return self.core_hours * prices.core_hour_usd, kept_gb * prices.gb_month_usd * 12 / 365, asked_usd


Kind = TypeVar("Kind", Assumed, Prices)


def day(requests: float, given: Assumed, prices: Prices) -> Day:
    """A day of so many requests."""
    return Day(requests, given, prices, simulate(requests, given))


def cells(of: Day) -> Iterator[str]:
    """A day as a line of the table."""
    power = math.log10(of.requests)
    yield f"10^{power:g}" if power.is_integer() else f"{of.requests:,.0f}"
    yield f"{of.core_hours:,.3g}" if of.core_hours < 1000 else f"{of.core_hours:,.0f}"
    yield _bytes(max(of.took.memory_bytes.values()))
    yield _out(of)
    yield f"{_bytes(of.stored_bytes)}, {_bytes(of.stored_bytes * of.prices.retention_days)}"
    yield f"{of.took.reads + of.took.writes:,.0f}"
    total, *each = sum(of.usd), *of.usd
    yield f"{total:,.2f}: {', '.join(f'{usd:,.2f}' for usd in each)}"
    yield f"{'no number' if math.isinf(of.workers_needed) else f'{of.workers_needed:,}'} of {of.given.workers}"
    percent = 100 * of.took.path_s[of.longest] / (DAY_H * HOUR_S)
    waits = f"{of.longest}, {percent:.1f} % of the day"
    yield f"{of.bottleneck}; then {waits}" if of.too_large else waits


def _out(of: Day) -> str:
    if of.took.is_behind:
        return "never"
    out = ", ".join(f"{delay_s / 60:.0f} min" for delay_s in of.delays_s)
    return f"never; if it did fit {out}" if of.too_large else out


def table(days: Sequence[Day]) -> str:
    """The days as Markdown."""
    lines = [HEADINGS, ["---"] * len(HEADINGS), *([*cells(one)] for one in days)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Print what is assumed, and a table of whole hours and of cut ones, or of what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_model", description=__doc__)
    parser.add_argument("--requests", type=float, nargs="+", default=REQUESTS_A_DAY, metavar="A_DAY")
    for one in (*fields(Assumed), *fields(Prices)):
        parser.add_argument(f"--{one.name.replace('_', '-')}", **_option(one))
    asked = vars(parser.parse_args())
    given, prices = _of(Assumed, asked), _of(Prices, asked)
    for one in (*fields(given), *fields(prices)):
        if asked[one.name] is not None:
            print(f"{one.name} = {asked[one.name]:g}  # {one.metadata['meaning']}")
    for shard in [given.shard_requests] if given.shard_requests else [None, SHARD_REQUESTS]:
        print(f"\n{f'Hours cut into shards of {shard:,} requests' if shard else 'Whole hours'}\n")
        days = [day(requests, replace(given, shard_requests=shard), prices) for requests in asked["requests"]]
        print(table(days), end="", flush=True)


def _of(kind: type[Kind], asked: Mapping[str, Any]) -> Kind:
    return kind(**{one.name: asked[one.name] for one in fields(kind)})


def _option(of: "Field[Any]") -> dict[str, Any]:
    is_whole = isinstance(of.default, int) or of.default is None
    return {"type": int if is_whole else float, "default": of.default, "help": of.metadata["meaning"]}


def _bytes(count: float) -> str:
    unit = next(unit for unit in ("GB", "TB", "PB") if count < 1000 * _UNITS[unit] or unit == "PB")
    return f"{count / _UNITS[unit]:.3g} {unit}"


_UNITS = {"GB": 1e9, "TB": 1e12, "PB": 1e15}


if __name__ == "__main__":
    main()
