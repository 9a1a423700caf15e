"""Fuzzed settings: documents in which every table stands, with values at their edges or of no sense at all."""

import json
from copy import deepcopy
from pathlib import Path
from random import Random
from traceback import format_exception
from typing import Any

from fuzz.hostile import mutate, nested, text
from fuzz.landing import put_sane
from fuzz.trial import Ended, ran
from goodput.errors import SettingsError
from goodput.settings.load import load_settings

_EDGES_S = (5e-324, 1e-9, 0.001, 0.05, 1.0, 3600.0, 86400.0, 1e9, 1e18, 1e300, 1.7976931348623157e308)
_GLOBS = ("*", "?", "", "chat", "[", "[!a]", "[]]", "**", "%", "_", "\\", "'", "ch*t", "*" * 60, "(", "\x00", "é*")
_OF_GLOBS = ("pool", "model", "replica", "services", "evaluators", "pass_labels", "rule")
_OPTIONAL = ("workloads", "rates", "work", "slices", "costs", "disruptions", "alarms", "slo", "channels", "quality")
_MOST = {
    **dict.fromkeys(("cache_hit_min_ratio", "quarantined_ratio"), 1.0),
    **dict.fromkeys(("objective", "recovery_tolerance_ratio", "grace_s"), 0.05),
    **dict.fromkeys(("staleness_s", "threshold"), 1.0),
}
_WINDOWS = ([300, 3600, 86400], [86400], [60], [3600], [900, 43200], [300, 7200], [1800])
_QUALITY = {
    "evaluators": ["helpfulness"],
    "min_score": 0.5,
    "pass_labels": ["pass"],
    "unlabelled": "estimate",
    "sampling": "random",
}
_EVERYTHING: dict[str, Any] = {
    "landing": ["landing"],
    "lake": "lake",
    "windows_s": [300, 3600, 86400],
    "latency_origin": "request",
    "max_request_lifetime_s": 3600.0,
    "max_session_s": 14400.0,
    "label_lateness_s": 1209600.0,
    "staleness_s": 300.0,
    "cache_hit_min_ratio": 0.5,
    "long_context_tokens": 8192,
    "attributes": {"replica": ["k8s.pod.name"], "pool": ["llm.pool"], "tenant": ["tenant.id"], "keep": ["team"]},
    "metric_labels": {"replica": ["pod"], "model": ["model_name"]},
    "workloads": {
        "chat": {
            "match": {"pool": ["chat"], "attributes": {"gen_ai.operation.name": ["chat"]}},
            "ttft_s": 1.5,
            "tpot_s": 0.06,
            "e2e_s": 30.0,
            "itl_p95_s": 0.1,
            "jitter_s": 0.5,
            "retry_budget": 1,
            "on_missing": {"ttft": "pass"},
            "quality": _QUALITY,
        },
        "rag": {"match": {"pool": ["rag"]}, "completion_window_s": 60.0, "unit": "session", "unit_label": "answer"},
    },
    "dialects": {"acme": {"layer": "client", "match": {"name": ["acme*"]}, "fields": {"model": ["acme.model"]}}},
    "leave_out": {"probes": {"attributes": {"user.id": ["probe-*"]}}},
    "replicas": {"vllm-chat-0": {"names": ["10.0.0.7:8000"]}},
    "served_models": {"llama": {"pool": ["chat*"], "replica": ["*"], "model": "llama-3.1-8b"}},
    "events": {"pools": {"chat": "chat"}, "replicas": {"a": "vllm-chat-0"}},
    "costs": {"step_s": 300, "services": ["*"], "currencies": {"EUR": 1.08}},
    "rates": {"h100": {"pool": ["chat*"], "usd_per_gpu_hour": 2.5, "gpus_per_replica": 1.0}},
    "work": {"llama": {"model": ["*"], "prefill_weight": 1.0, "cached_weight": 0.1, "decode_weight": 5.0}},
    "slices": {"by": ["tenant", "workload_tenant", "attributes.team"], "max_values": 10},
    "limits": {"max_line_bytes": 2**26, "quarantined_ratio": 0.05},
    "privacy": {"identities": "clear", "also": ["customer"]},
    "receive": {"max_requests_per_s": 10.0, "rotate_s": 900.0},
    "channels": {"log": {"kind": "file", "path": "alarms.jsonl", "templates": {"title": "$summary"}}},
    "notify": {"run_budget_s": 1.0, "retention_s": 7776000.0, "hold_for_s": 7200.0},
    "disruptions": {"recovery_tolerance_ratio": 0.1, "cap_s": 1200.0, "caps_s": {"restart": 600.0}},
    "schedule": {"grace_s": 600.0},
    "alarms": {
        "window_s": 3600,
        "time_zone": "Europe/Berlin",
        "max_age_s": 21600.0,
        "silent_telemetry_s": 7200.0,
        "rules": {
            "p99_ttft_s_page": {"threshold": 2.8, "for_windows": 2},
            "slow": {"kind": "absolute", "metric": "p99_ttft_s", "above": 2.0, "pool": ["*"]},
        },
    },
    "slo": {"chat": {"objective": 0.95, "period_s": 2592000.0, "workload": ["chat"]}},
    "sources": {
        "bench": {
            "format": "csv",
            "path": "*_output_*.csv",
            "path_pattern": "(?P<route>.+)_output_.+",
            "table": "attempts",
            "constants": {"pool": "demo"},
            "columns": {
                "started_at": {"column": "launch_time", "unit": "epoch_s"},
                "ended_at": {"column": "finish_time", "unit": "%Y-%m-%d %H:%M:%S", "tz": "UTC"},
                "ttft_s": {"column": "ttft", "unit": "ms"},
                "input_tokens": "prompt_tokens",
            },
        }
    },
}


def believable(chance: Random) -> dict[str, Any]:
    """Everything, with durations, bounds, globs and windows at their edges: valid in most cases."""
    document = deepcopy(_EVERYTHING)
    document["windows_s"] = list(chance.choice(_WINDOWS))
    document["costs"]["step_s"] = chance.choice((60, 300)) if min(document["windows_s"]) >= 300 else 60
    if not {3600, 300} <= {*document["windows_s"]}:
        del document["alarms"], document["slo"]
    document["latency_origin"] = chance.choice(("request", "attempt"))
    for table in list(_tables(document)):
        for key, value in list(table.items()):
            if isinstance(value, float) and chance.random() < 0.15:
                table[key] = chance.choice([edge for edge in _EDGES_S if edge <= _MOST.get(key, edge)])
            elif key in _OF_GLOBS and isinstance(value, list) and chance.random() < 0.2:
                table[key] = [chance.choice(_GLOBS) for _ in range(chance.choice((0, 1, 3)))]
            elif key in _OPTIONAL and chance.random() < 0.1:
                del table[key]
    return document


def broken(chance: Random) -> dict[str, Any]:
    """Everything, with one to ten places changed to anything."""
    document = believable(chance) if chance.random() < 0.5 else deepcopy(_EVERYTHING)
    for _ in range(chance.choice((1, 2, 10))):
        mutate(chance, document)
    return document


def as_toml(chance: Random, document: Any) -> bytes:
    """The document, at times cut short, with a byte changed, or nested deeper than anybody writes."""
    tables = "\n".join(f"{_key(key)} = {_inline(value)}" for key, value in document.items())
    written = tables.encode("utf-8", "surrogatepass")
    what = chance.random()
    if what < 0.03:
        return written[: chance.randrange(len(written) + 1)]
    if what < 0.06:
        at = chance.randrange(len(written) + 1)
        return written[:at] + text(chance).encode("utf-8", "surrogatepass") + written[at:]
    if what < 0.07:
        return written + b"\ndeep = " + _inline(nested(150)).encode() + b"[" * 5000
    return written


def settings_trial(chance: Random, folder: Path, documents: int) -> Ended:
    """Read so many documents: each is taken, or refused with every mistake; of those taken some are run with."""
    ended = Ended()
    config = put_sane(folder)
    for _ in range(documents):
        make = chance.choice((believable, broken, broken))
        config.write_bytes(as_toml(chance, make(chance)))
        wrong, fault = read(config)
        ended.inputs[f"settings, {'refused' if wrong else 'taken'}"] += 1
        ended.faults += fault
    return ended


def read(config: Path) -> tuple[str, list[str]]:
    """What is said of settings that cannot be used, "" where they can; anything but a SettingsError is a fault."""
    try:
        load_settings(config)
    except SettingsError as error:
        return str(error), [] if error.mistakes else [f"settings: refused without a mistake: {error}"]
    except Exception as error:
        return "crash", ["crash: " + "".join(format_exception(error))]
    return "", []


def run_with(chance: Random, folder: Path) -> str:
    """A run over the sane telemetry with believable settings; "" or what went wrong, with the settings."""
    config = put_sane(folder)
    while True:
        config.write_bytes(as_toml(chance, believable(chance)))
        if not read(config)[0]:
            break
    crash = ran(config)[1]
    return f"{crash}\n{config.read_text()}" if crash else ""


def _tables(at: Any) -> Any:
    if isinstance(at, dict):
        yield at
        for value in at.values():
            yield from _tables(value)


def _key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _inline(value: Any) -> str:
    """A value in one line; TOML knows no null."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items() if item is not None) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_inline(item) for item in value if item is not None) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
