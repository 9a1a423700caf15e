"""What tokens weigh, and which part of an attempt lies in a step: docs/semantics.md#busy-time."""

from fnmatch import fnmatchcase
from fractions import Fraction

from oracle.fleet import Fleet, Row, exact
from oracle.replicas import spans_of
from oracle.spans import Span, length, within

WEIGHTS = {"prefill_weight": 1, "cached_weight": "0.1", "decode_weight": 5, "draft_weight": "0.5"}


def weights_of(fleet: Fleet, model: str | None) -> dict[str, Fraction]:
    """What a token of a model weighs: by the first table that matches it."""
    tables = fleet.settings.get("work", {}).values()
    chosen = next((t for t in tables if any(fnmatchcase(model or "", glob) for glob in t.get("model", ["*"]))), {})
    return {name: exact(chosen.get(name, default)) for name, default in WEIGHTS.items()}  # type: ignore[misc]


def part_of(attempt: Row, span: Span) -> Fraction:
    """Share of an attempt's time in a step; one that takes no time is wholly where it begins."""
    ((begin, end),) = spans_of([attempt])
    if begin == end:
        return Fraction(span[0] <= begin < span[1])
    return Fraction(length(within([(begin, end)], [span])), end - begin)
