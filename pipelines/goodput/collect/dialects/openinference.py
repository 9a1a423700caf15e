"""LLM spans of OpenInference: SDK instrumentations, and gateways such as Envoy AI Gateway, that speak its names.

Spans of chains, agents, tools, retrievers and embeddings are no requests to a generating model: not here. A stream's
first token is an event; that an answer is streamed stands in its parameters, mostly only where it is true. The answer's
id stands nowhere but in the answer itself, where its content is recorded.

LlamaIndex ends the spans of a stream with status OK when it hands the stream over: the inner of the two gets the answer
and its events after that, the outer nothing. Neither end is the end of the call.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, documents, texts
from goodput.collect.dialects import genai
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.events import EXCEPTION, EventTime

FIELDS = (
    Field("model", "string", ("llm.model_name",)),
    Field("response_id", "string", ("gen_ai.response.id", "llm.response.id")),
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
_ANSWER = "output.value"
_TOTAL = "llm.token_count.total"
_ANSWER_ID = r'[^\\]"id": ?"((?:chatcmpl|cmpl|resp|msg)[-_][^"\\]+)"'
_FAILED_AT = EventTime("exception_ns", EXCEPTION)
_OF_AN_ANSWER = ("response_id", "input_tokens", "output_tokens", "finish_reason", "event_ns", _ANSWER)
_ALSO = (
    *texts("llm.invocation_parameters", "llm.provider", "llm.system", "server.address", "server.port"),
    *documents(_ANSWER),
    Wanted(_TOTAL, "int"),
)


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    parameters, failed = pl.col("llm.invocation_parameters"), pl.col("status_code") == genai.ERROR
    has_answer = pl.any_horizontal(pl.col(*_OF_AN_ANSWER).is_not_null())
    handed_over = (pl.col("status_code") == genai.OK) & ~has_answer
    outlived = handed_over | pl.any_horizontal(pl.col("event_ns", _FAILED_AT.column) > pl.col("end_ns"))
    ended_well = (pl.col("status_code") == genai.OK) & has_answer & pl.col("error_type").is_null()
    anthropic = genai.of_anthropic(pl.coalesce("llm.provider", "llm.system"))
    flag = parameters.str.extract(r'"stream"\s*:\s*(true|false)') == "true"
    is_streamed = pl.when(pl.col("event_ns").is_not_null()).then(pl.lit(value=True)).otherwise(flag)
    unended = genai.no_end(is_streamed & pl.col("finish_reason").is_null(), anthropic)
    return frame.with_columns(
        # a failed call has no answer that names the model: what was asked for
        model=pl.coalesce("model", parameters.str.json_path_match("$.model")),
        layer=pl.when(genai.IN_GATEWAY).then(pl.lit("gateway")).otherwise(pl.lit("client")),
        ended_ns=pl.when(~outlived.fill_null(value=False)).then("end_ns").otherwise(_FAILED_AT.column),
        input_tokens=genai.whole_input(anthropic, pl.col(_TOTAL)),
        response_id=pl.coalesce("response_id", pl.col(_ANSWER).str.extract(_ANSWER_ID)),
        first_token_ns=pl.col("event_ns"),
        streamed=is_streamed,
        address=genai.SERVER_ADDRESS,
        error_type=genai.error_type(failed),
        outcome=pl.when(ended_well).then(pl.lit("ok")).otherwise(pl.coalesce(genai.gave_up(failed), unended)),
    ).with_columns(**genai.counted(pl.col("outcome") == "ok"))


OPENINFERENCE = Dialect(
    name="openinference",
    table="serving_records",
    matches=pl.col("openinference.span.kind").str.to_uppercase() == "LLM",
    fields=FIELDS,
    finish=_finish,
    also_wanted=_ALSO,
    signature=texts("openinference.span.kind"),
    first_token_events=("First Token Stream Event",),
    event_values=(_FAILED_AT,),
)
