"""Follows a series through its alarms: while one fires its baseline is frozen, and what fired is never history.

So a shift that nobody accepted never becomes normal by lasting long enough, and one that an operator accepts does
at once. Only series that reach a threshold come here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from goodput.monitor.control_chart import ControlChart
from goodput.monitor.detector import frozen, rescore, score
from goodput.monitor.grid import Flags
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.states import Debounce, Episode, episodes


@dataclass(frozen=True)
class Accepted:
    """What an operator accepted, in windows: the series since `since` is normal, as recorded before `at` was over."""

    since: int
    at: int


@dataclass(frozen=True)
class Followed:
    """The episodes of one series, those that an acceptance ended, and the scores by which each was judged."""

    episodes: tuple[Episode, ...]
    accepted: frozenset[Episode]
    scores: Scores


@dataclass(frozen=True)
class Terms:
    """When a series fires: at a threshold, with patience; in `relieved` windows something else watches it instead."""

    threshold: float
    patience: Debounce
    relieved: Flags


def follow(
    one: Inputs, chart: ControlChart, scores: Scores, terms: Terms, accepts: Sequence[Accepted] = ()
) -> Followed:
    """Episodes of one series, given its scores as long as nothing fires and nothing is accepted."""
    trail = _Trail(one, chart, scores, terms)
    for accepted in sorted(accepts, key=lambda a: a.at):
        trail.walk(accepted.at)
        trail.accept(accepted)
    trail.walk(one.grid.windows)
    return Followed(tuple(trail.found), frozenset(trail.accepted), trail.judged)


class _Trail:
    def __init__(self, one: Inputs, chart: ControlChart, scores: Scores, terms: Terms) -> None:
        self.one, self.chart = replace(one, aside=np.zeros(one.values.shape, dtype=np.bool_)), chart
        self.terms, self.scores = terms, scores
        self.judged = scores.copy()
        self.found: list[Episode] = []
        self.accepted: list[Episode] = []
        self.at = 0

    def walk(self, until: int) -> None:
        """Go on to a window; an episode that is still on there stays open."""
        while self.at < until:
            episode = next(self._episodes(self.scores, self.at, until), None)
            if episode is None:
                break
            if episode.firing is None:
                if until == self.one.grid.windows:
                    self.found.append(episode)
                break
            self._fire(episode, until)
        self.at = until

    def _fire(self, begun: Episode, until: int) -> None:
        as_it_began = frozen(self.one, self.chart, self.scores, begun.pending)
        same = next(self._episodes(as_it_began, begun.pending, until, begun))
        episode = Episode(begun.pending, begun.firing, same.resolved)
        over = until if episode.resolved is None else episode.resolved + 1
        self.judged.take(as_it_began, slice(begun.pending, over))
        self.found.append(episode)
        self._set_aside(begun.pending, over, is_aside=True)
        self.at = over
        if over < self.one.grid.windows:
            self._go_on(rescore(self.one, self.chart, self.scores, (begun.pending, over)))

    def accept(self, accepted: Accepted) -> None:
        """Shift what lay before by the step that became normal, and end what fires."""
        if self.found and self.found[-1].resolved is None:
            ended = replace(self.found.pop(), resolved=accepted.at - 1)
            self.found.append(ended)
            self.accepted.append(ended)
        self.one = self.chart.accepted(self.one, self.judged, slice(accepted.since, accepted.at))
        self._set_aside(accepted.since, self.one.grid.windows, is_aside=False)
        self._go_on(score(self.one, self.chart))

    def _set_aside(self, first: int, until: int, *, is_aside: bool) -> None:
        assert self.one.aside is not None  # noqa: S101
        aside = self.one.aside.copy()
        aside[:, first:until] = is_aside
        self.one = replace(self.one, aside=aside)

    def _go_on(self, scores: Scores) -> None:
        self.scores = scores
        self.judged.take(scores, slice(self.at, self.one.grid.windows))

    def _episodes(self, scores: Scores, first: int, until: int, begun: Episode | None = None) -> Iterator[Episode]:
        level, relieved = scores.score[0, first:until], self.terms.relieved[first:until]
        over = (level >= self.terms.threshold) & ~relieved
        clear = (level < self.terms.threshold / 2) | relieved
        if begun is not None and begun.firing is not None:  # midnight may have moved the baseline in between
            over[: begun.firing + 1 - first], clear[: begun.firing + 1 - first] = True, False
        for e in episodes(over, clear, np.isfinite(level) | relieved, self.terms.patience):
            moved = (None if at is None else at + first for at in (e.pending, e.firing, e.resolved))
            yield Episode(*moved)  # type: ignore[arg-type]  # pending is never None
