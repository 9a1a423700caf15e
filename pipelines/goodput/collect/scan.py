"""Compares the landing zone with the ledger: which files are new, which sources grown or re-read files supersede.

Only file sizes, times and hashes are looked at; an unchanged file is not even opened.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.collect.landing import FileIdentity, discover, identify, reading_of
from goodput.collect.received import LandedFile
from goodput.errors import SourceRefused
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake, write_parquet
from goodput.plumbing.ledger import LedgerEntry
from goodput.settings.model import Settings

_LANDED = pa.schema(
    [
        *((name, pa.string()) for name in ("landing", "path", "reading", "source_id", "content_hash")),
        *((name, pa.int64()) for name in ("size_bytes", "modified_ns")),
    ]
)

_HASHERS = 2  # hashing keeps no more than one core busy
_Looks = tuple[dict[str, object], FileIdentity | None]  # a row of what is remembered, and who the file is if it is new


@dataclass
class Scan:
    """What a look at the landing zone found."""

    new: list[tuple[LandedFile, FileIdentity]] = field(default_factory=list)
    refused: list[tuple[LandedFile, str]] = field(default_factory=list)
    superseded: set[str] = field(default_factory=set)
    unchanged: int = 0


def scan(
    lake: Lake,
    settings: Settings,
    ledger: Mapping[str, LedgerEntry],
) -> Scan:
    """Find what is new and remember what is there. Raises LandingMissing.

    A file that begins with all of a vanished source's bytes has grown from it and supersedes it; so does the same
    content read by other settings (semantics 9).
    """
    discovery = discover(settings)
    remembered = _remembered(lake)
    found = Scan(refused=list(discovery.refused))
    rows: list[dict[str, object]] = []
    taken: set[str] = set()
    sizes = _sizes_of_moved(ledger.values(), remembered)

    def look_at(file: LandedFile) -> _Looks | SourceRefused:
        try:
            return _identified(file, settings, remembered, ledger, sizes)
        except SourceRefused as error:
            return error

    with ThreadPoolExecutor(_HASHERS, thread_name_prefix="hash") as pool:
        looks = list(pool.map(look_at, discovery.files))
    for file, look in zip(discovery.files, looks, strict=True):
        if isinstance(look, SourceRefused):
            found.refused.append((file, look.reason))
            continue
        row, identity = look
        rows.append(row)
        source_id = str(row["source_id"])
        if identity is None or source_id in ledger or source_id in taken:
            found.unchanged += 1
        else:
            found.new.append((file, identity))
        taken.add(source_id)
    for _, identity in found.new:
        found.superseded |= _superseded(identity, ledger, taken)
    write_parquet(lake.landed, pa.Table.from_pylist(rows, schema=_LANDED))
    return found


def _remembered(lake: Lake) -> dict[tuple[str, str], dict[str, object]]:
    if not lake.landed.exists():
        return {}
    return {(row["landing"], row["path"]): row for row in pq.read_table(lake.landed).to_pylist()}


def _identified(
    file: LandedFile,
    settings: Settings,
    remembered: Mapping[tuple[str, str], dict[str, object]],
    ledger: Mapping[str, LedgerEntry],
    sizes: Iterable[int],
) -> _Looks:
    try:
        status = file.path.stat()
    except OSError as error:
        raise SourceRefused(file.path, f"cannot be read: {error.strerror or error}") from error
    key = (str(file.landing), file.relative_path)
    looks = {
        "landing": key[0],
        "path": key[1],
        "reading": fingerprint(reading_of(file, settings)),
        "size_bytes": status.st_size,
        "modified_ns": status.st_mtime_ns,
    }
    before = remembered.get(key)
    if before and all(before[name] == value for name, value in looks.items()) and before["source_id"] in ledger:
        return before, None
    identity = identify(file, settings, [size for size in sizes if size < status.st_size])
    return {**looks, "source_id": identity.source_id, "content_hash": identity.content_hash}, identity


def _sizes_of_moved(
    entries: Iterable[LedgerEntry], remembered: Mapping[tuple[str, str], dict[str, object]]
) -> set[int]:
    """Sizes of sources that no longer lie where they were read, or not as they were: what a grown file began as."""
    return {entry.size_bytes for entry in entries if entry.size_bytes and not _lies_as_before(entry, remembered)}


def _lies_as_before(entry: LedgerEntry, remembered: Mapping[tuple[str, str], dict[str, object]]) -> bool:
    row = remembered.get((entry.landing, entry.path))
    try:
        status = Path(entry.landing, entry.path).stat()
    except OSError:
        return False
    # A run that died may have remembered the grown file before the ledger knew it: then the source is another.
    as_before = (entry.source_id, status.st_size, status.st_mtime_ns)
    return row is not None and (row["source_id"], row["size_bytes"], row["modified_ns"]) == as_before


def _superseded(identity: FileIdentity, ledger: Mapping[str, LedgerEntry], present: set[str]) -> set[str]:
    beginnings = set(identity.prefix_hashes.items()) | {(identity.size_bytes, identity.content_hash)}
    return {
        source_id
        for source_id, entry in ledger.items()
        if source_id not in present and entry.size_bytes > 0 and (entry.size_bytes, entry.content_hash) in beginnings
    }
