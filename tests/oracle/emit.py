"""Random requests as their emitters record them: retried, hedged, streamed or not, with values missing.

Values lie on the grid of the bounds, so that they often equal them.
"""

from dataclasses import dataclass
from random import Random

from oracle.fleet import MS, US, Row

GRID = 50 * MS


@dataclass(frozen=True)
class Replica:
    """A replica with its pool and model; `name` None: a model that is bought by the token."""

    name: str | None
    pool: str | None
    model: str


@dataclass(frozen=True)
class Stage:
    """What a fleet's requests happen on: its replicas and its time."""

    chance: Random
    replicas: list[Replica]
    begins_ns: int
    lasts_ns: int
    reports_all: bool  # tokens of failures too


@dataclass(frozen=True)
class Moment:
    """Where a try stands: its trace, its number among the tries, and when it starts."""

    trace: str
    number: int
    start: int
    session: str | None


def request_on(stage: Stage, trace: str) -> list[list[Row]]:
    """Tries of one request: alone, retried after failures, or hedged."""
    chance = stage.chance
    start = stage.begins_ns + chance.randrange(stage.lasts_ns // GRID) * GRID
    session = chance.choice([None, None, *(f"s{n}" for n in range(8))])
    if session:
        start += int(trace, 16) * US  # no two requests of a session end at once
    shape = chance.choice(["alone"] * 6 + ["retried", "hedged", "unended"])
    if shape == "alone":
        return [_try(stage, Moment(trace, 0, start, session), _outcome(chance))]
    if shape == "unended":
        client = _try(stage, Moment(trace, 0, start, session), "unknown")[0]
        return [[{k: v for k, v in client.items() if k not in ("ended_at", "first_token_at")}]]
    count, tries = chance.randint(2, 3), []
    for n in range(count):
        failed = shape == "retried" and n < count - 1
        outcome = chance.choice(["error", "timeout", "cancelled"]) if failed else _outcome(chance)
        records = _try(stage, Moment(f"{n + 1}{trace[1:]}", n, start, session), outcome)
        tries.append([{**records[0], "request_key": f"key-{trace}"}, *records[1:]])
        start = records[0]["ended_at"] + chance.randint(0, 9) * GRID if shape == "retried" else start + 7 * GRID
    return tries


def _outcome(chance: Random) -> str:
    return chance.choice(["ok"] * 12 + ["error", "timeout", "cancelled", "unknown"])


def _try(stage: Stage, moment: Moment, outcome: str) -> list[Row]:
    """The client's record, and often that of the engine below it."""
    chance, trace, number, start = stage.chance, moment.trace, moment.number, moment.start
    on = chance.choice(stage.replicas)
    length = chance.choice([0, *[chance.randint(2, 120)] * 9, chance.randint(2000, 16000)]) * GRID
    span = f"{2 * int(trace[1:], 16) + 2:015x}{number}"
    streamed = chance.choice([True, True, True, None, False])
    first = start + chance.randint(0, min(length // GRID, 24)) * GRID
    client: Row = {
        "attempt_id": f"{trace}:{span}",
        "layer": "client",
        "trace_id": trace,
        "span_id": span,
        "response_id": f"resp-{trace}-{number}",
        "started_at": start,
        "ended_at": start + length,
        "outcome": outcome,
        "model": on.model,
        "session_id": moment.session and chance.choice([moment.session, moment.session, "s0", None]),
        "tenant": chance.choice(["t1", "t2", None]),
        "route": chance.choice(["blue", "green", None]),
        "team": chance.choice(["red", "red", "amber", "violet", None]),
        "streamed": streamed,
        "itl_p95_s": chance.choice([None, 0.05, 0.1, 0.15]),
        "jitter_s": chance.choice([None, 0.2, 0.3, 0.4]),
        "reported_attempts": chance.choice([None] * 12 + [1, 2, 3]),
    }
    if chance.random() < 0.15:
        client["intended_at"] = start - chance.randint(-2, 8) * GRID
    if streamed is not False and chance.random() < 0.85:
        client["first_token_at"] = first
    if on.name is None or chance.random() < 0.2:
        return [client | _served_by(chance, on) | _tokens(stage, outcome)]
    engine = {
        "attempt_id": f"{trace}:{'e' + span[1:]}",
        "layer": "engine",
        "trace_id": trace,
        "span_id": "e" + span[1:],
        "parent_span_id": span,
        "started_at": start + length // 10,
        "ended_at": start + length - length // 20,
        "outcome": outcome if outcome != "unknown" else "ok",
        "model": on.model,
        "replica": on.name,
        "pool": on.pool,
        "queue_s": chance.choice([None, 0.05, 0.1, 0.75]),
        "prefill_s": chance.choice([None, 0.25, 0.75, 1.5]),
        "team": chance.choice(["amber", None, None]),
        **_tokens(stage, outcome),
        **_waste(chance),
    }
    if first > engine["started_at"] and chance.random() < 0.5:
        engine["first_token_at"] = min(first, engine["ended_at"])
    return [client, engine]


def _served_by(chance: Random, on: Replica) -> Row:
    """What a caller alone says: its replica, or no more than the pool; of a model that is bought what it cost."""
    if on.name is None:
        return {"reported_cost_usd": chance.choice([None, 0.002, 0.03125])}
    return chance.choice([{"replica": on.name}, {"replica": on.name}, {"pool": on.pool}])


def _tokens(stage: Stage, outcome: str) -> Row:
    chance = stage.chance
    given = chance.choice([100, 400, 1000])
    output = chance.choice([0, 1, 2, 11, 21, 41, 41])
    cached = chance.choice([0, 64, given // 2])
    if outcome != "ok" and not stage.reports_all and chance.random() < 0.4:
        return {"output_tokens": chance.choice([None, None, 5])}
    return {
        "input_tokens": given,
        "cached_input_tokens": cached if stage.reports_all else chance.choice([None, cached]),
        "output_tokens": output if outcome == "ok" or stage.reports_all else chance.choice([None, 0, 5]),
    }


def _waste(chance: Random) -> Row:
    """What an engine alone counts."""
    drafts = chance.choice([None, None, 0, 20])
    return {
        "draft_tokens": drafts,
        "accepted_draft_tokens": None if drafts is None else drafts // 2,
        "preemptions": chance.choice([None, 0, 1]),
        "recomputed_tokens": chance.choice([None, 0, 0, 50]),
    }
