"""Unlabelled cost as accepted and rejected, and how sure that is: docs/semantics.md#unlabelled-cost."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, sqrt

from oracle.estimate import Sample, cell_of, design_effect, drawn_together, strata_of, tell_times_apart, total
from oracle.fleet import Fleet, Row
from oracle.weights import Judged, Weights, expanded_rate, slope_towards, spread_of


@dataclass(frozen=True)
class Beside:
    """Where labels of all workloads together place a share, beside it, and how far off that may be."""

    shift: float
    deviation: float
    freedom: float


@dataclass(frozen=True)
class Share:
    """Which part of a workload's unlabelled cost counts as accepted, and between which ends that lies."""

    share: Fraction | None  # None: nothing shows it
    low: float
    high: float
    is_bound: bool  # the ends are bounds, no interval
    strata: list[Judged] = field(default_factory=list)  # those that labels leave open
    estimate: float = 0.0  # what is accepted in them
    unlabelled: float = 0.0
    beside: Beside | None = None


def shares_of(fleet: Fleet, rows: list[Row], ended: list[Row], window_s: int) -> dict[str, Share]:
    """What is known of each workload with unlabelled cost in a slice's window, given the requests that ended in it."""
    gated = {name: of["quality"] for name, of in fleet.workloads.items() if of.get("quality") is not None}
    found = _with_others({name: _share(rows, ended, name, quality, window_s) for name, quality in gated.items()})
    spent: dict[str, Fraction] = defaultdict(Fraction)
    for row in rows:
        if row["bucket"] == "unlabelled":
            spent[row["workload"]] += row["usd"] or 0
    return {name: share for name, share in found.items() if spent[name]}


def _with_others(shares: dict[str, Share]) -> dict[str, Share]:
    """Each beside what the labels of all workloads say."""
    known = {name: share for name, share in shares.items() if share.strata}
    strata = [(name, of) for name, share in known.items() for of in share.strata]
    rate = expanded_rate([of for _, of in strata])
    if rate is None:
        return shares
    slopes = {
        name: slope_towards(expanded_rate(share.strata), sum(of.labels for of in share.strata), rate, len(known) - 1)
        for name, share in known.items()
    }
    spread = spread_of([of for _, of in strata], [slopes[name] for name, _ in strata])
    return shares | {
        name: replace(share, beside=_beside(share, slopes[name], spread))
        for name, share in known.items()
        if share.unlabelled > 0 and spread is not None
    }


def _beside(share: Share, slope: float, spread: float) -> Beside:
    variances = [of.variance(slope, spread) for of in share.strata]
    noise = sum(v**2 / max(1, of.labels - 1) for v, of in zip(variances, share.strata, strict=True))
    return Beside(
        (sum(of.expanded(slope) for of in share.strata) - share.estimate) / share.unlabelled,
        sqrt(sum(variances)) / share.unlabelled,
        sum(variances) ** 2 / noise if noise else inf,
    )


def divided(rows: list[Row], shares: dict[str, Share]) -> list[Row]:
    """Rows of one slice with unlabelled cost divided; such a row has `open`: how far its USD may be less, or more."""
    found = []
    unlabelled: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        share = shares.get(row["workload"]) if row["bucket"] == "unlabelled" else None
        found.append(row | {"measured_usd": row["usd"]})
        if share is not None:
            unlabelled[row["workload"]].append(row)
            if share.share is not None and row["usd"] is not None:
                found[-1] |= {"usd": Fraction(0), "direct_usd": Fraction(0)}
    return found + [part for name, of in unlabelled.items() for part in _parts(name, of, shares[name])]


def _parts(workload: str, rows: list[Row], share: Share) -> list[Row]:
    """What of a workload's unlabelled cost is accepted and what is rejected."""
    usd = Fraction(sum(row["usd"] or 0 for row in rows))
    direct = Fraction(sum(row.get("direct_usd") or 0 for row in rows))
    accepted = share.share or Fraction(0)
    rejected = Fraction(0) if share.share is None else 1 - accepted
    more = abs(usd) * Fraction(share.high - accepted)
    less = more if share.share is None else abs(usd) * Fraction(accepted - share.low)
    none = Fraction(0)
    of_accepted, of_rejected = ((none, more), (none, less)) if share.share is None else ((less, more), (more, less))
    found = []
    way = -1 if usd < 0 else 1  # more of a credit is less
    for bucket, part, sides, sign in (("accepted", accepted, of_accepted, 1), ("rejected", rejected, of_rejected, -1)):
        row: Row = {"workload": workload, "bucket": bucket, "gpu_s": Fraction(0), "tokens": Fraction(0)}
        row |= {"usd": usd * part, "direct_usd": direct * part, "measured_usd": Fraction(0)}
        most = (abs(usd) * part, abs(usd) * (1 - part))
        row |= {"open": sides[::way], "is_bound": share.is_bound, "most": most[::way], "is_credit": usd < 0}
        if share.beside is not None:
            row |= {"beside": share.beside, "shift": sign * float(usd) * share.beside.shift}
            row |= {"deviation": float(abs(usd)) * share.beside.deviation}
        found.append(row)
    return found


def _share(rows: list[Row], ended: list[Row], name: str, quality: Row, window_s: int) -> Share:
    """What labelled cost shows."""
    policy, sampling = quality.get("unlabelled", "estimate"), quality.get("sampling", "random")
    if policy != "estimate":
        return Share(Fraction(policy == "pass"), 0, 1, is_bound=True)
    own = [row for row in rows if row["workload"] == name and row.get("direct_usd") is not None]
    if sum(_spent(own, bucket) for bucket in ("accepted", "rejected", "unlabelled")) < 0:  # credits are divided alike
        own = [row | {"direct_usd": -row["direct_usd"]} for row in own]
    accepted, rejected, unlabelled = (_spent(own, bucket) for bucket in ("accepted", "rejected", "unlabelled"))
    if sampling == "none" or min(accepted, rejected) < 0 or not accepted + rejected:
        return Share(None, 0, 1, is_bound=True)
    of_all = accepted / (accepted + rejected)
    needing = [row for row in ended if row["workload"] == name and row["needs_label"]]
    samples = _samples(own, needing, sampling, window_s, of_all)
    unsure = [sample for sample in samples if sample.uncertain]
    strata = [sample.judged for sample in unsure if sample.judged is not None]
    if unlabelled <= 0:
        return Share(of_all, 0, 1, is_bound=False, strata=strata)
    found = total(samples)
    estimate = float(total(unsure)[""])
    share = min(Fraction(1), max(Fraction(0), (found[""] - accepted) / unlabelled))
    low, high = ((float(found[end]) - float(accepted)) / float(unlabelled) for end in ("ci_low", "ci_high"))
    ends = min(float(share), max(0.0, low)), max(float(share), min(1.0, high))
    return Share(share, *ends, is_bound=False, strata=strata, estimate=estimate, unlabelled=float(unlabelled))


def _samples(own: list[Row], needing: list[Row], sampling: str, window_s: int, of_all: Fraction) -> list[Sample]:
    """What each stratum shows of its cost."""
    labelled = [row for row in needing if row["pass_quality"] is not None]
    effect = 1.0
    if labelled:
        together = drawn_together(needing, labelled, sampling)
        effect = design_effect(labelled, sum(row["pass_quality"] for row in labelled), together)
    strata, differs = strata_of(needing, window_s, sampling) if needing else ([], False)
    counted: dict[Hashable, list[Row]] = defaultdict(list)
    depth = 4 if tell_times_apart(needing, window_s) else 3
    for rows in strata:
        known = sum(row["pass_quality"] is not None for row in rows)
        cells = {cell_of(row, row["ended_at"], window_s)[:depth] for row in rows}
        counted[cells.pop() if differs and len(cells) == 1 and known >= 2 else None] += rows
    spent: dict[Hashable, list[Row]] = defaultdict(list)
    for row in own:
        cell = cell_of(row, row["step_ns"], window_s)[:depth]
        spent[cell if cell in counted else None].append(row)
    design = (effect, 2 if differs else 1, of_all)
    return [_sample(rows, counted.get(cell, []), design, window_s) for cell, rows in spent.items()]


def _sample(rows: list[Row], needing: list[Row], design: tuple[float, int, Fraction], window_s: int) -> Sample:
    """By the design effect, the least labels that show something, and the share of all where they are fewer."""
    effect, least, of_all = design
    accepted, rejected, unlabelled = (_spent(rows, bucket) for bucket in ("accepted", "rejected", "unlabelled"))
    n, m = len(needing), sum(row["pass_quality"] is not None for row in needing)
    judged, most = accepted + rejected, accepted + max(Fraction(0), unlabelled)
    if m < least or min(accepted, rejected) < 0 or not judged:
        return Sample(judged + unlabelled, accepted, most, accepted + unlabelled * of_all)
    rate = accepted / judged
    spent: dict[tuple[Hashable, ...], Fraction] = defaultdict(Fraction)
    for row in rows:
        if row["bucket"] in {"accepted", "rejected", "unlabelled"}:
            spent[row["bucket"], row["request_key"], cell_of(row, row["step_ns"], window_s)] += row["direct_usd"]
    passed, failed = ([usd for key, usd in spent.items() if key[0] == of] for of in ("accepted", "rejected"))
    weights = Weights.of(passed, failed, spent.values())
    usd, worth = judged + unlabelled, len(passed) + len(failed)
    size = inf if m == n else worth * (n - 1) / (n - m) / effect
    of_each = Judged(n, m, float(usd), [float(w) for w in passed], [float(w) for w in failed], effect)
    return Sample(usd, accepted, most, usd * rate, size, 0.0, rate, m, weights, of_each)


def _spent(rows: list[Row], bucket: str) -> Fraction:
    return Fraction(sum(row["direct_usd"] for row in rows if row["bucket"] == bucket))
