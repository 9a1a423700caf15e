"""Tells by the first bytes of a file, never by its name, whether and how it holds OTLP."""

import re
from dataclasses import dataclass

import msgspec
import zstandard

from goodput.collect.held import Readable
from goodput.collect.otlp.fields import SIGNALS
from goodput.collect.otlp.framing import Framing
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.line_framing import BOM
from goodput.collect.otlp.message_heads import LENGTH
from goodput.collect.otlp.signals import signal_of
from goodput.collect.otlp.streams import ZSTD_MAGIC, ByteStream, Compression, compression_of, decompress_head

HEAD_BYTES = 2**18  # no block of a zstd frame is longer than half of this
_ROOTS = "|".join(key for signal in SIGNALS for key in (signal.root, f"resource_{signal.name.lower()}"))
_FIRST_KEY = re.compile(rf'\s*\{{\s*"(?:{_ROOTS})"\s*:'.encode())
_ANY_ROOT = re.compile(rf'"(?:{_ROOTS})"\s*:'.encode())
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Head:
    """The first decompressed bytes of a file; `damaged` if there are none because they cannot be decompressed."""

    content: bytes
    compression: Compression
    truncated: bool
    damaged: bool

    @property
    def framing(self) -> Framing | None:
        """How the file holds OTLP, None where it does not look like OTLP at all."""
        return framing_of(self.content, self.compression)


def read_head(path: Readable) -> Head:
    """Read no more than the beginning of a file. Raises OSError."""
    with path.open("rb") as file:
        compression = compression_of(file.read(4))
        file.seek(0)
        stream = ByteStream(file, compression, Limits())
        content = stream.read(HEAD_BYTES)[:HEAD_BYTES]
    return Head(content, compression, stream.truncated, stream.stopped is not None and not content)


def sniff(path: Readable) -> Framing | None:
    """How the file holds OTLP, None where it does not look like OTLP at all. Raises OSError."""
    return read_head(path).framing


def framing_of(head: bytes, compression: Compression = "none") -> Framing | None:
    """How decompressed bytes that begin so hold OTLP, None where they do not look like OTLP at all."""
    content = head.removeprefix(BOM)
    if content.lstrip()[:1] == b"{" and any(is_otlp_json(line) for line in content.split(b"\n")):
        return Framing(compression, "lines", "json")
    at, whole = 0, True
    while whole and at + LENGTH.size < len(head):
        (length,) = LENGTH.unpack_from(head, at)
        at += LENGTH.size
        message, whole = head[at : at + length], at + length <= len(head)
        at += length
        framing = _framing_of_message(message, length, compression)
        if framing:
            return framing
    return Framing(compression, "lines", "json") if _is_mostly_otlp_lines(content) else None


def _is_mostly_otlp_lines(content: bytes) -> bool:
    """Whether what begins with something else, as with the rest of a line that was cut, goes on as OTLP JSON lines."""
    lines = [line for line in content.split(b"\n") if line.strip()]
    return 2 * sum(_FIRST_KEY.match(line) is not None for line in lines) > len(lines)


def _framing_of_message(message: bytes, length: int, compression: Compression) -> Framing | None:
    zstd_message = message.startswith(ZSTD_MAGIC)
    if zstd_message:
        try:
            message = decompress_head(message, HEAD_BYTES)
        except zstandard.ZstdError:
            return None
        length = Limits().max_line_bytes  # how long it is when whole is not known
    if is_otlp_json(message):
        return Framing(compression, "lengths", "json", zstd_message)
    signal = signal_of(message, length)
    return Framing(compression, "lengths", "protobuf", zstd_message, signal) if signal else None


def names_a_signal(head: bytes) -> bool:
    """Whether a signal's root key stands anywhere in it, whatever lies around it."""
    return _ANY_ROOT.search(head) is not None


def is_otlp_json(line: bytes) -> bool:
    """Whether a line, or the beginning of one, is an object with a signal's root key."""
    if _FIRST_KEY.match(line):
        return True
    if not _ANY_ROOT.search(line):
        return False
    try:
        keys = _OBJECT.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return any(_FIRST_KEY.match(f'{{"{key}":'.encode()) for key in keys)
