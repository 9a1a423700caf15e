"""Generations of Langfuse's SDKs, version 3 to 5, as they export them by OTLP: everything in `langfuse.observation.*`.

Values are JSON inside text. Usage has the names of the provider's own answer, where cached tokens are a part of the
prompt (of Anthropic's own they are not), or Langfuse's, where `input` and `output` are what no other `input_*` and
`output_*` hold, unless `total` says that they are all. The finish reason is recorded of streams only; a stream that
broke off has neither that nor usage. Spans of other types (spans, tools, agents, embeddings) are no requests.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, documents, texts
from goodput.collect.dialects import genai
from goodput.collect.dialects.instants import iso_ns

_TYPE = "langfuse.observation.type"
_LEVEL = "langfuse.observation.level"
_MESSAGE = "langfuse.observation.status_message"
_USAGE = "langfuse.observation.usage_details"
_COST = "langfuse.observation.cost_details"
_BEGAN = "langfuse.observation.completion_start_time"
_FINISH = "langfuse.observation.metadata.finish_reason"
_PARTS_OF_INPUT = r'"(?:input(?:_\w+)?|cached_modality_\w+|cache_(?:read|creation)_input_tokens)"'
_PARTS_OF_OUTPUT = r'"output(?:_\w+)?"'
_NO_PART = r'^"(?:in|out)put_(?:tokens|priority)'  # a provider's own name; what a service tier charges for, once more


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    failed = (pl.col("status_code") == genai.ERROR) | (pl.col(_LEVEL) == "ERROR")
    first = iso_ns(pl.col(_BEGAN).str.strip_chars('"'))
    frame = frame.with_columns(status_message=pl.coalesce("status_message", _MESSAGE))
    return frame.with_columns(
        layer=pl.lit("client"),
        ended_ns=pl.col("end_ns"),
        first_token_ns=first,
        streamed=pl.when(first.is_not_null()).then(pl.lit(value=True)),
        input_tokens=pl.coalesce(_count("prompt_tokens"), _anthropic_input(), _whole("input", _PARTS_OF_INPUT)),
        cached_input_tokens=_count(
            *("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens"),
            *("input_cache_read", "input_cached_tokens", "cache_read_input_tokens"),
        ),
        cache_write_tokens=_count("input_cache_creation", "cache_creation_input_tokens"),
        output_tokens=pl.coalesce(_count("completion_tokens", "output_tokens"), _whole("output", _PARTS_OF_OUTPUT)),
        reasoning_tokens=_count(
            *("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"),
            "output_reasoning",
        ),
        reported_cost_usd=pl.when(~failed).then(_number(_COST, "total").cast(pl.Float64, strict=False)),
        finish_reason=pl.col(_FINISH).str.strip_chars('"'),
        error_type=genai.error_type(failed),
        outcome=genai.gave_up(failed),
    )


def _number(column: str, path: str) -> pl.Expr:
    return pl.col(column).str.json_path_match(f"$.{path}")


def _count(*paths: str) -> pl.Expr:
    return pl.coalesce(_number(_USAGE, path).cast(pl.Int64, strict=False) for path in paths)


def _anthropic_input() -> pl.Expr:
    """All of a prompt, by the names that Anthropic's own answer has: the cached tokens are beside `input_tokens`."""
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return _count("input_tokens") + pl.sum_horizontal(_count(name) for name in cached)


def _whole(name: str, parts: str) -> pl.Expr:
    """All tokens of a side by Langfuse's names: the sum of its parts, or `name` where `total` has no place for them."""
    part = pl.element().filter(~pl.element().str.contains(_NO_PART))
    found = pl.col(_USAGE).str.extract_all(parts + r"\s*:\s*\d+").list.eval(part.str.extract(r"(\d+)$").cast(pl.Int64))
    is_all = (_count("total") == _count("input") + _count("output")).fill_null(value=False)
    return pl.when(is_all).then(_count(name)).when(found.list.len() > 0).then(found.list.sum())


LANGFUSE_GENERATION = Dialect(
    name="langfuse.generation",
    table="serving_records",
    matches=pl.col(_TYPE) == "generation",
    fields=(
        Field("model", "string", ("langfuse.observation.model.name",)),
        Field("error_type", "string", ("error.type",)),
    ),
    finish=_finish,
    also_wanted=documents(_LEVEL, _MESSAGE, _USAGE, _COST, _BEGAN, _FINISH),
    signature=texts(_TYPE),
)
