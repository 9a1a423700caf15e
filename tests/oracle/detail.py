"""What some emitters say beside the rest: phases, cache writes, reasoning, price lists in full, labels of sessions."""

from random import Random

from oracle.emit import Stage
from oracle.fleet import Fleet, Row, S

PHASES = (None, 0.05, 0.25)


def detail(chance: Random, stage: Stage, fleet: Fleet) -> None:
    """Add what is said of parts of requests, of other prices, and of whole sessions."""
    for row in fleet.records:
        if row["layer"] == "engine" or "input_tokens" in row:
            row |= {"prefill_s": chance.choice(PHASES), "decode_s": chance.choice(PHASES)}
            row |= {name: value for name, value in _parts_of_tokens(chance, row).items() if value is not None}
    fleet.prices = {model: _listed(chance, of) for model, of in fleet.prices.items()}
    for number in range(chance.choice([0, 0, 4, 8])):
        fleet.labels += _of_session(chance, stage, number)


def _parts_of_tokens(chance: Random, row: Row) -> Row:
    """Subsets of the tokens that a record reports."""
    written = chance.choice([None, 0, ((row.get("input_tokens") or 0) - (row.get("cached_input_tokens") or 0)) // 2])
    return {
        "cache_write_tokens": written if row.get("input_tokens") is not None else None,
        "reasoning_tokens": chance.choice([None, 0, (row.get("output_tokens") or 0) // 2])
        if row.get("output_tokens")
        else None,
    }


def _listed(chance: Random, prices: dict[str, str]) -> dict[str, str]:
    """A price list that says more of a model, or less."""
    more = {"cache_write": "0.000003125", "reasoning": "0.00002", "above_1k": "0.000005"}
    said = prices | {kind: usd for kind, usd in more.items() if chance.random() < 0.4}
    return {kind: usd for kind, usd in said.items() if kind != "cached" or chance.random() < 0.7}


def _of_session(chance: Random, stage: Stage, number: int) -> list[Row]:
    """A judgement of a whole session, perhaps revised or withdrawn."""
    made = stage.begins_ns + chance.randrange(stage.lasts_ns // S) * S + number
    told: Row = {
        "label_id": f"session-label-{number}",
        "session_id": f"s{chance.randrange(3)}",
        "evaluator": chance.choice(["whole", "help"]),
        "labelled_at": made,
        "withdrawn": False,
        **chance.choice([{"passed": True}, {"passed": False}, {"score": 0.5}, {"label": "pass"}]),
    }
    revised = {"passed": False, "revised_at": made + 60 * S, "withdrawn": chance.random() < 0.5}
    return [told, told | revised] if chance.random() < 0.4 else [told]
