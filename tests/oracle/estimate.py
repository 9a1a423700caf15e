"""Accepted units where labels are a sample, and how sure that is.

See docs/semantics.md#goodput-from-a-sample, #strata, #intervals, #definition.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import hypot, inf, sqrt
from typing import Any

from oracle.fleet import Fleet, Row, S
from oracle.quantiles import student, wilson


@dataclass(frozen=True)
class Weights:
    """Tokens, or dollars, of the labelled requests that passed and of those that failed."""

    passed: Sequence[float]
    failed: Sequence[float]

    @classmethod
    def of(cls, passed: Iterable[Fraction], failed: Iterable[Fraction], everything: Iterable[Fraction]) -> "Weights":
        """Each with one request more: as heavy as the request of a token drawn from everything."""
        n, t, squares = (float(sum((w**power for w in everything), Fraction(0))) for power in range(3))
        heavy = squares / t
        more = (1.0, heavy, heavy**2 * sqrt(n * squares) / t)
        a, b = (
            [float(sum((w**power for w in of), Fraction(0))) + more[power] for power in range(3)]
            for of in (list(passed), list(failed))
        )
        return cls(a, b)

    def effect(self, share: float) -> float:
        """How many labels are worth one of equal weight, where this share of the weight passes."""
        (a0, a1, a2), (b0, b1, b2) = self.passed, self.failed
        return ((1 - share) * a2 / a1 + share * b2 / b1) * (share * a0 / a1 + (1 - share) * b0 / b1)


@dataclass(frozen=True)
class Sample:
    """What labels show of requests, or of tokens, in one stratum; or what bounds alone show of it."""

    population: Fraction
    low_bound: Fraction
    high_bound: Fraction
    point: Fraction
    size: float | None = None  # draws that the labels are worth; None: bounds alone
    variance: float = 0.0
    rate: Fraction = Fraction(0)
    labels: int = 0
    weights: Weights | None = None  # None: all count alike

    @property
    def ends(self) -> tuple[float, float]:
        """The stratum's own interval."""
        if self.size is None:
            return float(self.low_bound), float(self.high_bound)
        low, high = self._share(float(self.rate), self.size)
        return max(float(self.low_bound), float(self.population) * low), min(
            float(self.high_bound), float(self.population) * high
        )

    def _share(self, rate: float, size: float) -> tuple[float, float]:
        if self.weights is None:
            return wilson(rate, size)
        effect = self.weights.effect
        near = wilson(rate, size / effect(rate))
        low, high = (wilson(rate, size / max(effect(rate), effect(end))) for end in near)
        return low[0], high[1]

    @property
    def uncertain(self) -> bool:
        """Whether it adds to what is estimated rather than known or bounded."""
        return self.size is not None and self.size < inf


@dataclass(frozen=True)
class Design:
    """What holds for all strata of a workload: its policy, its pass rate if that is used, and its design effect."""

    policy: str
    rate: Fraction | None
    effect: float


def estimated(fleet: Fleet, window_s: int, rows: list[Row]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Accepted requests (estimate under "", bounds, interval) and their output tokens."""
    requests, tokens = [], []
    for name, own in by_workload(rows).items():
        for sample in _of_workload(own, fleet.workloads.get(name, {}).get("quality"), window_s):
            requests.append(sample[0])
            tokens.append(sample[1])
    return total(requests), total(tokens)


def by_workload(rows: list[Row]) -> dict[str, list[Row]]:
    """Requests by their workload."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["workload"]].append(row)
    return found


def _of_workload(rows: list[Row], quality: Row | None, window_s: int) -> Iterable[tuple[Sample, Sample]]:
    if quality is None:
        accepted = [row for row in rows if row["verdict"] == "accepted"]
        yield tuple(Sample(n, n, n, n) for n in (Fraction(len(accepted)), _tokens(accepted)))  # type: ignore[misc]
        return
    needing = [row for row in rows if row["needs_label"]]
    labelled = [row for row in needing if row["pass_quality"] is not None]
    if not needing:
        return
    passed = sum(row["pass_quality"] for row in labelled)
    policy, sampling = quality.get("unlabelled", "estimate"), quality.get("sampling", "random")
    is_drawn = policy == "estimate" and sampling != "none"
    rate = Fraction(passed, len(labelled)) if labelled and is_drawn else None
    together = drawn_together(needing, labelled, sampling)
    design = Design(policy, rate, design_effect(labelled, passed, together))
    strata, differs = strata_of(needing, window_s)
    for stratum in strata:
        known = [row for row in stratum if row["pass_quality"] is not None]
        enough = is_drawn and len(known) >= (2 if differs else 1)
        yield (
            share_of(Fraction(len(stratum)), known, design, enough=enough),
            _token_sample(stratum, known, design, enough),
        )


def strata_of(needing: list[Row], window_s: int) -> tuple[list[list[Row]], bool]:
    """A workload's cells where their label rates differ, and whether they do."""
    cells: dict[Hashable, list[Row]] = defaultdict(list)
    part_s = max(window_s // 24, min(window_s, 300))
    for row in needing:
        cells[row["model"], row["pool"], row["route"], row["ended_at"] // S // part_s].append(row)
    counts = [(len(cell), sum(row["pass_quality"] is not None for row in cell)) for cell in cells.values()]
    need, labelled = (sum(numbers) for numbers in zip(*counts, strict=True))
    if labelled in {0, need}:
        return [needing], False
    rate, freedom = labelled / need, len(cells) - 1
    unlike = sum((m - n * rate) ** 2 / (n * rate * (1 - rate)) for n, m in counts)
    if unlike <= freedom + sqrt(2 * freedom) + 1e-9:
        return [needing], False
    apart = [cell for cell, (_, m) in zip(cells.values(), counts, strict=True) if m >= 2]
    rest = [row for cell, (_, m) in zip(cells.values(), counts, strict=True) if m < 2 for row in cell]
    return [*apart, *([rest] if rest else [])], True


def is_unweighted(fleet: Fleet, rows: list[Row]) -> bool:
    """Whether a request that needs a label has none, of a workload whose labels nobody drew."""
    for row in rows:
        quality = fleet.workloads.get(row["workload"], {}).get("quality") or {}
        undrawn = quality.get("sampling") == "none" and quality.get("unlabelled", "estimate") == "estimate"
        if undrawn and row["needs_label"] and row["pass_quality"] is None:
            return True
    return False


def drawn_together(needing: list[Row], labelled: list[Row], sampling: str) -> float:
    """How far labels come session by session: 0 where request by request, 1 where by whole sessions."""
    if sampling == "session":
        return 1.0
    both = _pairs(labelled)
    share = len(labelled) / len(needing)
    return min(1.0, max(0.0, (1 - share**2 * _pairs(needing) / both) / (1 - share))) if both and share < 1 else 0.0


def _pairs(rows: list[Row]) -> int:
    """Ordered pairs of requests in one session."""
    sessions = Counter(row["session_id"] for row in rows if row["session_id"] is not None)
    return sum(count * (count - 1) for count in sessions.values())


def design_effect(labelled: list[Row], passed: int, drawn_together: float) -> float:
    """How much less sure labels are than as many drawn one by one, by what goes together within sessions."""
    m = len(labelled)
    if not m:
        return 1.0
    rate = passed / m
    residuals: dict[Hashable, list[float]] = defaultdict(list)
    for number, row in enumerate(labelled):
        residuals[row["session_id"] or number].append(row["pass_quality"] - rate)
    together = sum(sum(of) ** 2 - sum(one**2 for one in of) for of in residuals.values())
    draws = m / (1 + drawn_together * (m / len(residuals) - 1))
    spread = m * rate * (1 - rate)
    effect = max(1.0, 1 + drawn_together * together / spread) if 0 < passed < m else m / draws
    return effect * (student(draws - 1) / student(m - 1)) ** 2


def share_of(n: Fraction, known: list[Row], design: Design, *, enough: bool) -> Sample:
    """What labels show of a stratum of `n` requests."""
    m, a = len(known), sum(row["pass_quality"] for row in known)
    low, high = Fraction(a), a + n - m
    if not enough:
        return Sample(n, low, high, _unsampled(n, low, high, design))
    rate = Fraction(a, m)
    size = inf if m >= n else m * float(n - 1) / float(n - m) / design.effect
    variance = n**2 * rate * (1 - rate) / (m - 1) * (1 - m / n) * Fraction(design.effect) if m > 1 else 0
    return Sample(n, low, high, n * rate, size, float(variance), rate, m)


def _token_sample(rows: list[Row], known: list[Row], design: Design, enough: bool) -> Sample:
    total, drawn, passed = (_tokens(of) for of in (rows, known, [row for row in known if row["pass_quality"]]))
    low, high = passed, passed + total - drawn
    n, m = len(rows), len(known)
    if not enough:
        return Sample(total, low, high, _unsampled(total, low, high, design))
    if not drawn:
        point = total * Fraction(sum(row["pass_quality"] for row in known), m)
        return Sample(total, low, high, point)
    rate = passed / drawn
    by_outcome = [[_tokens([row]) for row in known if row["pass_quality"] is of] for of in (True, False)]
    weights = Weights.of(*by_outcome, [_tokens([row]) for row in rows])
    size = inf if m == n else m * (n - 1) / (n - m) / design.effect
    share = float(rate)
    variance = float(total) ** 2 * share * (1 - share) * weights.effect(share) * (1 - m / n) * design.effect
    return Sample(total, low, high, total * rate, size, variance / (m - 1) if m > 1 else 0, rate, m, weights)


def _unsampled(total: Fraction, low: Fraction, high: Fraction, design: Design) -> Fraction:
    if design.rate is not None:
        return min(high, max(low, total * design.rate))
    return low if design.policy == "fail" else high


def _tokens(rows: Iterable[Row]) -> Fraction:
    return Fraction(sum(row["output_tokens"] or 0 for row in rows))


def total(samples: list[Sample]) -> dict[str, Any]:
    """Estimate, bounds and interval of a sum of strata."""
    unsure = [sample for sample in samples if sample.uncertain]
    sure = [sample.ends for sample in samples if not sample.uncertain]
    low, high = (sum(ends[side] for ends in sure) for side in (0, 1))
    if unsure:
        more = _together(unsure)
        low, high = low + more[0], high + more[1]
    return {
        "": sum((sample.point for sample in samples), Fraction(0)),
        "lower": sum((sample.low_bound for sample in samples), Fraction(0)),
        "upper": sum((sample.high_bound for sample in samples), Fraction(0)),
        "ci_low": low,
        "ci_high": high,
    }


def _together(samples: list[Sample]) -> tuple[float, float]:
    point, size = (float(sum(values)) for values in zip(*((s.point, s.population) for s in samples), strict=True))
    variance = sum(sample.variance for sample in samples)
    low = point - hypot(*(float(sample.point) - sample.ends[0] for sample in samples))
    high = point + hypot(*(sample.ends[1] - float(sample.point) for sample in samples))
    if len(samples) > 1 and variance > 0 and 0 < point < size:
        freedom = sum(sample.labels - 1 for sample in samples)
        ends = wilson(point / size, point * (size - point) / variance, student(freedom))
        low, high = min(low, size * ends[0]), max(high, size * ends[1])
    return max(low, sum(s.ends[0] for s in samples)), min(high, sum(s.ends[1] for s in samples))


def definition(fleet: Fleet, rows: list[Row], workloads: set[str]) -> str:
    """What is known of the quality of the requests that pass every other gate, among the row's workloads."""
    if is_unweighted(fleet, rows):
        return "unweighted"
    gated = {name for name, workload in fleet.workloads.items() if workload.get("quality") is not None}
    if not workloads & gated:
        return "latency_constrained"
    passing = [row for row in rows if row["needs_label"] or (row["verdict"] == "accepted")]
    judged = sum(row["needs_label"] and row["pass_quality"] is not None for row in passing)
    if judged == len(passing):
        return "full"
    return "estimated" if judged else "latency_constrained"


def quality_gated_ratio(rows: list[Row]) -> Fraction | None:
    """Share of the requests that pass every other gate which has a quality gate."""
    passing = [row for row in rows if row["needs_label"] or (row["verdict"] == "accepted")]
    return Fraction(sum(row["needs_label"] for row in passing), len(passing)) if passing else None
