"""Goodput by load: docs/semantics.md#frontier. Where knees lie is not computed."""

from collections import defaultdict
from fractions import Fraction
from typing import Any

from oracle.bins import ENOUGH, Bin, interval
from oracle.fleet import Fleet, Row, S
from oracle.load_prices import price
from oracle.loads import Load, Loads, by_bin, load_rps
from oracle.points import POOL
from oracle.slices import DIMENSIONS, UNKNOWN, Key

ROUTE = POOL - DIMENSIONS.index("pool") + DIMENSIONS.index("route")


class Frontier:
    """Rows of relation frontier."""

    def __init__(self, fleet: Fleet, loads: Loads, goodput: dict[Key, Row], costs: dict[Key, Fraction | None]) -> None:
        self.fleet, self.loads, self.goodput, self.costs = fleet, loads, goodput, costs

    def rows(self, disruptions: Any) -> dict[tuple[str, str | None, str | None, int], Row]:
        """By slice, pool, route and bin, gaps included."""
        keeps = self.fleet.settings["disruptions"]["in_frontier"]
        found = {}
        for slice_ in ("route", "pool"):
            of_slice = self.loads.of(slice_)
            for name in self._names(of_slice):
                every = of_slice[name]
                hit = [load for load in every if not keeps and self.loads.is_disrupted(slice_, name, load, disruptions)]
                for number, row in self._of(slice_, name, every, hit).items():
                    pool, route = (name, None) if slice_ == "pool" else (None, name)
                    found[slice_, pool, route, number] = row
        return found

    def _names(self, of_slice: dict[str, list[Load]]) -> list[str]:
        """Those of most arrivals, of as many the first by name; what was not reported beside them."""
        arrivals = {name: sum(len(load.requests) for load in every) for name, every in of_slice.items()}
        named = sorted(arrivals.keys() - {UNKNOWN}, key=lambda name: (-arrivals[name], name))
        return [*named[: self.fleet.settings["slices"].get("max_names", 1000)], *({UNKNOWN} & arrivals.keys())]

    def _of(self, slice_: str, name: str, every: list[Load], hit: list[Load]) -> dict[int, Row]:
        kept = [load for load in every if load not in hit]
        by_number = by_bin(kept, lambda load: load_rps(load, kept))
        bins = {number: Bin(self.fleet, loads, kept) for number, loads in by_number.items()}
        whole = self._whole(kept, bins, every) | {"disrupted_windows": len(hit)}
        found: dict[int, Row] = {}
        numbers = list(bins)
        for place, number in enumerate(numbers):
            row = _bin_row(bins[number], list(bins.values())) | self._price(slice_, name, bins[number])
            row["is_sustained"] = _is_sustained(bins[number], whole["unloaded_goodput_ratio"])
            found[number] = whole | _edges(number, number + 1) | row
            after = numbers[place + 1] if place + 1 < len(numbers) else number + 1
            if after > number + 1:
                found[number + 1] = whole | _edges(number + 1, after) | {"windows": 0, "arrivals": 0}
        return found

    def _whole(self, kept: list[Load], bins: dict[int, Bin], every: list[Load]) -> Row:
        """What holds of a route or pool at all loads."""
        if not kept:
            return {}
        rates = [load_rps(load, kept) for load in kept]
        arrivals = sum(len(load.requests) for load in kept)
        carried = arrivals + sum(load.of_others for load in kept)
        ended = [one for one in bins.values() if one.ended]
        lowest = next((one for one in ended if one.ended >= ENOUGH), ended[0] if ended else None)
        declared = [load for load in kept if load.declared is not None]
        shared, is_known = 1 - arrivals / carried, min(load.replicas for load in kept) > 0
        return {
            "unloaded_goodput_ratio": lowest and lowest.ratio,
            "knee_windows": len(declared or kept),
            "observed_min_rps": min(rates),
            "observed_max_rps": max(rates),
            "peak_rps": max(Fraction(len(load.requests), load.lasts_s) for load in every),
            "shared_ratio": shared,
            "headroom": Fraction(6, 5),
            "no_recommendation": None if is_known and shared <= Fraction(1, 100) else _why(is_known),
        }

    def _price(self, slice_: str, name: str, own: Bin) -> Row:
        """Cost per accepted request of what ended in these windows."""
        place, cut = (POOL if slice_ == "pool" else ROUTE), f"workload_{slice_}"
        times = {load.at // S for load in own.loads}
        windows: dict[int, list[Key]] = defaultdict(list)
        for key in self.goodput:
            if key[0] in times and key[1:3] == (self.loads.base_s, cut) and key[place] == name:
                windows[key[0]].append(key)
        return price(self.fleet, [[(self.costs[key], self.goodput[key], key) for key in of] for of in windows.values()])


def _edges(first: int, after: int) -> Row:
    return {"from_rps": 10 ** (first / 20), "to_rps": 10 ** (after / 20)}


def _why(is_known: bool) -> str:
    return "shared_replicas" if is_known else "replicas_unknown"


def _bin_row(own: Bin, every: list[Bin]) -> Row:
    ends = interval(own, every)
    time_s = sum(load.replica_time_s for load in own.loads)
    is_known = min(load.replicas for load in own.loads) > 0
    reason = "nothing_ended" if own.ratio is None else "single_windows" if ends is None else None
    return {
        "windows": own.n,
        "arrivals": sum(len(load.requests) for load in own.loads),
        "load_rps": sum(load.carried for load in own.loads) / time_s if time_s else own.load,
        "replicas": Fraction(sum(load.replicas for load in own.loads), own.n) if is_known else None,
        "throughput_rps": len(own.succeeded) / time_s if time_s else None,
        "goodput_rps": own.estimate / time_s if time_s else None,
        "goodput_ratio": own.ratio,
        "goodput_ratio_ci_low": ends and ends[0],
        "goodput_ratio_ci_high": ends and ends[1],
        "no_interval": reason,
        **{f"p99_{name}_s": own.p99(name) for name in ("ttft", "tpot", "e2e")},
        "p99_gates_hold": own.gates_hold(),
        "low_n": own.ended < ENOUGH,
    }


def _is_sustained(own: Bin, unloaded: Fraction | None) -> bool | None:
    if own.ended < ENOUGH or own.ratio is None or unloaded is None:
        return None
    return own.ratio > 0 and own.ratio >= Fraction(95, 100) * unloaded and own.gates_hold()
