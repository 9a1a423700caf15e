"""Who asks what and when: user requests with their sessions, token counts and patience.

Arrivals belong here, before any replica is chosen; what becomes of them does not.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from goodput.simulate.story import (
    ABANDON_MEAN_S,
    ABANDON_RATIO,
    REQUESTS_PER_HOUR,
    SURGE,
    SURGE_FACTOR,
    SWELL_RATIO,
    TENANTS,
    WORKLOADS,
    Tokens,
    Workload,
)

_THINK_S: Final = 20.0
_LEAVES_AFTER_S: Final = 150.0


@dataclass(frozen=True, slots=True)
class UserRequest:
    """What a user asked once; times are seconds since the start of the simulation."""

    request_id: str
    workload: Workload
    route: str
    tenant: str
    session_id: str
    arrived_s: float
    input_tokens: int
    output_tokens: int
    abandons_after_s: float | None

    @property
    def finish_reason(self) -> str:
        """`length` when the answer was cut at the workload's limit, else `stop`."""
        return "length" if self.output_tokens >= self.workload.output.high else "stop"


@dataclass(slots=True)
class _Session:
    session_id: str
    tenant: str
    route: str
    turns_left: int
    context_tokens: int
    last_turn_s: float


def user_requests(rng: Generator, span_s: float) -> list[UserRequest]:
    """Return the requests of all workloads that arrive within `span_s` seconds, in arrival order."""
    requests = [request for workload in WORKLOADS for request in _requests_of(workload, rng, span_s)]
    return sorted(requests, key=lambda request: request.arrived_s)


def arrival_rate(elapsed: np.ndarray) -> np.ndarray:
    """Return the relative arrival rate at fractions of the simulated time: a swell with a surge in it."""
    swell = 1.0 + SWELL_RATIO * np.sin(2.0 * np.pi * elapsed)
    return np.where((elapsed >= SURGE.begin) & (elapsed < SURGE.end), swell * SURGE_FACTOR, swell)


def _requests_of(workload: Workload, rng: Generator, span_s: float) -> list[UserRequest]:
    idle: deque[_Session] = deque()
    requests: list[UserRequest] = []
    for number, arrived_s in enumerate(_arrivals(workload, rng, span_s)):
        session = _next_session(workload, rng, idle, arrived_s, number)
        requests.append(_ask(workload, rng, session, f"{workload.name}-{number:05d}"))
        if session.turns_left > 0 and session.context_tokens < workload.context_limit_tokens:
            idle.append(session)
    return requests


def _arrivals(workload: Workload, rng: Generator, span_s: float) -> list[float]:
    """Draw an inhomogeneous Poisson process: a Poisson count, then times by the inverse of its rate."""
    expected = REQUESTS_PER_HOUR * workload.share_ratio * span_s / 3600.0
    elapsed = np.linspace(0.0, 1.0, 2001)
    cumulative = np.concatenate(([0.0], np.cumsum(arrival_rate((elapsed[1:] + elapsed[:-1]) / 2.0))))
    drawn = np.sort(rng.random(rng.poisson(expected))) * cumulative[-1]
    times: list[float] = (np.interp(drawn, cumulative, elapsed) * span_s).tolist()
    return times


def _next_session(workload: Workload, rng: Generator, idle: deque[_Session], arrived_s: float, number: int) -> _Session:
    """Continue the conversation that has waited longest, once its user had time to read, else open one."""
    while idle and idle[0].last_turn_s + _LEAVES_AFTER_S < arrived_s:
        idle.popleft()
    opens = rng.random() < 1.0 / workload.session_turns
    if not opens and idle and idle[0].last_turn_s + _THINK_S <= arrived_s:
        session = idle.popleft()
        session.last_turn_s = arrived_s
        return session
    return _Session(
        session_id=f"conv-{workload.name}-{number:05d}",
        tenant=str(rng.choice(list(TENANTS), p=list(TENANTS.values()))),
        route=workload.routes[int(rng.integers(len(workload.routes)))],
        turns_left=int(rng.geometric(1.0 / workload.session_turns)),
        context_tokens=0,
        last_turn_s=arrived_s,
    )


def _ask(workload: Workload, rng: Generator, session: _Session, request_id: str) -> UserRequest:
    asked = workload.turn_input if session.context_tokens else workload.first_input
    input_tokens = session.context_tokens + _draw(asked, rng)
    output_tokens = _draw(workload.output, rng)
    session.context_tokens = input_tokens + output_tokens
    session.turns_left -= 1
    abandons = rng.random() < ABANDON_RATIO
    return UserRequest(
        request_id=request_id,
        workload=workload,
        route=session.route,
        tenant=session.tenant,
        session_id=session.session_id,
        arrived_s=session.last_turn_s,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        abandons_after_s=float(rng.exponential(ABANDON_MEAN_S)) if abandons else None,
    )


def _draw(tokens: Tokens, rng: Generator) -> int:
    return int(np.clip(tokens.median * np.exp(tokens.sigma * rng.standard_normal()), tokens.low, tokens.high))
