"""Every published number of random fleets, computed a second time in plain Python from docs/semantics.md alone.

`make drill-oracle` does the same for hundreds of fleets.
"""

import pytest

from oracle import scope
from oracle.check import check
from oracle.generate import random_fleet

SEEDS = (
    14,
    17,
    20,
    25,
    43,
)  # small fleets; sessions, slices, sampled labels, bills and rates of every kind are among them


@pytest.mark.parametrize("seed", SEEDS)
def test_every_published_number_of_a_random_fleet(seed: int) -> None:
    found = check(random_fleet(seed))
    assert len(found.compared) > 50
    assert scope.unexplained(found.compared) == set()
    assert found.differences == []
