"""Times `goodput run`, as a user calls it, on OTLP/JSON spans of vLLM against decoding the same files and no more.

Both are processes of their own, and what is compared is their processor time from start to end: wall time tells of
whatever else the machine does.
"""

import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from benchmarks.child import in_turn, run, run_function
from benchmarks.table import Row, peak_memory, times_as_long
from goodput.collect.dialects.registry import SPAN_DIALECTS
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.decode import OtlpDecoder
from goodput.collect.otlp.read import OtlpReader
from goodput.settings.load import load_settings

SPANS = 1_000_000
SPANS_PER_LINE = 500
FILES = 4
REPLICAS = 8
FIRST_NS = 1_795_222_800 * 10**9
TRAFFIC_NS = 2 * 3600 * 10**9
ROUNDS = 3
BUDGET_S = 120.0
MEMORY_BELOW = 2 * 10**9
SETTINGS = """\
landing = ["landing"]
[workloads.chat]
ttft_s = 0.5
tpot_s = 0.05
"""


def rows(share: float) -> Iterator[Row]:
    """The whole run against the decoding over `share` of the spans."""
    spans = round(SPANS * share)
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        folder = Path(name)
        (folder / "goodput.toml").write_text(SETTINGS)
        write_spans(spans, folder / "landing")

        peaks: list[int] = []

        def goodput() -> float:
            shutil.rmtree(folder / "lake", ignore_errors=True)
            ended = run([str(Path(sys.executable).with_name("goodput")), "run"], folder)
            peaks.append(ended.peak_bytes)
            return ended.cpu_s

        def decoding() -> float:
            ended = run_function(__name__, "decode", folder)
            assert ended.said == spans, f"{ended.said} spans decoded of {spans}"
            return ended.cpu_s

        taken_s = in_turn({"goodput run": goodput, "decoding": decoding}, ROUNDS, BUDGET_S * share)
    what = f"goodput run, {spans / 1e6:g}M spans of OTLP/JSON"
    yield times_as_long(what, taken_s["goodput run"], "decoding alone", taken_s["decoding"], at_most=3.5)
    yield peak_memory(f"{what}: most memory", max(peaks), below_bytes=MEMORY_BELOW)


def decode(folder: Path) -> int:
    """Read every span below `folder`/landing with the keys that the pipeline wants; how many there were."""
    attributes = load_settings(folder / "goodput.toml").attributes.model_dump().values()
    strings = [Wanted(name, "string") for names in attributes for name in names]
    wanted = [*strings, *(key for dialect in reversed(SPAN_DIALECTS) for key in dialect.wanted)]
    span_keys, resource_keys = ([*{key.key: key for key in keys}.values()] for keys in (wanted, strings))
    files = sorted((folder / "landing").iterdir())
    readers = (OtlpReader(path, OtlpDecoder(span_keys=span_keys, resource_keys=resource_keys)) for path in files)
    return sum(block.spans.num_rows for reader in readers for block in reader if block.spans)


def write_spans(spans: int, landing: Path) -> None:
    """Write spans of a fleet of replicas, two hours of traffic in time order cut into files."""
    landing.mkdir()
    chance = random.Random(1)
    lines = spans // SPANS_PER_LINE
    for number in range(FILES):
        with (landing / f"spans-{number}.jsonl").open("wb") as file:
            for line in range(number * lines // FILES, (number + 1) * lines // FILES):
                since_ns, until_ns = (FIRST_NS + at * TRAFFIC_NS // lines for at in (line, line + 1))
                made = [span_of(chance, chance.randrange(since_ns, until_ns)) for _ in range(SPANS_PER_LINE)]
                file.write(line_of(line % REPLICAS, made))


def line_of(replica: int, spans: list[dict[str, object]]) -> bytes:
    """A line of OTLP/JSON with spans of one replica."""
    resource = {"service.name": "vllm", "service.instance.id": f"r{replica}", "k8s.pod.uid": f"pod-{replica}"}
    scope_spans = [{"scope": {"name": "vllm.llm_engine"}, "spans": spans}]
    batch = {"resource": {"attributes": _attributes(resource)}, "scopeSpans": scope_spans}
    return orjson.dumps({"resourceSpans": [batch]}, option=orjson.OPT_APPEND_NEWLINE)


def span_of(chance: random.Random, start_ns: int) -> dict[str, object]:
    """A span of vLLM that starts then; what it took is drawn."""
    output_tokens = chance.randint(1, 800)
    queue_s = chance.expovariate(20.0)
    prefill_s = chance.uniform(0.02, 0.52)
    decode_s = (output_tokens - 1) * chance.uniform(0.01, 0.04)
    e2e_s = queue_s + prefill_s + decode_s
    attributes = {
        "gen_ai.request.id": f"chatcmpl-{chance.getrandbits(128):032x}",
        "gen_ai.usage.prompt_tokens": chance.randint(10, 5000),
        "gen_ai.usage.completion_tokens": output_tokens,
        "gen_ai.latency.time_to_first_token": queue_s + prefill_s,
        "gen_ai.latency.e2e": e2e_s,
        "gen_ai.latency.time_in_queue": queue_s,
        "gen_ai.latency.time_in_model_prefill": prefill_s,
        "gen_ai.latency.time_in_model_decode": decode_s,
        "gen_ai.latency.time_in_model_inference": prefill_s + decode_s,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.request.temperature": 0.7,
        "gen_ai.request.n": 1,
        "gen_ai.response.model": "llama-3.1-8b",
    }
    return {
        "traceId": f"{chance.getrandbits(128):032x}",
        "spanId": f"{chance.getrandbits(64):016x}",
        "parentSpanId": f"{chance.getrandbits(64):016x}",
        "flags": 256,
        "name": "llm_request",
        "kind": 2,
        "startTimeUnixNano": str(start_ns),
        "endTimeUnixNano": str(start_ns + round(e2e_s * 1e9)),
        "attributes": _attributes(attributes),
        "status": {},
    }


def _attributes(values: dict[str, str] | dict[str, object]) -> list[dict[str, object]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: object) -> dict[str, object]:
    if isinstance(value, str):
        return {"stringValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
