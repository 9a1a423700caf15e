"""LLM spans of OpenInference: SDK instrumentations, and gateways such as Envoy AI Gateway, that speak its names.

Spans of chains, agents, tools, retrievers and embeddings are no requests to a generating model: not here.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, texts
from goodput.collect.dialects import genai

FIELDS = (
    Field("model", "string", ("llm.model_name",)),
    Field("response_id", "string", ("gen_ai.response.id",)),
    Field("input_tokens", "int", ("llm.token_count.prompt",)),
    Field("output_tokens", "int", ("llm.token_count.completion",)),
    Field("cached_input_tokens", "int", ("llm.token_count.prompt_details.cache_read",)),
    Field("cache_write_tokens", "int", ("llm.token_count.prompt_details.cache_write",)),
    Field("reasoning_tokens", "int", ("llm.token_count.completion_details.reasoning",)),
    Field("reported_cost_usd", "float", ("llm.cost.total",)),
    Field("finish_reason", "string", ("llm.finish_reason",)),
    Field("error_type", "string", ("error.type",)),
    Field("http_status", "int", ("http.response.status_code", "http.status_code")),
)
_ALSO = texts("llm.invocation_parameters", "llm.provider", "llm.system", "server.address", "server.port")


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    status, parameters = pl.col("status_code"), pl.col("llm.invocation_parameters")
    return frame.with_columns(
        layer=pl.when(genai.IN_GATEWAY).then(pl.lit("gateway")).otherwise(pl.lit("client")),
        ended_ns=pl.col("end_ns"),
        input_tokens=genai.whole_input(pl.coalesce("llm.provider", "llm.system")),
        streamed=parameters.str.extract(r'"stream"\s*:\s*(true|false)') == "true",
        address=genai.SERVER_ADDRESS,
        error_type=pl.coalesce("error_type", pl.when(status == 2).then(pl.lit("_OTHER"))),
        outcome=pl.when((status == 1) & pl.col("error_type").is_null()).then(pl.lit("ok")),
    )


OPENINFERENCE = Dialect(
    name="openinference",
    table="serving_records",
    matches=pl.col("openinference.span.kind").str.to_uppercase() == "LLM",
    fields=FIELDS,
    finish=_finish,
    also_wanted=_ALSO,
    signature=texts("openinference.span.kind"),
)
