"""Random operations on a fleet, as a log of it tells them: once, again, or with a state that changes in place."""

from random import Random

from oracle.emit import Stage
from oracle.fleet import HOUR, MS, Fleet, Row, S

KINDS = ("deployment", "scale_out", "scale_in", "restart", "salt_rotation", "config_change", "incident")
CHANGES = ("revised_at", "occurrences")


def operate(chance: Random, stage: Stage, fleet: Fleet) -> None:
    """Let operations happen to a fleet, and say in its settings how long they may disrupt it."""
    caps = [300.0, 600.0, 1200.0, 2400.0]
    fleet.settings["disruptions"] = {
        "recovery_tolerance_ratio": chance.choice([0.1, 0.1, 0.5, 0.9]),
        "cap_s": chance.choice(caps),
        "caps_s": {kind: chance.choice(caps) for kind in KINDS if chance.random() < 0.2},
        "in_frontier": chance.random() < 0.2,
    }
    known = [replica for replica in stage.replicas if replica.name]
    _sweep(chance, stage, fleet)
    fleet.settings["events"] = {
        "pools": {"deploy/a": known[0].pool, "deploy/far": "far"},
        "replicas": {"pod/a": known[-1].name},
    }
    kinds = chance.sample(KINDS, 3)
    for number in range(chance.choice([0, 1, 2, 4, 8])):
        at = (
            chance.choice([stage.begins_ns, stage.begins_ns // HOUR * HOUR])
            + chance.randint(-1500, stage.lasts_ns // S + 900) // 60 * 60 * S
            + chance.choice([0, 0, 250 * MS])
        )
        event: Row = {
            "event_id": f"event-{chance.randrange(10**6)}-{number}",
            "kind": chance.choice(kinds),
            "occurred_at": at,
            "detail": chance.choice([None, "by hand"]),
            **_to_what(chance, stage),
        }
        fleet.events += _told(chance, event)


def _sweep(chance: Random, stage: Stage, fleet: Fleet) -> None:
    """Sometimes let a load generator say which rate it offers, from one time to the next."""
    if chance.random() < 0.15:
        every = chance.choice([300, 900]) * S
        rates = {row["trace_id"][1:]: 0.5 + 0.25 * (row["started_at"] // every % 3) for row in fleet.records}
        for row in fleet.records:
            row["offered_rps"] = rates[row["trace_id"][1:]]


def _to_what(chance: Random, stage: Stage) -> Row:
    on = chance.choice([replica for replica in stage.replicas if replica.name])
    return chance.choice(
        [
            {"pool": on.pool},
            {"pool": on.pool, "replica": on.name},
            {"replica": on.name},
            {"replica": "ghost"},
            {"pool": "nowhere"},
            {"subject": "deploy/a", "pool": "deploy/a"},
            {"subject": "pod/a", "pool": "pod/a"},
            {"subject": "deploy/far", "pool": on.pool},
            {"subject": "somebody"},
            {},
            {"revision": "r2"},
        ]
    )


def _told(chance: Random, event: Row) -> list[Row]:
    """An operation as it is told: once, again and later without a change, or in states that supersede each other."""
    how = chance.choice(["once", "once", "again", "changed"])
    if how == "once":
        return [event]
    later = [chance.randint(1, 400) * S for _ in range(2)]
    if how == "again":
        return [event, *(event | {"occurred_at": event["occurred_at"] + by} for by in later)]
    states = [event | {"revised_at": event["occurred_at"], "occurrences": 1}]
    for number, by in enumerate(later):
        at = states[-1]["occurred_at"] + by
        states.append(
            event | {"occurred_at": at, "revised_at": at, "occurrences": number + 2, "detail": f"state {number}"}
        )
    return states
