"""A lake in an object store: what is committed in its folder on this machine counts once the store has it.

A writer takes the lease, copies what others have committed, and works in the folder as in any lake; parts go to the
store before the commit that makes them count, and that is the creation of the next object of a table's log.
"""

import hashlib
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from goodput.contracts import contract, stored_tables
from goodput.errors import CacheOfAnotherLake, GoodputError, HeadMissing, StoreFailed
from goodput.plumbing.catalog import PARTITION, Part, Table
from goodput.plumbing.database import ensure_deliveries
from goodput.plumbing.erased import NOTED as ERASED
from goodput.plumbing.files import write_atomically
from goodput.plumbing.lake import Lake
from goodput.plumbing.object_store.bucket import Bucket, each
from goodput.plumbing.object_store.cache import Cache
from goodput.plumbing.object_store.copying import Copying
from goodput.plumbing.object_store.head import LakeHead
from goodput.plumbing.object_store.lease import Lease
from goodput.plumbing.object_store.mirror import Mirror, digest_of
from goodput.plumbing.object_store.reading import FetchingConnection
from goodput.plumbing.part_check import wrong_with
from goodput.plumbing.store import Store
from goodput.plumbing.write_lock import WriteLock

if TYPE_CHECKING:
    import duckdb

_WRITER = ".writer"
_FILES = "files"


class ObjectStore(Store):
    """The lake at an address such as s3://bucket/prefix, with `root` as its folder here."""

    def __init__(self, url: str, root: Path, max_cache_bytes: int) -> None:
        self.url: str = url
        self._root = root
        self._bucket = Bucket(url)
        self._lease = Lease(self._bucket, self._who())
        self._mirror = Mirror(self._bucket, root)
        self._cache = Cache(self._bucket, root, max_cache_bytes)
        self._copying = Copying(root)
        self._is_holding = False
        if (root / "lake.json").exists() and self._mirror.url != url:
            raise CacheOfAnotherLake(root, self._mirror.url or "a lake of files", url)

    @contextmanager
    def _hold(self, lock: WriteLock, wait_s: float) -> Iterator[None]:
        with self._copying.held():
            yield from self._hold_lease(lock, wait_s)

    def _hold_lease(self, lock: WriteLock, wait_s: float) -> Iterator[None]:
        try:
            self._bucket.probe()
            taken = self._lease.take(wait_s)
        except GoodputError:
            lock.has_not_begun()
            raise
        self._is_holding, has_failed = True, True
        try:
            self._bring_up_to_date(lock, taken.head, is_silent=taken.is_silent)
            lock.is_broken_off |= taken.is_broken_off
            yield
            has_failed = False
        finally:
            self._is_holding = False
            with suppress(GoodputError) if has_failed else nullcontext():  # what went wrong is the better error
                head = self._lease.give_back(is_broken_off=has_failed or lock.is_broken_off)
                if not has_failed:
                    self._mirror.note(head.token)

    def _check_new(self) -> None:
        """Without a head there may be no tables; small files are what a first run may leave. Raises HeadMissing."""
        has_tables = any(self._root.glob("*/*/_delta_log"))
        with suppress(StoreFailed):  # some servers make a bucket when it is first written to
            has_tables = has_tables or any(map(any, map(self._keys, _layers())))
        if has_tables:
            raise HeadMissing(self.url, self._root)

    def _bring_up_to_date(self, lock: WriteLock, head: LakeHead, *, is_silent: bool) -> None:
        if is_silent:
            self._mirror.fence(stored_tables())
            self._sweep_files(head)
        self._pull_files(head, anyway=lock.is_broken_off)
        # the token of this very writer says nothing of the logs: that of the one before does
        before = head if is_silent else replace(head, token=head.token - 1, writer="")
        self._mirror.pull_logs(before, anyway=lock.is_broken_off or is_silent)
        if is_silent:  # the first commit of a table cannot be fenced but by making it
            fenced = (Table(self._root, name, self) for name in stored_tables() if _is_counted_by_ledger(name))
            for table in fenced:
                if table.version < 0:
                    table.change(())

    def pull(self) -> None:
        """Bring what others have committed into the folder, unless a run on this machine does."""
        self._pull(published_only=False)

    def pull_published(self) -> None:
        """Bring the published database and the small files of the lake into the folder."""
        self._pull(published_only=True)

    def _pull(self, *, published_only: bool) -> None:
        if self._is_holding:
            return
        with self._copying.unless_written() as was_broken_off:
            if was_broken_off is None:
                return
            head = self._lease.read()
            if head is not None:
                self._pull_files(head, anyway=bool(was_broken_off))
                if not published_only:
                    self._mirror.pull_logs(head, anyway=bool(was_broken_off))
            elif not published_only:
                self._check_new()

    def _pull_files(self, head: LakeHead, *, anyway: bool) -> None:
        if ERASED in self._mirror.pull_files(head, anyway=anyway):
            self._cache.clear()
        ensure_deliveries(Lake(self._root))

    def fetch(self, parts: Iterable[Path]) -> None:
        """Have some parts in the folder, to be read."""
        fetched = self._cache.fetch(parts)
        if fetched and self._is_holding:
            self._cache.make_room(fetched)
        elif fetched:
            with self._copying.unless_written() as was_broken_off:
                if was_broken_off is not None:  # else parts may lie here that the bucket does not have yet
                    self._cache.make_room(fetched)

    def add(self, parts: Iterable[Part]) -> None:
        """Keep new parts, before a commit makes them count."""
        self._lease.check()
        paths = [part.path for part in parts]
        each(lambda path: self._bucket.write(self._key(path), path), paths)
        if paths:
            self._cache.make_room(paths)

    def commit(self, table_root: Path) -> None:
        """Make the newest commit of a table count."""
        self._lease.check()
        self._mirror.push_log(table_root)

    def keep(self, path: Path) -> None:
        """Keep a small file as it is in the folder now, or note that it is gone; the head names its object."""
        name, digest = path.name, digest_of(path)
        key = f"{_FILES}/{name}.{uuid4().hex}"
        if digest is not None:
            self._bucket.write(key, path)
        replaced: list[str] = []

        def edit(head: LakeHead) -> LakeHead:
            replaced[:] = [head.files[name][0]] if name in head.files else []
            others = {other: given for other, given in head.files.items() if other != name}
            return replace(head, files=others if digest is None else others | {name: (key, digest)})

        self._lease.change(edit)
        self._mirror.copied_file(name, digest)
        self._bucket.delete(replaced)

    def append(self, path: Path, line: bytes) -> None:
        """Add a line to a file that several may add to: whoever comes second adds to what the first has made."""
        name = path.name
        while True:
            head = self._lease.read() or LakeHead()
            there = head.files.get(name)
            found = self._bucket.read(there[0]) if there else None
            content = (found.content if found else b"") + line
            new = (f"{_FILES}/{name}.{uuid4().hex}", hashlib.sha256(content).hexdigest())
            self._bucket.write(new[0], content)
            before, wanted = there, new

            def edit(now: LakeHead, before: object = before, wanted: tuple[str, str] = wanted) -> LakeHead:
                return replace(now, files={**now.files, name: wanted}) if now.files.get(name) == before else now

            if self._lease.change(edit).files.get(name) == new:
                break
            self._bucket.delete([new[0]])
        self._bucket.delete([there[0]] if there else [])
        write_atomically(path, lambda temporary: temporary.write_bytes(content))
        self._mirror.copied_file(name, new[1])

    def delete(self, paths: Iterable[Path]) -> None:
        """Delete parts that do not count any more."""
        keys = [self._key(path) for path in paths]
        if keys:
            self._lease.confirm()
            self._bucket.delete(keys)

    def strays(self) -> list[Path]:
        """Where parts lie in the store that the folder does not have."""
        keys = (key for layer in _layers() for key in self._keys(layer))
        paths = (self._root / key for key in keys if f"/{PARTITION}=" in key)
        return [path for path in paths if not path.exists()]

    def _keys(self, prefix: str) -> Iterable[str]:
        return self._bucket.tags(f"{prefix}/")

    def damage(self, part: Part) -> str | None:
        """What is wrong with a part in the store, unless a copy here is whole, which the store is given again.

        A copy that is wrong here alone is deleted, and comes again.
        """
        is_whole_here = wrong_with(part.path, part) is None
        if not is_whole_here:
            part.path.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(dir=self._root) as folder:
            found = Path(folder, part.path.name)
            self._bucket.download(self._key(part.path), found)
            wrong = wrong_with(found, part)
        if wrong and is_whole_here and self._is_holding:
            self._bucket.write(self._key(part.path), part.path)
            return None
        return wrong

    def damaged_files(self) -> list[str]:
        """Small files whose objects are not what the head says, but those that the store is given again from here."""
        head = self._lease.read() or LakeHead()
        wrong = {name: digest for name, (key, digest) in head.files.items() if self._digest(key) != digest}
        whole_here = [name for name, digest in wrong.items() if digest_of(self._root / name) == digest]
        if not self._is_holding:
            return sorted(wrong)
        for name in whole_here:
            self.keep(self._root / name)
        return sorted(wrong.keys() - {*whole_here})

    def _digest(self, key: str) -> str | None:
        with tempfile.TemporaryDirectory(dir=self._root) as folder:
            found = Path(folder, "file")
            return digest_of(found) if self._bucket.download(key, found) else None

    def reading(self, connection: "duckdb.DuckDBPyConnection") -> "duckdb.DuckDBPyConnection":
        """A connection to the published database whose questions find the parts that they read."""
        return cast("duckdb.DuckDBPyConnection", FetchingConnection(connection, self._root, self.fetch))

    def _sweep_files(self, head: LakeHead) -> None:
        """Delete objects of small files that a writer left before, or after, they were those of the head."""
        named = {key for key, _ in head.files.values()}
        self._bucket.delete(key for key in self._keys(_FILES) if key not in named)

    def _key(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _who(self) -> str:
        """Who writes from this folder: the same after a process that died, another on any other machine."""
        path = self._root / _WRITER
        if not path.exists():
            write_atomically(path, lambda temporary: temporary.write_text(uuid4().hex))
        return f"{socket.gethostname()}:{self._root.absolute()} ({path.read_text()})"


def _layers() -> list[str]:
    return sorted({contract(name).layer for name in stored_tables()})


def _is_counted_by_ledger(table: str) -> bool:
    return table == "source_ledger" or contract(table).layer == "conformed"
