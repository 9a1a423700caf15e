"""Which labels judge a request and what they say: docs/semantics.md#quality."""

from collections import defaultdict
from typing import Any

from oracle.fleet import Row, S, exact

PASS_LABELS = ("pass", "passed", "true", "yes", "good", "correct")


def labels_by_request(labels: list[Row], requests: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Labels by the request that their span, response id or request key leads to; those of nothing are left out."""
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for key, tries in requests.items():
        owners["request_key", key].add(key)
        for attempt in tries:
            for record_id in attempt["record_ids"]:
                owners["span", record_id].add(key)
            for response_id in attempt["response_ids"]:
                owners["response_id", response_id].add(key)
    found: dict[str, list[Row]] = defaultdict(list)
    for label in labels:
        (owner,) = owners.get(_subject(label)) or (None,)
        if owner is not None:
            found[owner].append(label)
    return found


def _subject(label: Row) -> tuple[str, str]:
    if label.get("span_id"):
        return "span", f"{label['trace_id']}:{label['span_id']}"
    kind = "response_id" if label.get("response_id") else "request_key"
    return kind, label.get(kind) or ""


def current(labels: list[Row], over_ns: int, lateness_s: Any) -> dict[str, Row]:
    """The judgement of each evaluator that counts: last revisions, not withdrawn, the latest of an evaluator.

    Labels count that were made within `lateness_s` of `over_ns`, the end of the request, of one without it its arrival.
    """
    limit = over_ns + int(exact(lateness_s) * S)  # type: ignore[operator]
    in_time = [label for label in labels if label["labelled_at"] <= limit]
    last: dict[str, Row] = {}
    for label in sorted(in_time, key=_revision):
        last[label["label_id"]] = label
    of_evaluator: dict[str, Row] = {}
    for label in sorted(last.values(), key=lambda label: label["labelled_at"]):
        if not label.get("withdrawn"):
            of_evaluator[label["evaluator"]] = label
    return of_evaluator


def _revision(label: Row) -> int:
    return int(label.get("revised_at") or label["labelled_at"])


def label_passed(label: Row, quality: Row | None) -> bool | None:
    """The label's own verdict, else by its score, else by its word; without a quality gate its own verdict alone."""
    if label.get("passed") is not None:
        return bool(label["passed"])
    if quality is None:
        return None
    least = exact(quality.get("min_score"))
    if label.get("score") is not None and least is not None:
        return exact(label["score"]) >= least  # type: ignore[operator]
    if label.get("label") is None:
        return None
    return label["label"].lower() in quality.get("pass_labels", PASS_LABELS)


def is_drawn(quality: Row) -> bool:
    """Whether labels are drawn, and what has none is estimated from them."""
    return quality.get("unlabelled", "estimate") == "estimate" and quality.get("sampling", "random") != "none"


def pass_quality(judged: dict[str, Row], quality: Row) -> bool | None:
    """Every evaluator that the workload names, else every one that judged, and at least one.

    A drawn label is one by all that are named; others are known as soon as one of them fails.
    """
    said = {name: label_passed(label, quality) for name, label in judged.items()}
    named = quality.get("evaluators") or [name for name, passed in said.items() if passed is not None]
    if is_drawn(quality) and not all(said.get(name) is not None for name in named):
        return None
    if any(said.get(name) is False for name in named):
        return False
    return True if named and all(said.get(name) for name in named) else None
