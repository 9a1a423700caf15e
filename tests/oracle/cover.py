"""Finds small fleets that have every feature together: `python -m oracle.cover` prints the seeds for the suite.

Needed whenever `generate.py` draws something more, since every fleet is then another.
"""

from itertools import combinations
from multiprocessing import Pool
from typing import NamedTuple

from oracle.features import ALL, features
from oracle.generate import random_fleet

SEARCHED, LARGEST, RICHEST, SHOWN = 2000, 80, 250, 5  # seeds, records of a fleet, fleets with most features, answers


class Seen(NamedTuple):
    """A seed, how many records its fleet has and which features."""

    seed: int
    records: int
    has: frozenset[str]


def seen(seed: int) -> Seen:
    """What the fleet of a seed has."""
    fleet = random_fleet(seed)
    return Seen(seed, len(fleet.records), frozenset(features(fleet)))


def covering(fleets: list[Seen]) -> list[tuple[int, ...]]:
    """Three seeds of each set of fleets that have every feature, those with the fewest records first."""
    small = sorted((one for one in fleets if one.records <= LARGEST), key=lambda one: -len(one.has))[:RICHEST]
    threes = (three for three in combinations(small, 3) if frozenset.union(*(one.has for one in three)) >= ALL)
    return [
        tuple(one.seed for one in three) for three in sorted(threes, key=lambda three: sum(o.records for o in three))
    ]


if __name__ == "__main__":
    with Pool() as pool:
        print(*covering(pool.map(seen, range(SEARCHED), chunksize=20))[:SHOWN], sep="\n")
