"""Follows a series through its alarms: while one fires its baseline is frozen, and what fired is never history.

So a shift that nobody accepted never becomes normal by lasting long enough, and one that an operator accepts does
at once. Only series that reach a threshold come here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from goodput.monitor.detector import Inputs, Scores, averaged, frozen_baseline, rescore, score
from goodput.monitor.grid import Flags
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


def follow(one: Inputs, scores: Scores, terms: Terms, accepts: Sequence[Accepted] = ()) -> Followed:
    """Episodes of one series, given its scores as long as nothing fires and nothing is accepted."""
    trail = _Trail(one, scores, terms)
    for accepted in sorted(accepts, key=lambda a: a.at):
        trail.walk(accepted.at)
        trail.accept(accepted)
    trail.walk(one.grid.windows)
    return Followed(tuple(trail.found), frozenset(trail.accepted), trail.judged)


class _Trail:
    def __init__(self, one: Inputs, scores: Scores, terms: Terms) -> None:
        self.one = replace(one, values=one.values.copy(), aside=np.zeros(one.values.shape, dtype=np.bool_))
        self.terms, self.scores = terms, scores
        self.judged = Scores(*(part.copy() for part in vars(self.scores).values()))
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
        frozen = self._frozen(begun)
        same = next(self._episodes(frozen, begun.pending, until, begun))
        episode = Episode(begun.pending, begun.firing, same.resolved)
        over = until if episode.resolved is None else episode.resolved + 1
        self._judge(frozen, begun.pending, over)
        self.found.append(episode)
        assert self.one.aside is not None  # noqa: S101
        self.one.aside[:, begun.pending : over] = True
        self.at = over
        if over < self.one.grid.windows:
            self._go_on(rescore(self.one, self.scores, (begun.pending, over)))

    def _frozen(self, episode: Episode) -> Scores:
        """Scores with the baseline of the day on which the episode began, from its first window on."""
        usual, scale = (part.copy() for part in frozen_baseline(self.one, episode.pending))
        before = slice(0, episode.pending)
        usual[:, before], scale[:, before] = self.scores.usual[:, before], self.scores.scale[:, before]
        residual = self.one.values - usual
        known = averaged(residual / scale, self.one.grid.step_s)
        return Scores(known, usual, residual, scale, self.scores.learning)

    def accept(self, accepted: Accepted) -> None:
        """Shift what lay before by the step that became normal, and end what fires."""
        since = slice(accepted.since, accepted.at)
        step = np.nanmedian(self.judged.residual[:, since]) if self._known(since) else 0.0
        if self.found and self.found[-1].resolved is None:
            ended = replace(self.found.pop(), resolved=accepted.at - 1)
            self.found.append(ended)
            self.accepted.append(ended)
        assert self.one.aside is not None  # noqa: S101
        self.one.values[:, : accepted.since] += step
        self.one.aside[:, accepted.since :] = False
        self._go_on(score(self.one))

    def _known(self, span: slice) -> bool:
        return bool(np.isfinite(self.judged.residual[:, span]).any())

    def _go_on(self, scores: Scores) -> None:
        self.scores = scores
        self._judge(self.scores, self.at, self.one.grid.windows)

    def _judge(self, scores: Scores, first: int, until: int) -> None:
        for mine, part in zip(vars(self.judged).values(), vars(scores).values(), strict=True):
            mine[:, first:until] = part[:, first:until]

    def _episodes(self, scores: Scores, first: int, until: int, begun: Episode | None = None) -> Iterator[Episode]:
        level, relieved = scores.score[0, first:until], self.terms.relieved[first:until]
        over = (level >= self.terms.threshold) & ~relieved
        clear = (level < self.terms.threshold / 2) | relieved
        if begun is not None and begun.firing is not None:  # midnight may have moved the baseline in between
            over[: begun.firing + 1 - first], clear[: begun.firing + 1 - first] = True, False
        for e in episodes(over, clear, np.isfinite(level) | relieved, self.terms.patience):
            moved = (None if at is None else at + first for at in (e.pending, e.firing, e.resolved))
            yield Episode(*moved)  # type: ignore[arg-type]  # pending is never None
