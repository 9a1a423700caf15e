"""The settings' workloads as rows, so that SQL joins them: what each matches, its bounds and its quality policy."""

import pyarrow as pa

from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.pseudonyms import Pseudonyms
from goodput.settings.gates import COUNT_GATES, LATENCY_GATES, LatencyName
from goodput.settings.model import Settings, Workload

_LONGEST_S = 9.2e9  # 291 years, which in nanoseconds a whole number of SQL still holds


def workload_rows(settings: Settings) -> pa.Table:
    """One row per workload in the order of the file: the first that matches a request is its workload.

    See docs/semantics.md#gates-and-verdicts.
    """
    called = Pseudonyms(settings)
    rows = [_row(name, ordinal, item, called) for ordinal, (name, item) in enumerate(settings.workloads.items())]
    return pa.Table.from_pylist(rows, schema=PARAMETERS["workload_rules"].schema)


def bounds(workload: Workload) -> dict[LatencyName, float | None]:
    """The bound of each latency gate in seconds, None where the gate is not set."""
    return {name: getattr(workload, gate.setting) for name, gate in LATENCY_GATES.items()}


def _row(name: str, ordinal: int, item: Workload, called: Pseudonyms) -> dict[str, object]:
    match, quality, bound = item.match, item.quality, bounds(item)
    return {
        "workload": name,
        "ordinal": ordinal,
        "unit": item.unit,
        **{key: list(getattr(match, key)) or None for key in ("model", "route", "pool")},
        "tenant": called.of_globs(match.tenant) or None,
        "attributes": [
            {"name": key, "globs": called.of_globs(globs) if key in called.names else list(globs)}
            for key, globs in match.attributes.items()
        ],
        **{f"{name}_bound": getattr(item, gate.setting) for name, gate in COUNT_GATES.items()},
        **{f"{gate}_bound_ns": _nanoseconds(bound[gate]) for gate in LATENCY_GATES},
        **{
            f"{gate}_missing_passes": bound[gate] is not None and item.on_missing.get(gate) == "pass"
            for gate in LATENCY_GATES
        },
        "has_quality": quality is not None,
        "evaluators": list(dict.fromkeys(quality.evaluators)) if quality else [],
        "min_score": quality.min_score if quality else None,
        "pass_labels": [label.lower() for label in quality.pass_labels] if quality else [],
        "unlabelled": quality.unlabelled if quality else "estimate",
        "sampling": quality.sampling if quality else "random",
    }


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(min(seconds, _LONGEST_S) * 1e9)
