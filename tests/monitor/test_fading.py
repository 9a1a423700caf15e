"""Sums that fade, beside the same read off their definition window by window."""

import numpy as np
import pytest

from goodput.monitor.fading import Fading
from goodput.monitor.grid import Flags, Floats


def _by_definition(part: Floats, known: Flags, fading: Fading) -> Floats:
    """Of one series: each known window with those before it, by how many known ones lie between."""
    at = np.flatnonzero(known)
    found = np.full(len(part), np.nan)
    for place, window in enumerate(at):
        before = [(back, at[place - back]) for back in range(min(fading.taps, place + 1))]
        found[window] = sum(fading.kept**back * part[other] for back, other in before if window - other <= fading.reach)
    return found


@pytest.mark.parametrize("taps", [1, 6, 24, 47, 48])
@pytest.mark.parametrize("unknown_ratio", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("windows", [1, 23, 200])
def test_sums_are_those_of_the_definition(taps: int, unknown_ratio: float, windows: int) -> None:
    chance = np.random.default_rng([taps, int(100 * unknown_ratio), windows])
    known = chance.random((8, windows)) >= unknown_ratio
    known[0, windows // 3 : windows // 2] = False  # one long gap in a series that has few others
    known[1, : windows // 2] = False  # begins late
    known[2, windows // 2 :] = False  # has ended
    parts = [np.where(known, chance.normal(size=known.shape), 0.0) for _ in range(2)]
    fading = Fading(kept=0.9, taps=taps, reach=max(taps, 4))
    for part, found in zip(parts, fading.sums(parts, known), strict=True):
        for row in range(len(part)):
            due = _by_definition(part[row], known[row], fading)
            np.testing.assert_allclose(np.where(known[row], found[row], np.nan), due, rtol=1e-12, atol=1e-13)


def test_what_comes_later_changes_no_bit_of_earlier_sums() -> None:
    """A gap that comes later has its series summed another way where it is cut short, and nowhere else."""
    chance = np.random.default_rng(5)
    known = np.ones((3, 120), dtype=np.bool_)
    known[1, 100:112] = False
    part = np.where(known, chance.normal(size=known.shape), 0.0)
    fading = Fading(kept=0.9, taps=48, reach=48)
    (early,), (whole,) = fading.sums([part[:, :99]], known[:, :99]), fading.sums([part], known)
    assert np.array_equal(early, whole[:, :99])
