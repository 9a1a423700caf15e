"""OTLP files as an OpenTelemetry Collector writes them: exports, some of them twice, in its encodings.

The shape of the files belongs here; what their records contain does not.
"""

import base64
import gzip
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
import zstandard
from google.protobuf import json_format
from google.protobuf.message import Message
from numpy.random import Generator

_FLUSH_EVERY_NS: Final = 5_000_000_000
_BATCH_RECORDS: Final = 512
_RESENT_RATIO: Final = 0.005
_RESENT_AFTER_NS: Final = 7_000_000_000
_ID_FIELDS: Final = ("traceId", "spanId")

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class OtlpExport(Generic[Record]):
    """One export: its records, and whether it is sent again."""

    exported_ns: int
    records: Sequence[Record]
    resent: bool = False


def exports_of(records: Iterable[tuple[int, Record]]) -> list[OtlpExport[Record]]:
    """Group records by export: every five seconds of the time given with each, at most 512 at once."""
    ordered = sorted(records, key=lambda timed: timed[0])
    exports: list[OtlpExport[Record]] = []
    first = 0
    while first < len(ordered):
        exported_ns = (ordered[first][0] // _FLUSH_EVERY_NS + 1) * _FLUSH_EVERY_NS
        last = first + 1
        while last < min(len(ordered), first + _BATCH_RECORDS) and ordered[last][0] < exported_ns:
            last += 1
        exports.append(OtlpExport(exported_ns, [record for _, record in ordered[first:last]]))
        first = last
    return exports


def with_resends(exports: Sequence[OtlpExport[Record]], rng: Generator) -> list[OtlpExport[Record]]:
    """Return the exports in order of arrival, about one in 200 and at least one of them twice.

    An exporter that times out waiting for the answer sends again what had already arrived.
    """
    if not exports:
        return []
    count = max(1, round(len(exports) * _RESENT_RATIO))
    chosen = [exports[i] for i in rng.choice(len(exports), size=count, replace=False)]
    again = [replace(one, exported_ns=one.exported_ns + _RESENT_AFTER_NS, resent=True) for one in chosen]
    return sorted((*exports, *again), key=lambda batch: batch.exported_ns)


def json_line(message: Message) -> bytes:
    """Encode one export as a line of OTLP/JSON."""
    document: dict[str, Any] = json_format.MessageToDict(message, use_integers_for_enums=True)
    for resource in document.get("resourceLogs", []):
        for scope in resource["scopeLogs"]:
            for record in scope["logRecords"]:
                # OTLP/JSON writes ids in hex where the protobuf JSON mapping prescribes base64.
                record |= {field: base64.b64decode(record[field]).hex() for field in _ID_FIELDS if field in record}
    return msgspec.json.encode(document) + b"\n"


def length_prefixed(message: Message) -> bytes:
    """Encode one export as OTLP protobuf after its length as a big-endian uint32."""
    body = message.SerializeToString()
    return struct.pack(">I", len(body)) + body


def as_it_is(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Do not compress."""
    yield from parts


def zstd(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Compress into one zstd stream."""
    compressor = zstandard.ZstdCompressor().compressobj()
    yield from map(compressor.compress, parts)
    yield compressor.flush()


def gzipped(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Compress into one gzip stream, whose header names no time."""
    yield gzip.compress(b"".join(parts), compresslevel=5, mtime=0)


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file under another name first, so that a reader sees all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as stream:
        stream.writelines(parts)
    os.replace(partial, path)
