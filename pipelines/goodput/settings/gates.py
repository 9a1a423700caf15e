"""The gates of a request in the order in which verdicts are decided: everything that lists gates follows from here.

How a gate is judged is sql/join/requests/requests.sql; which workload sets it is in the settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

CountName = Literal["retries"]
LatencyName = Literal["ttft", "tpot", "e2e", "itl_p95", "jitter", "deadline"]


@dataclass(frozen=True)
class CountGate:
    """A gate on a whole number: the key that sets it, the column of `requests` that it bounds, and what is counted.

    `one` and `several`: its word for one and for any other number.
    """

    setting: str
    measured: str
    one: str
    several: str


@dataclass(frozen=True)
class LatencyGate:
    """A gate on a time: the key in seconds that sets it, and the column of `requests` that it bounds.

    `bounds_load`: replicas are loaded beyond their knee where more than 1 % of requests fail it
    (docs/semantics.md#frontier).
    """

    setting: str
    measured: str
    bounds_load: bool = True


COUNT_GATES: Mapping[CountName, CountGate] = {
    "retries": CountGate("retry_budget", "retry_count", "retry", "retries"),
}
LATENCY_GATES: Mapping[LatencyName, LatencyGate] = {
    "ttft": LatencyGate("ttft_s", "ttft_s"),
    "tpot": LatencyGate("tpot_s", "tpot_s"),
    "e2e": LatencyGate("e2e_s", "e2e_s"),
    "itl_p95": LatencyGate("itl_p95_s", "itl_p95_s"),
    "jitter": LatencyGate("jitter_s", "jitter_s"),
    "deadline": LatencyGate("completion_window_s", "e2e_s", bounds_load=False),
}
GATES: tuple[str, ...] = ("success", *COUNT_GATES, *LATENCY_GATES, "quality")
