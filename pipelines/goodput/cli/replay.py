"""`goodput replay`: a trace of prompts through simulated fleets, and how much of the prompts each had cached."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from goodput.cli.progress import on_terminal
from goodput.cli.render import console, table, until_reader_leaves

if TYPE_CHECKING:
    from goodput.simulate.replay import Fared


def replay(
    trace: Annotated[Path, typer.Argument(help="JSON lines: timestamp (ms), input_length, output_length, hash_ids.")],
    kv_tokens: Annotated[
        int | None, typer.Option(help="KV memory of a replica in tokens; 1.3 million unless given.", min=1024)
    ] = None,
) -> None:
    """Replay a trace of prompts through simulated fleets: cache hit ratio by routing policy and number of replicas.

    A trace names each 512 tokens of its prompts by a hash, as Mooncake's do. The engine is a 70B model on eight 80 GB
    cards. The last rows are no fleets: a single cache as large as all of the fleet's, and one that forgets nothing.

    Example: goodput replay conversation_trace.jsonl
    """
    from goodput.simulate.replay import ENGINE, POLICIES, REPLICAS, fared, read_trace, room_for_all  # noqa: PLC0415
    from goodput.simulate.replay import replay as serve  # noqa: PLC0415  (slow to import; help must not wait for it)

    arrivals, each = read_trace(trace), kv_tokens or ENGINE.kv_tokens
    fleets = [(policy, policy, replicas, each) for policy in POLICIES for replicas in REPLICAS]
    caches = [("one cache of all", POLICIES[0], 1, replicas * each) for replicas in REPLICAS]
    endless = [("cache without end", POLICIES[0], 1, room_for_all(arrivals))]
    asked = [*fleets, *caches, *endless]
    with on_terminal(Console(stderr=True)) as progress:
        fares = [
            (name, fared(serve(arrivals, policy, replicas, memory)))
            for name, policy, replicas, memory in progress.track(asked, "replaying", len(asked))
        ]
    with until_reader_leaves():
        _print(fares, REPLICAS, f"{len(arrivals)} prompts, {each} tokens of KV memory a replica")


def _print(fares: Sequence[tuple[str, "Fared"]], replicas: Sequence[int], what: str) -> None:
    out = console()
    by_name: dict[str, list[float | None]] = {}
    for name, fared in fares:
        by_name.setdefault(name, []).append(fared.hit_ratio)
    lines = [(name, *map(_percent, ratios * (len(replicas) // len(ratios)))) for name, ratios in by_name.items()]
    out.print(table(("hit ratio, by replicas", *map(str, replicas)), lines, out.width))
    out.print(what)
    refused = max(fared.refused for _, fared in fares)
    if refused:
        out.print(f"{refused} prompts are longer than a replica's memory and count nowhere.")


def _percent(ratio: float | None) -> str | None:
    return None if ratio is None else f"{ratio:.1%}"
