"""Where each fact of an attempt came from: the record with authority over it, and what other layers reported."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from goodput.ask.database import Row
from goodput.ask.request_record import place
from goodput.plumbing.sql_files import sql_file

# Columns of serving_records and of attempts alike, in the order in which they are shown.
FACTS = (
    "outcome",
    "finish_reason",
    "error_type",
    "http_status",
    "started_ns",
    "first_token_ns",
    "ended_ns",
    "ttft_s",
    "e2e_s",
    "itl_p95_s",
    "jitter_s",
    "streamed",
    "tenant",
    "session_id",
    "model",
    "route",
    "pool",
    "response_id",
    "reported_attempts",
    "reported_cost_usd",
    "replica",
    "queue_s",
    "prefill_s",
    "decode_s",
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "draft_tokens",
    "accepted_draft_tokens",
    "preemptions",
    "recomputed_tokens",
)
COMPUTED = "computed"
_TPOT = "(e2e_s - ttft_s) / (output_tokens - 1)"
_WHOLE = "not streamed: the answer arrived whole, at its end"
_NOT_DELIVERED = "not streamed and not delivered: no first token reached the user"
_NAMED = "what a record's name or address stands for, see replica_names"
_MULTIPLIED = "what its layers count, multiplied"
_TOLD_ABOVE = ("outcome", "error_type", "session_id")
_ABOVE = "what a span above it tells that is no record of a call"
_MODELS = {"scrape": "from the metrics of its replica", "settings": "from [served_models]"}
_ENGINE_RANK = {"engine": 0, "gateway": 1, "client": 2}
_ENGINE_FIRST = re.compile(r"arg_min\((\w+), engine_first\)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class OtherValue:
    """The value of a fact in one record, and where that record is."""

    layer: str
    value: object
    place: str


@dataclass(frozen=True)
class Fact:
    """One fact of an attempt; where no record states the value itself, it is computed by `rule`."""

    fact: str
    value: object
    layer: str | None
    place: str | None
    rule: str | None
    others: tuple[OtherValue, ...]


def facts(attempt: Row, records: Iterable[Row]) -> Iterator[Fact]:
    """Every fact that the attempt has or a record of it states; `records` are given outermost first."""
    outermost_first = list(records)
    engine_first = sorted(outermost_first, key=lambda record: _ENGINE_RANK[record["layer"]])
    for name in FACTS:
        yield from _fact(name, attempt, engine_first if name in engine_facts() else outermost_first)
    if attempt["tpot_s"] is not None:
        yield Fact("tpot_s", attempt["tpot_s"], COMPUTED, None, _TPOT, ())


@cache
def engine_facts() -> frozenset[str]:
    """The facts over which the engine has authority, then the layers above it; the outermost layer has the others."""
    return frozenset(_ENGINE_FIRST.findall(sql_file("linked_attempts").text))


def _fact(name: str, attempt: Row, ranked: list[Row]) -> Iterator[Fact]:
    value = attempt[name]
    stating = [record for record in ranked if record[name] is not None]
    if value is None and not stating:
        return
    # Attempts are merged by this authority, so the first record that states the value is its origin.
    origin = next((record for record in stating if record[name] == value), None)
    others = tuple(OtherValue(r["layer"], _readable(name, r[name]), place(r)) for r in stating if r is not origin)
    fact = f"{name.removesuffix('_ns')}_at" if name.endswith("_ns") else name
    if origin:
        yield Fact(fact, _readable(name, value), origin["layer"], place(origin), None, others)
    else:
        rule = _rule(name, attempt)
        yield Fact(fact, _readable(name, value), None if value is None else COMPUTED, None, rule, others)


def _rule(name: str, attempt: Row) -> str | None:
    """How a value came about that no record states."""
    if name in {"ttft_s", "first_token_ns"} and attempt["streamed"] is False:
        return _WHOLE if attempt["outcome"] == "ok" else _NOT_DELIVERED
    if name == "replica" and attempt["replica"] is not None:
        return _NAMED
    if name == "reported_attempts":
        return _MULTIPLIED
    if name in _TOLD_ABOVE and attempt[name] is not None:
        return _ABOVE
    return _MODELS.get(attempt["model_from"]) if name == "model" else None


def _readable(name: str, value: object) -> object:
    if name.endswith("_ns") and isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value // 1000)
    return value
