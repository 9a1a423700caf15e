"""The state machine: what is seen window by window becomes episodes of pending, firing and resolved.

Windows without a verdict hold the state: missing data neither fires nor resolves.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from goodput.monitor.grid import Flags


@dataclass(frozen=True)
class Debounce:
    """How many verdicts in a row it takes to fire, and to be over."""

    fire: int = 2
    clear: int = 3


@dataclass(frozen=True)
class Episode:
    """One time that a condition held, in windows: since when, from when it fired, when it was over; None: not yet."""

    pending: int
    firing: int | None
    resolved: int | None


def episodes(over: Flags, clear: Flags, known: Flags, patience: Debounce) -> Iterator[Episode]:
    """Episodes of one series in order; a condition that was over before it fired leaves none, unless it is the last.

    `over` and `clear` say where the condition holds and where it has ended; between the two nothing changes.
    """
    at = np.flatnonzero(known)
    over, clear = over[at], clear[at]
    start = 0
    while (pending := _next(over, start)) is not None:
        fired = _in_a_row(over, pending, patience.fire)
        if fired is None:
            broken = _next(~over, pending)
            if broken is None:
                yield Episode(int(at[pending]), None, None)
                return
            start = broken
            continue
        ended = _run(clear, fired + 1, patience.clear)
        yield Episode(int(at[pending]), int(at[fired]), None if ended is None else int(at[ended]))
        if ended is None:
            return
        start = ended + 1


def _next(flags: Flags, start: int) -> int | None:
    found = np.flatnonzero(flags[start:])
    return start + int(found[0]) if len(found) else None


def _in_a_row(flags: Flags, start: int, count: int) -> int | None:
    """Last position of `count` set flags from `start` on; None where the run is shorter."""
    last = start + count - 1
    return last if last < len(flags) and bool(flags[start : last + 1].all()) else None


def _run(flags: Flags, start: int, count: int) -> int | None:
    """Last position of the first run of `count` set flags at or after `start`."""
    if len(flags) - start < count:
        return None
    runs = np.asarray(np.lib.stride_tricks.sliding_window_view(flags[start:], count).all(axis=1))
    first = _next(runs, 0)
    return None if first is None else start + first + count - 1
