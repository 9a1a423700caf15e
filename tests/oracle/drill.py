"""`make drill-oracle`: hundreds of random fleets, every published number beside its plain computation."""

import sys
from collections import Counter

from oracle.check import check
from oracle.generate import random_fleet


def main() -> None:
    """Print what was compared and what differs; exit with 1 where anything does."""
    first, last = (int(argument) for argument in sys.argv[1:3]) if len(sys.argv) > 2 else (0, 200)
    compared: Counter[tuple[str, str]] = Counter()
    differing: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for seed in range(first, last):
        found = check(random_fleet(seed))
        compared.update(found.compared)
        for difference in found.differences:
            place = (difference.relation, difference.column)
            differing[place] += 1
            examples.setdefault(place, f"fleet {seed}: {difference}")
    for place in sorted(compared.keys() | differing.keys()):
        print(f"{place[0]:<16} {place[1]:<28} {compared[place]:>9} compared {differing[place]:>7} differ")
    print(f"{sum(compared.values())} values of {last - first} fleets, {sum(differing.values())} differ")
    print("\n".join(examples.values()))
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
