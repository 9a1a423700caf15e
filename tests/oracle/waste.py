"""Where money went by window, slice and bucket: docs/semantics.md#idle-time, #overhead, #unlabelled-cost."""

from collections import defaultdict
from fractions import Fraction
from math import hypot, inf
from typing import Any

from oracle.divide import divided, shares_of
from oracle.doubts import FREE, Doubts, Pair
from oracle.fleet import Fleet, Row
from oracle.ledger import bucket_of
from oracle.left_open import Open, left_open
from oracle.slices import DIMENSIONS, Key, Slices, window_of

Amount = dict[str, Any]
USD = ("usd", "measured_usd", "direct_usd")
LATE = ("queue_late_usd", "retries_late_usd", "prefill_late_usd", "work_late_usd")  # of bucket slow


def loaded(ledger: list[Row], requests: list[Row], window_s: int) -> dict[int, tuple[list[Row], list[Row], list[Row]]]:
    """The ledger of each window as it is, and with idle time and overhead carried; requests that ended in it."""
    by_window: dict[int, list[Row]] = defaultdict(list)
    for row in ledger:
        by_window[window_of(row["step_ns"], window_s)].append(row)
    ended: dict[int, list[Row]] = defaultdict(list)
    for request in requests:
        if request["ended_at"] is not None:
            ended[window_of(request["ended_at"], window_s)].append(request)
    return {start: (rows, _carried(rows, ended[start]), ended[start]) for start, rows in by_window.items()}


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
    return {**row, **{name: by[name] for name in (*DIMENSIONS, "request_key")}, **amounts, "direct_usd": None}


def _by_slice(rows: list[Row], slices: Slices, start: int, window_s: int) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        for key in slices.keys(row, start, window_s):
            found[key].append(row)
    return found


class Waste:
    """Money, GPU time and tokens of each window, slice and bucket."""

    def __init__(self, fleet: Fleet, ledger: list[Row], requests: list[Row], slices: Slices) -> None:
        self.amounts: dict[Key, dict[str, Amount]] = defaultdict(dict)  # by window and slice, then bucket
        self.doubts: dict[tuple[Key, str], Pair] = {}
        self.carriers: dict[Key, set[str]] = defaultdict(set)  # workloads that bear GPU time, by window and slice
        self.spent: set[Key] = set()  # windows and slices with money
        for window_s in fleet.settings["windows_s"]:
            for start, (facts, rows, ended) in loaded(ledger, requests, window_s).items():
                rows_of, ended_of = (_by_slice(of, slices, start, window_s) for of in (rows, ended))
                shares = {key: shares_of(fleet, of, ended_of[key], window_s) for key, of in rows_of.items()}
                for key, of in rows_of.items():
                    for row in divided(of, shares[key]):
                        self._add(key, row)
                self.doubts |= Doubts(facts, slices, (start, window_s), shares).found
        for key, buckets in self.amounts.items():
            for bucket, amount in buckets.items():
                _settle(bucket, amount, self.doubts.get((key, bucket), Pair()))
            _shares(buckets)
            _open_ended(buckets)

    def rows(self) -> dict[Key, Amount]:
        """Rows of relation waste."""
        return {(*key, bucket): amount for key, of in self.amounts.items() for bucket, amount in of.items()}

    def costs(self, key: Key) -> Amount:
        """Cost of a window and slice, how far it may be off, and the share of it that was wasted."""
        found: Amount = {"cost_usd": None, "direct_cost_usd": None, "cost_error_usd": None}
        found["unpriced"] = sum(of["unpriced"] for of in self.amounts.get(key, {}).values())
        errors = [of["error_usd"] for of in self.amounts.get(key, {}).values() if of["usd"] is not None]
        if errors and None not in errors:
            found["cost_error_usd"] = hypot(*errors)
        wasted = Fraction(0)
        for bucket, amount in self.amounts.get(key, {}).items():
            found["cost_usd"] = plus(found["cost_usd"], amount["usd"])
            found["direct_cost_usd"] = plus(found["direct_cost_usd"], amount["direct_usd"])
            if bucket not in {"accepted", "unlabelled"}:
                wasted += amount["usd"] or 0
        usd = found["cost_usd"]
        if not usd or usd < 0:
            found["no_wasted_interval"] = "cost_unknown" if usd is None else "nothing_spent"
            return found | dict.fromkeys(("wasted_ratio", "wasted_ci_low_ratio", "wasted_ci_high_ratio"))
        ratio = wasted / usd
        if found["unpriced"]:
            without = dict.fromkeys(("wasted_ci_low_ratio", "wasted_ci_high_ratio"))
            return found | {"wasted_ratio": ratio, "no_wasted_interval": "work_unpriced", **without}
        accepted = self.amounts[key].get("accepted")
        low, high = (accepted["ci_low_usd"], accepted["ci_high_usd"]) if accepted else (usd - wasted, usd - wasted)
        ends = {
            "wasted_ci_low_ratio": None if high is None else min(float(ratio), 1 - float(high) / float(usd)),
            "wasted_ci_high_ratio": None if low is None else max(float(ratio), 1 - float(low) / float(usd)),
        }
        reason = "error_unknown" if low is None else None
        return found | {"wasted_ratio": ratio, "no_wasted_interval": reason, **ends}

    def _add(self, key: Key, row: Row) -> None:
        nothing = {**dict.fromkeys((*USD, *LATE)), "gpu_s": Fraction(0), "tokens": Fraction(0)}
        nothing |= {"open": {}, "estimated": False}
        amount = self.amounts[key].setdefault(row["bucket"], nothing)
        for name in ("gpu_s", "tokens"):
            amount[name] += row[name]
        for name in USD:
            amount[name] = plus(amount[name], row.get(name))
        if row["bucket"] == "slow" and row.get("late_by") is not None:
            name = f"{row['late_by']}_late_usd"
            amount[name] = plus(amount[name], row.get("direct_usd"))
        if "open" in row:
            amount["estimated"] = True
            of_workload = amount["open"].setdefault((row["workload"], row["is_bound"]), Open())
            of_workload.add(row)
        if row["gpu_s"] > 0:
            self.carriers[key].add(row["workload"] or "unknown")
        if row["usd"]:
            self.spent.add(key)


def _settle(bucket: str, amount: Amount, doubt: Pair) -> None:
    """The interval: what labels leave open adds up within a workload and in quadrature over them; bounds linearly."""
    amount["estimated"] |= doubt.measured.estimated
    amount["unpriced"] = doubt.measured.unpriced
    amount["error_usd"] = doubt.measured.usd
    of_workloads, error, usd = amount.pop("open"), doubt.divided.usd, amount["usd"]
    drawn = left_open([of for (_, is_bound), of in of_workloads.items() if not is_bound])
    bounds = [of.sides for (_, is_bound), of in of_workloads.items() if is_bound]
    below, above = ((hypot(error or 0.0, drawn[side]), float(sum(sides[side] for sides in bounds))) for side in (0, 1))
    if usd is not None:
        amount["direct_usd"] = amount["direct_usd"] or Fraction(0)
        if bucket == "slow":
            amount |= {name: amount[name] or Fraction(0) for name in LATE}
    is_known = usd is not None and error is not None
    is_credited = usd is None or usd < 0 or any(of.is_credit for of in of_workloads.values())
    amount["ci_low_usd"] = max(float(usd) - sum(below), -inf if is_credited else 0.0) if is_known else None
    amount["ci_high_usd"] = float(usd) + sum(above) if is_known else None
    amount["no_interval"] = "cost_unknown" if usd is None else None if is_known else "error_unknown"


def _shares(buckets: dict[str, Amount]) -> None:
    total = sum(amount["usd"] or 0 for amount in buckets.values())
    for amount in buckets.values():
        for name, of in (("ratio", "usd"), ("ci_low_ratio", "ci_low_usd"), ("ci_high_ratio", "ci_high_usd")):
            known = amount[of] is not None and total > 0
            amount[f"share_{name}"] = Fraction(amount[of]) / total if known else None
        why = "error_unknown" if amount["ci_low_usd"] is None else None
        amount["no_share_interval"] = (
            "cost_unknown" if amount["usd"] is None else "nothing_spent" if total <= 0 else why
        )


def _open_ended(buckets: dict[str, Amount]) -> None:
    """Of work without a price: a bucket that may cost more has no upper end, a share of the whole neither end."""
    dear = {bucket for bucket, amount in buckets.items() if amount["unpriced"]}
    may_add = dear | ({"accepted", "rejected"} if "unlabelled" in dear else set())
    for bucket, amount in buckets.items():
        if bucket in may_add:
            amount["ci_high_usd"] = None
            amount["no_interval"] = amount["no_interval"] or "work_unpriced"
        if dear:
            amount["share_ci_low_ratio"] = amount["share_ci_high_ratio"] = None
            if amount["share_ratio"] is not None:
                amount["no_share_interval"] = "work_unpriced"


def all_cost(costs: Amount) -> Fraction | None:
    """What a window cost, if that is known of all of its work."""
    return None if costs["unpriced"] else costs["cost_usd"]


def plus(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    """The sum of what is known; None where nothing is."""
    return other if one is None else one if other is None else one + other


def request_costs(ledger: list[Row]) -> dict[str, Fraction]:
    """What each request cost: the ledger's rows that name it."""
    found: dict[str, Fraction] = defaultdict(Fraction)
    for row in ledger:
        if row["request_key"] is not None and row["usd"] is not None:
            found[row["request_key"]] += row["usd"]
    return found
