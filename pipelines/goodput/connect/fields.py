"""Which facts each emitter's records hold, and why the missing ones are missing and what would bring them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import polars as pl

from goodput.connect.look import Looked
from goodput.settings.model import Attributes

# Facts that the numbers need, each with the condition that a record holds it.
FACTS: Mapping[str, pl.Expr] = {
    "outcome": pl.col("outcome") != "unknown",
    "model": pl.col("model").is_not_null(),
    "input_tokens": pl.col("input_tokens").is_not_null(),
    "output_tokens": pl.col("output_tokens").is_not_null(),
    "cached_input_tokens": pl.col("cached_input_tokens").is_not_null(),
    "ttft_s": pl.col("ttft_s").is_not_null(),
    "session_id": pl.col("session_id").is_not_null(),
    "tenant": pl.col("tenant").is_not_null(),
    "replica": pl.col("replica").is_not_null(),
    "ids": pl.any_horizontal(pl.col("response_id", "call_id", "request_key").is_not_null()),
}
_EMITTER = ("dialect", "scope", "version", "layer")
_USAGE = "switch on usage in the answer (of streams: stream_options.include_usage)"
_WHY: Mapping[str, str] = {
    "outcome": "the record has no error, finish reason, status or tokens: no success is assumed",
    "model": "the record names no model: workloads match it by pool or route, or not at all",
    "input_tokens": f"the record has no prompt tokens: {_USAGE}",
    "output_tokens": f"the record has no output tokens, so there is no tpot: {_USAGE}",
    "cached_input_tokens": "the record has no cached tokens, so there is no hit ratio by request: have the engine "
    "report prompt_tokens_details and the emitter pass it on",
    "ttft_s": "the record has no time of the first token: of streams, trace a layer that records it",
    "session_id": "no attribute names a session: set gen_ai.conversation.id or session.id, or name yours in "
    "attributes.session_id",
    "tenant": "no attribute names who asked: set user.id or tenant.id, or name yours in attributes.tenant",
    "replica": "the record names no replica: set k8s.pod.uid in the engine's resource, and trace the engine",
    "ids": "the record has no id of the answer or the call: other layers are joined by trace alone",
}
_WHY_OF: Mapping[tuple[str, str], str] = {
    ("vllm", "cached_input_tokens"): "vLLM writes no cached tokens into its span: trace the client or gateway, with "
    "vllm serve --enable-prompt-tokens-details",
    ("vllm", "model"): "vLLM's V1 span names no model: it is taken from the replica's metrics (label model_name), so "
    "land its scrapes too",
    ("vllm", "session_id"): "an engine does not see sessions: the client or gateway names them",
    ("envoy", "ttft_s"): "Envoy knows the first byte, not the first token, and only where the log format has it",
    ("dynamo.requests", "output_tokens"): "Dynamo fills tokens only with agent context or after a finish: see its span",
}
_OF_AN_ENGINE: Mapping[str, str] = {
    "session_id": "an engine does not see sessions: trace the client or gateway, and it comes from there",
    "tenant": "an engine does not see who asked: trace the client or gateway, and it comes from there",
}
_LOOKS_LIKE = {
    "session_id": re.compile(r"(?i)(session|conversation|thread|chat)[._-]?id$"),
    "tenant": re.compile(r"(?i)((^|[._-])(user|tenant|customer|account|org|organization)[._-]?id|enduser)$"),
}
_OTHERS = ("thread.id", "process.owner.id")  # of the operating system


@dataclass(frozen=True)
class Missing:
    """A fact that some records of an emitter lack, why, and attributes that look as if they carried it."""

    fact: str
    share: float  # of the records that have it
    why: str
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Emitter:
    """Records of one dialect, scope, version and layer: how many, the share with each fact, what is missing."""

    dialect: str
    scope: str | None
    version: str | None
    layer: str
    records: int
    models: tuple[str, ...]
    shares: Mapping[str, float]
    missing: tuple[Missing, ...]

    @property
    def name(self) -> str:
        """What a person knows it by."""
        return self.scope or self.dialect


def emitters(looked: Looked, attributes: Attributes) -> list[Emitter]:
    """The emitters of serving records, the most frequent first."""
    found = []
    for (dialect, scope, version, layer), rows in looked.records.group_by(_EMITTER):
        shares = rows.select(holds.mean().alias(fact) for fact, holds in FACTS.items()).row(0, named=True)
        names = looked.unread.attribute_names.get((str(dialect), str(scope or "")), Counter())
        missing = tuple(
            Missing(fact, share, _why(rows, fact, share), tuple(_candidates(fact, names, attributes)))
            for fact, share in shares.items()
            if share < 1
        )
        models = rows["model"].drop_nulls().value_counts(sort=True)["model"].head(10).to_list()
        found.append(
            Emitter(
                dialect=str(dialect),
                scope=str(scope) if scope else None,
                version=str(version) if version else None,
                layer=str(layer),
                records=rows.height,
                models=tuple(models),
                shares=shares,
                missing=missing,
            )
        )
    covering = set(looked.records.filter("covers_tries").select(*_EMITTER).unique().iter_rows())
    found = [_without_known(one, found) if _key(one) in covering else one for one in found]
    return sorted(found, key=lambda one: (-one.records, one.dialect, one.name, one.version or "", one.layer))


def _key(one: Emitter) -> tuple[str | None, ...]:
    return (one.dialect, one.scope, one.version, one.layer)


def _without_known(one: Emitter, others: Iterable[Emitter]) -> Emitter:
    """An emitter of whole requests, with all their tries: what its layer records of the tries is not missing."""
    known = {fact for other in others if other.layer == one.layer for fact, share in other.shares.items() if share}
    return replace(one, missing=tuple(item for item in one.missing if item.share or item.fact not in known))


def _why(rows: pl.DataFrame, fact: str, share: float) -> str:
    dialect, layer = rows["dialect"][0], rows["layer"][0]
    of_engine = _OF_AN_ENGINE.get(fact) if layer == "engine" else None
    why = _WHY_OF.get((dialect, fact)) or of_engine or _WHY[fact]
    return (_why_some(rows, fact) if share else None) or why


def _why_some(rows: pl.DataFrame, fact: str) -> str | None:
    """Why a fact that the emitter knows is missing from some records, where that can be seen."""
    failed = pl.col("outcome").is_in(["error", "timeout", "cancelled"])
    lacking = rows.filter(~FACTS[fact])
    if fact in _LOOKS_LIKE:
        return None
    if lacking.select(failed.all()).item():
        return "only calls that failed lack it"
    if fact == "ttft_s" and lacking.select((failed | ~pl.col("streamed")).fill_null(value=False).all()).item():
        return "only calls that failed, or were not streamed, lack it"
    return None


def _candidates(fact: str, names: Iterable[str], attributes: Attributes) -> list[str]:
    """Attributes of the emitter whose names look as if they carried the fact, and that the settings do not name."""
    pattern = _LOOKS_LIKE.get(fact)
    if pattern is None:
        return []
    known = (*getattr(attributes, fact), *_OTHERS)
    return sorted(name for name in names if pattern.search(name) and name not in known)
