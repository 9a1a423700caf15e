"""What the files of the landing zone are: who reads each, and who they are by content.

Nothing is parsed here; a file's bytes are only hashed. Reading them is the work of the readers.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import IO

from goodput.collect.held import Readable, Stamp
from goodput.collect.otlp.streams import compression_of
from goodput.collect.prometheus.scrapes import READER as PROMETHEUS
from goodput.collect.prometheus.scrapes import as_scrape
from goodput.collect.received import UNCLAIMED, LandedFile
from goodput.collect.tabular.content import Content
from goodput.errors import SourceRefused
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.pseudonyms import Pseudonyms
from goodput.settings.model import FileLimits, Settings
from goodput.settings.sources import compiled_pattern

READER_VERSION = 15  # raised when a reader gives other rows for the same bytes: everything is then read anew

HEAD_BYTES = 4096
_READ_BYTES = 2 * 2**20
_HEX_DIGITS = 32


@dataclass(frozen=True)
class FileIdentity:
    """Who a file is: hashes of its content and, in `source_id`, of how it is read as well (docs/semantics.md#sources).

    `head_hash` is that of its first 4 KiB. `prefix_hashes` maps sizes of what it may have grown from to the hash of so
    many first bytes. `stamp` and `identified_ns` are those of the file when its hashing began.
    """

    source_id: str
    content_hash: str
    head_hash: str
    size_bytes: int
    prefix_hashes: dict[int, str]
    stamp: Stamp
    identified_ns: int


@dataclass
class Beginnings:
    """Sizes of sources that a file may have grown from, by `head_hash`; of those shorter than a head, all sizes."""

    by_head: dict[str, list[int]] = field(default_factory=dict)
    short: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, sources: Iterable[tuple[str, int]]) -> "Beginnings":
        """Those of sources by their head_hash and size."""
        found = cls()
        for head_hash, size_bytes in sources:
            if size_bytes < HEAD_BYTES:
                found.short.add(size_bytes)
            else:
                found.by_head.setdefault(head_hash, []).append(size_bytes)
        return found


def identify(file: LandedFile, settings: Settings, beginnings: Beginnings | None = None) -> FileIdentity:
    """Hash the file in one pass; raises SourceRefused where it cannot be read.

    The same bytes under two names are one source unless the name itself gives columns; another mapping, or
    another choice of attributes, makes another source of the same bytes.
    """
    hashing = _Hashing(file)
    known = beginnings or Beginnings()
    identified_ns = time.time_ns()
    try:
        with file.path.open("rb", buffering=0) as stream:
            stamp = Stamp.of(os.fstat(stream.fileno()))
            hashing.read(stream, HEAD_BYTES, known.short)
            head_hash = hashing.hex()
            hashing.read(stream, None, known.by_head.get(head_hash, ()))
    except OSError as error:
        raise SourceRefused(file.path, f"cannot be read: {error.strerror or error}") from error
    content_hash = hashing.hex()
    source_id = source_id_of(content_hash, file, settings)
    prefixes, size_bytes = hashing.prefixes, hashing.size_bytes
    return FileIdentity(source_id, content_hash, head_hash, size_bytes, prefixes, stamp, identified_ns)


def is_still(file: LandedFile, identity: FileIdentity) -> bool:
    """Whether the bytes of a held file are those that were identified; they are hashed again only if they may differ.

    Raises OSError.
    """
    is_unchanged = Stamp.of(file.content.stat()) == identity.stamp
    if is_unchanged and identity.stamp.is_settled(identity.identified_ns):
        return True
    hashing = _Hashing(file)
    with file.content.open("rb") as stream:
        hashing.read(stream, None, ())
    return hashing.hex() == identity.content_hash


def decoded_hash(content: Readable, limits: FileLimits) -> str | None:
    """The `content_hash` of what a compressed file holds; None of another, and where it cannot be read to its end.

    Raises OSError, SourceRefused.
    """
    with content.open("rb") as stream:
        if compression_of(stream.read(4)) == "none":
            return None
    decoded, digest = Content(content, limits), hashlib.sha256()
    for piece in decoded:
        digest.update(piece)
    return None if decoded.stopped else digest.hexdigest()[:_HEX_DIGITS]


class _Hashing:
    """The hash of a file so far, and what it was at some sizes on the way."""

    def __init__(self, file: LandedFile) -> None:
        self._digest = hashlib.sha256()
        self.size_bytes = 0
        self.prefixes: dict[int, str] = {}
        # Two scrapes of an idle engine are the same bytes at two times: neither grew from the other. A table that was
        # moved is still that table, whatever its path now gives.
        if file.reader == PROMETHEUS and file.captures:
            self._digest.update(fingerprint(file.captures).encode())

    def hex(self) -> str:
        return self._digest.hexdigest()[:_HEX_DIGITS]

    def read(self, stream: IO[bytes], up_to: int | None, marks: Iterable[int]) -> None:
        """Hash up to a size, None: all that there is."""
        ahead = sorted((mark for mark in marks if mark >= self.size_bytes), reverse=True)
        while True:
            while ahead and ahead[-1] == self.size_bytes:
                self.prefixes[ahead.pop()] = self.hex()
            stops = [stop for stop in (up_to, *ahead[-1:]) if stop is not None]
            part = stream.read(min(_READ_BYTES, min(stops) - self.size_bytes) if stops else _READ_BYTES)
            if not part:
                return
            self._digest.update(part)
            self.size_bytes += len(part)


def source_id_of(content_hash: str, file: LandedFile, settings: Settings) -> str:
    """The source that a file of this content is, read as the settings say."""
    return fingerprint(content_hash, reading_of(file, settings))


def reading_of(file: LandedFile, settings: Settings) -> object:
    """Everything beside the bytes that decides which rows a file gives. Raises SecretUnusable."""
    guarded = _guarded(settings)
    read_by = [*_read_by(file, settings), _limits(settings)]
    return [read_by, guarded] if guarded else read_by


def _guarded(settings: Settings) -> list[object]:
    """What of rows is not kept as it was received; empty where that is as by default."""
    return [*Pseudonyms(settings).reading(), *(["text"] if settings.privacy.quarantine_text else [])]


def _read_by(file: LandedFile, settings: Settings) -> list[object]:
    if file.reader == PROMETHEUS:
        return [READER_VERSION, settings.metric_labels.model_dump(mode="json"), file.captures]
    if file.reader != UNCLAIMED:
        source = settings.sources[file.reader]
        kept = settings.kept_attributes if source.table == "attempts" else ()
        return [READER_VERSION, source.model_dump(mode="json"), file.captures, kept]
    return [READER_VERSION, *_of_unclaimed(settings)]


def reading_of_all(settings: Settings) -> str:
    """Fingerprint of all settings that decide how some file is read."""
    sources = {name: source.model_dump(mode="json") for name, source in settings.sources.items()}
    return fingerprint(READER_VERSION, sources, _of_unclaimed(settings), _limits(settings), *_guarded(settings))


def _limits(settings: Settings) -> dict[str, int]:
    """What cuts a file or leaves a line out; quarantined_ratio judges rows that were read."""
    return settings.limits.model_dump(mode="json", include={"max_line_bytes", "max_decompressed_bytes"})


def _of_unclaimed(settings: Settings) -> list[object]:
    return [
        settings.model_dump(mode="json", include={"attributes", "dialects", "leave_out", "metric_labels"}),
        settings.kept_attributes,
    ]


def claimed(file: LandedFile, settings: Settings) -> tuple[LandedFile, str | None]:
    """The file with its reader and captures; with a reason where no single source can read it."""
    path = file.relative_path
    names = [name for name, source in settings.sources.items() if _matches(path, source.path)]
    if not names:
        return as_scrape(file) or file, None
    read_by = replace(file, reader=names[0])
    if len(names) > 1:
        return read_by, f"is claimed by several sources: {', '.join(sorted(names))}; narrow their `path`"
    source = settings.sources[names[0]]
    if source.path_pattern is None:
        return read_by, None
    match = _searched(source.path_pattern, path)
    if match is None:
        claim = f"matches path {source.path!r} of source {names[0]}"
        return read_by, f"{claim}, but {path!r} does not match its path_pattern {source.path_pattern!r}"
    captures = {key: value for key, value in match.groupdict().items() if value is not None}
    return replace(read_by, captures=captures), None


def _searched(pattern: str, path: str) -> re.Match[str] | None:
    """Where the pattern is found: with a slash in it in the path, else in one name, the file's before its folders'."""
    names = [path] if "/" in pattern else reversed(path.split("/"))
    return next((match for name in names if (match := compiled_pattern(pattern).search(name))), None)


def _matches(path: str, glob: str) -> bool:
    parts = path.split("/")
    return fnmatchcase(parts[-1], glob) if "/" not in glob else _match_parts(parts, glob.strip("/").split("/"))


def _match_parts(parts: list[str], globs: list[str]) -> bool:
    if not globs:
        return not parts
    if globs[0] == "**":
        return any(_match_parts(parts[skipped:], globs[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], globs[0]) and _match_parts(parts[1:], globs[1:])
