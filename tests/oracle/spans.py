"""Stretches of time as sorted, disjoint pairs of nanoseconds, the end exclusive."""

from collections.abc import Iterable

Span = tuple[int, int]


def union(spans: Iterable[Span], pause_ns: int = 0) -> list[Span]:
    """Stretches without overlap; pauses of at most `pause_ns` are bridged."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin - found[-1][1] <= pause_ns:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def within(spans: Iterable[Span], limits: Iterable[Span]) -> list[Span]:
    """The part of disjoint stretches that lies in other disjoint stretches."""
    both = ((max(b, low), min(e, high)) for b, e in spans for low, high in limits)
    return sorted((begin, end) for begin, end in both if begin < end)


def without(spans: list[Span], holes: Iterable[Span]) -> list[Span]:
    """What is left of disjoint stretches where others are taken out."""
    for low, high in holes:
        cut = [part for begin, end in spans for part in ((begin, min(end, low)), (max(begin, high), end))]
        spans = sorted({(begin, end) for begin, end in cut if begin < end})
    return spans


def length(spans: Iterable[Span]) -> int:
    """Nanoseconds in disjoint stretches."""
    return sum(end - begin for begin, end in spans)


def overlap(span: Span, other: Span) -> int:
    """Nanoseconds that two stretches share."""
    return max(0, min(span[1], other[1]) - max(span[0], other[0]))
