"""What the alarms did: firing and resolved of every episode, and what keeps it from being reported.

A pure function of series, settings and actions; what was recorded before is `reconcile`'s work.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from goodput.monitor.rule_series import RuleSeries, spans
from goodput.monitor.states import Episode
from goodput.monitor.suppression import Suppression, free_s, suppression_at


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


def transitions(one: RuleSeries, mine: Sequence[Suppression], until_s: int) -> Iterator[EpisodeTransition]:
    """Events of one alarm in order; a firing that was suppressed is reported when nothing suppresses it any more."""
    for episode, starts_s, ends_s in spans(one):
        last_s = until_s if ends_s is None else ends_s
        suppression = suppression_at(mine, starts_s)
        yield EpisodeTransition(one, episode, "firing", starts_s, starts_s, ends_s, suppression)
        reported_s = free_s(mine, starts_s)
        reported = suppression is None or reported_s < last_s
        if suppression is not None and reported:
            yield EpisodeTransition(one, episode, "firing", int(reported_s), starts_s, ends_s)
        if ends_s is not None:
            reason = "accepted" if episode in one.accepted else "cleared"
            yield EpisodeTransition(
                one, episode, "resolved", ends_s, starts_s, ends_s, None if reported else suppression, reason
            )
