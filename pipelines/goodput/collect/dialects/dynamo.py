"""NVIDIA Dynamo's request trace, `dynamo.request.trace.v1` (DYN_REQUEST_TRACE): a row per request that was answered.

Without session headers a row holds neither model nor the caller's id. What failed has no row, and an answer whose
client left is written like one that was delivered. Cached tokens are those that the router counted on when it chose.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, below, texts
from goodput.collect.tabular.units import time_ns

_ENVELOPES = ("$", "$.event")
_SESSION = ("agent_context.session_id", "agent_context.trajectory_id")
_TIMES = ("event_time_unix_ms", "request.request_received_ms", "request.request_id")


def answer_id(request_id: pl.Expr) -> pl.Expr:
    """The id of the answer, which Dynamo makes of its own id of the request.

    Text completions have another prefix, but no row says which API was asked: named alike, span and row are found to
    be one request.
    """
    return pl.concat_str(pl.lit("chatcmpl-"), request_id)


def _requests(root: str) -> Dialect:
    """The dialect of rows that stand at `root`."""

    def at(*names: str) -> tuple[str, ...]:
        return tuple(f"{root}.{name}" for name in names)

    return Dialect(
        name="dynamo.requests",
        table="serving_records",
        matches=pl.col(f"{root}.schema") == "dynamo.request.trace.v1",
        fields=(
            Field("call_id", "string", at("request.x_request_id")),
            Field("session_id", "string", at(*_SESSION)),
            Field("model", "string", at("request.model")),
            Field("replica", "string", at("request.worker.decode_worker_id")),
            Field("input_tokens", "int", at("request.input_tokens", "request.replay.input_length")),
            Field("cached_input_tokens", "int", at("request.cached_tokens")),
            Field("output_tokens", "int", at("request.output_tokens")),
            Field("finish_reason", "string", at("request.finish_reason_metadata.finish_reason")),
            Field("queue_s", "float", at("request.prefill_wait_time_ms")),
            Field("prefill_s", "float", at("request.prefill_time_ms")),
            Field("ttft_s", "float", at("request.ttft_ms")),
            Field("e2e_s", "float", at("request.total_time_ms")),
        ),
        finish=below(root, _finish),
        also_wanted=texts(*at(*_TIMES)),
        signature=texts(*at("schema", "event_type")),
        ignored=(Ignore("dynamo_no_request", pl.col(f"{root}.event_type") != "request_end"),),  # of an agent's tools
    )


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    started = time_ns(pl.col("$.request.request_received_ms"), "epoch_ms", "UTC")
    written = time_ns(pl.col("$.event_time_unix_ms"), "epoch_ms", "UTC")
    # Rows of a session name a reason for each answer that was not broken off; of the others only those of older
    # versions, which hold no durations, are known to be written for either.
    maybe_broken_off = pl.col("session_id").is_not_null() | pl.col("e2e_s").is_null()
    return frame.with_columns(
        (pl.col(name) / 1000 for name in ("queue_s", "prefill_s", "ttft_s", "e2e_s")),
        record_id=pl.concat_str(pl.lit("dynamo"), "$.request.request_id", started, separator=":"),
        response_id=answer_id(pl.col("$.request.request_id")),
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        started_ns=started,
        ended_ns=pl.when(pl.col("e2e_s").is_null()).then(written),
        outcome=pl.when(pl.col("finish_reason").is_null() & maybe_broken_off).then(pl.lit("unknown")),
    )


DYNAMO_REQUESTS = tuple(_requests(root) for root in _ENVELOPES)
