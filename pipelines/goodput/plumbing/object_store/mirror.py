"""The catalog and the small files of a lake, as its folder on this machine has them: copied from the store and to it.

What was copied is noted with the tags of its objects, so that only what has changed is copied again. A commit of a
table is the creation of the next object of its log: of two writers one succeeds.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from goodput.contracts import contract, stored_tables
from goodput.errors import LeaseLost, StoreFailed
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.files import write_atomically
from goodput.plumbing.object_store.bucket import Bucket, each
from goodput.plumbing.object_store.head import LakeHead
from goodput.plumbing.store import KEPT

_NOTED = ".copied.json"
_COMMIT = re.compile(r"\d{20}\.json")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint[\w.-]*\.parquet")
_LAST = "_last_checkpoint"
_TRIES = 3  # at a log that its writer shortens meanwhile


@dataclass
class _Copied:
    """What the folder has: by whose token the logs are, tags of their objects, digests of the small files."""

    url: str = ""
    token: int = -1
    logs: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


class Mirror:
    """The copy in a folder."""

    def __init__(self, bucket: Bucket, root: Path) -> None:
        self._bucket = bucket
        self._root = root
        self._copied = self._noted()

    @property
    def url(self) -> str:
        """The address of the lake that the folder is a copy of; empty before the first time."""
        return self._copied.url

    def pull_files(self, head: LakeHead, *, anyway: bool = False) -> set[str]:
        """Have the small files as the head has them; names of those that changed.

        `anyway`: whatever was noted, as after a process that died. Raises StoreFailed, LakeUnwritable.
        """
        known = {} if anyway else self._copied.files
        gone = {*self._copied.files, *(KEPT if anyway else ())} - head.files.keys()
        changed = {
            name
            for name, (_, digest) in head.files.items()
            if (known.get(name) or self._digest(name)) != digest or not (self._root / name).exists()
        }
        for name in sorted(changed):
            self._download_file(name, *head.files[name])
        for name in gone:
            (self._root / name).unlink(missing_ok=True)
        if changed or gone:
            self._copied.files = {name: digest for name, (_, digest) in head.files.items()}
            self.note(self._copied.token)
        return changed

    def pull_logs(self, head: LakeHead, *, anyway: bool = False) -> None:
        """Have the log of every table as it is in the store. Raises StoreFailed, LakeUnwritable."""
        if head.token == self._copied.token and not head.writer and not anyway:
            return  # nobody has written since
        found = each(self._pull_log, stored_tables())
        self._copied.logs = {key: tag for tags in found for key, tag in tags.items()}
        self.note(-1 if head.writer else head.token)

    def note(self, token: int) -> None:
        """Note what was copied, and of whose writing it is the end; -1 where that goes on. Raises LakeUnwritable."""
        self._copied.token, self._copied.url = token, self._bucket.url
        text = json.dumps(asdict(self._copied))
        write_atomically(self._root / _NOTED, lambda path: path.write_text(text))

    def copied_file(self, name: str, digest: str | None) -> None:
        """A small file is now in the store as it is here, or in neither."""
        if digest is None:
            self._copied.files.pop(name, None)
        else:
            self._copied.files[name] = digest

    def push_log(self, table_root: Path) -> None:
        """Make the newest commit of a table count, then copy its checkpoint and forget what that replaces.

        Raises LeaseLost where another writer made a commit of that number; StoreFailed.
        """
        prefix = f"{table_root.relative_to(self._root).as_posix()}/_delta_log/"
        there = {path.name: path for path in (table_root / "_delta_log").iterdir()}
        new = sorted(name for name in there if f"{prefix}{name}" not in self._copied.logs)
        for name in filter(_COMMIT.fullmatch, new):
            self._create(prefix + name, there[name].read_bytes())
        checkpoints = [*filter(_CHECKPOINT.fullmatch, new)]
        for name in [*checkpoints, *([_LAST] if checkpoints else [])]:
            self._copied.logs[prefix + name] = self._bucket.write(prefix + name, there[name].read_bytes()).tag
        gone = [key for key in self._copied.logs if key.startswith(prefix) and key.removeprefix(prefix) not in there]
        self._bucket.delete(gone)
        for key in gone:
            del self._copied.logs[key]

    def fence(self, tables: Collection[str]) -> None:
        """Put an empty commit after the last one of each table that has any: one that is under way then comes too late.

        Raises StoreFailed.
        """
        each(self._fence, tables)

    def _fence(self, table: str) -> None:
        content = json.dumps({"commitInfo": {"operation": "FENCE", "operationParameters": {}}}).encode()
        while versions := _versions(self._bucket.tags(_prefix(table))):
            if self._bucket.create(f"{_prefix(table)}{max(versions) + 1:020d}.json", content) is not None:
                return

    def _create(self, key: str, content: bytes) -> None:
        made = self._bucket.create(key, content)
        if made is None:  # a request whose answer was lost was tried again, and refused
            found = self._bucket.read(key)
            if found is None or found.content != content:
                raise LeaseLost(self._bucket.url)
            made = found.version
        self._copied.logs[key] = made.tag

    def _pull_log(self, table: str) -> Mapping[str, str]:
        prefix = _prefix(table)
        folder = self._root / prefix
        for tries in range(_TRIES):
            tags = self._bucket.tags(prefix)
            wanted = [key for key in sorted(tags, key=_last_of_all) if not self._has(key, tags[key])]
            if sum(map(self._download_log, wanted)) == len(wanted):
                break
            if tries == _TRIES - 1:
                raise StoreFailed(f"{self._bucket.url}/{prefix}", "its commits go while they are read")
        for path in folder.iterdir() if folder.exists() else ():
            if prefix + path.name not in tags:
                path.unlink(missing_ok=True)
        return tags

    def _has(self, key: str, tag: str) -> bool:
        return self._copied.logs.get(key) == tag and (self._root / key).exists()

    def _download_log(self, key: str) -> bool:
        found = self._bucket.read(key)
        if found is not None:
            write_atomically(self._root / key, lambda path: path.write_bytes(found.content))
        return found is not None

    def _download_file(self, name: str, key: str, digest: str) -> None:
        def download(temporary: Path) -> None:
            if not self._bucket.download(key, temporary):
                raise StoreFailed(f"{self._bucket.url}/{key}", "it went while it was read: try again")

        write_atomically(self._root / name, download)
        if self._digest(name) != digest:
            raise StoreFailed(f"{self._bucket.url}/{key}", "it holds other bytes than were written")

    def _digest(self, name: str) -> str | None:
        return digest_of(self._root / name)

    def _noted(self) -> _Copied:
        return read_cache(self._root / _NOTED, _Copied) or _Copied()


def digest_of(path: Path) -> str | None:
    """Digest of the bytes of a small file, None where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _prefix(table: str) -> str:
    return f"{contract(table).layer}/{table}/_delta_log/"


def _versions(keys: Mapping[str, str]) -> list[int]:
    names = (key.rpartition("/")[2] for key in keys)
    return [int(name[:20]) for name in names if _COMMIT.fullmatch(name) or _CHECKPOINT.fullmatch(name)]


def _last_of_all(key: str) -> tuple[bool, bool, str]:
    """Readers of the folder find checkpoints before what names them, and those before the commits that follow."""
    return key.endswith(_LAST), key.endswith(".json"), key
