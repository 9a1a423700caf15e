"""NVIDIA Dynamo's request trace, `dynamo.request.trace.v1` (DYN_REQUEST_TRACE): a row per request of its frontend.

Without session headers a row holds little more than sizes. An answer that was broken off has the tokens so far and,
like any row without them, no finish reason.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Left, below, texts
from goodput.collect.tabular.units import time_ns

_ENVELOPES = ("$", "$.event")
_TIMES = ("event_time_unix_ms", "request.request_received_ms", "request.request_id")


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
            Field("session_id", "string", at("agent_context.session_id", "agent_context.trajectory_id")),
            Field("model", "string", at("request.model")),
            Field("input_tokens", "int", at("request.input_tokens", "request.replay.input_length")),
            Field("cached_input_tokens", "int", at("request.cached_tokens")),
            Field("output_tokens", "int", at("request.output_tokens")),
            Field("finish_reason", "string", at("request.finish_reason_metadata.finish_reason")),
            Field("ttft_s", "float", at("request.ttft_ms")),
            Field("e2e_s", "float", at("request.total_time_ms")),
        ),
        finish=below(root, _finish),
        also_wanted=texts(*at(*_TIMES)),
        signature=texts(*at("schema", "event_type")),
        left_out=(Left("dynamo_no_request", pl.col(f"{root}.event_type") != "request_end"),),  # of an agent's tools
    )


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    started = time_ns(pl.col("$.request.request_received_ms"), "epoch_ms", "UTC")
    written = time_ns(pl.col("$.event_time_unix_ms"), "epoch_ms", "UTC")
    return frame.with_columns(
        record_id=pl.concat_str(pl.lit("dynamo"), "$.request.request_id", started, separator=":"),
        layer=pl.lit("gateway"),
        covers_tries=pl.lit(value=True),
        started_ns=started,
        ended_ns=pl.when(pl.col("e2e_s").is_null()).then(written),
        ttft_s=pl.col("ttft_s") / 1000,
        e2e_s=pl.col("e2e_s") / 1000,
        outcome=pl.when(pl.col("finish_reason").is_null()).then(pl.lit("unknown")),
    )


DYNAMO_REQUESTS = tuple(_requests(root) for root in _ENVELOPES)
