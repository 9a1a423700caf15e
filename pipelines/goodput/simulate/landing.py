"""The landing folder of the demo: whose records go to which file, in which encoding.

The layout of the folder belongs here; framing and batching are in otlp_files.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from google.protobuf.message import Message
from numpy.random import Generator
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import ReadableSpan

from goodput.simulate.emit import Emitter
from goodput.simulate.otlp_files import (
    Batch,
    batches,
    json_lines,
    json_lines_zstd,
    length_prefixed,
    with_resends,
    write_whole,
)
from goodput.simulate.processes import TracingProcess
from goodput.simulate.story import CHAT, RAG, REPLICAS


@dataclass(frozen=True, slots=True)
class LandingFile:
    """One file to be: its path below the landing folder, its exports in order, its encoding."""

    path: str
    exports: Sequence[Batch]
    encode: Callable[[Iterator[Message]], bytes]

    @property
    def records(self) -> int:
        """Records in the file, resent ones included."""
        return sum(batch.records for batch in self.exports)

    @property
    def resent(self) -> int:
        """Records that the file holds a second time."""
        return sum(batch.records for batch in self.exports if batch.resent)


def landing_files(emitter: Emitter, rng: Generator) -> list[LandingFile]:
    """Return the files of a fleet that has reported everything; only spans are ever sent twice."""
    exports = {spec: _span_batches(emitter.engines[spec.name]) for spec in REPLICAS}
    rag_exports = [batch for spec in REPLICAS if spec.pool == RAG.pool for batch in exports[spec]]
    labels = batches(emitter.judge.records, _emitted_ns, encode_logs)
    return [
        LandingFile("gateway/traces.jsonl", with_resends(_span_batches(emitter.gateway), rng), json_lines),
        *(
            LandingFile(f"engine/traces-{spec.name}.pb", with_resends(exports[spec], rng), length_prefixed)
            for spec in REPLICAS
            if spec.pool == CHAT.pool
        ),
        LandingFile("engine/traces-rag.jsonl.zst", with_resends(rag_exports, rng), json_lines_zstd),
        LandingFile("quality/labels.jsonl", labels, json_lines),
    ]


def write_files(landing: Path, files: Sequence[LandingFile], on_export: Callable[[int], None]) -> None:
    """Write every file below `landing`, whole or not at all; `on_export` hears how many exports are done."""
    done = count(1)

    def messages(file: LandingFile) -> Iterator[Message]:
        for batch in file.exports:
            yield batch.message
            on_export(next(done))

    for file in files:
        write_whole(landing / file.path, file.encode(messages(file)))


def _span_batches(process: TracingProcess) -> list[Batch]:
    return batches(process.spans, _ended_ns, encode_spans)


def _ended_ns(span: ReadableSpan) -> int:
    return span.end_time or 0


def _emitted_ns(record: ReadableLogRecord) -> int:
    return record.log_record.timestamp or 0
