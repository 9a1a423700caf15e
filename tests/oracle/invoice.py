"""Random exports of bills in the shape of FOCUS: months to date, single days, parts of one export, and corrections."""

from random import Random

from oracle.emit import Stage
from oracle.fleet import DAY, HOUR, MIDNIGHT_NS, Fleet, Row, S

MONTH_NS = MIDNIGHT_NS - 19 * DAY
RATES = {"EUR": 1.08, "CHF": 1.12}
SERVICES = ("Compute Engine", "Model API")


def invoice(chance: Random, stage: Stage, fleet: Fleet) -> None:
    """Put exports of bills into some fleets, the later ones with other amounts for some of the lines before."""
    if not fleet.bills or chance.random() < 0.5:
        return
    chosen = {"services": ["Compute*"]} if chance.random() < 0.3 else {}
    fleet.settings["costs"] = {
        "workload_tags": ["cost-center"],
        "tenant_tags": ["tenant"],
        "currencies": RATES,
    } | chosen
    lines = [_line(chance, stage) for _ in range(chance.choice([3, 8, 14]))]
    for number in range(chance.randint(1, 3)):
        kept = [line for line in lines if chance.random() < 0.8] or lines[:1]
        lines = [line | ({"amount": line["amount"] + 0.25} if chance.random() < 0.3 else {}) for line in kept]
        lines += [lines[0]] * chance.choice([0, 0, 1])
        _put(chance, fleet, number, lines)


def _put(chance: Random, fleet: Fleet, number: int, lines: list[Row]) -> None:
    """One export as a file with a date, one without, or parts in a folder."""
    date = f"2026-11-{21 + number}"
    shape = chance.choice(["dated", "undated", "parts"])
    if shape == "parts" and len(lines) > 2:
        fleet.exports[f"focus/{date}/part-0001.csv"] = lines[:2]
        fleet.exports[f"focus/{date}/part-0002.csv"] = lines[2:]
    else:
        fleet.exports[f"focus/bill-{date}.csv" if shape == "dated" else f"focus/month{number}.csv"] = lines


def _line(chance: Random, stage: Stage) -> Row:
    begin = stage.begins_ns // HOUR * HOUR + chance.randint(-3, 4) * HOUR
    lasts = chance.choice([HOUR, HOUR, 24 * HOUR, 1800 * S])
    line = {
        "account": chance.choice(["a1", "a1", "a2"]),
        "sub_account": chance.choice(["s1", "s2"]),
        "billed_from": MONTH_NS,
        "period_start": begin,
        "period_end": begin + lasts,
        "amount": _amount(chance.choice([1.5, 3.25, 12.0]), chance.randrange(100)),
        "currency": chance.choice(["USD", "USD", "USD", "EUR", "CHF", "GBP"]),
        "service": chance.choice(SERVICES),
        **_for_what(chance, stage),
    }
    return line | {"category": _category(line["amount"])}


def _amount(dollars: float, cents: int) -> float:
    """A fifth of the lines are credits."""
    return (dollars + cents / 100) * (-1 if cents >= 80 else 1)


def _category(amount: float) -> str:
    """Half of the negative amounts are credits, a tenth of the others are taxes; all else is use."""
    cents = round(abs(amount) * 100)
    if amount < 0:
        return "Credit" if cents % 2 else "Usage"
    return "Tax" if cents % 10 == 7 else "Usage"


def _for_what(chance: Random, stage: Stage) -> Row:
    known = chance.choice([replica for replica in stage.replicas if replica.name])
    return chance.choice(
        [
            {"replica": known.name, "pool": known.pool},
            {"pool": known.pool},
            {"pool": known.pool, "workload": "w0"},
            {"model": "gpt-4o"},
            {"workload": "w0"},
            {"tenant": "t1"},
            {"pool": "nowhere"},
            {},
        ]
    )
