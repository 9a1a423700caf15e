"""`make drill-oracle`: hundreds of random fleets, every published number beside its plain computation."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from multiprocessing import get_context
from random import Random
from time import process_time

from goodput.errors import GoodputError
from oracle import scope
from oracle.check import check
from oracle.compare import Comparison, Difference
from oracle.generate import random_fleet


def main() -> None:
    """Print what was compared and what differs; exit with 1 where anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--fleets", type=int, default=200, help="how many fleets")
    parser.add_argument("--processes", type=int, default=2, help="how many at once")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.fleets)
    # concurrent.futures of Python 3.11 hangs once its processes have done their tasks
    with get_context("spawn").Pool(chosen.processes, maxtasksperchild=20) as pool:
        found: dict[int, Comparison] = {}
        for seed, comparison, cpu_s in pool.imap_unordered(_checked, seeds):
            found[seed] = comparison
            print(_fleet_line(seed, comparison, cpu_s, found), flush=True)
            if sys.stderr.isatty():
                print(f"[{'#' * (40 * len(found) // len(seeds)):<40}]", end="\r", file=sys.stderr, flush=True)
    report(found)
    sys.exit(any(comparison.differences for comparison in found.values()))


def _checked(seed: int) -> tuple[int, Comparison, float]:
    """A seed, the comparison of its fleet, and CPU seconds that it took."""
    before = process_time()
    try:
        found = check(random_fleet(seed), Random(seed))
    except GoodputError as error:  # what a run refuses is a difference like any other
        found = Comparison(differences=[Difference("run", None, "done", str(error), None)])
    return seed, found, process_time() - before


def _fleet_line(seed: int, comparison: Comparison, cpu_s: float, found: dict[int, Comparison]) -> str:
    """What came of a fleet, and of all so far, so that a drill that is stopped has said what it did."""
    values = sum(comparison.compared.values())
    all_values = sum(sum(one.compared.values()) for one in found.values())
    differing = sum(len(one.differences) for one in found.values())
    so_far = f"{len(found)} fleets, {all_values} values, {differing} differences"
    first = next((f"; {one.relation}.{one.column} {one.key}" for one in comparison.differences), "")
    return (
        f"fleet {seed}: {values} values, {len(comparison.differences)} differences, {cpu_s:.1f} CPU s; {so_far}{first}"
    )


def report(found: dict[int, Comparison]) -> None:
    """A line for each relation, for each column that differs one more with its first example, and the sums."""
    compared: Counter[str] = Counter()
    differing: Counter[tuple[str, str]] = Counter()
    fleets: dict[tuple[str, str], list[int]] = {}
    examples: dict[tuple[str, str], str] = {}
    for seed, comparison in sorted(found.items()):
        for (relation, _), count in comparison.compared.items():
            compared[relation] += count
        for difference in comparison.differences:
            place = (difference.relation, difference.column)
            differing[place] += 1
            if seed not in fleets.setdefault(place, []):
                fleets[place].append(seed)
            examples.setdefault(place, f"{difference.key}: {difference.published}, computed {difference.computed}")
    print(f"{'relation':<20}{'compared':>12}{'differences':>14}")
    for relation in sorted(compared):
        print(_line(relation, compared[relation], (differing[place] for place in differing if place[0] == relation)))
    print(_line(f"{len(found)} fleets", sum(compared.values()), differing.values()))
    columns = Counter(relation for relation, _ in {place for one in found.values() for place in one.compared})
    print("\ncolumns compared beside keys: " + ", ".join(f"{name} {count}" for name, count in sorted(columns.items())))
    print("not compared:", *scope.lines(), sep="\n  ")
    for place, count in sorted(differing.items()):
        print(f"\n{place[0]}.{place[1]}: {count} of fleets {fleets[place]}")
        print(f"  fleet {fleets[place][0]}, {examples[place]}")


def _line(name: str, compared: int, differing: Iterable[int]) -> str:
    return f"{name:<20}{compared:>12}{sum(differing):>14}"


if __name__ == "__main__":
    main()
