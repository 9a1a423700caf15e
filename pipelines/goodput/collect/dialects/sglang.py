"""SGLang's per-request metrics files (--export-metrics-to-file) and its request log (--log-requests-format json).

Both write the same facts of a finished request, the log below `out.meta_info`. Times of day are there only with
--enable-metrics; the log's own timestamp names no zone.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore, Reject, below, texts
from goodput.collect.tabular.units import time_ns

_FIRST_OF_2020_S = 1577836800  # as less reads what a monotonic clock says
_PROBE = "HEALTH_CHECK"
_WALL = ("request_received_ts", "forward_entry_time", "prefill_finished_time", "request_finished_ts")
_NO_TIME = "SGLang wrote no time of day for it; start the server with --enable-metrics"


def _fields(root: str) -> tuple[Field, ...]:
    def at(*names: str) -> tuple[str, ...]:
        return tuple(f"{root}.{name}" for name in names)

    return (
        Field("response_id", "string", at("id")),
        Field("e2e_s", "float", at("e2e_latency")),
        Field("queue_s", "float", at("queue_time")),
        Field("input_tokens", "int", at("prompt_tokens")),
        Field("cached_input_tokens", "int", at("cached_tokens")),
        Field("output_tokens", "int", at("completion_tokens")),
        Field("reasoning_tokens", "int", at("reasoning_tokens")),
        Field("draft_tokens", "int", at("spec_num_proposed_drafts")),
        Field("accepted_draft_tokens", "int", at("spec_num_correct_drafts")),
        Field("preemptions", "int", at("num_retractions", "total_retractions")),
        Field("finish_reason", "string", at("finish_reason.type")),
        Field("error_type", "string", at("finish_reason.err_type")),
        Field("http_status", "int", at("finish_reason.status_code")),
    )


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    started = time_ns(pl.col("$.request_received_ts"), "epoch_s", "UTC")
    first, scheduled = _instant("prefill_finished_time"), _instant("forward_entry_time")
    finished = _instant("request_finished_ts")
    return frame.with_columns(
        record_id=pl.concat_str(pl.lit("sglang"), "response_id", started, separator=":"),
        call_id=pl.col("response_id"),  # the caller may have given it
        layer=pl.lit("engine"),
        started_ns=started,
        ended_ns=finished,
        # what does not stream gives its first token to nobody before the end
        first_token_ns=pl.when(pl.col("streamed").fill_null(value=True)).then(first),
        prefill_s=(first - scheduled) / 1e9,
        decode_s=(finished - first) / 1e9,
    )


def _instant(name: str) -> pl.Expr:
    """Unix nanoseconds; NULL where an older version wrote its monotonic clock."""
    at = time_ns(pl.col(f"$.{name}"), "epoch_s", "UTC")
    return pl.when(at >= _FIRST_OF_2020_S * 10**9).then(at)


def _finish_metrics(frame: pl.DataFrame) -> pl.DataFrame:
    given = pl.col("$.request_parameters")  # JSON within a text
    stream = given.str.json_path_match("$.stream")
    session = given.str.json_path_match("$.session_params.id")
    return _finish(frame.with_columns(streamed=stream == "true", session_id=session))


def _wanted(root: str) -> tuple[str, ...]:
    return tuple(f"{root}.{name}" for name in (*_WALL, "id"))


def _rules(root: str) -> tuple[tuple[Ignore, ...], tuple[Reject, ...]]:
    probe = Ignore("sglang_health_check", pl.col(f"{root}.id").str.starts_with(_PROBE))
    return (probe,), (Reject("no_wall_clock", pl.col(f"{root}.request_received_ts").is_null(), _NO_TIME),)


_META = "$.out.meta_info"
SGLANG_REQUESTS = Dialect(
    name="sglang.requests",
    table="serving_records",
    matches=pl.all_horizontal(pl.col("$.request_parameters", "$.e2e_latency", "$.id").is_not_null()),
    fields=_fields("$"),
    finish=_finish_metrics,
    also_wanted=texts(*_wanted("$")),
    signature=texts("$.request_parameters", "$.e2e_latency", "$.id"),
    ignored=_rules("$")[0],
    rejected=_rules("$")[1],
)
SGLANG_REQUEST_LOG = Dialect(
    name="sglang.requests",  # the same record, should both be written
    table="serving_records",
    matches=pl.col("$.event").str.starts_with("request.") & pl.col("$.rid").is_not_null(),
    fields=(
        *_fields(_META),
        Field("streamed", "bool", ("$.obj.stream",)),
        Field("session_id", "string", ("$.obj.session_params.id",)),
    ),
    finish=below(_META, _finish),
    also_wanted=texts(*_wanted(_META)),
    signature=texts("$.event", "$.rid"),
    ignored=(
        Ignore("sglang_request_received", pl.col("$.event") != "request.finished"),
        *_rules(_META)[0],
    ),
    rejected=_rules(_META)[1],
)
