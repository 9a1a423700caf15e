"""What evaluators say of answers, whatever other gates say: docs/semantics.md#what-evaluators-say."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import inf
from typing import Any

from oracle.fleet import Fleet, Row
from oracle.labels import label_passed
from oracle.quantiles import wilson
from oracle.slices import window_of

Key = tuple[Any, ...]  # window in Unix seconds, its length, workload, model, evaluator, label


def quality(fleet: Fleet, requests: list[Row]) -> dict[Key, Row]:
    """Rows of relation `quality`."""
    answers: dict[Key, int] = defaultdict(int)
    judged: dict[Key, list[bool]] = defaultdict(list)
    for row in requests:
        for window_s in fleet.settings["windows_s"] if row["pass_success"] else ():
            of = (window_of(row["ended_at"], window_s), window_s, row["workload"], row["model"] or "unknown")
            answers[of] += 1
            for evaluator, label, passed in _judgements(fleet, row):
                judged[*of, evaluator, label].append(passed)
    return {key: _row(fleet, key, passed, answers[key[:4]], judged) for key, passed in judged.items()}


def _judgements(fleet: Fleet, request: Row) -> Iterator[tuple[str | None, str | None, bool]]:
    """Each row that a request counts in: the gate's, that of each evaluator, that of each of its labels."""
    if request["pass_quality"] is not None:
        yield None, None, request["pass_quality"]
    settings = fleet.workloads.get(request["workload"], {}).get("quality")
    for evaluator, label in request["judged"].items():
        passed = label_passed(label, settings)
        if passed is not None:
            yield evaluator, None, passed
            if label.get("label") is not None:
                yield evaluator, label["label"], passed


def _row(fleet: Fleet, key: Key, passed: list[bool], answered: int, judged: dict[Key, list[bool]]) -> Row:
    drawn, of_evaluator = len(passed), len(judged[*key[:5], None])
    population = Fraction(answered * drawn, of_evaluator)
    size = inf if population <= drawn else float(drawn * (population - 1) / (population - drawn))
    rate = Fraction(sum(passed), drawn)
    settings = fleet.workloads.get(key[2], {}).get("quality") or {}
    ends = (None, None) if settings.get("sampling") == "none" else wilson(float(rate), size)
    counts = {"answered": answered, "judged": drawn, "passed": sum(passed), "pass_ratio": rate}
    return {**counts, "pass_ci_low_ratio": ends[0], "pass_ci_high_ratio": ends[1]}
