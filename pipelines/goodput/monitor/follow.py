"""Follows a series through its alarms: while one fires its baseline is frozen, and what fired is never history.

So a shift that nobody accepted never becomes normal by lasting long enough, and one that an operator accepts does
at once. Only series that reach a threshold come here.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from goodput.monitor.control_chart import ControlChart
from goodput.monitor.detector import frozen, rescore
from goodput.monitor.grid import Flags
from goodput.monitor.inputs import Inputs, Scores
from goodput.monitor.judged_days import JudgedDays
from goodput.monitor.states import Debounce, Episode, episodes

_MOSTLY_OVER_DAYS = 2


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


@dataclass(frozen=True)
class Followable:
    """One series with its scores as long as nothing fires and nothing is accepted."""

    one: Inputs
    scores: Scores
    terms: Terms
    accepts: Sequence[Accepted] = ()


def follow(chart: ControlChart, every: Sequence[Followable], known: JudgedDays | None = None) -> list[Followed]:
    """Episodes of each of these series.

    Each is followed by itself, from one change of its history to the next; what they ask for is scored together.
    Days that are `known` are not judged again.
    """
    trails = [_Trail(chart, each, known) for each in every]
    walks = {trail: trail.walk_all() for trail in trails}
    asked = {trail: request for trail, walk in walks.items() if (request := next(walk, None)) is not None}
    while asked:
        answers = zip(list(asked), _rescored(chart, list(asked.values()), known), strict=True)
        asked = {trail: more for trail, scores in answers if (more := _sent(walks[trail], scores)) is not None}
    return [Followed(tuple(trail.found), frozenset(trail.accepted), trail.judged) for trail in trails]


@dataclass(frozen=True)
class _Request:
    """A series of which what is history changed in these windows."""

    one: Inputs
    before: Scores
    changed: tuple[int, int]


_Walk = Generator[_Request, Scores, None]


def _sent(walk: _Walk, scores: Scores) -> _Request | None:
    try:
        return walk.send(scores)
    except StopIteration:
        return None


def _rescored(chart: ControlChart, requests: Sequence[_Request], known: JudgedDays | None) -> list[Scores]:
    one, before = requests[0].one, requests[0].before
    inputs = one.beside([request.one for request in requests[1:]])
    scores = before.beside([request.before for request in requests[1:]])
    together = rescore(inputs, chart, scores, [request.changed for request in requests], known)
    return [together.of(row) for row in range(len(requests))]


class _Trail:
    def __init__(self, chart: ControlChart, given: Followable, known: JudgedDays | None) -> None:
        self.one = replace(given.one, aside=np.zeros(given.one.values.shape, dtype=np.bool_))
        self.chart, self.known, self.terms, self.scores = chart, known, given.terms, given.scores
        self.accepts = sorted(given.accepts, key=lambda accepted: accepted.at)
        self.judged = given.scores.copy()
        self.found: list[Episode] = []
        self.accepted: list[Episode] = []
        self.at = 0

    def walk_all(self) -> _Walk:
        """Go on to the end, by way of all that was accepted."""
        for accepted in self.accepts:
            yield from self.walk(accepted.at)
            yield from self.accept(accepted)
        yield from self.walk(self.one.grid.windows)

    def walk(self, until: int) -> _Walk:
        """Go on to a window; an episode that is still on there stays open."""
        while self.at < until:
            episode = next(self._episodes(self.scores, self.at, until), None)
            if episode is None:
                break
            if episode.firing is None:
                if until == self.one.grid.windows:
                    self.found.append(episode)
                break
            yield from self._fire(episode, until)
        self.at = until

    def _fire(self, begun: Episode, until: int) -> _Walk:
        as_it_began, resolved = self._as_it_began(begun, until)
        episode = Episode(begun.pending, begun.firing, resolved)
        over = until if episode.resolved is None else episode.resolved + 1
        self.judged.take(as_it_began, slice(begun.pending, over))
        self.found.append(episode)
        self._set_aside(begun.pending, over, is_aside=True)
        self.at = over
        if over < self.one.grid.windows:
            self._go_on((yield _Request(self.one, self.scores, (begun.pending, over))))

    def _as_it_began(self, begun: Episode, until: int) -> tuple[Scores, int | None]:
        """The scores while it fires, and when it was over: mostly within days, and no later day is judged for that."""
        windows, days = self.one.grid.windows, _MOSTLY_OVER_DAYS
        while True:
            seen = min(begun.pending + days * self.one.grid.a_day, windows)
            scores = frozen(self.one, self.chart, self.scores, slice(begun.pending, seen), self.known)
            same = next(self._episodes(scores, begun.pending, min(seen, until), begun))
            if same.resolved is not None or seen >= until:
                return scores, same.resolved
            days *= 4

    def accept(self, accepted: Accepted) -> _Walk:
        """Shift what lay before by the step that became normal, and end what fires."""
        if self.found and self.found[-1].resolved is None:
            ended = replace(self.found.pop(), resolved=accepted.at - 1)
            self.found.append(ended)
            self.accepted.append(ended)
        self.one = self.chart.accepted(self.one, self.judged, slice(accepted.since, accepted.at))
        self._set_aside(accepted.since, self.one.grid.windows, is_aside=False)
        self._go_on((yield _Request(self.one, self.scores, (0, self.one.grid.windows))))

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
