"""Who asks what and when: the demo's arrivals with their conversations, documents, token counts and patience.

Arrivals belong here, before any replica is chosen; what becomes of them does not.
"""

import math
from bisect import bisect
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.random import Generator

from goodput.simulate.demand import ArrivalRate, Documents, SimulatedWorkload, Tokens
from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.story import ABANDON_MEAN_S, TENANTS, WORKLOADS

_THINK_S: Final = 20.0
_LEAVES_AFTER_S: Final = 240.0


@dataclass(slots=True)
class _Session:
    session_id: str
    tenant: str
    route: str
    turns_left: int
    # What stands before the conversation: instructions of the tenant's application, then documents.
    preamble: tuple[tuple[Hashable, int], ...]
    preamble_tokens: int
    dialogue_tokens: int
    last_turn_s: float

    @property
    def context_tokens(self) -> int:
        return self.preamble_tokens + self.dialogue_tokens


def demo_arrivals(
    rng: Generator, span_s: float, requests: float, workloads: Sequence[SimulatedWorkload] = WORKLOADS
) -> list[Arrival]:
    """Return what all workloads ask within `span_s` seconds, about `requests` in all, in order of arrival."""
    drawn = zip(workloads, rng.spawn(len(workloads)), strict=True)
    found = [arrival for workload, own in drawn for arrival in _arrivals_of(workload, own, span_s, requests)]
    return sorted(found, key=lambda arrival: arrival.arrived_s)


def arrival_times(rng: Generator, rate: ArrivalRate, span_s: float, expected: float) -> list[float]:
    """Draw an inhomogeneous Poisson process: a Poisson count, then times by the inverse of its rate, in order."""
    elapsed = np.linspace(0.0, 1.0, 2001)
    middle = (elapsed[1:] + elapsed[:-1]) / 2.0
    relative = 1.0 + rate.height * np.exp(-0.5 * ((middle - rate.peak_at) / rate.width) ** 2)
    cumulative = np.concatenate(([0.0], np.cumsum(relative)))
    drawn = np.sort(rng.random(rng.poisson(expected))) * cumulative[-1]
    times: list[float] = (np.interp(drawn, cumulative, elapsed) * span_s).tolist()
    return times


def _arrivals_of(workload: SimulatedWorkload, rng: Generator, span_s: float, requests: float) -> list[Arrival]:
    idle: deque[_Session] = deque()
    found: list[Arrival] = []
    for number, at_s in enumerate(arrival_times(rng, workload.rate, span_s, requests * workload.share_ratio)):
        session = _next_session(workload, rng, idle, at_s, number)
        found.append(_ask(workload, rng, session, f"{workload.name}-{number:06d}"))
        if session.turns_left > 0 and session.context_tokens < workload.context_limit_tokens:
            idle.append(session)
    return found


def _next_session(
    workload: SimulatedWorkload, rng: Generator, idle: deque[_Session], at_s: float, number: int
) -> _Session:
    """Continue one of the conversations whose users had time to read, else open one."""
    while idle and idle[0].last_turn_s + _LEAVES_AFTER_S < at_s:
        idle.popleft()
    waiting = bisect(idle, at_s - _THINK_S, key=lambda session: session.last_turn_s)
    if waiting and rng.random() >= 1.0 / workload.session_turns:
        position = int(rng.integers(waiting))
        session = idle[position]
        del idle[position]
        session.last_turn_s = at_s
        return session
    shares = list(accumulate(TENANTS.values()))
    tenant = list(TENANTS)[min(bisect(shares, rng.random()), len(TENANTS) - 1)]
    preamble = _preamble(workload, rng, tenant)
    return _Session(
        session_id=f"conv-{workload.name}-{number:06d}",
        tenant=tenant,
        route=workload.routes[int(rng.integers(len(workload.routes)))],
        turns_left=int(rng.geometric(1.0 / workload.session_turns)),
        preamble=preamble,
        preamble_tokens=sum(tokens for _, tokens in preamble),
        dialogue_tokens=0,
        last_turn_s=at_s,
    )


def _preamble(workload: SimulatedWorkload, rng: Generator, tenant: str) -> tuple[tuple[Hashable, int], ...]:
    system = f"{workload.name}/{tenant}"
    documents = workload.documents
    if documents is None:
        return ((system, workload.system_tokens),)
    # The document after which a document stands is part of its key: blocks are shared only as far as all agrees.
    runs: list[tuple[Hashable, int]] = [(system, workload.system_tokens)]
    for document in _retrieved(documents, rng):
        spread = 1.0 + 0.3 * math.sin(document)
        runs.append(((runs[-1][0], document), int(documents.tokens.median * spread)))
    return tuple(runs)


def _retrieved(documents: Documents, rng: Generator) -> list[int]:
    """Draw documents by popularity, the most popular of them first as retrieval by score tends to put them."""
    drawn = {int(documents.known ** rng.random()) for _ in range(documents.retrieved)}
    return sorted(drawn)


def _ask(workload: SimulatedWorkload, rng: Generator, session: _Session, request_id: str) -> Arrival:
    documents = workload.documents
    first = session.dialogue_tokens == 0
    session.dialogue_tokens += _draw(workload.first_input if first else workload.turn_input, rng)
    if first and documents is not None and rng.random() < documents.report_ratio:
        session.dialogue_tokens += _draw(documents.report, rng)
    input_tokens, dialogue_tokens = session.context_tokens, session.dialogue_tokens
    output_tokens = _draw(workload.output, rng)
    session.dialogue_tokens += output_tokens
    session.turns_left -= 1
    leaves = rng.random() < workload.abandon_ratio
    return Arrival(
        request_id=request_id,
        arrived_s=session.last_turn_s,
        workload=workload.name,
        pool=workload.pool,
        route=session.route,
        tenant=session.tenant,
        session_id=session.session_id if workload.session_turns > 1 else "",
        prefix=(*session.preamble, (session.session_id, dialogue_tokens)),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        max_tokens=workload.output.high,
        timeout_s=workload.timeout_s,
        abandons_after_s=float(rng.exponential(ABANDON_MEAN_S)) if leaves else None,
    )


def _draw(tokens: Tokens, rng: Generator) -> int:
    drawn = tokens.median * math.exp(tokens.sigma * rng.standard_normal())
    return int(min(max(drawn, tokens.low), tokens.high))
