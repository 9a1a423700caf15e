"""The demo's fleet over many days with faults put into it: whose they are and when they begin is known.

A rag deployment whose memory fragments (the p99 of ttft drifts, long prompts alone), a chat deployment that leaks KV,
and a salt rotation that reaches the gateway's instances one after the other over most of a day. In a month also a rag
deployment of weights that answer worse, and a client of rag that falls silent. Before, between and after them the fleet
is operated on as any other: those operations must not alarm anybody.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from goodput.simulate.demand import ArrivalRate
from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.fleet.config import FleetConfig, Manners, Operation, PoolSpec
from goodput.simulate.story import CHAT, CHAT_ENGINE, QUANTISED, RAG, RAG_ENGINE
from goodput.simulate.workloads import demo_arrivals

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
DAY_S, HOUR_S = 86400.0, 3600.0
QUIET_DAYS = 9
_HOURS = ((2, 28), (4, 30), (47, 64))  # from the onset of each fault to its end, after the quiet days
_A_MONTH = 28
_WORSE_ANSWERS, _SILENCE = (369, 417), (586, 592)  # the same of a month's faults, from its start
_PEAK = ArrivalRate(peak_at=0.55, width=0.17, height=0.8)


@dataclass(frozen=True)
class Fault:
    """What was put in, and what must be reported: a page of this metric of this pool that names this operation.

    None where nobody did anything: the page is of an alarm that names no cause.
    """

    name: str
    metric: str
    pool: str
    operation: str | None
    onset_s: float
    mended_s: float


@dataclass(frozen=True)
class Story:
    """How many requests an hour each workload asks, on the mean, and over how many days."""

    chat_per_hour: float
    rag_per_hour: float
    days: int = 12
    long_prompt_tokens: int = 1500  # what fragmented memory delays; a tail's worth of prompts is longer than 6,000
    sample_every_s: float = 120.0


def faults(story: Story) -> tuple[Fault, ...]:
    """All of them, in order of their onset."""
    begin_s = QUIET_DAYS * DAY_S
    drift, leak, salt = ((begin_s + since * HOUR_S, begin_s + until * HOUR_S) for since, until in _HOURS)
    ttft = "p99_ttft_s" if story.rag_per_hour > 500 else "p95_ttft_s"
    of_a_month = (
        Fault("rag answers worse", "pass_ratio", "rag", "deployment", *(HOUR_S * hour for hour in _WORSE_ANSWERS)),
        Fault("rag is silent", "goodput_ratio", "rag", None, *(HOUR_S * hour for hour in _SILENCE)),
    )
    return (
        Fault("rag fragments its memory", ttft, "rag", "deployment", *drift),
        Fault("chat leaks KV", "kv_usage_ratio", "chat", "deployment", *leak),
        Fault("a salt rotation that lasts", "hit_ratio", "chat", "salt_rotation", *salt),
        *(of_a_month if story.days >= _A_MONTH else ()),
    )


def fleet(story: Story, seed: int = 5) -> FleetConfig:
    """Two pools of the demo's engines, as small as the traffic, and all that is done to them."""
    chat = replace(CHAT_ENGINE, revision="1.0.0")
    rag = replace(RAG_ENGINE, revision="2.0.0", fragmentation_per_h=0.0, long_prompt_tokens=story.long_prompt_tokens)
    drift, leak, salt, *of_a_month = faults(story)
    worse = replace(rag, revision="2.2.0-fp8", weights=QUANTISED)
    fragmenting = replace(rag, revision="2.1.0", fragmentation_per_h=0.07)
    leaking = replace(chat, revision="1.1.0", kv_leak_ratio=2.4 / story.chat_per_hour)
    return FleetConfig(
        pools=(PoolSpec("chat", 2, chat), PoolSpec("rag", 3, rag)),
        routes={"round-robin": "round-robin", "prefix-aware": "prefix-aware", "sticky": "sticky"},
        manners=Manners(refused_ratio=0.008, broken_ratio=0.005),
        operations=(
            Operation(7.4 * DAY_S, "deployment", "chat", engine=replace(chat, revision="1.0.1")),
            Operation(7.6 * DAY_S, "deployment", "rag", engine=replace(rag, revision="2.0.1")),
            Operation(8.3 * DAY_S, "salt_rotation", "chat", until_s=8.3 * DAY_S + 600.0),
            Operation(drift.onset_s, "deployment", "rag", engine=fragmenting),
            Operation(leak.onset_s, "deployment", "chat", engine=leaking),
            Operation(drift.mended_s, "deployment", "rag", engine=replace(rag, revision="2.1.1")),
            Operation(leak.mended_s, "deployment", "chat", engine=replace(chat, revision="1.1.1")),
            Operation(salt.onset_s, "salt_rotation", "chat", until_s=salt.mended_s),
            Operation(salt.onset_s + 2 * HOUR_S, "deployment", "rag", engine=replace(rag, revision="2.1.2")),
            *(
                Operation(at_s, "deployment", "rag", engine=engine)
                for fault in of_a_month[:1]
                for at_s, engine in ((fault.onset_s, worse), (fault.mended_s, replace(rag, revision="2.2.1")))
            ),
        ),
        sample_every_s=story.sample_every_s,
        seed=seed,
    )


def arrivals(story: Story, seed: int = 4) -> list[Arrival]:
    """Day after day of the demo's users, each day anew."""
    total = story.chat_per_hour + story.rag_per_hour
    asked = tuple(
        replace(workload, share_ratio=per_hour / total, rate=_PEAK)
        for workload, per_hour in ((CHAT, story.chat_per_hour), (RAG, story.rag_per_hour))
    )
    days = np.random.default_rng(seed).spawn(story.days)
    every = (
        _on_day(day, arrival)
        for day, rng in enumerate(days)
        for arrival in demo_arrivals(rng, DAY_S, 24 * total, asked)
    )
    silences = [fault for fault in faults(story) if fault.operation is None]
    return [arrival for arrival in every if not any(_is_in(arrival, silence) for silence in silences)]


def _is_in(arrival: Arrival, silence: Fault) -> bool:
    return arrival.pool == silence.pool and silence.onset_s <= arrival.arrived_s < silence.mended_s


def _on_day(day: int, arrival: Arrival) -> Arrival:
    conversation = f"{arrival.session_id}@{day}"
    return replace(
        arrival,
        arrived_s=day * DAY_S + arrival.arrived_s,
        request_id=f"{arrival.request_id}@{day}",
        session_id=conversation,
        prefix=(*arrival.prefix[:-1], (conversation, arrival.prefix[-1][1])),
    )
