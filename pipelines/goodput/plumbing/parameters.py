"""Every relation that Python registers for SQL to read: what settings and runs ask, each of one shape.

Tables of the lake are not here (they have contracts), nor what SQL computes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from goodput.settings.gates import COUNT_GATES, LATENCY_GATES

_Fields = Iterable[tuple[str, pa.DataType]]
_TEXT, _INT, _FLOAT, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_TEXTS = pa.list_(_TEXT)
_INSTANT = pa.timestamp("us", "UTC")
_DIMENSIONS = ("workload", "model", "pool", "route")
COST_SCOPES = ("pool", "replica", "model", "workload", "route", "tenant")  # what tags of a bill may name


@dataclass(frozen=True)
class Parameter:
    """One such relation: what it holds, and its columns."""

    description: str
    schema: pa.Schema


def _parameter(description: str, fields: _Fields) -> Parameter:
    return Parameter(description, pa.schema(list(fields)))


def _columns(names: Iterable[str], kind: pa.DataType) -> _Fields:
    return [(name, kind) for name in names]


PARAMETERS: Mapping[str, Parameter] = {
    "target_hours": _parameter("Hours since the Unix epoch that are computed now.", [("epoch_hour", _INT)]),
    "grains": _parameter("Lengths of the windows that are measured now.", [("window_s", pa.int32())]),
    "measured_range": _parameter(
        "Event time [from_s, until_s) to measure now, in Unix seconds; one row.",
        _columns(("from_s", "until_s"), _INT),
    ),
    "billed_days": _parameter(
        "The days [from_s, until_s) whose bills are in the ledger, in Unix seconds; one row.",
        _columns(("from_s", "until_s"), _INT),
    ),
    "closed_time": _parameter(
        "Until when hours are closed, as what they were made from was pruned, in Unix seconds; one row, 0 for none.",
        [("until_s", _INT)],
    ),
    "options": _parameter(
        "How requests are joined; one row.",
        [("latency_origin", _TEXT), *_columns(("max_request_lifetime_ns", "label_lateness_ns"), _INT)],
    ),
    "match_options": _parameter(
        "The attributes that records have alike which are matched by time alone; one row.",
        [("within", pa.list_(_TEXT))],
    ),
    "observed": _parameter("Until when telemetry was observed; one row.", [("observed_until_ns", _INT)]),
    "shard_components": _parameter(
        "Places of rows that are joined together, each with the least of those that it is linked to.",
        _columns(("place", "component"), pa.uint64()),
    ),
    "shard_count": _parameter("In how many shards an hour is cut; one row.", [("shards", pa.uint64())]),
    "watermark_options": _parameter(
        "How long requests, sessions and labels may be outstanding; one row.",
        _columns(("max_request_lifetime_ns", "max_session_ns", "label_lateness_ns"), _INT),
    ),
    "sample_options": _parameter(
        "For how long a reading of a replica's metrics holds; one row.", [("staleness_ns", _INT)]
    ),
    "cache_options": _parameter(
        "The least share of a prompt that was found in the cache for a hit; one row.", [("hit_min_ratio", _FLOAT)]
    ),
    "context_options": _parameter(
        "How many tokens of input make a long context; one row.", [("long_context_tokens", _INT)]
    ),
    "ledger_options": _parameter(
        "Length of the cost ledger's windows, staleness of readings, how many hours on a request may end, and how long "
        "before the end of a cost record the request that it names may have; one row.",
        _columns(("step_ns", "staleness_ns", "reach_h", "lateness_ns"), _INT),
    ),
    "partition_size": _parameter(
        "Requests or attempts of the largest partition that is computed now; one row.", [("rows", _INT)]
    ),
    "size_options": _parameter(
        "How many requests, or attempts, of a partition are held at once; one row.", [("max_exact_requests", _INT)]
    ),
    "window_options": _parameter(
        "Step and base length of windows, reach of sessions and requests, and when telemetry was observed; one row.",
        [
            ("step_s", _INT),
            ("base_s", pa.int32()),
            *_columns(("session_reach_h", "request_reach_h"), _INT),
            *_columns(("observed_from_ns", "observed_until_ns"), _INT),
        ],
    ),
    "disruption_options": _parameter(
        "How disruptions are found, and the event time of their events and telemetry (Unix seconds); one row.",
        [
            ("base_s", pa.int32()),
            ("tolerance_ratio", _FLOAT),
            *_columns(("baseline_s", "baseline_windows"), _INT),
            *_columns(
                ("load_tolerance_ratio", "from_s", "until_s", "observed_from_s", "observed_until_s"),
                _FLOAT,
            ),
        ],
    ),
    "frontier_options": _parameter("Whether disrupted windows count; one row.", [("include_disrupted", _FLAG)]),
    "knee_fits": _parameter(
        "The knee of each route and pool, requests per second and replica, as it was fitted.",
        [
            *_columns(("slice", "name"), _TEXT),
            *_columns(("knee_rps", "knee_ci_low_rps", "knee_ci_high_rps"), _FLOAT),
            ("knee_censored", _FLAG),
            ("knee_gate", _TEXT),
            ("knee_bound_ratio", _FLOAT),
        ],
    ),
    "knee_curves": _parameter(
        "The share of requests at each load that fail what a knee is judged by, and the same made monotone.",
        [
            *_columns(("slice", "name"), _TEXT),
            ("load_bin", pa.int32()),
            *_columns(("fail_ratio", "pooled_fail_ratio"), _FLOAT),
        ],
    ),
    "disruption_caps": _parameter(
        "How long a disruption by each kind of operation may last.", [("kind", _TEXT), ("cap_s", _FLOAT)]
    ),
    "draws": _parameter(
        "Uniform numbers that draw bootstrap samples of windows; draw 0 takes each window once.",
        [("draw", pa.int32()), ("pick", _INT), ("u", _FLOAT)],
    ),
    "gates": _parameter(
        "Every gate in the order in which verdicts are decided, and whether replicas may be loaded while it fails.",
        [("gate", _TEXT), ("ordinal", pa.int32()), ("bounds_load", _FLAG)],
    ),
    "workload_rules": _parameter(
        "What each workload of the settings matches, its gates and its quality policy; the first that matches counts.",
        [
            ("workload", _TEXT),
            ("ordinal", pa.int32()),
            ("unit", _TEXT),
            *_columns(("model", "route", "pool", "tenant"), _TEXTS),
            ("attributes", pa.list_(pa.struct([("name", _TEXT), ("globs", _TEXTS)]))),
            *_columns((f"{gate}_bound" for gate in COUNT_GATES), _INT),
            *_columns((f"{gate}_bound_ns" for gate in LATENCY_GATES), _INT),
            *_columns((f"{gate}_missing_passes" for gate in LATENCY_GATES), _FLAG),
            ("has_quality", _FLAG),
            ("evaluators", _TEXTS),
            ("min_score", _FLOAT),
            ("pass_labels", _TEXTS),
            *_columns(("unlabelled", "sampling"), _TEXT),
        ],
    ),
    "workloads": _parameter(
        "The gates of each workload as users ask for them: one row per gate, or one without a gate.",
        [
            ("workload", _TEXT),
            ("gate", _TEXT),
            ("bound", _FLOAT),
            *_columns(("on_missing", "unlabelled", "sampling", "unit", "unit_label"), _TEXT),
        ],
    ),
    "settings": _parameter(
        "Settings beside gates that change what numbers mean, as users ask for them.",
        _columns(("setting", "value"), _TEXT),
    ),
    "pruned": _parameter(
        "How far back each relation has rows of which older ones were pruned, as users ask for it.",
        [*_columns(("relation", "holds"), _TEXT), ("kept_from", pa.timestamp("us", "UTC"))],
    ),
    "slices": _parameter(
        "The slices of windows, and which dimensions each keeps apart, or which tenants or attributes (`cut` above 0).",
        [("slice", _TEXT), ("cut", pa.int32()), *_columns((f"by_{name}" for name in _DIMENSIONS), _FLAG)],
    ),
    "slice_options": _parameter(
        "How many models, pools and routes of a window count apart; one row.", [("max_names", _INT)]
    ),
    "alarm_options": _parameter(
        "How many series of one metric alarms watch; one row, none without alarms.", [("max_series", _INT)]
    ),
    "slice_cuts": _parameter(
        "The slices by tenant or attribute: where in attributes the value stands ($: the tenant), and how many count.",
        [("cut", pa.int32()), ("path", _TEXT), ("max_values", _INT)],
    ),
    "quantile_slice": _parameter(
        "The dimensions that percentiles are computed by, one combination at a time; one row.",
        [("cut", pa.int32()), *_columns((f"quantile_by_{name}" for name in _DIMENSIONS), _FLAG)],
    ),
    "slice_quantiles": _parameter(
        "For each slice the dimensions by which its percentiles were computed.",
        [("slice", _TEXT), ("cut", pa.int32()), *_columns((f"quantile_by_{name}" for name in _DIMENSIONS), _FLAG)],
    ),
    "rates": _parameter(
        "What the settings charge for a replica; the first that matches counts.",
        [
            ("name", _TEXT),
            ("ordinal", pa.int32()),
            *_columns(("pool", "replica"), _TEXTS),
            *_columns(("usd_per_s", "gpus"), _FLOAT),
        ],
    ),
    "work_weights": _parameter(
        "How much work a token of each kind is, by model; the first that matches counts.",
        [
            ("ordinal", pa.int32()),
            ("model", _TEXTS),
            *_columns(("prefill_weight", "cached_weight", "decode_weight", "draft_weight"), _FLOAT),
        ],
    ),
    "source_files": _parameter(
        "Where each source file lies, what it holds once decompressed, what read it, and when; and where else the same "
        "content lies. `plain_path` is the path of the file and of its compressed copies. What is not `is_whole` broke "
        "off; from a place that `is_past` it was moved.",
        [
            *_columns(("source_id", "landing", "path", "plain_path", "content_hash", "reader"), _TEXT),
            ("ingested_ns", _INT),
            *_columns(("is_whole", "is_past"), _FLAG),
        ],
    ),
    "event_subjects": _parameter(
        "Which pool or replica the subject of an ops event is.", _columns(("subject", "pool", "replica"), _TEXT)
    ),
    "replica_labels": _parameter("Labels of metrics that name their replica.", [("label", _TEXT)]),
    "declared_names": _parameter("Other names and addresses of replicas.", _columns(("name", "replica"), _TEXT)),
    "declared_models": _parameter(
        "The model of replicas that name none; the first that matches counts.",
        [("ordinal", pa.int32()), *_columns(("pool", "replica"), _TEXTS), ("model", _TEXT)],
    ),
    "absent_replicas": _parameter(
        "Replicas that bills name in hours in which telemetry does not show that name, and does within a day.",
        [("epoch_hour", _INT), *_columns(("replica", "pool"), _TEXT), ("by_engine", _FLAG), ("names", _TEXTS)],
    ),
    "cost_rules": _parameter(
        "Tags that name what a bill's line is for, and which lines count; one row.",
        _columns((*(f"{name}_tags" for name in COST_SCOPES), "services", "sub_accounts"), _TEXTS),
    ),
    "exchange_rates": _parameter(
        "US dollars for one unit of each other currency.", [("currency", _TEXT), ("usd", _FLOAT)]
    ),
    "price_rules": _parameter("Since when a price list without a date holds; one row.", [("valid_from", _INSTANT)]),
    "path_groups": _parameter(
        "Named groups of the settings' path patterns that are no column of their source.",
        _columns(("source", "path_group", "source_table", "nearest"), _TEXT),
    ),
    "record_hours": _parameter(
        "Hours that hold serving records, and how many.", _columns(("epoch_hour", "records"), _INT)
    ),
    "double_counts": _parameter(
        "Pairs of emitters that report the same calls as requests of their own, among so many requests looked at.",
        [
            *_columns(("first", "second", "sign"), _TEXT),
            *_columns(("calls", "requests"), _INT),
            *_columns(("first_at", "last_at"), _INSTANT),
        ],
    ),
    "plan_trials": _parameter(
        "Shares of what a sampling plan can draw, each tried for a workload as one stratum (whole) or by cell (cell).",
        [("workload", _TEXT), ("slice", _TEXT), ("trial", _INT), ("share", _FLOAT)],
    ),
    "supposed_cells": _parameter(
        "Labels that a sampling plan supposes: the cells of one trial or plan, with how many labels each is to have.",
        [
            *_columns(("slice", *_DIMENSIONS), _TEXT),
            *_columns(("trial", "start_s", "part_s", "offered", "need", "labelled", "passed"), _INT),
            *_columns(("rate", "sure_rate", "taken"), _FLOAT),
        ],
    ),
    "lakes": _parameter("The lakes that `goodput federate` puts together, by name.", [("lake", _TEXT)]),
    "shown_periods": _parameter(
        "Periods that a report shows: windows of whole_s seconds add up to it, windows of drawn_s are drawn.",
        [
            ("period", _TEXT),
            ("from_at", _INSTANT),
            ("until_at", _INSTANT),
            *_columns(("whole_s", "drawn_s"), pa.int32()),
        ],
    ),
    "shown_slices": _parameter(
        "Slices that a reader of a report can choose, named as relation goodput names them.",
        [("choice", _INT), *_columns(("slice", "slice_value", *_DIMENSIONS), _TEXT)],
    ),
    "exported_windows": _parameter(
        "Windows whose values leave the lake as metrics.", [("window_start", _INSTANT), ("window_s", pa.int32())]
    ),
    "request_filter": _parameter(
        "Which requests a reader of `goodput serve` asks for; NULL: any. `cut_path` is that of a slice by tenant or"
        " attribute, as in slice_cuts; one row.",
        [
            *_columns(("from_at", "until_at"), _INSTANT),
            *_columns((*_DIMENSIONS, "cut_path", "slice_value", "verdict", "gate"), _TEXT),
        ],
    ),
    "request_page": _parameter(
        "After which request a page of them begins, NULL: the first, and how many it has; one row.",
        [("after_at", _INSTANT), ("after_id", _TEXT), ("max_rows", _INT)],
    ),
    "side_rows": _parameter(
        "Requests and other costs with the side of `goodput compare` to which their own columns put them (`own_side`;"
        " `is_known`), and that in the workload that is asked for (`side`), beside their other columns.",
        [
            *_columns(("request_key", "session_id", "side", "own_side", "bucket", "verdict"), _TEXT),
            *_columns((*_DIMENSIONS, "tenant"), _TEXT),
            ("ended_at", _INSTANT),
            *_columns(("is_known", "is_cut", "pass_success", "pass_quality", "needs_label"), _FLAG),
            *_columns(("ttft_s", "tpot_s", "e2e_s", "cost_usd"), _FLOAT),
            *_columns(("input_tokens", "output_tokens"), _INT),
        ],
    ),
    "side_spans": _parameter(
        "The time of each side of `goodput compare`, several rows where it has gaps. An end that is NULL is that of"
        " what is observed where a side is bounded by times (`is_bounded`); no other side reaches beyond the windows of"
        " its own requests.",
        [("side", _TEXT), *_columns(("from_at", "until_at"), _INSTANT), ("is_bounded", _FLAG)],
    ),
    "side_cuts": _parameter(
        "When what `goodput compare` compares begins or ends: moments at which steps of the ledger are divided, of the"
        " replica, else of the pool that is named, else of all.",
        [("at", _INSTANT), *_columns(("pool", "replica"), _TEXT)],
    ),
}


def as_rows(name: str, *rows: Mapping[str, Any]) -> pa.Table:
    """Rows of a parameter, in its shape."""
    return pa.Table.from_pylist(list(rows), schema=PARAMETERS[name].schema)


def register(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Make parameter `name` a relation of the connection. Raises ArrowInvalid where the rows have another shape."""
    connection.register(name, rows.cast(PARAMETERS[name].schema))
