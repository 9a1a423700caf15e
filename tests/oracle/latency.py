"""How long a try took as its user saw it: docs/semantics.md#latency."""

from fractions import Fraction
from typing import Any

from oracle.fleet import Row, seconds


def first_token(attempt: Row) -> int | None:
    """When its first token reached the user: of an answer that was not streamed its end, of an empty stream never."""
    if attempt["streamed"] is False:
        return attempt["ended_at"] if attempt["outcome"] == "ok" else None
    if attempt["outcome"] == "ok" and attempt["output_tokens"] == 0:
        return None
    return attempt["first_token_at"]  # type: ignore[no-any-return]


def latencies(attempt: Row, origin: int) -> dict[str, Any]:
    """ttft_s, e2e_s and tpot_s of an attempt since `origin`; None where they do not apply or were not seen."""
    ended, tokens, first = attempt["ended_at"], attempt["output_tokens"], first_token(attempt)
    if ended is None or (first is not None and first < origin):
        first = None
    applies = first is not None and tokens is not None and tokens > 1 and attempt["streamed"] is not False
    return {
        "ttft_s": None if first is None else seconds(first - origin),
        "e2e_s": None if ended is None else seconds(ended - origin),
        "tpot_s": Fraction(seconds(ended - first)) / (tokens - 1) if applies else None,  # type: ignore[operator]
    }
