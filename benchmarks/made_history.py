"""A landing zone of so many days, written hour by hour as a small fleet writes it.

`python -m benchmarks.made_history DAYS FOLDER` writes one with its settings. Every history ends at the same hour and
hours do not depend on each other, so that a longer one differs from a shorter one by its earlier days alone.
Two kinds: of every telemetry there is (11 files and about 60 lines an hour, and a bill a day), and of gateway spans
alone (4 files and 48 lines an hour).
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

END_HOUR = 498_648  # since the Unix epoch, a midnight; the history lies before it
REPLICAS = ("engine-0", "engine-1")
GATEWAYS = ("gateway-0", "gateway-1")
REQUESTS_AN_HOUR = 18
LABELS_AN_HOUR = 8
SCRAPES_AN_HOUR = 3
LEAN_FILES_AN_HOUR = 4
LEAN_LINES_A_FILE = 12
SETTINGS = """\
landing = ["landing"]
lake = "lake"
[attributes]
replica = ["k8s.pod.name"]
[workloads.chat]
ttft_s = 0.5
tpot_s = 0.03
retry_budget = 1
[workloads.chat.quality]
evaluators = ["helpfulness"]
"""
_HOUR_NS = 3600 * 10**9
_BILL_HEADER = (
    "BillingAccountId,BillingCurrency,ChargeCategory,ProviderName,ServiceName,PricingUnit,ConsumedUnit,"
    "BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,"
    "PricingQuantity,ConsumedQuantity,ResourceId,SkuPriceDetails,Tags\n"
)


def write_history(days: int, folder: Path, *, spans_only: bool = False) -> int:
    """Write settings and the landing zone of so many days to `folder`; returns how many files they are."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "goodput.toml").write_text(SETTINGS, encoding="utf-8")
    files = 0
    for hour in range(END_HOUR - 24 * days, END_HOUR):
        for name, content in _span_files(hour) if spans_only else _files(hour):
            write_file(folder, name, content)
            files += 1
    return files


def write_file(folder: Path, name: str, content: bytes) -> None:
    """Write one file of the landing zone in `folder`."""
    path = folder / "landing" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def request_key(hour: int, number: int) -> str:
    """What the history's request `number` of an hour is called: the ids of its outermost span."""
    return f"{_trace(hour, number)}:{_span(hour, number, 0)}"


def late_label(hour: int) -> bytes:
    """A line that judges the last request of an hour, which the hour's own file leaves out, a day after it."""
    return _lines([_label_line(hour, REQUESTS_AN_HOUR - 1, (hour + 24) * _HOUR_NS)])


def more_spans(first_hour: int, hours: int, lines: int) -> bytes:
    """Gateway spans of so many lines, of requests that no other file knows, evenly over some hours."""
    numbers = range(REQUESTS_AN_HOUR, REQUESTS_AN_HOUR + lines // hours)
    made = [_Request(hour, number).gateway_line for hour in range(first_hour, first_hour + hours) for number in numbers]
    return _lines(made)


def span_of(hour: int, number: int) -> bytes:
    """The gateway's line of one request."""
    return _lines([_Request(hour, number).gateway_line])


def _span_files(hour: int) -> Iterator[tuple[str, bytes]]:
    for file in range(LEAN_FILES_AN_HOUR):
        numbers = range(file * LEAN_LINES_A_FILE, (file + 1) * LEAN_LINES_A_FILE)
        lines = [_Request(hour, number).gateway_line for number in numbers]
        yield f"gateway-{file}/traces-{_at(hour)}.jsonl", _lines(lines)


def _files(hour: int) -> Iterator[tuple[str, bytes]]:
    at = _at(hour)
    requests = [_Request(hour, number) for number in range(REQUESTS_AN_HOUR)]
    for place, gateway in enumerate(GATEWAYS):
        routed = requests[place :: len(GATEWAYS)]
        yield f"{gateway}/traces-{at}.jsonl", _lines([request.gateway_line for request in routed])
    for replica in REPLICAS:
        served = [request for request in requests if request.replica == replica]
        yield f"{replica}/traces-{at}.jsonl", _lines([request.engine_line for request in served])
        for scrape in range(SCRAPES_AN_HOUR):
            seconds = hour * 3600 + 600 + scrape * 3600 // SCRAPES_AN_HOUR
            yield f"{replica}/{seconds}.prom", _scrape(hour * SCRAPES_AN_HOUR + scrape, replica).encode()
    labels = [_label_line(hour, number, (hour + 1) * _HOUR_NS) for number in range(LABELS_AN_HOUR)]
    yield f"quality/labels-{at}.jsonl", _lines(labels)
    if hour % 24 == 23:
        yield f"billing/{at[:10]}.csv", _bill(hour // 24).encode()


class _Request:
    """One request as its gateway and its engine report it."""

    def __init__(self, hour: int, number: int) -> None:
        chance = random.Random(hour * 1000 + number)
        self.hour, self.number = hour, number
        self.replica = chance.choice(REPLICAS)
        self.start_ns = hour * _HOUR_NS + chance.randrange(_HOUR_NS - 60 * 10**9)
        self.output_tokens = chance.randint(1, 400)
        self.input_tokens = chance.randint(10, 4000)
        self.queue_s = chance.expovariate(20.0)
        self.prefill_s = chance.uniform(0.02, 0.5)
        self.decode_s = (self.output_tokens - 1) * chance.uniform(0.01, 0.04)
        self.failed = chance.random() < 0.02

    @property
    def gateway_line(self) -> dict[str, object]:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "vllm",
            "gen_ai.request.model": "llama-3.1-8b",
            "gen_ai.request.stream": True,
            "gen_ai.response.id": _response(self.hour, self.number),
            "gen_ai.response.time_to_first_chunk": self.queue_s + self.prefill_s + 0.004,
            "gen_ai.usage.input_tokens": self.input_tokens,
            "gen_ai.usage.output_tokens": self.output_tokens,
        }
        span = self._span("chat llama-3.1-8b", 3, 0, attributes)
        span["status"] = {"code": 2} if self.failed else {}
        return _spans({"service.name": "gateway", "k8s.pod.name": GATEWAYS[self.number % 2]}, span)

    @property
    def engine_line(self) -> dict[str, object]:
        attributes = {
            "gen_ai.request.id": _response(self.hour, self.number),
            "gen_ai.usage.prompt_tokens": self.input_tokens,
            "gen_ai.usage.completion_tokens": self.output_tokens,
            "gen_ai.latency.time_to_first_token": self.queue_s + self.prefill_s,
            "gen_ai.latency.e2e": self._e2e_s,
            "gen_ai.latency.time_in_queue": self.queue_s,
            "gen_ai.latency.time_in_model_prefill": self.prefill_s,
            "gen_ai.latency.time_in_model_decode": self.decode_s,
            "gen_ai.latency.time_in_model_inference": self.prefill_s + self.decode_s,
            "gen_ai.response.model": "llama-3.1-8b",
        }
        span = self._span("llm_request", 2, 1, attributes)
        span["parentSpanId"] = _span(self.hour, self.number, 0)
        return _spans({"service.name": "chat", "k8s.pod.name": self.replica}, span)

    @property
    def _e2e_s(self) -> float:
        return self.queue_s + self.prefill_s + self.decode_s

    def _span(self, name: str, kind: int, layer: int, attributes: Mapping[str, object]) -> dict[str, object]:
        overhead_ns = 0 if layer else 5 * 10**6
        return {
            "traceId": _trace(self.hour, self.number),
            "spanId": _span(self.hour, self.number, layer),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(self.start_ns + 2 * 10**6 * layer),
            "endTimeUnixNano": str(self.start_ns + round(self._e2e_s * 1e9) + overhead_ns),
            "attributes": _attributes(attributes),
        }


def _label_line(hour: int, number: int, at_ns: int) -> dict[str, object]:
    score = random.Random(hour * 1000 + number + 0.5).random()
    attributes = {
        "gen_ai.evaluation.name": "helpfulness",
        "gen_ai.evaluation.score.value": score,
        "gen_ai.evaluation.score.label": "pass" if score > 0.1 else "fail",
        "gen_ai.response.id": _response(hour, number),
    }
    record = {
        "timeUnixNano": str(at_ns),
        "eventName": "gen_ai.evaluation.result",
        "attributes": _attributes(attributes),
    }
    return {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {}, "logRecords": [record]}]}]}


def _scrape(number: int, replica: str) -> str:
    counted = number - (END_HOUR - 100_000) * SCRAPES_AN_HOUR
    label = f'{{model_name="llama-3.1-8b",pod="{replica}"}}'
    return (
        f"vllm:request_success_total{label} {counted * 3}\n"
        f"vllm:generation_tokens_total{label} {counted * 600}\n"
        f"vllm:kv_cache_usage_perc{label} 0.{number % 80 + 10}\n"
    )


def _bill(day: int) -> str:
    month = datetime.fromtimestamp(day * 86400, UTC).replace(day=1)
    next_month = (month + timedelta(days=31)).replace(day=1)
    billed = f"{month:%Y-%m-%dT00:00:00Z},{next_month:%Y-%m-%dT00:00:00Z}"
    lines = []
    for hour in range(day * 24, day * 24 + 24):
        begun, ended = (f"{datetime.fromtimestamp(at * 3600, UTC):%Y-%m-%dT%H:00:00Z}" for at in (hour, hour + 1))
        for replica in REPLICAS:
            tags = f'"{{""GpuCount"": 1}}","{{""pool"": ""chat"", ""k8s.pod.name"": ""{replica}""}}"'
            lines.append(
                f"4471,USD,Usage,Example Cloud,GPU Instances,Hours,Hours,{billed},{begun},{ended},"
                f"1.1,1.1,1.0,1.0,node-{replica},{tags}\n"
            )
    return _BILL_HEADER + "".join(lines)


def _spans(resource: Mapping[str, object], span: Mapping[str, object]) -> dict[str, object]:
    scopes = [{"scope": {"name": "serving"}, "spans": [span]}]
    return {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": scopes}]}


def _attributes(values: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: object) -> dict[str, object]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _at(hour: int) -> str:
    return f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m-%dT%H}"


def _lines(values: Sequence[Mapping[str, object]]) -> bytes:
    return b"".join(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE) for value in values)


def _trace(hour: int, number: int) -> str:
    return f"{hour:016x}{number + 1:016x}"


def _span(hour: int, number: int, layer: int) -> str:
    return f"{hour:08x}{number * 2 + layer + 1:08x}"


def _response(hour: int, number: int) -> str:
    return f"chatcmpl-{hour}-{number}"


def main() -> None:
    """Write a history and print how many files it has."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.made_history", description=__doc__)
    parser.add_argument("days", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--spans-only", action="store_true", help="gateway spans alone")
    asked = parser.parse_args()
    files = write_history(asked.days, asked.folder, spans_only=asked.spans_only)
    print(f"{files} files below {asked.folder / 'landing'}")


if __name__ == "__main__":
    main()
