"""The landing folder of the demo: whose records go to which file, in which encoding.

The layout of the folder belongs here; framing and batching are in otlp_files.py, what a record holds in the module of
its kind.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from numpy.random import Generator
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import ReadableSpan

from goodput.simulate.emit.bills import focus_csv
from goodput.simulate.emit.day import Day
from goodput.simulate.emit.operations import cdevents, salt_rotations
from goodput.simulate.emit.otlp_files import (
    OtlpExport,
    as_it_is,
    exports_of,
    gzipped,
    json_line,
    length_prefixed,
    with_resends,
    write_whole,
    zstd,
)
from goodput.simulate.emit.otlp_json import spans_line
from goodput.simulate.emit.processes import BATCH_RUNNER, GATEWAY, RAG_APP
from goodput.simulate.emit.records import (
    Build,
    Timed,
    client_spans,
    engine_spans,
    gateway_spans,
    labels,
    scale_outs,
    scrapes,
)
from goodput.simulate.story import BATCH, CHAT, RAG

Compress = Callable[[Iterable[bytes]], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class LandingFile:
    """One OTLP file to be: its path below the landing folder, its exports in order, and how they are written."""

    path: str
    exports: Sequence[OtlpExport[Build]]
    encode: Callable[[Sequence[Any]], bytes]
    compress: Compress = as_it_is

    @property
    def records(self) -> int:
        """Records in the file, resent ones included."""
        return sum(len(batch.records) for batch in self.exports)

    @property
    def resent(self) -> int:
        """Records that the file holds a second time."""
        return sum(len(batch.records) for batch in self.exports if batch.resent)

    def parts(self) -> Iterator[bytes]:
        """Yield each export as it is written, before compression."""
        for batch in self.exports:
            yield self.encode([build() for build in batch.records])


def otlp_files(day: Day, rng: Generator) -> list[LandingFile]:
    """Return the OTLP files of a day; only spans are ever sent twice."""

    def spans(path: str, records: list[Timed], compress: Compress = as_it_is) -> LandingFile:
        encode = spans_line if ".jsonl" in path else _spans_message
        return LandingFile(path, with_resends(exports_of(records), rng), encode, compress)

    engines = engine_spans(day)
    return [
        spans("gateway/traces.jsonl", [*client_spans(day, CHAT.name, GATEWAY), *gateway_spans(day, rng)]),
        spans("rag-app/traces.pb.gz", client_spans(day, RAG.name, RAG_APP), gzipped),
        spans("batch/traces.jsonl.zst", client_spans(day, BATCH.name, BATCH_RUNNER), zstd),
        *(
            spans(f"engine/traces-{replica}.pb", engines[pool, replica])
            for pool, replica in sorted(engines)
            if pool != RAG.pool
        ),
        spans(
            "engine/traces-rag.jsonl.zst",
            [record for (pool, _), records in sorted(engines.items()) if pool == RAG.pool for record in records],
            zstd,
        ),
        LandingFile("engine/metrics.pb", scrapes(day), lambda scrapes: length_prefixed(encode_metrics(scrapes[0]))),
        LandingFile("quality/labels.jsonl", exports_of(labels(day)), _logs_line),
        LandingFile("ops/kubernetes.jsonl", exports_of(scale_outs(day, rng)), _logs_line),
    ]


def write_files(
    landing: Path, day: Day, files: Sequence[LandingFile], rng: Generator, on_export: Callable[[int], None]
) -> None:
    """Write every file below `landing`, whole or not at all; `on_export` hears how many exports are done."""
    done = count(1)

    def counted(parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in parts:
            yield part
            on_export(next(done))

    for file in files:
        write_whole(landing / file.path, file.compress(counted(file.parts())))
    write_whole(landing / "ops/cdevents.jsonl", [cdevents(day.clock, day.config, rng)])
    write_whole(landing / "ops/salt_rotations.jsonl", [salt_rotations(day.clock, day.config.operations)])
    write_whole(landing / "billing/focus.csv", [focus_csv(day.clock, day.served, day.span_s)])


def _spans_message(spans: Sequence[ReadableSpan]) -> bytes:
    return length_prefixed(encode_spans(spans))


def _logs_line(records: Sequence[ReadableLogRecord]) -> bytes:
    return json_line(encode_logs(records))
