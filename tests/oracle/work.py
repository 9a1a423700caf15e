"""How the attempts of a step share its cost: docs/semantics.md#busy-time, #recomputed-and-draft-tokens."""

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


def work_of(fleet: Fleet, attempt: Row) -> dict[str, Fraction]:
    """Work of an attempt: its own under "", what was computed again, and drafts in vain."""
    weigh = weights_of(fleet, attempt["model"])
    given, cached = attempt["input_tokens"] or 0, attempt["cached_input_tokens"] or 0
    drafted, kept = attempt["draft_tokens"] or 0, attempt["accepted_draft_tokens"] or 0
    own = (given - cached) * weigh["prefill_weight"] + cached * weigh["cached_weight"]
    return {
        "": own + (attempt["output_tokens"] or 0) * weigh["decode_weight"] + kept * weigh["draft_weight"],
        "preemption": (attempt["recomputed_tokens"] or 0) * weigh["prefill_weight"],
        "speculation": (drafted - kept) * weigh["draft_weight"],
    }


def tokens_of(attempt: Row) -> dict[str, int]:
    """Tokens that go with each part of the work."""
    return {
        "": (attempt["input_tokens"] or 0) + (attempt["output_tokens"] or 0),
        "preemption": attempt["recomputed_tokens"] or 0,
        "speculation": (attempt["draft_tokens"] or 0) - (attempt["accepted_draft_tokens"] or 0),
    }


def part_of(attempt: Row, span: Span) -> Fraction:
    """Share of an attempt's time in a step; one that takes no time is wholly where it begins."""
    ((begin, end),) = spans_of([attempt])
    if begin == end:
        return Fraction(span[0] <= begin < span[1])
    return Fraction(length(within([(begin, end)], [span])), end - begin)


def shares_of(fleet: Fleet, attempts: list[Row], span: Span) -> dict[str, dict[str, tuple[Fraction, Fraction]]]:
    """Each attempt's shares of what these attempts cost in a step, and its tokens in it, part by part."""
    parts = {a["attempt_id"]: part_of(a, span) for a in attempts}
    works = {a["attempt_id"]: work_of(fleet, a) for a in attempts}
    total = sum((sum(works[name].values()) * parts[name] for name in parts), Fraction(0))
    if not total:
        works = {
            a["attempt_id"]: {"": Fraction((a["ended_at"] or a["started_at"]) - a["started_at"])} for a in attempts
        }
        total = sum((works[name][""] * parts[name] for name in parts), Fraction(0))
    found = {}
    for attempt in attempts:
        name, tokens = attempt["attempt_id"], tokens_of(attempt)
        found[name] = {
            bucket: (work * parts[name] / total if total else Fraction(0), tokens[bucket] * parts[name])
            for bucket, work in works[name].items()
            if bucket == "" or work
        }
    return found
