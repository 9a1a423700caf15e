"""Unlabelled cost as accepted and rejected, and how sure that is: docs/semantics.md#unlabelled-cost."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from oracle.estimate import Sample, Weights, design_effect, drawn_together, strata_of, total
from oracle.fleet import Fleet, Row, S


@dataclass(frozen=True)
class Share:
    """Which part of a workload's unlabelled cost counts as accepted, and between which ends that lies."""

    share: Fraction | None  # None: nothing shows it
    low: float
    high: float
    is_bound: bool  # the ends are bounds, no interval


def shares_of(fleet: Fleet, rows: list[Row], ended: list[Row], window_s: int) -> dict[str, Share]:
    """What is known of each workload with a quality gate in a window; `ended` are the requests that ended in it."""
    gated = {name: of["quality"] for name, of in fleet.workloads.items() if of.get("quality") is not None}
    return {name: _share(rows, ended, name, quality, window_s) for name, quality in gated.items()}


def divided(rows: list[Row], shares: dict[str, Share]) -> list[Row]:
    """Rows of a window with unlabelled cost divided; such a row has `open`: how far its USD may be less, or more."""
    found = []
    for row in rows:
        share, usd = shares.get(row["workload"]), row["usd"]
        measured = row | {"measured_usd": usd}
        if row["bucket"] != "unlabelled" or share is None or not usd:
            found.append(measured)
            continue
        direct = row.get("direct_usd") or Fraction(0)
        found.append(measured | ({} if share.share is None else {"usd": Fraction(0), "direct_usd": Fraction(0)}))
        accepted = share.share or Fraction(0)
        rejected = Fraction(0) if share.share is None else 1 - accepted
        more = abs(usd) * Fraction(share.high - accepted)
        less = more if share.share is None else abs(usd) * Fraction(accepted - share.low)
        none = Fraction(0)
        of_accepted, of_rejected = ((none, more), (none, less)) if share.share is None else ((less, more), (more, less))
        for bucket, part, sides in (("accepted", accepted, of_accepted), ("rejected", rejected, of_rejected)):
            amounts = {"usd": usd * part, "direct_usd": direct * part, "measured_usd": Fraction(0)}
            marks = {"open": sides, "is_bound": share.is_bound, "bucket": bucket}
            found.append({**row, **amounts, "gpu_s": Fraction(0), "tokens": Fraction(0), **marks})
    return found


def _share(rows: list[Row], ended: list[Row], name: str, quality: Row, window_s: int) -> Share:
    """What labelled cost shows."""
    policy, sampling = quality.get("unlabelled", "estimate"), quality.get("sampling", "random")
    if policy != "estimate":
        return Share(Fraction(policy == "pass"), 0, 1, is_bound=True)
    own = [row for row in rows if row["workload"] == name and row.get("direct_usd") is not None]
    accepted, rejected, unlabelled = (_spent(own, bucket) for bucket in ("accepted", "rejected", "unlabelled"))
    if sampling == "none" or min(accepted, rejected) < 0 or not accepted + rejected:
        return Share(None, 0, 1, is_bound=True)
    of_all = accepted / (accepted + rejected)
    if unlabelled <= 0:
        return Share(of_all, 0, 1, is_bound=False)
    needing = [row for row in ended if row["workload"] == name and row["needs_label"]]
    found = total(_samples(own, needing, sampling, window_s, of_all))
    share = min(Fraction(1), max(Fraction(0), (found[""] - accepted) / unlabelled))
    low, high = ((float(found[end]) - float(accepted)) / float(unlabelled) for end in ("ci_low", "ci_high"))
    return Share(share, min(float(share), max(0.0, low)), max(float(share), min(1.0, high)), is_bound=False)


def _samples(own: list[Row], needing: list[Row], sampling: str, window_s: int, of_all: Fraction) -> list[Sample]:
    """What each stratum shows of its cost."""
    labelled = [row for row in needing if row["pass_quality"] is not None]
    effect = 1.0
    if labelled:
        together = drawn_together(needing, labelled, sampling)
        effect = design_effect(labelled, sum(row["pass_quality"] for row in labelled), together)
    strata, differs = strata_of(needing, window_s) if needing else ([], False)
    counted: dict[Hashable, list[Row]] = defaultdict(list)
    for rows in strata:
        known = sum(row["pass_quality"] is not None for row in rows)
        cells = {_cell(row, row["ended_at"], window_s) for row in rows}
        counted[cells.pop() if differs and len(cells) == 1 and known >= 2 else None] += rows
    spent: dict[Hashable, list[Row]] = defaultdict(list)
    for row in own:
        cell = _cell(row, row["step_ns"], window_s)
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
            spent[row["bucket"], row["request_key"], _cell(row, row["step_ns"], window_s)] += row["direct_usd"]
    passed, failed = ([usd for key, usd in spent.items() if key[0] == of] for of in ("accepted", "rejected"))
    weights = Weights.of(passed, failed, spent.values())
    usd, share, worth = judged + unlabelled, float(rate), len(passed) + len(failed)
    size = inf if m == n else worth * (n - 1) / (n - m) / effect
    variance = float(usd) ** 2 * share * (1 - share) * weights.effect(share) / worth * (1 - m / n) * effect
    return Sample(usd, accepted, most, usd * rate, size, variance * m / (m - 1) if m > 1 else 0.0, rate, m, weights)


def _cell(row: Row, at_ns: int, window_s: int) -> Hashable:
    part_s = max(window_s // 24, min(window_s, 300))
    return row["model"], row["pool"], row["route"], at_ns // S // part_s


def _spent(rows: list[Row], bucket: str) -> Fraction:
    return Fraction(sum(row["direct_usd"] for row in rows if row["bucket"] == bucket))
