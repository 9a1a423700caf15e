"""Fuzzed files of formats that are known by their content: bills, prices, events, logs of proxies, scrapes."""

import csv
import gzip
import io
import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from fuzz.files import Fuzzed
from fuzz.hostile import as_json, like, mutate, number, text
from fuzz.seeds import DEMO_NS, EMITTERS, HOUR_NS, HOURS, SHIFT_NS, seeds

_DAY = re.compile(r"2026-11-2[0-3]T\d\d")
_SAMPLE = re.compile(r"[^ ]+$")
_ALLOCATION = {
    "name": "c1/gpu-1/llm/vllm-0/vllm",
    "properties": {"cluster": "c1", "controller": "vllm", "pod": "vllm-0", "labels": {"app": "vllm", "model": "m1"}},
    "window": {"start": "2026-11-15T00:00:00Z", "end": "2026-11-16T00:00:00Z"},
    "start": "2026-11-15T01:00:00Z",
    "end": "2026-11-15T02:00:00Z",
    "minutes": 60,
    "cpuCost": 0.1,
    "gpuHours": 2,
    "gpuCost": 5.0,
    "totalCost": 5.5,
}
_PRICE = {
    "litellm_provider": "openai",
    "mode": "chat",
    "input_cost_per_token": 1e-6,
    "output_cost_per_token": 2e-6,
    "cache_read_input_token_cost": 1e-7,
}
_PERIODS = {
    "Start": (
        "2026-11-15T01:00:00Z",
        "1026-01-01T00:00:00Z",
        "2020-01-01T00:00:00Z",
        "2026-11-01T00:00:00Z",
        "2026-11-31",
        "",
        "0",
    ),
    "End": ("2026-11-15T02:00:00Z", "2099-12-31T23:59:59Z", "2100-01-01T00:00:00Z", "9999-12-31T00:00:00Z"),
}
_SCRAPE = """# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 1000
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 20
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="m"} 3
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="m"} 20
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 20
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 9.5
"""


def focus_file(chance: Random, inputs: int, at: int) -> Fuzzed:
    """An export of a bill with cells at edges."""
    given = _later(seeds().files["billing/focus.csv"].decode())
    names, *lines = csv.reader(io.StringIO(given))
    rows = [list(chance.choice(lines)) for _ in range(inputs)]
    for row in rows:
        for place in chance.sample(range(len(names)), chance.choice((0, 1, 1, 3))):
            row[place] = _charged(chance, names[place], row[place])
    written = io.StringIO()
    csv.writer(written).writerows([names, *rows])
    content = written.getvalue().encode("utf-8", "surrogatepass")
    return Fuzzed(f"fuzz/focus-{at}.csv".encode(), content, "bills (FOCUS)", inputs)


def _charged(chance: Random, name: str, cell: str) -> str:
    if "Period" in name:
        return chance.choice(_PERIODS["Start" if name.endswith("Start") else "End"])
    if "Cost" in name or "Quantity" in name:
        return str(number(chance))
    return str(like(chance, name, cell))


def _later(written: str) -> str:
    """The demo's bills and events on the days of the fuzzed rows."""
    return _DAY.sub(lambda found: f"2026-11-15T{found[0][-1]:>02}", written)


def objects_file(chance: Random, inputs: int, at: int) -> Fuzzed:
    """JSON objects of one system, a line each."""
    kind, trees = chance.choice(_objects())
    lines = []
    for _ in range(inputs):
        tree = json.loads(_later(chance.choice(trees)))
        if chance.random() < 0.6:
            mutate(chance, tree, chance.choice((1, 1, 3)))
        lines.append(as_json(chance, tree))
    content = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")
    return Fuzzed(f"fuzz/objects-{at}.jsonl".encode(), content, f"objects ({kind})", inputs)


def _objects() -> Sequence[tuple[str, list[str]]]:
    access = gzip.decompress((EMITTERS / "envoy/telemetry.access.jsonl.gz").read_bytes()).decode().splitlines()
    return (
        ("Envoy", access),
        ("CDEvents", seeds().files["ops/cdevents.jsonl"].decode().splitlines()),
        ("OpenCost", [json.dumps(_ALLOCATION)]),
    )


def prices_file(chance: Random, inputs: int, at: int) -> Fuzzed:
    """LiteLLM's list of prices, with prices that nobody asks."""
    prices: dict[str, Any] = {}
    for model in range(inputs):
        price: Any = dict(_PRICE)
        if chance.random() < 0.7:
            mutate(chance, price, 2)
        prices[f"model-{model}" if chance.random() < 0.9 else text(chance)] = price
    content = json.dumps(prices, indent=1).encode("utf-8", "surrogatepass")
    return Fuzzed(f"fuzz/{at}/model_prices_and_context_window.json".encode(), content, "prices", inputs)


def scrape_file(chance: Random, at: int) -> Fuzzed:
    """One scrape, saved under the time when it was made."""
    lines = []
    for line in _SCRAPE.splitlines():
        what = chance.random()
        if what < 0.1:
            lines.append(_SAMPLE.sub(lambda _: str(number(chance)), line))
        elif what < 0.14:
            cut = chance.randrange(len(line))
            lines.append(line[:cut] + text(chance) + line[cut:])
        elif what < 0.16:
            lines += [line] * 3
        elif what < 0.98:
            lines.append(line)
    made_s = (DEMO_NS + SHIFT_NS + chance.randrange(HOURS * HOUR_NS)) // 10**9
    named = chance.choice([made_s] * 9 + [0, 5, 10**30, 4102444800, 1577836805])
    content = ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")
    return Fuzzed(f"fuzz/replica-{at % 5}/{named}.prom".encode(), content, "points (scrape)", len(lines))


def answer_file(chance: Random, inputs: int, at: int) -> Fuzzed:
    """An answer of Prometheus' HTTP API to query_range."""
    begins_s = (DEMO_NS + SHIFT_NS) / 1e9
    series = []
    for n in range(max(1, inputs // 20)):
        name = chance.choice(("vllm:kv_cache_usage_perc", "vllm:prompt_tokens_total", "vllm:num_requests_running"))
        values = [
            [begins_s + 30 * step + n, str(number(chance)) if chance.random() < 0.1 else "0.5"] for step in range(20)
        ]
        series.append({"metric": {"__name__": name, "pod": f"fuzz-{n % 7}", "model_name": "m"}, "values": values})
    answer = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    mutate(chance, answer["data"], chance.choice((0, 1, 3)))
    content = json.dumps(answer).encode("utf-8", "surrogatepass")
    return Fuzzed(f"fuzz/answer-{at}.json".encode(), content, "points (query_range)", inputs)
