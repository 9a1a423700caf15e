"""Times the reading of engine metrics (OTLP protobuf and a scrape) against the loops that a person would write.

All ways give name, time and value of each reading; ours also says whose it is and what it means.
"""

import re
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from benchmarks.otlp_decode import Comparison, best_of
from goodput.collect.otlp_reading import OtlpReading
from goodput.collect.prometheus.reading import ScrapeReading
from goodput.collect.received import UNCLAIMED, LandedFile
from goodput.settings.model import Settings

START_NS = 1_795_165_200 * 10**9
NAMES = {  # emitted name: canonical metric
    "vllm:num_requests_running": "running_requests",
    "vllm:num_requests_waiting": "waiting_requests",
    "vllm:kv_cache_usage_perc": "kv_usage_ratio",
    "vllm:num_preemptions": "preemptions",
    "vllm:prompt_tokens": "input_tokens",
    "vllm:generation_tokens": "output_tokens",
}
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})? (\S+)")


def run(points: int) -> list[Comparison]:
    """Read so many points in every way; raises AssertionError where two ways disagree."""
    with tempfile.TemporaryDirectory() as folder:
        messages, scrape = Path(folder, "metrics.pb"), Path(folder, f"{START_NS // 10**9}.prom")
        _write_messages(points, messages)
        _write_scrape(points // len(NAMES), scrape)
        landed = LandedFile(messages, messages.parent, UNCLAIMED)
        scraped = LandedFile(scrape, scrape.parent, "prometheus", {"scraped_ns": str(START_NS), "target": "engines"})
        ways: dict[str, Callable[[], pl.DataFrame]] = {
            "goodput, OTLP metrics": lambda: _samples(OtlpReading(landed, Settings())),
            "protobuf and loops": lambda: _frame(_points(messages)),
            "goodput, scrape": lambda: _samples(ScrapeReading(scraped, Settings())),
            "re and loops": lambda: _frame(_lines(scrape)),
        }
        sums = {name: _sums(way()) for name, way in ways.items()}
        assert sums["goodput, OTLP metrics"] == sums["protobuf and loops"], "the ways disagree on OTLP metrics"
        assert sums["goodput, scrape"] == sums["re and loops"], "the ways disagree on the scrape"
        best_s = best_of(ways)
    pairs = (("goodput, OTLP metrics", "protobuf and loops"), ("goodput, scrape", "re and loops"))
    return [Comparison(ours, other, best_s[ours], best_s[other], 1.0) for ours, other in pairs]


def _frame(rows: Iterator[tuple[str, float]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), orient="row", schema=["metric", "value"])


def _sums(readings: pl.DataFrame) -> list[tuple[str, float]]:
    return readings.group_by("metric").agg(pl.col("value").sum()).sort("metric").rows()


def _samples(reading: OtlpReading | ScrapeReading) -> pl.DataFrame:
    return pl.concat(block.tables["sample_records"].select("metric", "value") for block in reading)


def _points(path: Path) -> Iterator[tuple[str, float]]:
    with path.open("rb") as file:
        while head := file.read(4):
            for resource in MetricsData.FromString(file.read(struct.unpack(">I", head)[0])).resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        for point in getattr(metric, metric.WhichOneof("data")).data_points:
                            yield NAMES[metric.name], point.as_double


def _lines(path: Path) -> Iterator[tuple[str, float]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            match = _SAMPLE.match(line)
            if match:
                yield NAMES[match[1].removesuffix("_total")], float(match[3])


def _write_messages(points: int, path: Path) -> None:
    with path.open("wb") as file:
        for minute in range(max(1, points // (100 * len(NAMES)))):
            data = MetricsData()
            for replica in range(100):
                resource = data.resource_metrics.add()
                resource.resource.attributes.add(key="k8s.pod.uid").value.string_value = f"pod-{replica}"
                scope = resource.scope_metrics.add()
                for number, name in enumerate(NAMES):
                    metric = scope.metrics.add(name=name)
                    kind = metric.gauge if number < 3 else metric.sum
                    if number >= 3:
                        metric.sum.aggregation_temporality, metric.sum.is_monotonic = 2, True
                    value = 0.5 if number == 2 else float(minute * replica)
                    time_ns = START_NS + minute * 60 * 10**9
                    kind.data_points.add(as_double=value, time_unix_nano=time_ns, start_time_unix_nano=START_NS)
            message = data.SerializeToString()
            file.write(struct.pack(">I", len(message)) + message)


def _write_scrape(replicas: int, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, name in enumerate(NAMES):
            emitted = name if number < 3 else f"{name}_total"
            file.write(f"# TYPE {emitted} {'gauge' if number < 3 else 'counter'}\n")
            for replica in range(replicas):
                value = 0.5 if number == 2 else replica
                file.write(f'{emitted}{{engine="0",model_name="m",pod="pod-{replica}"}} {value}\n')
