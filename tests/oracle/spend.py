"""Random bills, allocations, overhead, rates and token prices for a fleet, in any number of files."""

from random import Random

from oracle.emit import Stage
from oracle.fleet import HOUR, MS, Fleet, Row, S

MODEL_PRICES = {"gpt-4o": {"input": "0.0000025", "cached": "0.00000125", "output": "0.00001"}}
RATED = {"usd_per_gpu_hour": 2.5}


def spend(chance: Random, stage: Stage, fleet: Fleet) -> None:
    """Put prices on a fleet, unless it is one without any."""
    if chance.random() < 0.2:
        return
    fleet.prices = chance.choice([{}, MODEL_PRICES])
    pools = sorted({replica.pool for replica in stage.replicas if replica.pool})
    fleet.settings["rates"] = {
        f"r{n}": {"pool": [pool], **RATED, "gpus_per_replica": chance.choice([1.0, 2.0])}
        for n, pool in enumerate(pools)
        if chance.random() < 0.4
    }
    lines = [_line(chance, stage, fleet, pools) for _ in range(chance.choice([0, 2, 6, 12]))]
    for n, line in enumerate(lines):
        line["cost_id"] = f"line-{n}"
    count = chance.randint(1, 3)
    fleet.bills = [part for n in range(count) if (part := lines[n::count])]


def _line(chance: Random, stage: Stage, fleet: Fleet, pools: list[str]) -> Row:
    begin = stage.begins_ns // HOUR * HOUR + chance.randint(-2, 3) * HOUR
    begin += chance.choice([0, 0, 0, 300 * S, 1234 * S + 567 * MS])
    lasts = chance.choice([HOUR, HOUR, 24 * HOUR, 300 * S, 1000 * S])
    return {
        "period_start": begin,
        "period_end": begin + lasts,
        "amount_usd": chance.choice([0.5, 1.25, 3.6, 24.0]) + chance.randrange(100) / 100,
        **_for_what(chance, stage, fleet, pools),
    }


def _for_what(chance: Random, stage: Stage, fleet: Fleet, pools: list[str]) -> Row:
    known = chance.choice([replica for replica in stage.replicas if replica.name])
    basis = chance.choice(["billing", "billing", "allocation", "rate_card"])
    kind = chance.choice(
        ["replica", "replica", "pool", "pool", "elsewhere", "model", "overhead", "overhead", "request"]
    )
    if kind == "replica":
        return {"basis": basis, "replica": known.name, "pool": known.pool}
    if kind == "pool":
        return {"basis": basis, "pool": chance.choice(pools)}
    if kind == "elsewhere":
        return {"basis": basis} | chance.choice([{"pool": "nowhere"}, {"replica": "ghost", "pool": known.pool}, {}])
    if kind == "model":
        return {"basis": basis, "model": chance.choice(["gpt-4o", "never-called"])}
    if kind == "request":
        key, session = chance.choice(fleet.records).get("request_key"), f"s{chance.randrange(8)}"
        named = {"request_key": key or fleet.records[0]["attempt_id"]}
        return {"basis": chance.choice(["overhead", basis])} | chance.choice([named, {"session_id": session}])
    scope = chance.choice([{}, {"pool": known.pool}, {"model": known.model}, {"workload": "w0"}, {"route": "blue"}])
    return {"basis": "overhead", **scope, **chance.choice([{}, {}, {"tenant": "t1"}])}
