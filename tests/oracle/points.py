"""What each pool, and the fleet as a whole, did in each base window: docs/semantics.md#disruptions."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from oracle.fleet import Fleet, Row, S
from oracle.slices import DIMENSIONS, UNKNOWN, Key
from oracle.spans import Span
from oracle.state import States
from oracle.waste import Waste, all_cost

Amounts = tuple[Fraction, Fraction, Fraction]  # USD for replicas, USD for their pool, GPU seconds
Paid = dict[tuple[str, str | None], Amounts]  # by pool and replica
SLICE, WORKLOAD, POOL = 2, 4, 4 + DIMENSIONS.index("pool")


@dataclass(frozen=True)
class Judged:
    """Requests of a workload with a quality gate that need a label, have one, and passed."""

    need: int = 0
    labelled: int = 0
    passed: int = 0

    def __add__(self, other: "Judged") -> "Judged":
        return Judged(self.need + other.need, self.labelled + other.labelled, self.passed + other.passed)


@dataclass(frozen=True)
class Point:
    """A base window of a pool, or of the fleet (None)."""

    pool: str | None
    span: Span
    arrivals: int
    offered: int
    accepted: int
    p95_ttft_s: Fraction | None
    usd: Fraction | None
    is_whole: bool
    given: int  # input tokens of attempts on its replicas that report cached ones too
    cached: int
    judged: dict[str, Judged] = field(default_factory=dict)
    paid: Paid = field(default_factory=dict)  # for the time of its replicas
    is_unmatched: bool = False  # has a cost, but none at the price that is asked for

    @property
    def at(self) -> int:
        """Where it begins."""
        return self.span[0]


def points(
    fleet: Fleet, goodput: dict[Key, Row], waste: Waste, states: States, observed: Span, *, paid: dict[int, Paid]
) -> list[Point]:
    """All base windows of all pools and of the fleet in which telemetry was observed, in their order."""
    base_s = min(fleet.settings["windows_s"])
    judged: dict[Any, dict[str, Judged]] = defaultdict(dict)
    for key, row in goodput.items():
        quality = fleet.workloads.get(key[WORKLOAD] or "", {}).get("quality")
        if key[1] == base_s and key[SLICE] in {"workload", "workload_pool"} and quality is not None:
            counts = Judged(row["need_label"], row["labelled"], row["accepted"])
            judged[key[0], key[POOL]][key[WORKLOAD]] = counts
    tokens = _tokens(states, base_s)
    found = [
        Point(
            pool=key[POOL],
            span=(key[0] * S, (key[0] + base_s) * S),
            **{name: row[name] for name in ("arrivals", "offered", "accepted", "p95_ttft_s")},
            usd=_cost(key, goodput, waste),
            is_whole=observed[0] <= key[0] * S and (key[0] + base_s) * S <= observed[1],
            given=tokens[key[0], key[POOL]][0],
            cached=tokens[key[0], key[POOL]][1],
            paid={of: cost for of, cost in paid.get(key[0] * S, {}).items() if key[POOL] in {None, of[0]}},
            judged={name: of for name, of in judged[key[0], key[POOL]].items() if of.need},
        )
        for key, row in goodput.items()
        if key[1] == base_s and key[SLICE] in {"overall", "pool"}
        if (key[0] + base_s) * S > observed[0] and key[0] * S < observed[1]
    ]
    return sorted(found, key=lambda point: (point.at, point.pool or ""))


def _cost(key: Key, goodput: dict[Key, Row], waste: Waste) -> Fraction | None:
    """What a window cost; what reached no pool nothing, where no work is behind it and some pool's cost is known."""
    costs = waste.costs(key)
    if key[POOL] != UNKNOWN or costs["cost_usd"] is not None or costs["unpriced"]:
        return all_cost(costs)
    beside = (of for of in goodput if of[:2] == key[:2] and of[SLICE] == "pool" and of[POOL] != UNKNOWN)
    return Fraction(0) if any(waste.costs(of)["cost_usd"] is not None for of in beside) else None


def _tokens(states: States, base_s: int) -> dict[tuple[int, str | None], tuple[int, int]]:
    """Input and cached tokens by window and pool (None: all of them) of attempts on replicas that report both."""
    found: dict[tuple[int, str | None], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for key in states.keys:
        if key[1] == base_s:
            given, cached = found_on(states.ended[key])
            for pool in (states.pool(key) or UNKNOWN, None):
                before = found[key[0], pool]
                found[key[0], pool] = (before[0] + given, before[1] + cached)
    return found


def found_on(attempts: Iterable[Row]) -> tuple[int, int]:
    """Input and cached tokens of attempts that report both."""
    both = [(a["input_tokens"], a["cached_input_tokens"]) for a in attempts]
    known = [(given, cached) for given, cached in both if given is not None and cached is not None]
    return sum(given for given, _ in known), sum(cached for _, cached in known)


def hit_ratio(of: Iterable[Point]) -> Fraction | None:
    """What was found in caches of what was looked up."""
    of = list(of)
    given = sum(point.given for point in of)
    return Fraction(sum(point.cached for point in of), given) if given else None
