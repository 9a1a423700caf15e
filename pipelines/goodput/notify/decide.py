"""Which transitions are notified where: for one channel, the decisions that its outbox does not hold yet. Pure.

A resolve goes where its firing went, and nowhere else. An alarm that still fires is notified however old it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from goodput.globs import matches_any
from goodput.notify.operations import explaining, held_until
from goodput.notify.plots import Plots
from goodput.notify.retry import NS
from goodput.notify.transition import Transition
from goodput.settings.channels import Channel, ChannelMatch, Notify

HEARTBEAT = "heartbeat"


@dataclass(frozen=True)
class Known:
    """What the outbox holds of one event on one channel."""

    delivery_id: str
    state: str
    attempts: int
    not_before_ns: int
    enqueued_ns: int

    @property
    def reported(self) -> bool:
        """Whether it was sent or is going to be."""
        return self.state in ("pending", "delivered", "dead")


@dataclass(frozen=True)
class Scene:
    """What decisions are made from, the same for every channel."""

    alarms: Mapping[str, Sequence[Transition]]
    settings: Notify
    now_ns: int
    plots: Plots = field(default_factory=Plots)

    @property
    def now(self) -> datetime:
        """The outbox's clock."""
        return datetime.fromtimestamp(self.now_ns / NS, UTC)


@dataclass(frozen=True)
class Decision:
    """One transition that is to be notified, or is not, and why not."""

    transition: Transition
    explained_by: str = ""
    not_before_ns: int = 0
    suppressed: str | None = None
    origin: str | None = None  # delivery on another channel that this one stands in for


@dataclass(frozen=True)
class Standing:
    """An alarm that fires and was sent to the channel; `known` is None where it is about to be."""

    transition: Transition
    explained_by: str
    known: Known | None


@dataclass
class ChannelDecisions:
    """What was decided for a channel."""

    decisions: list[Decision] = field(default_factory=list)
    withdrawn: dict[str, str] = field(default_factory=dict)  # delivery_id -> why
    standing: dict[str, Standing] = field(default_factory=dict)


def decide(
    channel: Channel, scene: Scene, known: Mapping[str, Known], forced: Mapping[str, str] | None = None
) -> ChannelDecisions:
    """Decisions on all transitions that the channel's outbox does not know.

    `forced` has events (to the delivery that they were of) that are notified whatever the channel's routes say.
    """
    decided = ChannelDecisions()
    for alarm, history in scene.alarms.items():
        if history[-1].transition == HEARTBEAT:
            decided.decisions += _heartbeat(channel, history[-1], known)
            continue
        walk = _Walk(channel, scene, known, forced or {}, decided)
        for transition in history:
            walk.step(transition, last=transition is history[-1])
        if walk.standing is not None and history[-1].firing:
            decided.standing[alarm] = walk.standing
    return decided


def matches(match: ChannelMatch, transition: Transition) -> bool:
    """Whether a channel's routes select a transition."""
    pool = transition.labels.get("pool", "")
    return transition.severity in match.severity and all(
        matches_any(value, globs) for value, globs in ((transition.rule, match.rule), (pool, match.pool))
    )


def _heartbeat(channel: Channel, newest: Transition, known: Mapping[str, Known]) -> Iterator[Decision]:
    if newest.event_id not in known and matches(channel.match, newest):
        yield Decision(newest)


@dataclass
class _Walk:
    """Goes along the transitions of one alarm; `standing` is what was sent to the channel and still holds."""

    channel: Channel
    scene: Scene
    known: Mapping[str, Known]
    forced: Mapping[str, str]
    decided: ChannelDecisions
    standing: Standing | None = None

    def step(self, transition: Transition, *, last: bool) -> None:
        known = self.known.get(transition.event_id)
        if transition.firing:
            self._fires(transition, known, last=last)
        elif known is not None:
            self.standing = None
        elif self.standing is not None:
            self._ends(transition)

    def _fires(self, transition: Transition, known: Known | None, *, last: bool) -> None:
        operation = explaining(transition)
        explained_by = str(operation or "")
        if known is not None:
            self.standing = Standing(transition, explained_by, known) if known.reported else self.standing
            return
        origin = self.forced.get(transition.event_id)
        if origin is None and not self._is_due(transition, last=last):
            return
        until = None if origin else held_until(transition, operation, self.scene.settings)
        until_ns = 0 if until is None else int(until.timestamp()) * NS
        self.decided.decisions.append(Decision(transition, explained_by, until_ns, origin=origin))
        self.standing = Standing(transition, explained_by, None)

    def _is_due(self, transition: Transition, *, last: bool) -> bool:
        if transition.transition == "corrected":
            return transition.corrects in self.known
        if transition.suppressed is not None or not matches(self.channel.match, transition):
            return False
        age_s = (self.scene.now - transition.recorded_at).total_seconds()
        return last or age_s <= self.scene.settings.max_event_age_s

    def _ends(self, transition: Transition) -> None:
        """Notify that it is over; where the firing still waits for what explains it to settle, notify neither."""
        assert self.standing is not None  # noqa: S101
        firing, self.standing = self.standing, None
        why = f"over before it was sent: explained by {firing.explained_by}"
        if firing.known is None:
            index = next(i for i, d in enumerate(self.decided.decisions) if d.transition is firing.transition)
            if self.decided.decisions[index].not_before_ns > self.scene.now_ns:
                self.decided.decisions[index] = replace(self.decided.decisions[index], suppressed=why, not_before_ns=0)
                self.decided.decisions.append(Decision(transition, firing.explained_by, suppressed=why))
                return
        elif firing.known.attempts == 0 and firing.known.not_before_ns > self.scene.now_ns:
            self.decided.withdrawn[firing.known.delivery_id] = why
            self.decided.decisions.append(Decision(transition, firing.explained_by, suppressed=why))
            return
        self.decided.decisions.append(Decision(transition, firing.explained_by))
