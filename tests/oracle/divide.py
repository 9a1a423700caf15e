"""Unlabelled cost as accepted and rejected, and how sure that is: docs/semantics.md#unlabelled-cost."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from oracle.fleet import Fleet, Row
from oracle.quantiles import wilson


@dataclass(frozen=True)
class Share:
    """Which part of a workload's unlabelled cost counts as accepted, and between which ends that lies."""

    share: Fraction
    low: float
    high: float


def divided(fleet: Fleet, rows: list[Row], ended: list[Row]) -> list[Row]:
    """Rows of a window with unlabelled cost divided; `ended` are the requests that ended in it.

    A row that is divided has `open`: by how much its USD may be less, or more.
    """
    found = []
    shares = {name: _share(rows, ended, name, workload) for name, workload in fleet.workloads.items()}
    for row in rows:
        share, usd = shares.get(row["workload"]), row["usd"]
        measured = row | {"measured_usd": usd}
        if row["bucket"] != "unlabelled" or share is None or not usd:
            found.append(measured)
            continue
        direct = row.get("direct_usd") or Fraction(0)
        found.append(measured | {"usd": Fraction(0), "direct_usd": Fraction(0)})
        less, more = (abs(usd) * Fraction(side) for side in (share.share - share.low, share.high - share.share))
        for bucket, part, sides in (
            ("accepted", share.share, (less, more)),
            ("rejected", 1 - share.share, (more, less)),
        ):
            amounts = {"usd": usd * part, "direct_usd": direct * part, "measured_usd": Fraction(0), "open": sides}
            found.append({**row, **amounts, "gpu_s": Fraction(0), "tokens": Fraction(0), "bucket": bucket})
    return found


def _share(rows: list[Row], ended: list[Row], name: str, workload: Row) -> Share | None:
    """What labelled cost shows; None: nothing does."""
    quality = workload.get("quality")
    if quality is None:
        return None
    policy = quality.get("unlabelled", "estimate")
    if policy != "estimate":
        return Share(Fraction(policy == "pass"), 0, 1)
    own = [row for row in rows if row["workload"] == name and row.get("direct_usd") is not None]
    accepted, rejected, unlabelled = (
        Fraction(sum(row["direct_usd"] for row in own if row["bucket"] == bucket))
        for bucket in ("accepted", "rejected", "unlabelled")
    )
    labelled = accepted + rejected
    if quality.get("sampling") == "none" or min(accepted, rejected) < 0 or not labelled:
        return None
    share = accepted / labelled
    needing = [row for row in ended if row["workload"] == name and row["needs_label"]]
    drawn = sum(row["pass_quality"] is not None for row in needing)
    if not drawn or unlabelled <= 0:
        return Share(share, 0, 1)
    size = inf if drawn == len(needing) else drawn * (len(needing) - 1) / (len(needing) - drawn)
    of_unlabelled = [
        (float(labelled + unlabelled) * end - float(accepted)) / float(unlabelled) for end in wilson(float(share), size)
    ]
    return Share(share, max(0, min(float(share), of_unlabelled[0])), min(1, max(float(share), of_unlabelled[1])))
