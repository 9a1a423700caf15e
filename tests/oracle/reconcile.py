"""Every billed dollar by UTC day, source and basis: docs/semantics.md#reconciliation."""

from collections import defaultdict
from fractions import Fraction

from oracle.fleet import DAY, Row, S
from oracle.ledger import Ledger
from oracle.replicas import period, usd_in

BUCKETS = (
    *("accepted", "slow", "rejected", "failed", "ungated", "over_budget", "unevaluable", "unlabelled", "retry"),
    *("abandoned", "preemption", "speculation", "idle", "overhead", "unattributed"),
)
Key = tuple[int, str, str]  # day in Unix seconds, source, basis


def reconciliation(account: Ledger) -> dict[Key, Row]:
    """Rows of relation `reconciliation`."""
    billed: dict[Key, Fraction] = defaultdict(Fraction)
    for record in account.records:
        begin, end = period(record)
        for day in range(begin // DAY, (end - 1) // DAY + 1):
            billed[_key(record, day * DAY)] += usd_in(record, [(day * DAY, (day + 1) * DAY)])
    spent = _spent(account)
    return {key: _row(account, key, usd, spent) for key, usd in billed.items()}


def _key(record: Row, ns: int) -> Key:
    return ns // DAY * DAY // S, record["dialect"], record["basis"]


def _spent(account: Ledger) -> dict[tuple[Key, str], Fraction]:
    """USD of each day, source and basis in each bucket: all who pay bear their parts of what they paid for."""
    found: dict[tuple[Key, str], Fraction] = defaultdict(Fraction)
    paid_for: dict[tuple[int, str], dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for row in account.rows:
        if row["record"] is not None:
            found[_key(row["record"], row["step_ns"]), row["bucket"]] += row["usd"]
        elif row["payer"] is not None and row["usd"] is not None:
            paid_for[row["step_ns"], row["payer"]][row["bucket"]] += row["usd"]
    for payment in account.paid:
        buckets = paid_for[payment.step_ns, payment.payer]
        total = sum(buckets.values())
        for bucket, usd in buckets.items():
            if usd:
                found[_key(payment.record, payment.step_ns), bucket] += payment.usd * usd / total
    return found


def _row(account: Ledger, key: Key, billed: Fraction, spent: dict[tuple[Key, str], Fraction]) -> Row:
    is_inside = account.days[0] <= key[0] * S < account.days[1]
    buckets = {f"{bucket}_usd": spent.get((key, bucket), Fraction(0)) for bucket in BUCKETS}
    allocated = sum(buckets.values(), Fraction(0))
    return {
        **buckets,
        "billed_usd": billed,
        "outside_usd": Fraction(0) if is_inside else billed,
        "displaced_usd": billed - allocated if is_inside else Fraction(0),
        "allocated_usd": allocated,
        "difference_usd": 0,
    }
