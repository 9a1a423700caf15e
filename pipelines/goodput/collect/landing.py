"""What lies in the landing zone: which files there are, who reads each, and who they are by content.

Nothing is parsed here; a file's bytes are only hashed. Reading them is the work of the readers.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from goodput.collect.received import UNCLAIMED, LandedFile
from goodput.errors import LandingMissing, SourceRefused
from goodput.settings.model import Settings

READER_VERSION = 4  # raised when a reader gives other rows for the same bytes: everything is then read anew

_UNFINISHED = (".tmp", ".partial", "~")
_READ_BYTES = 2 * 2**20
_DIGEST_BYTES = 16


@dataclass
class Discovery:
    """Files to read, and files that must not be read with the reason, both sorted by relative path."""

    files: list[LandedFile] = field(default_factory=list)
    refused: list[tuple[LandedFile, str]] = field(default_factory=list)


@dataclass(frozen=True)
class FileIdentity:
    """Who a file is: hashes of its content and, in `source_id`, of how it is read as well (semantics 9).

    `prefix_hashes` maps each known size to the hash of so many first bytes: a grown file begins as it did.
    """

    source_id: str
    content_hash: str
    size_bytes: int
    prefix_hashes: dict[int, str]


def discover(settings: Settings) -> Discovery:
    """Every file below the landing paths, each once, with its reader and what its path says.

    Hidden and unfinished files are left alone. Raises LandingMissing with all paths that are not there.
    """
    missing = [path for path in settings.landing_paths if not path.exists()]
    if missing:
        raise LandingMissing(missing)
    found, seen = Discovery(), set()
    for landing in settings.landing_paths:
        for path, refusal in _walk(landing, settings.lake_path.resolve()):
            place = path.parent.resolve() / path.name  # landing paths may overlap
            if place in seen:
                continue
            seen.add(place)
            file, reason = _assign(LandedFile(path, landing, UNCLAIMED), settings)
            if refusal or reason:
                found.refused.append((file, refusal or reason or ""))
            else:
                found.files.append(file)
    found.files.sort(key=lambda file: (file.relative_path, str(file.landing)))
    found.refused.sort(key=lambda item: (item[0].relative_path, str(item[0].landing)))
    return found


def identify(file: LandedFile, settings: Settings, known_sizes: Iterable[int] = ()) -> FileIdentity:
    """Hash the file in one pass; raises SourceRefused where it cannot be read.

    The same bytes under two names are one source unless the name itself gives columns; another mapping, or
    another choice of attributes, makes another source of the same bytes.
    """
    digest, size = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0
    prefixes: dict[int, str] = {}
    marks = sorted(set(known_sizes), reverse=True)
    try:
        with file.path.open("rb", buffering=0) as stream:
            while True:
                while marks and marks[-1] == size:
                    prefixes[marks.pop()] = digest.hexdigest()
                part = stream.read(min(_READ_BYTES, marks[-1] - size) if marks else _READ_BYTES)
                if not part:
                    break
                digest.update(part)
                size += len(part)
    except OSError as error:
        raise SourceRefused(file.path, f"cannot be read: {error.strerror or error}") from error
    content = digest.hexdigest()
    source = _hash_of([content, reading_of(file, settings)])
    return FileIdentity(source, content, size, prefixes)


def reading_of(file: LandedFile, settings: Settings) -> object:
    """Everything beside the bytes that decides which rows a file gives."""
    if file.reader != UNCLAIMED:
        mapping = settings.sources[file.reader].model_dump(mode="json")
        return [READER_VERSION, mapping, file.captures]
    matched = {name for workload in settings.workloads.values() for name in workload.match.attributes}
    chosen = settings.model_dump(mode="json", include={"attributes", "leave_out"})
    return [READER_VERSION, chosen, sorted(matched)]


def _hash_of(value: object) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _walk(landing: Path, lake: Path) -> Iterator[tuple[Path, str | None]]:
    """Paths below a landing path but not in the lake, those that must not be opened with the reason."""
    if not landing.is_dir():
        yield landing, _not_a_file(landing)
        return
    root = landing.resolve()
    unreadable: list[OSError] = []
    for folder, subfolders, names in os.walk(landing, onerror=unreadable.append):
        kept = [name for name in subfolders if not name.startswith(".") and Path(folder, name).resolve() != lake]
        subfolders[:] = sorted(kept)
        links = [name for name in subfolders if Path(folder, name).is_symlink()]
        for name in sorted([*names, *links]):
            path = Path(folder, name)
            if name.startswith(".") or name.endswith(_UNFINISHED):
                continue
            refusal = _escape(path, root) if path.is_symlink() else _not_a_file(path)
            if refusal or name not in links:  # what a link within the landing path leads to is found where it lies
                yield path, refusal
    for error in unreadable:
        yield Path(error.filename), f"cannot be listed: {error.strerror}"


def _escape(link: Path, root: Path) -> str | None:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # Python 3.11 and 3.12 raise RuntimeError on a loop
        return "is a link that leads nowhere"
    if not target.is_relative_to(root):
        return f"is a link out of the landing path, to {target}"
    return None if target.is_dir() else _not_a_file(target)


def _not_a_file(path: Path) -> str | None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if stat.S_ISREG(mode) else "is no regular file but a pipe, socket or device"


def _assign(file: LandedFile, settings: Settings) -> tuple[LandedFile, str | None]:
    """The file with its reader and captures; with a reason where no single source can read it."""
    path = file.relative_path
    names = [name for name, source in settings.sources.items() if _matches(path, source.path)]
    if not names:
        return file, None
    read_by = LandedFile(file.path, file.landing, names[0])
    if len(names) > 1:
        return read_by, f"is claimed by several sources: {', '.join(sorted(names))}; narrow their `path`"
    source = settings.sources[names[0]]
    if source.path_pattern is None:
        return read_by, None
    match = re.search(source.path_pattern, path)
    if match is None:
        claim = f"matches path {source.path!r} of source {names[0]}"
        return read_by, f"{claim}, but {path!r} does not match its path_pattern {source.path_pattern!r}"
    captures = {key: value for key, value in match.groupdict().items() if value is not None}
    return LandedFile(file.path, file.landing, names[0], captures), None


def _matches(path: str, glob: str) -> bool:
    parts = path.split("/")
    return fnmatchcase(parts[-1], glob) if "/" not in glob else _match_parts(parts, glob.strip("/").split("/"))


def _match_parts(parts: list[str], globs: list[str]) -> bool:
    if not globs:
        return not parts
    if globs[0] == "**":
        return any(_match_parts(parts[skipped:], globs[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], globs[0]) and _match_parts(parts[1:], globs[1:])
