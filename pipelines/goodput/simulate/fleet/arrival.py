"""What a fleet is asked to serve: one arrival per user request, whoever drew it up.

Drawing arrivals from a workload, or reading them from a trace, does not belong here.
"""

from collections.abc import Hashable
from dataclasses import dataclass

# The prompt as runs of tokens, each named by a key that stands for its content and all that comes before it: two
# prompts share cache blocks as far as their keys agree. A conversation is one run that grows from turn to turn; a
# trace of block hashes is one run of `block tokens` per hash.
Prefix = tuple[tuple[Hashable, int], ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a user asks once; times are seconds since the start of the simulation.

    `session_id` is empty where there is no conversation. `prefix` adds up to `input_tokens`. `timeout_s` bounds the
    wait for the first chunk of each attempt; `abandons_after_s` is how long after it the user leaves, None when they
    stay.
    """

    request_id: str
    arrived_s: float
    workload: str
    pool: str
    route: str
    tenant: str
    session_id: str
    prefix: Prefix
    input_tokens: int
    output_tokens: int
    max_tokens: int
    timeout_s: float
    abandons_after_s: float | None = None

    @property
    def finish_reason(self) -> str:
        """`length` when the answer was cut at the limit that the caller set, else `stop`."""
        return "length" if self.output_tokens >= self.max_tokens else "stop"
