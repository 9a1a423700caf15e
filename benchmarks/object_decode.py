"""Times the reading of a LiteLLM log (one StandardLoggingPayload a line) against ways that a person would write.

All ways give the same columns of each row; ours gives the other columns of a serving record as well.
"""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import orjson
import polars as pl
import pyarrow as pa

from benchmarks.otlp_decode import Comparison, best_of
from goodput.collect.objects.read import ObjectReading
from goodput.collect.otlp.sniff import read_head
from goodput.collect.received import UNCLAIMED, LandedFile
from goodput.settings.model import FileLimits

START_S = 1_795_165_200
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("response_id", "call_id", "tenant", "model", "route", "replica")),
        *((name, pa.int64()) for name in ("started_ns", "first_token_ns", "ended_ns")),
        *((name, pa.int64()) for name in ("input_tokens", "cached_input_tokens", "output_tokens")),
        ("streamed", pa.bool_()),
        ("finish_reason", pa.string()),
        ("reported_cost_usd", pa.float64()),
    ]
)


def run(rows: int) -> list[Comparison]:
    """Read so many payloads in every way; raises AssertionError where two ways give different columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "litellm.jsonl")
        _write(rows, path)
        ways: dict[str, Callable[[], pa.Table]] = {
            "goodput, LiteLLM log": lambda: _goodput(path),
            "orjson and dicts": lambda: _orjson(path),
            "DuckDB read_json": lambda: _duckdb(path),
        }
        first, *others = (way().select(SCHEMA.names).cast(SCHEMA).sort_by("started_ns") for way in ways.values())
        assert all(first.equals(other) for other in others), "the ways give different columns"
        best_s = best_of(ways)
    ours = "goodput, LiteLLM log"
    return [
        Comparison(ours, "orjson and dicts", best_s[ours], best_s["orjson and dicts"], 1.0),
        Comparison(ours, "DuckDB read_json", best_s[ours], best_s["DuckDB read_json"], 1.0),
    ]


def _goodput(path: Path) -> pa.Table:
    reading = ObjectReading(LandedFile(path, path.parent, UNCLAIMED), read_head(path), FileLimits())
    return pl.concat(block.tables["serving_records"].select(SCHEMA.names) for block in reading).to_arrow()


def _orjson(path: Path) -> pa.Table:
    with path.open("rb") as lines:
        return pa.Table.from_pylist([_row(orjson.loads(line)) for line in lines], schema=SCHEMA)


def _row(said: dict[str, Any]) -> dict[str, Any]:
    streamed = said["stream"]
    return {
        "response_id": said["id"],
        "call_id": said["litellm_call_id"],
        "tenant": said["end_user"],
        "model": said["model"].removeprefix(f"{said['custom_llm_provider']}/"),
        "route": said["model_group"],
        "replica": said["api_base"].split("/")[2],
        "started_ns": _ns(said["startTime"]),
        "first_token_ns": _ns(said["completionStartTime"]) if streamed else None,
        "ended_ns": _ns(said["endTime"]),
        "input_tokens": said["prompt_tokens"],
        "cached_input_tokens": said["metadata"]["usage_object"]["prompt_tokens_details"]["cached_tokens"],
        "output_tokens": said["completion_tokens"],
        "streamed": streamed,
        "finish_reason": said["response"]["choices"][0]["finish_reason"],
        "reported_cost_usd": said["response_cost"],
    }


def _ns(seconds: float) -> int:
    return int(seconds * 1e6) * 1000  # more than microseconds a float of this size does not hold


def _duckdb(path: Path) -> pa.Table:
    query = """
        SELECT
            id AS response_id,
            litellm_call_id AS call_id,
            end_user AS tenant,
            replace(model, custom_llm_provider || '/', '') AS model,
            model_group AS route,
            split_part(api_base, '/', 3) AS replica,
            (startTime * 1e6)::BIGINT * 1000 AS started_ns,
            CASE WHEN stream THEN (completionStartTime * 1e6)::BIGINT * 1000 END AS first_token_ns,
            (endTime * 1e6)::BIGINT * 1000 AS ended_ns,
            prompt_tokens AS input_tokens,
            metadata.usage_object.prompt_tokens_details.cached_tokens AS cached_input_tokens,
            completion_tokens AS output_tokens,
            stream AS streamed,
            response.choices[1].finish_reason AS finish_reason,
            response_cost AS reported_cost_usd
        FROM read_json($path, format = 'newline_delimited')
    """
    return duckdb.connect().sql(query, params={"path": str(path)}).to_arrow_table()


def _write(rows: int, path: Path) -> None:
    chance = random.Random(1)
    with path.open("wb") as lines:
        for number in range(rows):
            lines.write(orjson.dumps(_payload(chance, number)) + b"\n")


def _payload(chance: random.Random, number: int) -> dict[str, Any]:
    """Times are sixteenths of a second, which a float holds exactly."""
    start_s = START_S + number / 16
    end_s = start_s + chance.randint(16, 160) / 16
    streamed = chance.random() < 0.8
    cost, base = chance.random() / 100, f"http://10.0.0.{chance.randint(1, 8)}:8000/v1"
    sizes = {"prompt_tokens": chance.randint(1, 9000), "completion_tokens": chance.randint(1, 900)}
    answer = {"finish_reason": "stop", "message": {"content": "redacted-by-litellm"}}
    keys = ("alias", "spend", "max_budget", "team_id", "org_id", "user_id")
    usage = {**sizes, "prompt_tokens_details": {"cached_tokens": sizes["prompt_tokens"] // 2, "audio_tokens": None}}
    return {
        "id": f"chatcmpl-{chance.getrandbits(128):032x}",
        "litellm_call_id": f"{chance.getrandbits(128):032x}",
        "trace_id": f"{chance.getrandbits(128):032x}",
        "session_id": "",
        "call_type": "acompletion",
        "cache_hit": None,
        "stream": streamed,
        "status": "success",
        "status_fields": {"llm_api_status": "success", "guardrail_status": "not_run"},
        "custom_llm_provider": "openai",
        "saved_cache_cost": 0.0,
        "startTime": start_s,
        "endTime": end_s,
        "completionStartTime": start_s + 0.5 if streamed else end_s,
        "response_time": 0.5 if streamed else end_s - start_s,
        "model": "openai/llama-3.1-8b",
        "metadata": {
            **{f"user_api_key_{name}": None for name in keys},
            "requester_ip_address": "10.1.1.1",
            "requester_metadata": {"headers": {f"x-stainless-{n}": "x" * 12 for n in ("lang", "os", "arch", "async")}},
            "usage_object": usage,
            "applied_guardrails": [],
        },
        "response_cost": cost,
        "cost_breakdown": {"input_cost": cost / 3, "output_cost": cost / 3, "total_cost": cost},
        **sizes,
        "request_tags": ["app:chat", "User-Agent: AsyncOpenAI"],
        "end_user": f"user-{number % 50}",
        "api_base": base,
        "model_group": "chat",
        "model_id": base,
        "messages": [{"role": "user", "content": "redacted-by-litellm"}],
        "response": {"choices": [answer], "usage": usage},
        "model_parameters": {"stream": streamed, "max_tokens": 900},
        "hidden_params": {"api_base": base, "additional_headers": {"llm_provider-server": "Python/3.11 aiohttp/3.14"}},
        "error_str": None,
        "error_information": {"error_code": "", "error_class": "", "llm_provider": "", "traceback": ""},
    }
