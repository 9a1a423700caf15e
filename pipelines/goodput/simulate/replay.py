"""A recorded trace served by a simulated fleet: how much of its prompts is cached, by routing policy and fleet size.

Reading a trace of block hashes and the fleets that serve it belong here; how a fleet behaves does not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from math import ceil
from pathlib import Path
from typing import Annotated, Final

import msgspec

from goodput.errors import TraceUnreadable
from goodput.simulate.fleet.arrival import Arrival
from goodput.simulate.fleet.config import EngineSpec, FleetConfig, Manners, Policy, PoolSpec
from goodput.simulate.fleet.fleet import Fleet, Served
from goodput.simulate.story import CHAT

BLOCK_TOKENS: Final = 512  # what one hash of the trace stands for
POLICIES: Final[tuple[Policy, ...]] = ("round-robin", "prefix-aware", "sticky")
REPLICAS: Final = (1, 2, 4, 8)

# A 70B model on eight 80 GB cards that read 27 TB/s together: 141 GB of weights take 7.5 ms a step with what else a
# step costs, its 140 GFLOP per token are done at half of the cards' peak, and a token of KV takes 320 KB of the rest.
ENGINE: Final = EngineSpec(
    model="llama-3.1-70b",
    prefill_tps=28_000.0,
    step_base_s=0.0075,
    step_per_sequence_s=0.00005,
    kv_read_s_per_token=1.2e-8,
    kv_tokens=1_300_000,
    max_sequences=256,
    block_tokens=BLOCK_TOKENS,
)
_ROUTE: Final = "trace"
_PATIENCE_S: Final = 86_400.0  # a fleet too small for the trace serves it all the same, later
_LAST_BATCH_S: Final = 1.0

_Count = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]


class _Line(msgspec.Struct):
    timestamp: Annotated[float, msgspec.Meta(ge=0, le=1e12)]
    input_length: _Count
    output_length: _Count
    hash_ids: Annotated[list[int], msgspec.Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class Fared:
    """What became of a trace: input tokens taken in, how many of them were cached, prompts too long for any replica."""

    input_tokens: int
    cached_tokens: int
    refused: int

    @property
    def hit_ratio(self) -> float | None:
        """Cached share of the input tokens (docs/semantics.md#cache-and-replicas), None where nothing was taken in."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else None


def read_trace(path: Path) -> list[Arrival]:
    """Return what a trace in Mooncake's format asks, in its order; raises TraceUnreadable.

    A line of JSON per request: `timestamp` (ms), `input_length`, `output_length` (tokens) and `hash_ids`, one for each
    512 tokens of the prompt, the last of them maybe fewer; a hash stands for its block and all before it. A trace whose
    clock has wide ticks does not show when within one a request came: those of one tick are spread until the next.
    """
    try:
        read = [_line(path, number, text) for number, text in enumerate(path.read_bytes().splitlines(), 1)]
    except OSError as error:
        raise TraceUnreadable(path, None, str(error)) from error
    lines = sorted(read, key=lambda line: line.timestamp)
    return [_arrival(number, line, at_s) for number, (line, at_s) in enumerate(zip(lines, _spread(lines), strict=True))]


def replay(arrivals: Sequence[Arrival], policy: Policy, replicas: int, kv_tokens: int) -> Served:
    """Serve a trace by so many replicas with so much KV memory each; nothing is refused at random or tried again."""
    pool = PoolSpec(CHAT.pool, replicas, replace(ENGINE, kv_tokens=kv_tokens))
    return Fleet(FleetConfig((pool,), {_ROUTE: policy}, Manners(max_retries=0))).run(arrivals)


def fared(served: Served) -> Fared:
    """Return what became of a trace by the engines' own count."""
    jobs = [attempt.job for exchange in served.exchanges for attempt in exchange.attempts]
    taken = [job for job in jobs if job is not None]
    return Fared(
        sum(job.input_tokens for job in taken), sum(job.cached_tokens for job in taken), len(jobs) - len(taken)
    )


def room_for_all(arrivals: Sequence[Arrival]) -> int:
    """Return the KV memory, in tokens, of a replica that never has to forget any of a trace."""
    return 2 * sum(arrival.input_tokens + arrival.output_tokens for arrival in arrivals)


def _line(path: Path, number: int, text: bytes) -> _Line:
    try:
        line = msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceUnreadable(path, number, str(error)) from error
    expected = ceil(line.input_length / BLOCK_TOKENS)
    if len(line.hash_ids) != expected:
        wrong = f"{line.input_length} tokens are {expected} blocks of {BLOCK_TOKENS}, not {len(line.hash_ids)}"
        raise TraceUnreadable(path, number, wrong)
    return line


def _spread(lines: Sequence[_Line]) -> Iterator[float]:
    ticks = [(at_ms / 1000.0, len(list(batch))) for at_ms, batch in groupby(lines, key=lambda line: line.timestamp)]
    end = [(ticks[-1][0] + _LAST_BATCH_S, 0)] if ticks else []
    for (at_s, count), (next_s, _) in pairwise(chain(ticks, end)):
        yield from (at_s + (next_s - at_s) * position / count for position in range(count))


def _arrival(number: int, line: _Line, at_s: float) -> Arrival:
    tokens = [BLOCK_TOKENS] * len(line.hash_ids)
    tokens[-1] = line.input_length - sum(tokens[:-1])
    return Arrival(
        request_id=f"trace-{number:06d}",
        arrived_s=at_s,
        workload=CHAT.name,
        pool=CHAT.pool,
        route=_ROUTE,
        tenant="trace",
        # The first block is the application's own; with the second a conversation begins.
        session_id=f"conversation-{line.hash_ids[:2][-1]}",
        prefix=tuple(zip(line.hash_ids, tokens, strict=True)),
        input_tokens=line.input_length,
        output_tokens=line.output_length,
        max_tokens=line.output_length + 1,
        timeout_s=_PATIENCE_S,
    )
