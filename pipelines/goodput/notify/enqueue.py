"""Puts into the outbox what the lake's alarms make due: transitions, reminders, and pages that another channel takes.

One transaction, so that two processes that do it at once decide one after the other and everything is decided once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from goodput.errors import LakeUnreadable
from goodput.notify.compose import Composer
from goodput.notify.decide import Known, Scene, decide
from goodput.notify.outbox import Draft, Outbox
from goodput.notify.plots import Plots, plots_of
from goodput.notify.retry import NS
from goodput.notify.transition import read_transitions
from goodput.plumbing.lake import Lake
from goodput.settings.channels import Channel
from goodput.settings.model import Settings

_KNOWN = """
SELECT e.event_id, d.delivery_id, d.state, d.attempts, d.not_before_ns, d.enqueued_ns
FROM events AS e JOIN deliveries AS d USING (delivery_id)
WHERE e.channel = :channel
"""
# A page that its channel has given up, or has not delivered for so long that another one is to try.
_OVERDUE = """
SELECT e.event_id, d.delivery_id
FROM deliveries AS d JOIN events AS e USING (delivery_id)
WHERE d.channel = :channel AND d.severity = 'page' AND d.kind IN ('transition', 'fallback')
    AND (d.state = 'dead' OR (d.state = 'pending' AND max(d.enqueued_ns, d.not_before_ns) <= :before))
"""


@dataclass(frozen=True)
class Due:
    """What the outbox lacks: deliveries, and those of its own that are to be withdrawn, with why."""

    drafts: list[Draft]
    withdrawn: dict[str, str]


def enqueue(lake: Lake, settings: Settings, outbox: Outbox) -> int:
    """Bring the outbox up to the lake; how many deliveries were new. Raises LakeUnreadable or OutboxUnusable."""
    scene = scene_of(lake, settings, outbox.now_ns())
    with outbox.writing():
        outbox.expire()
        outbox.keep_only(settings.channels)
        found = due(replace(scene, now_ns=outbox.now_ns()), settings.channels, outbox)
        outbox.withdraw(found.withdrawn)
        return outbox.add(found.drafts)


def scene_of(lake: Lake, settings: Settings, now_ns: int) -> Scene:
    """What the lake holds for decisions; without plots where their series cannot be read. Raises LakeUnreadable."""
    try:
        plots = plots_of(lake, settings)
    except LakeUnreadable:
        plots = Plots()  # drawing says why
    return Scene(read_transitions(lake), settings.notify, now_ns, plots)


def due(scene: Scene, channels: Mapping[str, Channel], outbox: Outbox) -> Due:
    """What the outbox lacks, without changing it."""
    found = Due([], {})
    forced = _forced(channels, outbox)
    for name, channel in channels.items():
        decided = decide(channel, scene, known_events(outbox, name), forced.get(name))
        composer = Composer(name, channel, scene)
        found.drafts.extend(composer.deliveries(decided))
        found.drafts.extend(composer.reminders(decided))
        found.withdrawn.update(decided.withdrawn)
    return found


def known_events(outbox: Outbox, channel: str) -> dict[str, Known]:
    """What a channel's outbox holds, by event."""
    rows = outbox.rows(_KNOWN, {"channel": channel})
    return {row["event_id"]: Known(**{key: row[key] for key in row.keys() if key != "event_id"}) for row in rows}  # noqa: SIM118


def _forced(channels: Mapping[str, Channel], outbox: Outbox) -> dict[str, dict[str, str]]:
    """Events that a channel has to deliver in another one's stead, with the delivery that failed there."""
    forced: dict[str, dict[str, str]] = {}
    for name, channel in channels.items():
        if channel.fallback is not None:
            before = outbox.now_ns() - int(channel.fallback_after_s * NS)
            found = outbox.rows(_OVERDUE, {"channel": name, "before": before})
            forced.setdefault(channel.fallback, {}).update({row["event_id"]: row["delivery_id"] for row in found})
    return forced
