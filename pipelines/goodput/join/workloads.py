"""The settings' workloads as rows, so that SQL joins them: what each matches, its bounds and its quality policy."""

import pyarrow as pa

from goodput.settings.model import Settings, Workload

GATES = ("ttft", "tpot", "e2e", "itl_p95", "jitter", "deadline")

_GLOBS = pa.list_(pa.string())
SCHEMA = pa.schema(
    [
        ("workload", pa.string()),
        ("ordinal", pa.int32()),
        ("unit", pa.string()),
        *((key, _GLOBS) for key in ("model", "route", "pool", "tenant")),
        ("attributes", pa.list_(pa.struct([("name", pa.string()), ("globs", _GLOBS)]))),
        ("retries_bound", pa.int64()),
        *((f"{gate}_bound", pa.float64()) for gate in GATES),
        *((f"{gate}_missing_passes", pa.bool_()) for gate in GATES),
        ("has_quality", pa.bool_()),
        ("evaluators", _GLOBS),
        ("min_score", pa.float64()),
        ("pass_labels", _GLOBS),
        ("unlabelled", pa.string()),
    ]
)


def workload_rows(settings: Settings) -> pa.Table:
    """One row per workload in the order of the file: the first that matches a request is its workload (semantics 2)."""
    rows = [_row(name, ordinal, item) for ordinal, (name, item) in enumerate(settings.workloads.items())]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def bounds(workload: Workload) -> dict[str, float | None]:
    """The bound of each latency gate in seconds, None where the gate is not set."""
    return {
        "ttft": workload.ttft_s,
        "tpot": workload.tpot_s,
        "e2e": workload.e2e_s,
        "itl_p95": workload.itl_p95_s,
        "jitter": workload.jitter_s,
        "deadline": workload.completion_window_s,
    }


def _row(name: str, ordinal: int, item: Workload) -> dict[str, object]:
    match, quality, bound = item.match, item.quality, bounds(item)
    return {
        "workload": name,
        "ordinal": ordinal,
        "unit": item.unit,
        **{key: list(getattr(match, key)) or None for key in ("model", "route", "pool", "tenant")},
        "attributes": [{"name": key, "globs": list(globs)} for key, globs in match.attributes.items()],
        "retries_bound": item.retry_budget,
        **{f"{gate}_bound": bound[gate] for gate in GATES},
        **{
            f"{gate}_missing_passes": bound[gate] is not None and item.on_missing.get(gate) == "pass"  # type: ignore[call-overload]
            for gate in GATES
        },
        "has_quality": quality is not None,
        "evaluators": list(dict.fromkeys(quality.evaluators)) if quality else [],
        "min_score": quality.min_score if quality else None,
        "pass_labels": [label.lower() for label in quality.pass_labels] if quality else [],
        "unlabelled": quality.unlabelled if quality else "estimate",
    }
