"""The state machine by hand: f is over the threshold, c is clear of it, - between, a blank is no verdict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodput.monitor.states import Debounce, Episode, episodes

TWO_AND_THREE = Debounce(2, 3)


def seen(verdicts: str, patience: Debounce = TWO_AND_THREE) -> list[tuple[int, int | None, int | None]]:
    flags = np.array(list(verdicts))
    found = episodes(flags == "f", flags == "c", flags != " ", patience)
    return [(e.pending, e.firing, e.resolved) for e in found]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("cccc", []),
        ("cfcc", []),  # pending, and over before it fired
        ("ccf", [(2, None, None)]),  # pending still
        ("cffc", [(1, 2, None)]),
        ("cf-fcc", []),  # twice, but not in a row
        ("ff-c-ccc", [(0, 1, 7)]),
        ("ffccfccc", [(0, 1, 7)]),  # not over before it was over three times in a row
        ("ffcccff", [(0, 1, 4), (5, 6, None)]),
        ("f   f", [(0, 4, None)]),  # missing windows hold
        ("ffc   c   c", [(0, 1, 10)]),
        ("ff      ", [(0, 1, None)]),
        ("", []),
    ],
)
def test_by_hand(verdicts: str, expected: list[tuple[int, int | None, int | None]]) -> None:
    assert seen(verdicts) == expected


def test_one_window_fires_and_clears_where_patience_is_one() -> None:
    assert seen("cfcfc", Debounce(1, 1)) == [(1, 1, 2), (3, 3, 4)]


def stepwise(verdicts: str, patience: Debounce) -> list[tuple[int, int | None, int | None]]:
    """The same machine, one window after the other."""
    found, state, pending, fired, row = [], "inactive", 0, 0, 0
    for at, word in enumerate(verdicts):
        if word == " ":
            continue
        if state == "inactive" and word == "f":
            state, pending, row = "pending", at, 0
        if state == "pending":
            row = row + 1 if word == "f" else 0
            if row == 0:
                state = "inactive"
            elif row == patience.fire:
                state, fired, row = "firing", at, 0
        elif state == "firing":
            row = row + 1 if word == "c" else 0
            if row == patience.clear:
                found.append((pending, fired, at))
                state = "inactive"
    if state != "inactive":
        found.append((pending, fired if state == "firing" else None, None))
    return found


@given(st.text("ffc- ", max_size=60), st.integers(1, 4), st.integers(1, 4))
def test_it_is_the_machine_that_goes_window_by_window(verdicts: str, fire: int, clear: int) -> None:
    assert seen(verdicts, Debounce(fire, clear)) == stepwise(verdicts, Debounce(fire, clear))


@given(st.text("fffccc- ", max_size=80))
def test_firing_and_resolved_alternate(verdicts: str) -> None:
    flags = np.array(list(verdicts))
    found: list[Episode] = list(episodes(flags == "f", flags == "c", flags != " ", Debounce()))
    times = [at for e in found for at in (e.pending, e.firing, e.resolved) if at is not None]
    assert times == sorted(times)
    assert all(e.resolved is not None for e in found[:-1])
