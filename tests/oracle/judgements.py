"""What evaluators say of answers, whatever other gates say: docs/semantics.md#what-evaluators-say."""

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from oracle.estimate import Design, Sample, design_effect, drawn_together, share_of, strata_of, total
from oracle.fleet import Fleet, Row
from oracle.labels import label_passed
from oracle.slices import Slices, window_of

Key = tuple[Any, ...]  # window in Unix seconds, its length, workload, model, evaluator, label
Judged = dict[str, bool]  # by request key, whether it passed


def quality(fleet: Fleet, requests: list[Row], slices: Slices) -> dict[Key, Row]:
    """Rows of relation `quality`."""
    answers: dict[Key, list[Row]] = defaultdict(list)
    judged: dict[Key, Judged] = defaultdict(dict)
    for row in requests:
        for window_s in fleet.settings["windows_s"] if row["pass_success"] else ():
            start = window_of(row["ended_at"], window_s)
            of = (start, window_s, row["workload"], slices.name(row["model"], "model", start, window_s))
            answers[of].append(row)
            for evaluator, label, passed in _judgements(fleet, row):
                judged[*of, evaluator, label][row["request_key"]] = passed
    found = {}
    for key, own in judged.items():
        settings = fleet.workloads.get(key[2], {}).get("quality") or {}
        of_all = judged[*key[:5], None]
        found[key] = _row(answers[key[:4]], own, of_all, key[1], settings.get("sampling", "random"))
    return found


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


def _row(answers: list[Row], own: Judged, of_all: Judged, window_s: int, sampling: str) -> Row:
    """`own` are an evaluator's judgements with one label, or all that it made, `of_all`."""
    counts = {"answered": len(answers), "judged": len(own), "passed": sum(own.values())}
    if sampling == "none":
        ends = (sum(own.values()), sum(own.values()) + len(answers) - len(of_all))
        low, high = (Fraction(end, len(own) + len(answers) - len(of_all)) for end in ends)
        return {**counts, "pass_ratio": None, "pass_ci_low_ratio": low, "pass_ci_high_ratio": high}
    samples = _samples(answers, own, of_all, window_s, sampling)
    population = float(sum(sample.population for sample in samples))
    found = total(samples)
    ratio = float(found[""]) / population
    low, high = min(ratio, found["ci_low"] / population), max(ratio, found["ci_high"] / population)
    return {**counts, "pass_ratio": ratio, "pass_ci_low_ratio": low, "pass_ci_high_ratio": high}


def _samples(answers: list[Row], own: Judged, of_all: Judged, window_s: int, sampling: str) -> list[Sample]:
    """Strata are those of all that the evaluator judged, and so is how far its labels come by session."""
    marked = [row | {"pass_quality": of_all.get(row["request_key"])} for row in answers]
    judged = [row for row in marked if row["pass_quality"] is not None]
    mine = [row for row in judged if row["request_key"] in own]
    rate = Fraction(sum(own.values()), len(own))
    effect = design_effect(mine, sum(own.values()), drawn_together(marked, judged, sampling))
    strata, differs = strata_of(marked, window_s, sampling)
    samples = []
    for stratum in strata:
        drawn = sum(row["pass_quality"] is not None for row in stratum)
        known = [row for row in stratum if row["request_key"] in own]
        if own is of_all or known:
            n = Fraction(len(stratum)) if own is of_all else Fraction(len(stratum) * len(known), drawn)
            enough = len(known) >= (2 if differs else 1)
            samples.append(share_of(n, known, Design("estimate", rate, effect), enough=enough))
    return samples
