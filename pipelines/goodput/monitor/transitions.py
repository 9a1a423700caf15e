"""What the alarms did: firing and resolved of every episode, and what keeps it from being reported.

A pure function of series, settings and actions; what was recorded before is `reconcile`'s work.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from goodput.monitor.grid import DAY_S, Grid
from goodput.monitor.panel import Labels
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.states import Episode
from goodput.plumbing.alarm_actions import Action

BUDGET_S = 28 * DAY_S
_LATENCIES = ("_ttft_s", "_tpot_s", "_e2e_s", "_queue_s")
_TOGETHER_S = 12 * 3600  # the same drift is found within hours in one latency and the other, as their noise has it
_AFTER_PAGE_S = 6 * 3600  # a ticket outlasts its page by a little: no news


@dataclass(frozen=True)
class Suppression:
    """From `from_s` to `until_s` nothing is reported, and why: silenced, inhibited or over_budget, by what."""

    from_s: float
    until_s: float
    kind: str
    by: str


@dataclass(frozen=True)
class EpisodeTransition:
    """One event to be: the episode of an alarm fired, or is over. Times in Unix seconds."""

    series: RuleSeries
    episode: Episode
    transition: str
    at_s: int
    starts_s: int
    ends_s: int | None
    suppression: Suppression | None = None
    reason: str | None = None


def spans(one: RuleSeries, grid: Grid) -> Iterator[tuple[Episode, int, int | None]]:
    """Episodes that fired, each with when it began to fire and when that was over."""
    for episode in one.episodes:
        if episode.firing is not None:
            ends_s = None if episode.resolved is None else grid.end_s(episode.resolved)
            yield episode, grid.end_s(episode.firing), ends_s


def suppressions(
    every_series: Sequence[RuleSeries], grid: Grid, silences: Sequence[Action], page_budget: int
) -> dict[str, list[Suppression]]:
    """What suppresses each alarm, by alarm_id.

    A page suppresses the ticket of the same rule kind, metric and series, and alarms there of kinds that name its own
    in `inhibited_by`. Of kinds that learn a baseline a page over its budget suppresses itself, and of latencies of one
    series that drift together the first to be reported suppresses the others.
    """
    paging: dict[tuple[object, ...], list[Suppression]] = {}
    for one in every_series:
        if one.severity == "page":
            for _, starts_s, ends_s in spans(one, grid):
                suppression = Suppression(starts_s, _or_never(ends_s) + _AFTER_PAGE_S, "inhibited", one.rule)
                paging.setdefault((one.kind, one.metric, one.labels), []).append(suppression)
    found: dict[str, list[Suppression]] = {}
    for one in every_series:
        kind, named = rule_kind(one.kind), one.named
        above = [one.kind] if one.severity == "ticket" and kind.page_inhibits_ticket else []
        by_pages = [h for name in (*above, *kind.inhibited_by) for h in paging.get((name, one.metric, one.labels), [])]
        mine = [_silence(action) for action in silences if action.matches(named)]
        over = list(_over_budget(one, grid, page_budget))
        found[str(named["alarm_id"])] = [*mine, *by_pages, *over]
    _suppress_followers(every_series, grid, found)
    return found


def _suppress_followers(every_series: Sequence[RuleSeries], grid: Grid, found: Mapping[str, list[Suppression]]) -> None:
    """Add what suppresses latencies that follow another one: what makes one of them slow makes the others slow.

    Of those that fire in the same window a page goes first, then ttft, tpot and e2e, which is made of both.
    """
    fired: dict[Labels, list[_Fired]] = {}
    for one in every_series:
        rank = next((n for n, name in enumerate(_LATENCIES) if (one.metric or "").endswith(name)), None)
        if rule_kind(one.kind).learns_baseline and rank is not None and "replica" not in dict(one.labels):
            for _, starts_s, ends_s in spans(one, grid):
                begun = _Fired(starts_s, one.severity != "page", rank, one, ends_s)
                fired.setdefault(one.labels, []).append(begun)
    for many in fired.values():
        reported: list[_Fired] = []
        for begun in sorted(many, key=lambda one: (one.starts_s, one.ticket, one.rank)):
            mine = found[str(begun.series.named["alarm_id"])]
            leader = next((other for other in reported if begun.follows(other)), None)
            if leader is not None:
                until_s = min(leader.until_s, _or_never(begun.ends_s))
                mine.append(Suppression(begun.starts_s, until_s, "inhibited", leader.series.rule))
            elif _suppression_at(mine, begun.starts_s) is None:
                reported.append(begun)


@dataclass(frozen=True)
class _Fired:
    """One time that a latency fired."""

    starts_s: int
    ticket: bool
    rank: int
    series: RuleSeries
    ends_s: int | None

    @property
    def until_s(self) -> float:
        return _or_never(self.ends_s) + _AFTER_PAGE_S

    def follows(self, other: "_Fired") -> bool:
        """Whether this is no news to those who know of the other one."""
        together = self.starts_s - _TOGETHER_S <= other.starts_s <= self.starts_s < other.until_s
        return together and other.rank != self.rank and other.ticket <= self.ticket


def _silence(action: Action) -> Suppression:
    ends_s = action.begins.timestamp() if action.ends is None else action.ends.timestamp()
    return Suppression(action.begins.timestamp(), ends_s, "silenced", action.action_id)


def _over_budget(one: RuleSeries, grid: Grid, page_budget: int) -> Iterator[Suppression]:
    if not rule_kind(one.kind).learns_baseline or one.severity != "page":
        return
    fired = [starts_s for _, starts_s, _ in spans(one, grid)]
    for _, starts_s, ends_s in spans(one, grid):
        before = sum(starts_s - BUDGET_S <= other < starts_s for other in fired)
        if before >= page_budget:
            yield Suppression(starts_s, _or_never(ends_s), "over_budget", f"{before} in 28 days, budget {page_budget}")


def transitions(one: RuleSeries, grid: Grid, mine: Sequence[Suppression], until_s: int) -> Iterator[EpisodeTransition]:
    """Events of one alarm in order; a firing that was suppressed is reported when nothing suppresses it any more."""
    for episode, starts_s, ends_s in spans(one, grid):
        last_s = until_s if ends_s is None else ends_s
        suppression = _suppression_at(mine, starts_s)
        yield EpisodeTransition(one, episode, "firing", starts_s, starts_s, ends_s, suppression)
        free_s = _free(mine, starts_s)
        reported = suppression is None or free_s < last_s
        if suppression is not None and reported:
            yield EpisodeTransition(one, episode, "firing", int(free_s), starts_s, ends_s)
        if ends_s is not None:
            reason = "accepted" if episode in one.accepted else "cleared"
            yield EpisodeTransition(
                one, episode, "resolved", ends_s, starts_s, ends_s, None if reported else suppression, reason
            )


def _suppression_at(mine: Sequence[Suppression], at_s: float) -> Suppression | None:
    return next((suppression for suppression in mine if suppression.from_s <= at_s < suppression.until_s), None)


def _free(mine: Sequence[Suppression], at_s: float) -> float:
    """The first instant from `at_s` on at which nothing suppresses the alarm."""
    while (suppression := _suppression_at(mine, at_s)) is not None:
        at_s = suppression.until_s
    return at_s


def _or_never(ends_s: int | None) -> float:
    return float("inf") if ends_s is None else float(ends_s)


def suppressed_now(one: RuleSeries, by_alarm: Mapping[str, Sequence[Suppression]], until_s: int) -> Suppression | None:
    """What suppresses an alarm at the end of the newest window, or from there on."""
    mine = by_alarm[str(one.named["alarm_id"])]
    return _suppression_at(mine, until_s - 1) or _suppression_at(mine, until_s)
