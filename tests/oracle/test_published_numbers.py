"""Every published number of random fleets, computed a second time in plain Python from docs/semantics.md alone.

`make drill-oracle` does the same for hundreds of fleets.
"""

import pytest

from oracle.check import check
from oracle.generate import random_fleet

SEEDS = (3, 4, 13, 15, 16)  # small fleets that have sessions, sampled labels, bills and rates of every kind among them


@pytest.mark.parametrize("seed", SEEDS)
def test_every_published_number_of_a_random_fleet(seed: int) -> None:
    found = check(random_fleet(seed))
    assert len(found.compared) > 50
    assert found.differences == []
