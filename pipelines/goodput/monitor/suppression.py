"""What keeps an alarm from being reported: a silence, a page above it, its budget, or the incident it is a part of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goodput.monitor.causes import OpsEvent
from goodput.monitor.grid import DAY_S
from goodput.monitor.incidents import AFTER_S, Begun, followings
from goodput.monitor.marks import allowed_steps
from goodput.monitor.rule_kind import rule_kind
from goodput.monitor.rule_series import RuleSeries, spans
from goodput.plumbing.alarm_actions import Action

BUDGET_S = 28 * DAY_S
SILENCED = "silenced"
_COUNTS_AFTER_S = 2 * AFTER_S  # their scores forget half of an incident in six hours


@dataclass(frozen=True)
class Suppressors:
    """What operators decided about alarms: silences, a budget of pages, and steps that are allowed at an operation."""

    silences: Sequence[Action] = ()
    page_budget: int = 3
    operations: Sequence[OpsEvent] = ()
    allowed_step_ratio: float = 0.0


@dataclass(frozen=True)
class Suppression:
    """From `from_s` to `until_s` nothing is reported, and why: silenced, inhibited, allowed or over_budget, by what."""

    from_s: float
    until_s: float
    kind: str
    by: str


def suppressions(every_series: Sequence[RuleSeries], suppressors: Suppressors) -> dict[str, list[Suppression]]:
    """What suppresses each alarm, by alarm_id.

    A page suppresses the ticket of the same rule kind, metric and series, and alarms there of kinds that name its own
    in `inhibited_by`. Of kinds that learn a baseline a page over its budget suppresses itself, and what belongs to an
    incident that was reported is suppressed by the alarm that began it. A page that an operation allows leaves its
    ticket alone.
    """
    allowed = {str(one.named["alarm_id"]): list(_allowed(one, suppressors)) for one in every_series}
    paging: dict[tuple[object, ...], list[Suppression]] = {}
    for one in every_series:
        if one.severity == "page":
            for _, starts_s, ends_s in spans(one):
                from_s = free_s(allowed[str(one.named["alarm_id"])], starts_s)
                suppression = Suppression(from_s, _last_s(ends_s), "inhibited", one.rule)
                paging.setdefault((one.kind, one.metric, one.labels), []).append(suppression)
    found: dict[str, list[Suppression]] = {}
    for one in every_series:
        kind, named = rule_kind(one.kind), one.named
        above = [one.kind] if one.severity == "ticket" and kind.page_inhibits_ticket else []
        by_pages = [h for name in (*above, *kind.inhibited_by) for h in paging.get((name, one.metric, one.labels), [])]
        mine = [_silence(action) for action in suppressors.silences if action.matches(named)]
        over = list(_over_budget(one, suppressors.page_budget))
        found[str(named["alarm_id"])] = [*mine, *by_pages, *over, *allowed[str(named["alarm_id"])]]
    for follower in followings(every_series, lambda begun: free_s(found[_id(begun)], begun.starts_s)):
        begun = follower.begun
        until_s = min(_news_s(begun.series, follower.ends_s), _or_never(begun.ends_s))
        suppression = Suppression(begun.starts_s, until_s, "inhibited", follower.by)
        found[_id(begun)].append(suppression)
    return found


def _id(begun: Begun) -> str:
    return str(begun.series.named["alarm_id"])


def _allowed(one: RuleSeries, suppressors: Suppressors) -> Iterator[Suppression]:
    for step in allowed_steps(one, suppressors.operations, suppressors.allowed_step_ratio):
        done = step.mark.as_fact
        what = " ".join(str(done[name]) for name in ("kind", "revision") if name in done)
        figures = f"a step of {100 * step.step_ratio:+.1f} % (up to {100 * step.most_ratio:+.1f} % allowed)"
        yield Suppression(step.from_s, step.until_s, "allowed", f"{what} at {done['occurred_at']}, {figures}")


def _silence(action: Action) -> Suppression:
    ends_s = action.begins.timestamp() if action.ends is None else action.ends.timestamp()
    return Suppression(action.begins.timestamp(), ends_s, SILENCED, action.action_id)


def _over_budget(one: RuleSeries, page_budget: int) -> Iterator[Suppression]:
    if not rule_kind(one.kind).learns_baseline or one.severity != "page":
        return
    fired = [starts_s for _, starts_s, _ in spans(one)]
    for _, starts_s, ends_s in spans(one):
        before = sum(starts_s - BUDGET_S <= other < starts_s for other in fired)
        if before >= page_budget:
            yield Suppression(starts_s, _or_never(ends_s), "over_budget", f"{before} in 28 days, budget {page_budget}")


def suppression_at(mine: Sequence[Suppression], at_s: float) -> Suppression | None:
    """The first of these that holds at an instant; None: nothing suppresses the alarm."""
    return next((suppression for suppression in mine if suppression.from_s <= at_s < suppression.until_s), None)


def free_s(mine: Sequence[Suppression], at_s: float) -> float:
    """The first instant from `at_s` on at which nothing suppresses the alarm."""
    while (suppression := suppression_at(mine, at_s)) is not None:
        at_s = suppression.until_s
    return at_s


def _news_s(one: RuleSeries, leader_ends_s: int | None) -> float:
    """From when a follower is news: it reaches its threshold still, when the leader's end has been forgotten."""
    if leader_ends_s is None:
        return float("inf")
    of_counts = one.panel is not None and one.panel.trials is not None
    at_s = leader_ends_s + (_COUNTS_AFTER_S if of_counts else AFTER_S)
    at = max(-(-(at_s - one.grid.start_s) // one.grid.step_s) - 1, 0)  # the first window that ends then or later
    again = np.flatnonzero(one.score[at:] >= one.threshold)
    return one.grid.end_s(at + int(again[0])) if len(again) else float("inf")


def _last_s(ends_s: int | None) -> float:
    """Until when what belongs to an alarm is no news."""
    return _or_never(ends_s) + AFTER_S


def _or_never(ends_s: int | None) -> float:
    return float("inf") if ends_s is None else float(ends_s)


def silenced_at(silences: Sequence[Action], named: Mapping[str, str | None], at_s: float) -> Suppression | None:
    """The silence of an alarm at an instant of the clock: telemetry of before that comes late is reported to nobody."""
    return suppression_at([_silence(action) for action in silences if action.matches(named)], at_s)


def suppressed_now(mine: Sequence[Suppression], until_s: int, now_s: float) -> Suppression | None:
    """What suppresses an alarm: a silence by the clock, all else at the end of the newest window, or from there on."""
    by_data = [suppression for suppression in mine if suppression.kind != SILENCED]
    silences = [suppression for suppression in mine if suppression.kind == SILENCED]
    return suppression_at(silences, now_s) or suppression_at(by_data, until_s - 1) or suppression_at(by_data, until_s)
