"""Small OTLP files and a reading of them, for the tests of this folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goodput.collect.otlp.attributes import Wanted
from goodput.collect.otlp.decode import OtlpBlock, OtlpDecoder
from goodput.collect.otlp.limits import BadLine, Limits
from goodput.collect.otlp.read import OtlpReader

TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


@dataclass
class Outcome:
    """All blocks of one file together."""

    reader: OtlpReader
    spans: list[dict[str, Any]] = field(default_factory=list)
    logs: list[dict[str, Any]] = field(default_factory=list)
    bad_lines: list[BadLine] = field(default_factory=list)
    lines: int = 0
    metric_points: int = 0

    @property
    def bad_numbers(self) -> list[int]:
        return [bad.line for bad in self.bad_lines]

    @property
    def span_lines(self) -> list[int]:
        return [row["line"] for row in self.spans]


def read_bytes(folder: Path, content: bytes, wanted: Sequence[Wanted] = (), limits: Limits | None = None) -> Outcome:
    path = folder / "otlp"
    path.write_bytes(content)
    return read_path(path, wanted, limits)


def read_path(path: Path, wanted: Sequence[Wanted] = (), limits: Limits | None = None) -> Outcome:
    reader = OtlpReader(path, OtlpDecoder(span_keys=wanted, resource_keys=wanted, log_keys=wanted, limits=limits))
    outcome = Outcome(reader)
    for block in reader:
        outcome.spans += block.spans.to_pylist() if block.spans is not None else []
        outcome.logs += block.logs.to_pylist() if block.logs is not None else []
        outcome.bad_lines += block.bad_lines
        outcome.lines += block.lines
        outcome.metric_points += points_of(block)
    return outcome


def points_of(block: OtlpBlock) -> int:
    """Readings of metrics, of every name."""
    return sum(block.point_counts["points"].to_pylist()) if block.point_counts else 0


def span_line(fields: str = "", *, spans: str = "") -> bytes:
    """A line with one span that has these JSON fields, or with these JSON spans."""
    whole = spans or f'{{"traceId":"{TRACE}","spanId":"{SPAN}"{"," if fields else ""}{fields}}}'
    return f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{whole}]}}]}}]}}'.encode()


def attribute(value: str, key: str = "k") -> str:
    """An `attributes` field with one attribute of this JSON value."""
    return f'"attributes":[{{"key":"{key}","value":{value}}}]'


GOOD = span_line('"name":"good"')
