"""Where money went by window, slice and bucket: docs/semantics.md#idle-time, #overhead, #unlabelled-cost."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

from oracle.estimate import cell_of, strata
from oracle.fleet import Fleet, Row, S
from oracle.ledger import bucket_of
from oracle.windows import DIMENSIONS, Key, slice_keys, window_of

Amount = dict[str, Any]
FREE = ("idle", "overhead", "unattributed")
NOTHING: Amount = {"usd": None, "measured_usd": None, "direct_usd": None, "gpu_s": Fraction(0), "tokens": Fraction(0)}


def loaded(fleet: Fleet, ledger: list[Row], ended: dict[int, list[Row]], window_s: int) -> dict[int, list[Row]]:
    """The ledger of each window with its idle time and overhead on those who carry them."""
    by_window: dict[int, list[Row]] = defaultdict(list)
    for row in ledger:
        by_window[window_of(row["step_ns"], window_s)].append(row)
    return {start: _carried(rows, ended.get(start, [])) for start, rows in by_window.items()}


def _carried(rows: list[Row], ended: list[Row]) -> list[Row]:
    direct = [row | {"direct_usd": row["usd"]} for row in rows if row["bucket"] not in FREE]
    found = direct + [row for row in rows if row["bucket"] == "unattributed"]
    for row in rows:
        if row["bucket"] == "idle":
            found += _by_gpu_time(row, direct)
        elif row["bucket"] == "overhead":
            found += _by_request(row, ended)
    return found


def _by_gpu_time(idle: Row, direct: list[Row]) -> list[Row]:
    served = [row for row in direct if row["pool"] == idle["pool"] and row["gpu_s"]]
    total = sum(row["gpu_s"] for row in served)
    if not total:
        return [idle]
    return [_part(idle, row, row["gpu_s"] / total) | {"pool": idle["pool"], "bucket": "idle"} for row in served]


def _by_request(overhead: Row, ended: list[Row]) -> list[Row]:
    scope = {name: overhead[name] for name in ("pool", "model", "workload", "route", "tenant") if overhead[name]}
    meant = [row for row in ended if all(row[name] == value for name, value in scope.items())]
    if not meant:
        return [overhead | {"bucket": "unattributed"}]
    return [_part(overhead, row, Fraction(1, len(meant))) | {"bucket": bucket_of(row)} for row in meant]


def _part(row: Row, by: Row, part: Fraction) -> Row:
    amounts = {name: None if row[name] is None else row[name] * part for name in ("usd", "gpu_s", "tokens")}
    return {**row, **{name: by[name] for name in DIMENSIONS}, **amounts, "direct_usd": None}


def _divided(fleet: Fleet, rows: list[Row], ended: list[Row], window_s: int) -> list[Row]:
    """Rows with unlabelled cost divided into accepted and rejected, as the labelled cost of its workload is."""
    found = []
    workloads = fleet.settings["workloads"]
    gated = {name: workload["quality"] for name, workload in workloads.items() if workload.get("quality") is not None}
    shares = {name: _share(rows, name, quality, ended, window_s) for name, quality in gated.items()}
    for row in rows:
        usd = row["usd"]
        measured = row | {"measured_usd": usd}
        if row["bucket"] != "unlabelled" or row["workload"] not in gated or not usd:
            found.append(measured)
            continue
        share = shares[row["workload"]]
        direct = row.get("direct_usd") or Fraction(0)
        found.append(measured if share is None else measured | {"usd": Fraction(0), "direct_usd": Fraction(0)})
        # what nothing shows stays where it is, with bounds of both
        for bucket, part in (("accepted", share or Fraction(0)), ("rejected", 0 if share is None else 1 - share)):
            amounts = {"usd": usd * part, "direct_usd": direct * part, "measured_usd": Fraction(0)}
            found.append({**row, **amounts, "gpu_s": Fraction(0), "tokens": Fraction(0), "bucket": bucket})
    return found


def _share(rows: list[Row], name: str, quality: Row, ended: list[Row], window_s: int) -> Fraction | None:
    """Which part of a workload's unlabelled cost counts as accepted; None: nothing shows it."""
    policy = quality.get("unlabelled", "estimate")
    if policy != "estimate":
        return Fraction(policy == "pass")
    if quality.get("sampling") == "none":
        return None
    own = [row for row in rows if row["workload"] == name and row.get("direct_usd") is not None]
    of_all = _accepted_part(own)
    needing = [row for row in ended if row["workload"] == name and row["needs_label"]]
    cells, differs = strata(needing, window_s) if needing else ([], False)
    spent = sum((row["direct_usd"] for row in own if row["bucket"] == "unlabelled"), Fraction(0))
    if of_all is None or not differs or spent <= 0:
        return of_all
    apart = {cell_of(rows_[0], rows_[0]["ended_at"] // S, window_s) for rows_ in cells if _is_apart(rows_, window_s)}
    found: dict[Hashable, list[Row]] = defaultdict(list)
    for row in own:
        cell = cell_of(row, row["step_ns"] // S, window_s)
        found[cell if cell in apart else None].append(row)
    rest = sum(row["pass_quality"] is not None for rows_ in cells if not _is_apart(rows_, window_s) for row in rows_)
    accepted = Fraction(0)
    for cell, costs in found.items():
        part = None if cell is None and rest < 2 else _accepted_part(costs)
        unlabelled = sum((row["direct_usd"] for row in costs if row["bucket"] == "unlabelled"), Fraction(0))
        accepted += unlabelled * (of_all if part is None else part)
    return min(Fraction(1), max(Fraction(0), accepted / spent))


def _is_apart(rows: list[Row], window_s: int) -> bool:
    """Whether a stratum is a cell with two labels or more."""
    cells = {cell_of(row, row["ended_at"] // S, window_s) for row in rows}
    return len(cells) == 1 and sum(row["pass_quality"] is not None for row in rows) >= 2


def _accepted_part(rows: list[Row]) -> Fraction | None:
    """Accepted cost of that which was judged."""
    spent = {bucket: sum(r["direct_usd"] for r in rows if r["bucket"] == bucket) for bucket in ("accepted", "rejected")}
    judged = sum(spent.values())
    return Fraction(spent["accepted"]) / judged if min(spent.values()) >= 0 and judged else None


def by_slice(rows: Iterable[Row]) -> dict[tuple[Any, ...], Amount]:
    """Amounts by slice and bucket; usd is None where no row has any."""
    found: dict[tuple[Any, ...], Amount] = {}
    for row in rows:
        for cut in slice_keys(row):
            amount = found.setdefault((*cut, row["bucket"]), dict(NOTHING))
            for name in ("gpu_s", "tokens"):
                amount[name] += row[name]
            for name in ("usd", "measured_usd", "direct_usd"):
                amount[name] = plus(amount[name], row.get(name))
    for amount in found.values():
        if amount["usd"] is not None:
            amount["direct_usd"] = amount["direct_usd"] or Fraction(0)
    return found


def plus(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    """The sum of what is known; None where nothing is."""
    return other if one is None else one if other is None else one + other


def waste(fleet: Fleet, ledger: list[Row], requests: list[Row]) -> dict[tuple[Any, ...], Amount]:
    """Rows of `waste` by window, slice and bucket."""
    found = {}
    for window_s in fleet.settings["windows_s"]:
        ended: dict[int, list[Row]] = defaultdict(list)
        for request in requests:
            if request["ended_at"] is not None:
                ended[window_of(request["ended_at"], window_s)].append(request)
        for start, rows in loaded(fleet, ledger, ended, window_s).items():
            divided = _divided(fleet, rows, ended.get(start, []), window_s)
            for (slice_, *cut, bucket), amount in by_slice(divided).items():
                found[start, window_s, slice_, *cut, bucket] = amount
    return found


def carriers(found: dict[tuple[Any, ...], Amount]) -> dict[Key, set[str]]:
    """Workloads that bear GPU time of each window and slice."""
    workloads: dict[Key, set[str]] = defaultdict(set)
    for (start, window_s, slice_, *cut, _), amount in found.items():
        if slice_ == "finest" and amount["gpu_s"] > 0:
            row = dict(zip(DIMENSIONS, cut, strict=True))
            for key in slice_keys(row):
                workloads[start, window_s, *key].add(row["workload"])  # type: ignore[index]
    return workloads


def window_costs(found: dict[tuple[Any, ...], Amount]) -> dict[Key, Amount]:
    """Cost of each window and slice, and the share of it that was wasted."""
    costs: dict[Key, Amount] = {}
    for (*key, bucket), amount in found.items():
        cost = costs.setdefault(tuple(key), dict.fromkeys(("cost_usd", "direct_cost_usd", "wasted")))  # type: ignore[arg-type]
        cost["cost_usd"] = plus(cost["cost_usd"], amount["usd"])
        cost["direct_cost_usd"] = plus(cost["direct_cost_usd"], amount["direct_usd"])
        if bucket not in {"accepted", "unlabelled"}:
            cost["wasted"] = plus(cost["wasted"], amount["usd"])
    return {key: _with_ratio(cost) for key, cost in costs.items()}


def _with_ratio(cost: Amount) -> Amount:
    wasted, usd = cost.pop("wasted") or 0, cost["cost_usd"]
    return cost | {"wasted_ratio": wasted / usd if usd else None}


def request_costs(ledger: list[Row]) -> dict[str, Fraction]:
    """What each request cost: the ledger's rows that name it."""
    found: dict[str, Fraction] = defaultdict(Fraction)
    for row in ledger:
        if row["request_key"] is not None and row["usd"] is not None:
            found[row["request_key"]] += row["usd"]
    return found
