"""Accepted units where labels are a sample, and how sure that is.

See docs/semantics.md#goodput-from-a-sample, #strata, #intervals, #definition.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import hypot, inf, sqrt
from typing import Any

from oracle.fleet import Fleet, Row, S
from oracle.labels import is_drawn
from oracle.quantiles import student, student_between, wilson
from oracle.weights import Judged, Weights, expanded_rate, freedom_of, slope_towards, spread_of


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
    weights: Weights | None = None  # None: all count alike, or nothing of the weight is labelled
    judged: Judged | None = None  # None: all count alike
    shift: float = 0.0  # by how far strata together place it elsewhere than its own labels do
    freedom: float | None = None  # None: labels - 1

    @property
    def ends(self) -> tuple[float, float]:
        """The stratum's own interval."""
        if self.size is None or (self.judged is not None and self.weights is None):
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
    drawn = is_drawn(quality) and not _is_patchy(needing)
    rate = Fraction(passed, len(labelled)) if labelled and drawn else None
    together = drawn_together(needing, labelled, sampling)
    design = Design(policy, rate, design_effect(labelled, passed, together))
    strata, differs = strata_of(needing, window_s, sampling)
    for stratum in strata:
        known = [row for row in stratum if row["pass_quality"] is not None]
        enough = drawn and len(known) >= (2 if differs else 1)
        yield (
            share_of(Fraction(len(stratum)), known, design, enough=enough, failed=len(_known_failed(stratum))),
            _token_sample(stratum, known, design, enough),
        )


def _is_patchy(needing: list[Row]) -> bool:
    """Whether more than one in 20 judged sessions was judged in part: those judged whole are the short ones."""
    labelled = sum(row["pass_quality"] is not None for row in needing)
    return 20 * sum(row.get("partly_judged", False) for row in needing) > labelled


def _known_failed(rows: list[Row]) -> list[Row]:
    """Units without a label that fail all the same: sessions of which one request failed and others were not judged."""
    return [row for row in rows if row["pass_quality"] is None and row["verdict"] == "rejected"]


def strata_of(needing: list[Row], window_s: int, sampling: str) -> tuple[list[list[Row]], bool]:
    """A workload's cells where their label rates differ, and whether they do."""
    cells = list(_cells(needing, window_s).values())
    need, labelled = len(needing), _labelled(needing)
    if labelled in {0, need}:
        return [needing], False
    rate, freedom = labelled / need, len(cells) - 1
    unlike = sum((_labelled(cell) - len(cell) * rate) ** 2 / (len(cell) * rate * (1 - rate)) for cell in cells)
    if unlike / _requests_per_draw(needing, sampling) <= freedom + sqrt(2 * freedom) + 1e-9:
        return [needing], False
    apart = [cell for cell in cells if _labelled(cell) >= 2]
    rest = [row for cell in cells if _labelled(cell) < 2 for row in cell]
    return [*apart, *([rest] if rest else [])], True


def cell_of(row: Row, at_ns: int, window_s: int) -> tuple[Hashable, ...]:
    """Where and in which part of a window something was."""
    return row["model"], row["pool"], row["route"], at_ns // S // max(window_s // 24, min(window_s, 300))


def tell_times_apart(needing: list[Row], window_s: int) -> bool:
    """Whether there are two labels for each place and part of the window that needs any."""
    return _labelled(needing) >= 2 * len({cell_of(row, row["ended_at"], window_s) for row in needing})


def _cells(needing: list[Row], window_s: int) -> dict[Hashable, list[Row]]:
    """Requests by place and part of the window, or by place alone where labels are too few for that."""
    known = 4 if tell_times_apart(needing, window_s) else 3
    found: dict[Hashable, list[Row]] = defaultdict(list)
    for row in needing:
        found[cell_of(row, row["ended_at"], window_s)[:known]].append(row)
    return found


def _labelled(rows: list[Row]) -> int:
    return sum(row["pass_quality"] is not None for row in rows)


def _requests_per_draw(needing: list[Row], sampling: str) -> float:
    """How many requests of a session one draw labels: of a labelled request's companions so many beyond chance."""
    sizes: dict[Hashable, list[bool]] = defaultdict(list)
    for number, row in enumerate(needing):
        sizes[number if row["session_id"] is None else row["session_id"]].append(row["pass_quality"] is not None)
    drawn = sum(map(sum, sizes.values())) / len(needing)
    companions = sum(len(of) - 1 for of in sizes.values() for is_labelled in of if is_labelled)
    both = sum(sum(of) * (sum(of) - 1) for of in sizes.values())
    together = 1.0 if sampling == "session" else 0.0
    if sampling != "session" and both and drawn < 1:
        together = max(0.0, (both / companions - drawn) / (1 - drawn))
    return 1 + together * sum(len(of) * (len(of) - 1) for of in sizes.values()) / len(needing)


def is_unweighted(fleet: Fleet, rows: list[Row]) -> bool:
    """Whether a request that needs a label has none, of a workload whose labels nobody drew."""
    for workload, of in by_workload(rows).items():
        quality = fleet.workloads.get(workload, {}).get("quality") or {}
        needing = [row for row in of if row["needs_label"]]
        undrawn = quality.get("sampling") == "none" or _is_patchy(needing)
        if (
            undrawn
            and quality.get("unlabelled", "estimate") == "estimate"
            and any(r["pass_quality"] is None for r in needing)
        ):
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


def share_of(n: Fraction, known: list[Row], design: Design, *, enough: bool, failed: int = 0) -> Sample:
    """What labels show of a stratum of `n` requests, `failed` of which fail without a label."""
    m, a = len(known), sum(row["pass_quality"] for row in known)
    low, high = Fraction(a), a + n - m - failed
    if not enough:
        return Sample(n, low, high, _unsampled(n, low, high, design))
    rate = Fraction(a, m)
    size = inf if m >= n else m * float(n - 1) / float(n - m) / design.effect
    variance = n**2 * rate * (1 - rate) / (m - 1) * (1 - m / n) * Fraction(design.effect) if m > 1 else 0
    return Sample(n, low, high, min(high, n * rate), size, float(variance), rate, m)


def _token_sample(rows: list[Row], known: list[Row], design: Design, enough: bool) -> Sample:
    total, drawn, passed = (_tokens(of) for of in (rows, known, [row for row in known if row["pass_quality"]]))
    low, high = passed, passed + total - drawn - _tokens(_known_failed(rows))
    n, m = len(rows), len(known)
    if not enough:
        return Sample(total, low, high, _unsampled(total, low, high, design))
    size = inf if m == n else m * (n - 1) / (n - m) / design.effect
    by_outcome = [[_tokens([row]) for row in known if row["pass_quality"] is of] for of in (True, False)]
    judged = Judged(n, m, float(total), *([float(w) for w in of] for of in by_outcome), design.effect)
    if not drawn:
        point = min(high, total * Fraction(sum(row["pass_quality"] for row in known), m))
        return Sample(total, low, high, point, size, labels=m, judged=judged)
    rate = passed / drawn
    weights = Weights.of(*by_outcome, [_tokens([row]) for row in rows])
    return Sample(total, low, high, min(high, total * rate), size, 0.0, rate, m, weights, judged)


def _unsampled(total: Fraction, low: Fraction, high: Fraction, design: Design) -> Fraction:
    if design.rate is not None:
        return min(high, max(low, total * design.rate))
    return low if design.policy == "fail" else high


def _tokens(rows: Iterable[Row]) -> Fraction:
    return Fraction(sum(row["output_tokens"] or 0 for row in rows))


def total(samples: list[Sample]) -> dict[str, Any]:
    """Estimate, bounds and interval of a sum of strata."""
    unsure = [sample for sample in samples if sample.uncertain]
    sure = [sample for sample in samples if not sample.uncertain]
    low, high = (sum(sample.ends[side] for sample in sure) for side in (0, 1))
    value = sum((sample.point for sample in sure), Fraction(0))
    if len(unsure) == 1:
        value += unsure[0].point
        low, high = low + unsure[0].ends[0], high + unsure[0].ends[1]
    elif unsure:
        point, *more = _together(_placed(unsure))
        value, low, high = value + point, low + more[0], high + more[1]
    return {
        "": value,
        "lower": sum((sample.low_bound for sample in samples), Fraction(0)),
        "upper": sum((sample.high_bound for sample in samples), Fraction(0)),
        "ci_low": low,
        "ci_high": high,
    }


def _placed(samples: list[Sample]) -> list[Sample]:
    """What counts by weight where the labels of all strata together place it."""
    strata = [sample.judged for sample in samples if sample.judged is not None]
    rate = expanded_rate(strata)
    if rate is None:
        return [replace(sample, variance=0.0) for sample in samples] if strata else samples
    own = [float(sample.rate) if sample.weights is not None else None for sample in samples]
    pairs = list(zip(own, strata, strict=True))
    slopes = [slope_towards(share, of.labels, rate, len(strata) - 1) for share, of in pairs]
    spread = spread_of(strata, slopes)
    known = list(zip(samples, strata, slopes, strict=True))
    variances = [0.0 if spread is None else of.variance(slope, spread) for _, of, slope in known]
    freedom = freedom_of(variances, [of.labels for of in strata])
    return [
        replace(sample, shift=of.expanded(slope) - float(sample.point), variance=variance, freedom=freedom)
        for (sample, of, slope), variance in zip(known, variances, strict=True)
    ]


def _together(samples: list[Sample]) -> tuple[Fraction | float, float, float]:
    """Estimate and ends of several strata that labels leave open."""
    exact = sum((sample.point for sample in samples), Fraction(0)) + Fraction(sum(sample.shift for sample in samples))
    exact = min(max(exact, sum(s.low_bound for s in samples)), sum(s.high_bound for s in samples))
    point, size = float(exact), float(sum(sample.population for sample in samples))
    variance = sum(sample.variance for sample in samples)
    low = point - hypot(*(float(sample.point) - sample.ends[0] for sample in samples))
    high = point + hypot(*(sample.ends[1] - float(sample.point) for sample in samples))
    if variance > 0 and 0 < point < size:
        freedom = samples[0].freedom
        if freedom is None:
            freedom = sum(sample.labels - 1 for sample in samples)
        ends = wilson(point / size, point * (size - point) / variance, student_between(freedom))
        low, high = min(low, size * ends[0]), max(high, size * ends[1])
    within = [(float(s.low_bound), float(s.high_bound)) if s.judged is not None else s.ends for s in samples]
    least, most = (sum(ends[side] for ends in within) for side in (0, 1))
    return exact, max(low, least), min(high, most)


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
