"""Engine metrics as they are scraped, queried and exported, to canonical samples (telemetry 2c, 3c, 4, 5b)."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource

from collect.discovered import discover
from collect.otlp.encode import length_prefixed, otlp_json
from collect.telemetry import START_NS, Row, attributes, put, settings
from goodput.collect.dialects.registry import METRIC_DIALECTS
from goodput.collect.read import open_file
from goodput.collect.received import RefusedRow
from goodput.contracts import contract
from goodput.errors import SourceRefused

TIME_S = START_NS // 10**9
CAPTURES = Path(__file__).parents[3] / "shared" / "data" / "captures" / "given"


class Reading:
    """What the landing zone's files give together."""

    def __init__(self, landing: Path, **given: object) -> None:
        self.samples: list[Row] = []
        self.refused: list[RefusedRow] = []
        self.ignored: dict[str, int] = {}
        self.rows_read = 0
        self.unknown: dict[str, int] = {}
        chosen = settings(landing=[str(landing)], **given)
        for file in discover(chosen).files:
            for block in open_file(file, chosen)[1]:
                self.rows_read += block.rows_read
                self.refused += block.refused
                self.samples += block.tables["sample_records"].to_dicts() if "sample_records" in block.tables else []
                for name, readings in block.unknown_metrics.items():
                    self.unknown[name] = self.unknown.get(name, 0) + readings
                for rule, rows in block.ignored.items():
                    self.ignored[rule] = self.ignored.get(rule, 0) + rows
        assert self.rows_read == len(self.samples) + len(self.refused) + sum(self.ignored.values())

    def values(self, *names: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row[name] for name in (*names, "value")) for row in self.samples)


def scrape(folder: Path, text: str, name: str = f"vllm-0/{TIME_S}.prom", **given: object) -> Reading:
    put(folder / "landing" / name, text)
    return Reading(folder / "landing", **given)


def metric_line(metric: Row, resource: Mapping[str, object]) -> str:
    whole = {"resource": {"attributes": attributes(resource)}, "scopeMetrics": [{"metrics": [metric]}]}
    return json.dumps({"resourceMetrics": [whole]})


def counter(*points: Row, name: str = "vllm:prompt_tokens", temporality: int = 2, **given: object) -> Row:
    return {
        "name": name,
        "sum": {"dataPoints": list(points), "aggregationTemporality": temporality, "isMonotonic": True},
        **given,
    }


VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="llama"} 3.0
vllm:kv_cache_usage_perc{engine="0",model_name="llama"} 0.25
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="llama"} 1.5e+03
vllm:prompt_tokens_created{engine="0",model_name="llama"} 1.7e+09
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="llama"} 7.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="llama"} 2.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",le="+Inf",model_name="llama"} 10.0
vllm:iteration_tokens_total_sum{engine="0",model_name="llama"} 900.0
vllm:iteration_tokens_total_count{engine="0",model_name="llama"} 10.0"""


def test_a_scrape_is_of_its_folder_at_the_time_of_its_name(tmp_path: Path) -> None:
    reading = scrape(tmp_path, VLLM)
    assert reading.values("metric", "kind", "reason") == [
        ("finished_requests", "counter", "abort", 2.0),
        ("finished_requests", "counter", "stop", 7.0),
        ("input_tokens", "counter", None, 1500.0),
        ("iteration_tokens", "histogram", None, 10.0),
        ("kv_usage_ratio", "gauge", None, 0.25),
        ("running_requests", "gauge", None, 3.0),
    ]
    told = {(row["replica"], row["model"], row["sampled_ns"], row["layer"]) for row in reading.samples}
    assert told == {("vllm-0", "llama", START_NS, "engine")}


def test_trap_23_a_suffix_makes_no_counter_and_created_is_no_value(tmp_path: Path) -> None:
    """`iteration_tokens_total` is a histogram, `_created` a timestamp, SGLang's `num_retracted_reqs` a gauge."""
    reading = scrape(tmp_path, VLLM + "\nsglang:num_retracted_reqs 4\nsglang:num_retracted_requests_total 9")
    assert (reading.ignored, reading.unknown) == (
        {"part_of_reading": 3, "metric_unknown": 1},
        {"sglang:num_retracted_reqs": 1},
    )
    assert [row["value"] for row in reading.samples if row["metric"] == "preemptions"] == [9.0]
    kinds = {row["metric"]: (row["kind"], row["total"], row["start_ns"]) for row in reading.samples}
    assert kinds["iteration_tokens"] == ("histogram", 900.0, None)
    assert kinds["input_tokens"] == ("counter", None, 1_700_000_000 * 10**9)


def test_trap_7_success_counts_aborts_and_errors_so_the_reason_stays(tmp_path: Path) -> None:
    reading = scrape(tmp_path, VLLM)
    assert {row["reason"] for row in reading.samples if row["metric"] == "finished_requests"} == {"stop", "abort"}


GPU_PREFIX = 'vllm:gpu_prefix_cache_queries_total{model_name="m"} 64'


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        (f"# HELP vllm:gpu_prefix_cache_queries_total in terms of number of queried blocks.\n{GPU_PREFIX}", "blocks"),
        (f"# HELP vllm:gpu_prefix_cache_queries_total in terms of number of queriedtokens.\n{GPU_PREFIX}", "tokens"),
        (GPU_PREFIX.replace("{", '{service_version="v0.8.5.post1",'), "blocks"),
        (GPU_PREFIX.replace("{", '{service_version="0.10.1",'), "tokens"),
        (GPU_PREFIX.replace("{", '{service_version="1.0.0",'), "tokens"),
    ],
)
def test_trap_24_blocks_became_tokens_and_are_never_spliced(tmp_path: Path, text: str, metric: str) -> None:
    (row,) = scrape(tmp_path, text).samples
    assert (row["metric"], row["value"]) == (f"prefix_cache_queried_{metric}", 64.0)


def test_trap_24_a_meaning_that_nothing_tells_is_refused(tmp_path: Path) -> None:
    (row,) = scrape(tmp_path, GPU_PREFIX).refused
    assert (row.rule, row.table_name, row.line) == ("metric_meaning_unknown", "sample_records", 1)
    assert row.reason == (
        "vllm:gpu_prefix_cache_queries_total has had several meanings, and neither its help text nor the emitter's "
        "version tells which it has"
    )


def test_trap_24_another_version_is_another_series(tmp_path: Path) -> None:
    old, new = (GPU_PREFIX.replace("{", f'{{service_version="{version}",') for version in ("0.9.0", "0.9.1"))
    first, second = scrape(tmp_path, f"{old}\n{new}").samples
    assert first["series_id"] != second["series_id"]


def test_a_name_of_another_type_is_refused(tmp_path: Path) -> None:
    (row,) = scrape(tmp_path, "# TYPE vllm:num_preemptions gauge\nvllm:num_preemptions 3").refused
    assert (row.rule, row.reason) == (
        "metric_type_differs",
        "is emitted as a gauge, but vllm:num_preemptions is a counter",
    )


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        (r'vllm:prompt_tokens_total{a="x } y",b="q\"\\n\n# z"} 4', {"a": "x } y", "b": 'q"\\n\n# z'}, 4.0),
        ('vllm:prompt_tokens_total { b = "2" , a="1", } 5 # {trace_id="t"} 0.5 1.0', {"a": "1", "b": "2"}, 5.0),
        ("ray_vllm_prompt_tokens_total 6", {}, 6.0),
        ("ray_vllm:prompt_tokens\t7\r", {}, 7.0),
    ],
)
def test_forms_of_a_sample(tmp_path: Path, line: str, labels: Mapping[str, str], value: float) -> None:
    (row,) = scrape(tmp_path, line).samples
    assert (json.loads(row["labels"]), row["value"], row["metric"]) == (labels, value, "input_tokens")


def test_a_line_that_cannot_be_read_takes_no_other_with_it(tmp_path: Path) -> None:
    reading = scrape(tmp_path, "vllm:prompt_tokens_total{a=\n\n1 2\nvllm:prompt_tokens_total 8\nvllm:prompt_tokens x")
    assert [(row.line, row.rule) for row in reading.refused] == [
        (1, "line_unreadable"),
        (3, "line_unreadable"),
        (5, "line_unreadable"),
    ]
    assert reading.values() == [(8.0,)]


def test_a_reading_of_nothing_is_left_out(tmp_path: Path) -> None:
    assert scrape(tmp_path, "vllm:kv_cache_usage_perc NaN").ignored == {"metric_without_value": 1}


@pytest.mark.parametrize(
    ("name", "text", "at_ns"),
    [
        (f"r/{TIME_S}123.prom", "vllm:prompt_tokens 1", START_NS + 123_000_000),
        (f"r/metrics-{TIME_S}.5.prom", "vllm:prompt_tokens 1", START_NS + 500_000_000),
        ("r/now.prom", f"vllm:prompt_tokens 1 {TIME_S}250", START_NS + 250_000_000),
        ("r/now.prom", f"vllm:prompt_tokens_total 1 {TIME_S}.25\n# EOF", START_NS + 250_000_000),
    ],
)
def test_when_it_was_scraped(tmp_path: Path, name: str, text: str, at_ns: int) -> None:
    (row,) = scrape(tmp_path, text, name).samples
    assert (row["sampled_ns"], row["replica"]) == (at_ns, "r")


def test_a_scrape_that_nothing_tells_the_time_of_is_refused_with_what_to_do(tmp_path: Path) -> None:
    reading = scrape(tmp_path, f"vllm:prompt_tokens 1\nvllm:kv_cache_usage_perc 0.5 {TIME_S}000", "r/yesterday.prom")
    assert [(bad.line, bad.rule) for bad in reading.refused] == [(1, "sample_without_time")]
    assert "<unix time>.prom" in reading.refused[0].reason
    assert reading.values() == [(0.5,)]


def test_equal_scrapes_at_two_times_are_two_sources_and_copies_of_a_file_are_one_reading(tmp_path: Path) -> None:
    put(tmp_path / f"landing/r/{TIME_S + 10}.prom", "vllm:prompt_tokens 1")
    content = gzip.compress(b"vllm:prompt_tokens 1\n")
    (tmp_path / f"landing/r/{TIME_S}.prom.gz").write_bytes(content)
    reading = scrape(tmp_path, "vllm:prompt_tokens 1", f"r/{TIME_S}.prom")
    assert len(reading.samples) == 3
    assert len({row["record_id"] for row in reading.samples}) == 2


def answer(result: list[Row], kind: str = "matrix") -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


def test_answers_of_the_http_api(tmp_path: Path) -> None:
    labels = {"__name__": "vllm:prompt_tokens_total", "pod": "vllm-0", "job": "llama", "instance": "10.0.0.1:8000"}
    matrix = [
        {"metric": labels, "values": [[TIME_S + 0.5, "10"], [TIME_S + 30, "1.5e1"], [TIME_S + 60, "oops"]]},
        {"metric": {"pod": "vllm-0"}, "values": [[TIME_S, "0.1"]]},  # of an expression: nothing says what it is
    ]
    put(tmp_path / "landing/range.json", answer(matrix))
    instant = [{"metric": labels | {"__name__": "vllm:kv_cache_usage_perc"}, "value": [TIME_S, "NaN"]}]
    put(tmp_path / "landing/instant.json", answer(instant, "vector"))
    reading = Reading(tmp_path / "landing")
    assert reading.values("replica", "pool", "sampled_ns") == [
        ("vllm-0", "llama", START_NS + 500_000_000, 10.0),
        ("vllm-0", "llama", START_NS + 30 * 10**9, 15.0),
    ]
    assert [(row.line, row.position, row.rule) for row in reading.refused] == [(1, 2, "line_unreadable")]
    assert reading.ignored == {"metric_unknown": 1, "metric_without_value": 1}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            '{"status":"error","errorType":"timeout","error":"query timed out"}',
            "is an error of .* API: query timed out",
        ),
        (answer([{"metric": {}, "values": [[TIME_S, "1"]]}])[:-4], "is no whole answer"),
    ],
)
def test_what_is_no_answer_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    put(tmp_path / "landing/range.json", content)
    with pytest.raises(SourceRefused, match=reason):
        Reading(tmp_path / "landing")


def test_trap_25_engines_of_one_pod_are_one_replica_and_two_series(tmp_path: Path) -> None:
    lines = [f'vllm:prompt_tokens{{engine="{engine}",instance="10.0.0.1:8000",pod="p"}} 1' for engine in (0, 1)]
    first, second = scrape(tmp_path, "\n".join(lines)).samples
    assert first["replica"] == second["replica"] == "p"  # the pod, not the address, which is used again
    assert first["series_id"] != second["series_id"]


def test_who_is_measured_can_be_set(tmp_path: Path) -> None:
    line = 'vllm:prompt_tokens{host="h1",team="blue",lora="l"} 1'
    named = {"replica": "host", "pool": "team", "model": ["nothing", "lora"]}
    (row,) = scrape(tmp_path, line, metric_labels=named).samples
    assert (row["replica"], row["pool"], row["model"]) == ("h1", "blue", "l")


@pytest.mark.parametrize(
    "value", [{"asInt": "12"}, {"asInt": 12}, {"asDouble": 12}, {"asDouble": "12"}, {"as_int": "12"}]
)
def test_trap_2_numbers_are_strings_in_json(tmp_path: Path, value: Row) -> None:
    point = {"timeUnixNano": str(START_NS), "startTimeUnixNano": str(START_NS - 5), **value}
    put(tmp_path / "m.jsonl", metric_line(counter(point), {"k8s.pod.uid": "p1", "service.version": "0.11"}))
    (row,) = Reading(tmp_path).samples
    told = ("value", "replica", "version", "temporality", "start_ns", "sampled_ns")
    assert tuple(row[name] for name in told) == (12.0, "p1", "0.11", "cumulative", START_NS - 5, START_NS)


def test_points_without_a_value_and_points_that_cannot_be_read(tmp_path: Path) -> None:
    time = {"timeUnixNano": str(START_NS)}
    points = ({**time, "flags": 1}, {**time, "asDouble": "NaN"}, {**time, "asInt": "1e3"}, {**time, "asInt": "-4"})
    put(tmp_path / "m.jsonl", metric_line(counter(*points), {"host.name": "h"}))
    reading = Reading(tmp_path)
    assert reading.ignored == {"metric_without_value": 2}
    assert [(row.position, row.rule) for row in reading.refused] == [(2, "attribute_unreadable")]
    assert reading.values() == [(-4.0,)]  # refused by the contract


def _observed(value: float) -> Any:
    def callback(options: CallbackOptions) -> Iterator[Observation]:
        yield Observation(value, {"model_name": "llama"})

    return [callback]


@pytest.mark.parametrize("form", ["json", "protobuf"])
def test_what_the_sdk_exports(tmp_path: Path, form: str) -> None:
    """The SDK's own encoder is the reference: what was put into its instruments comes out."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource=Resource({"service.instance.id": "engine-7", "service.name": "llama"}))
    meter = provider.get_meter("engine")
    for tokens in (100, 20):
        meter.create_counter("vllm_prompt_tokens").add(tokens, {"engine": 1, "model_name": "llama"})
    meter.create_observable_gauge("vllm_kv_cache_usage_perc", _observed(0.5))
    meter.create_up_down_counter("vllm_num_requests_running").add(4, {})
    for tokens in (30, 12):
        meter.create_histogram("llm_d_epp_request_input_tokens").record(tokens, {})
    meter.create_histogram("unknown").record(1)
    message = encode_metrics(reader.get_metrics_data())
    provider.shutdown()
    content = otlp_json(message) + b"\n" if form == "json" else length_prefixed([message.SerializeToString()])
    (tmp_path / "metrics").write_bytes(content)
    reading = Reading(tmp_path)
    assert reading.values("metric", "kind", "layer", "temporality") == [
        ("input_tokens", "counter", "engine", "cumulative", 120.0),
        ("input_tokens", "counter", "gateway", "cumulative", 42.0),
        ("kv_usage_ratio", "gauge", "engine", None, 0.5),
        ("running_requests", "gauge", "engine", None, 4.0),
    ]
    assert {(row["replica"], row["pool"]) for row in reading.samples} == {("engine-7", "llama")}
    assert (reading.ignored, reading.unknown) == ({"metric_unknown": 2, "metric_left_out": 1}, {"unknown": 2})
    (labels,) = {row["labels"] for row in reading.samples if row["value"] == 120.0}
    assert json.loads(labels) == {"engine": "1", "model_name": "llama"}


ITL = "vllm:inter_token_latency_seconds"
HISTOGRAM = f"""\
# TYPE {ITL} histogram
{ITL}_bucket{{engine="0",le="0.01",model_name="m"}} 5.0
{ITL}_bucket{{engine="0",le="+Inf",model_name="m"}} 9.0
{ITL}_bucket{{engine="0",le="0.025",model_name="m"}} 8.0
{ITL}_count{{engine="0",model_name="m"}} 9.0
{ITL}_sum{{engine="0",model_name="m"}} 0.75
{ITL}_created{{engine="0",model_name="m"}} {TIME_S}.25
{ITL}_bucket{{engine="1",le="0.01",model_name="m"}} 1.0
{ITL}_bucket{{engine="1",le="+Inf",model_name="m"}} 1.0"""
OF_HISTOGRAM = ("metric", "kind", "value", "total", "bucket_bounds", "bucket_counts")


def test_the_lines_of_a_histogram_are_one_reading(tmp_path: Path) -> None:
    """Two engines; the first says its count, sum and start too. The scrape's name is cut to a second."""
    reading = scrape(tmp_path, HISTOGRAM)
    first, second = sorted(reading.samples, key=lambda row: row["labels"])
    assert [first[name] for name in OF_HISTOGRAM] == ["itl_s", "histogram", 9.0, 0.75, [0.01, 0.025], [5.0, 8.0]]
    assert [second[name] for name in OF_HISTOGRAM] == ["itl_s", "histogram", 1.0, None, [0.01], [1.0]]
    assert json.loads(first["labels"]) == {"engine": "0", "model_name": "m"}
    assert (first["start_ns"], second["start_ns"]) == (START_NS, None)
    assert (reading.rows_read, reading.ignored) == (8, {"part_of_reading": 6})


def test_a_histogram_of_the_http_api_is_one_reading_a_time(tmp_path: Path) -> None:
    name = {"__name__": "vllm:time_to_first_token_seconds_bucket", "pod": "vllm-0"}
    result = [
        {"metric": name | {"le": bound}, "values": [[TIME_S, first], [TIME_S + 30, second]]}
        for bound, first, second in (("0.1", "1", "2"), ("0.5", "4", "6"), ("+Inf", "5", "9"))
    ]
    put(tmp_path / "landing/range.json", answer(result))
    first, second = Reading(tmp_path / "landing").samples
    assert [first[name] for name in OF_HISTOGRAM] == ["ttft_s", "histogram", 5.0, None, [0.1, 0.5], [1.0, 4.0]]
    assert [second[name] for name in OF_HISTOGRAM] == ["ttft_s", "histogram", 9.0, None, [0.1, 0.5], [2.0, 6.0]]
    assert first["series_id"] == second["series_id"]


@pytest.mark.parametrize("form", ["json", "protobuf"])
def test_a_histogram_that_the_sdk_exports(tmp_path: Path, form: str) -> None:
    """OTLP counts each bucket by itself, and the last one has no bound: 0.05 | 0.1 (at its bound), 0.3 | 7."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource=Resource({"service.instance.id": "engine-7"}))
    meter = provider.get_meter("engine")
    histogram = meter.create_histogram(
        "vllm_time_to_first_token_seconds", explicit_bucket_boundaries_advisory=[0.05, 0.1, 0.5]
    )
    for seconds in (0.05, 0.1, 0.3, 7):
        histogram.record(seconds, {"engine": "0"})
    message = encode_metrics(reader.get_metrics_data())
    provider.shutdown()
    content = otlp_json(message) + b"\n" if form == "json" else length_prefixed([message.SerializeToString()])
    (tmp_path / "metrics").write_bytes(content)
    reading = Reading(tmp_path)
    (row,) = reading.samples
    assert [row[name] for name in OF_HISTOGRAM] == [
        *("ttft_s", "histogram", 4.0, pytest.approx(7.45)),
        *([0.05, 0.1, 0.5], [1.0, 2.0, 3.0]),
    ]
    assert (row["temporality"], row["replica"], reading.ignored) == ("cumulative", "engine-7", {"part_of_reading": 1})


def test_what_a_process_says_whatever_it_is(tmp_path: Path) -> None:
    """Requests for answers by status, on any of their routes; none of those for a list of models."""
    requests = [
        ("/v1/chat/completions", "2xx", 618),
        ("/v1/chat/completions", "5xx", 7),
        ("/v1/completions", "4xx", 2),
        ("/v1/models", "2xx", 3),
        ("none", "4xx", 1),
    ]
    lines = [
        f'http_requests_total{{handler="{path}",method="POST",status="{status}"}} {count}'
        for path, status, count in requests
    ]
    reading = scrape(tmp_path, "\n".join(["process_start_time_seconds 1.79534204806e+09", "python_info 1", *lines]))
    assert reading.values("layer", "metric", "reason") == [
        ("process", "http_requests", "2xx", 618.0),
        ("process", "http_requests", "4xx", 2.0),
        ("process", "http_requests", "5xx", 7.0),
        ("process", "process_started_s", None, 1.79534204806e09),
    ]
    assert (reading.ignored, reading.unknown) == ({"metric_left_out": 3}, {})


@pytest.mark.parametrize(
    ("labels", "tokens"),
    [
        ('block_size="32",kv_cache_size_tokens="6400",num_gpu_blocks="200"', 6400.0),
        ('block_size="16",num_gpu_blocks="200"', 3200.0),
    ],
)
def test_an_info_metric_says_its_numbers_in_labels(tmp_path: Path, labels: str, tokens: float) -> None:
    reading = scrape(tmp_path, f"# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{{labels}}} 1.0")
    assert reading.values("metric", "kind") == [("kv_capacity_tokens", "gauge", tokens)]


def test_a_metric_that_no_dialect_knows_is_named_without_its_parts(tmp_path: Path) -> None:
    lines = ['novel_seconds_bucket{le="1"} 1', 'novel_seconds_bucket{le="+Inf"} 1', "novel_seconds_count 1"]
    reading = scrape(tmp_path, "\n".join([*lines, "novel_seconds_created 1", "other_total 2", "vllm:prompt_tokens 3"]))
    assert reading.unknown == {"novel_seconds": 4, "other": 1}


def test_a_canonical_metric_is_of_the_contract_and_of_one_kind() -> None:
    kinds: dict[str, set[str]] = {}
    for dialect in METRIC_DIALECTS:
        for metric in dialect.metrics:
            if metric.canonical:
                kinds.setdefault(metric.canonical, set()).add(metric.kind)
    assert set(kinds) == set(contract("sample_records")["metric"].valid_values)
    assert {name for name, found in kinds.items() if len(found) > 1} == set()


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures are not here")
def test_scrapes_of_a_real_gateway_are_those_of_a_plain_reading() -> None:
    """Every token that the proxy counted is in its last scrape, and a plain look at the lines finds the same."""
    reading = Reading(CAPTURES / "prometheus")
    assert (reading.rows_read, reading.refused) == (22313, [])
    last = max(row["sampled_ns"] for row in reading.samples)
    found = sorted(
        row["value"] for row in reading.samples if row["sampled_ns"] == last and row["metric"] == "output_tokens"
    )
    text = gzip.decompress((CAPTURES / f"prometheus/{last // 10**9}.prom.gz").read_bytes()).decode()
    lines = [line for line in text.splitlines() if line.startswith("litellm_output_tokens_metric_total")]
    assert found == sorted(float(line.rsplit(" ", 1)[1]) for line in lines)
