"""The catalog: which parts each table of the lake has, and what each was made from; one Delta table per lake table.

Nothing walks folders to find parts: the Delta log lists them, for this code and for any other engine that reads Delta
Lake. Parts are immutable; a commit swaps them, so that a reader sees all of a change or none of it.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, PostCommitHookProperties, Schema
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from goodput.contracts import arrow_schema, contract
from goodput.errors import LakeUnreadable, LakeUnwritable
from goodput.plumbing import interrupt
from goodput.plumbing.durable import sync
from goodput.plumbing.part_rows import read_part
from goodput.plumbing.pinned import pins
from goodput.plumbing.store import IN_FOLDER, Store
from goodput.plumbing.torn_commits import forget_if_torn

PARTITION = "period"  # the partition column: an hour "2026-11-20T09", a day "2026-11-20", or "all"
ALL = "all"
_MODULUS = 2**128
_CONFIGURATION = {
    "delta.checkpointInterval": "20",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.dataSkippingNumIndexedCols": "0",  # the partition is the index
}


class Part(NamedTuple):
    """One immutable Parquet file of a table: `<inputs>-<content>.parquet` below its partition."""

    partition: str
    file: str  # a text: a long history has tens of thousands, and making a Path takes longer than all else of a part
    inputs: str  # fingerprint of what it was made from; of a conformed part: of the sources in it
    content: str  # digest of its bytes
    rows: int
    size_bytes: int

    @property
    def path(self) -> Path:
        """Where it lies."""
        return Path(self.file)


class Table:
    """The parts of one lake table as of the newest commit; reads the Delta log once and follows its own commits."""

    def __init__(
        self, lake_root: Path, name: str, store: Store = IN_FOLDER, pinned: tuple[int, str] | None = None
    ) -> None:
        self.name = name
        self._pinned = pinned
        self._store = store
        self.layer = contract(name).layer
        self.root = lake_root / self.layer / name
        self._lake_root = lake_root

    def folder(self, partition: str) -> str:
        """Where the parts of a partition lie."""
        return f"{self.root}/{PARTITION}={partition}"

    @cached_property
    def _delta(self) -> DeltaTable | None:
        if self._listed_version < 0:
            return None
        try:
            return DeltaTable(self.root)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise LakeUnreadable(self.root / "_delta_log", str(error)) from error

    @property
    def version(self) -> int:
        """Version of the newest commit, -1 before the first; of the one that was read, where its parts were."""
        if "_delta" in self.__dict__:
            return -1 if self._delta is None else self._delta.version()
        return self._listed_version

    @cached_property
    def _listed_version(self) -> int:
        """The same by the names of the commits alone: a run with nothing new asks no more of most tables."""
        log = self.root / "_delta_log"
        try:
            versions = {int(name[:-5]) for name in os.listdir(log) if name.endswith(".json") and name[:-5].isdigit()}
            newest = max(versions, default=-1)
            is_pinned = self._pinned is not None and newest <= self._pinned[0]
            if versions and not is_pinned and forget_if_torn(self._lake_root, self.name, log / f"{newest:020d}.json"):
                newest = max(versions - {newest}, default=-1)
        except FileNotFoundError:
            newest = -1
        except OSError as error:
            raise LakeUnreadable(log, str(error)) from error
        if self._pinned is not None and newest < self._pinned[0]:
            raise LakeUnreadable(log, f"it ends with commit {newest}, and commit {self._pinned[0]} was published")
        return newest

    @property
    def is_uniform(self) -> bool:
        """Whether all parts have the columns of the contract, as it has not changed since the table was made."""
        return self._delta is None or self._delta.schema() == self._schema

    @cached_property
    def parts(self) -> Mapping[str, tuple[Part, ...]]:
        """Parts by partition, both in order."""
        if self._delta is None:
            return {}
        # pa.table would import pandas, which takes a third of a second.
        actions = pa.RecordBatchReader.from_stream(self._delta.get_add_actions(flatten=True)).read_all()
        names = ("path", "num_records", "size_bytes")
        rows = zip(*(actions.column(name).to_pylist() for name in names), strict=True)
        found: dict[str, list[Part]] = {}
        below = f"{self.root}/"
        for path, count, size_bytes in sorted(rows):
            part = _part(below, path, count, size_bytes)
            found.setdefault(part.partition, []).append(part)
        if self._pinned is not None and self.version == self._pinned[0] and listed(found) != self._pinned[1]:
            lists = f"as of commit {self.version} it lists other parts than were published"
            raise LakeUnreadable(self.root / "_delta_log", lists)
        return {partition: tuple(parts) for partition, parts in found.items()}

    @property
    def listed(self) -> str:
        """A digest of all parts."""
        return listed(self.parts)

    @cached_property
    def filled(self) -> tuple[str, ...]:
        """Partitions that hold rows, in order."""
        return tuple(partition for partition, parts in self.parts.items() if any(part.rows for part in parts))

    @cached_property
    def contents(self) -> Mapping[str, str]:
        """What each partition holds, as a digest: equal digests, equal rows.

        Of a conformed table it is that of its sources, however these are spread over parts.
        """
        return {partition: self._content(parts) for partition, parts in self.parts.items()}

    def _content(self, parts: Iterable[Part]) -> str:
        by_source = self.layer == "conformed"
        return digest_sum(part.inputs if by_source else part.content for part in parts)

    def inputs(self, partition: str) -> str | None:
        """What the only part of a partition was made from; None where there is none."""
        parts = self.parts.get(partition)
        return parts[0].inputs if parts else None

    def files(self, partitions: Iterable[str]) -> list[str]:
        """Paths of the parts of some partitions that hold rows, in order, to be read. Raises LakeUnreadable."""
        found = [part.file for name in sorted(partitions) for part in self.parts.get(name, ()) if part.rows]
        self._store.fetch(map(Path, found))
        return found

    def all_files(self) -> list[str]:
        """Paths of all parts that hold rows, in order, to be read. Raises LakeUnreadable."""
        return self.files(self.parts)

    def read(self, part: Part, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows of one part, or some of its columns. Raises LakeUnreadable."""
        self._store.fetch([part.path])
        return read_part(part.path, self.name, columns)

    def replace(self, parts: Mapping[str, Sequence[Part]]) -> list[Path]:
        """Make these the parts of their partitions (none: the partition is gone) in one commit; what they replaced.

        Raises LakeUnwritable.
        """
        new = {part for given in parts.values() for part in given}
        old = {part for partition in parts for part in self.parts.get(partition, ())}
        return self._commit(new - old, old - new)

    def change(self, add: Iterable[Part], remove: Iterable[Part] = ()) -> list[Path]:
        """Add some parts and remove others in one commit; paths of the removed ones. Raises LakeUnwritable."""
        present = {part for parts in self.parts.values() for part in parts}
        return self._commit(set(add) - present, set(remove) & present)

    def _commit(self, add: set[Part], remove: set[Part]) -> list[Path]:
        interrupt.check()  # what was made since may rest on an error that it caused
        if not add and not remove and self._delta is not None:
            return []
        now_ms = time.time_ns() // 10**6
        adding = [_add(self.root, part, now_ms) for part in sorted(add)]
        removing = [_remove(self.root, part, now_ms) for part in sorted(remove)]
        before = self.version
        try:
            sync(part.file for part in add)
            self._store.add(add)
            if self._delta is None:
                self.root.mkdir(parents=True, exist_ok=True)
                create_table_with_add_actions(
                    str(self.root),
                    self._schema,
                    adding,
                    partition_by=[PARTITION],
                    name=self.name,
                    configuration=_CONFIGURATION,
                )
                del self._delta, self._listed_version
            else:
                self._delta.create_write_transaction(
                    [*adding, *removing],
                    "append",
                    self._delta.schema(),
                    partition_by=[PARTITION],
                    post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
                )
                self._delta.update_incremental()
            self._settle_log()
            self._store.commit(self.root)
        except (DeltaError, OSError) as error:
            raise LakeUnwritable(self.root / "_delta_log", OSError(str(error))) from error
        self._follow(add, remove, is_next=self.version == before + 1)
        return [part.path for part in sorted(remove)]

    def _follow(self, add: set[Part], remove: set[Part], *, is_next: bool) -> None:
        """Bring what was read of the parts up to the newest commit: reading all of them again after each of many
        commits takes the square of their number. `is_next`: nobody else's commit came between."""
        self.__dict__.pop("_listed_version", None)
        self.__dict__.pop("filled", None)
        read = [name for name in ("parts", "contents") if name in self.__dict__]
        if not is_next or "parts" not in read:
            for name in read:
                del self.__dict__[name]
            return
        changed = {part.partition: set(self.parts.get(part.partition, ())) - remove for part in add | remove}
        for part in add:
            changed[part.partition].add(part)
        now = {partition: tuple(sorted(left)) for partition, left in changed.items() if left}
        others = {partition: parts for partition, parts in self.parts.items() if partition not in changed}
        self.__dict__["parts"] = dict(sorted((others | now).items()))
        if "contents" in read:
            known = {partition: self.contents[partition] for partition in others}
            self.__dict__["contents"] = known | {partition: self._content(parts) for partition, parts in now.items()}

    def _settle_log(self) -> None:
        """Sync the newest commit; where it made a checkpoint, only then forget the old commits that this replaces."""
        assert self._delta is not None  # noqa: S101
        version = f"{self._delta.version():020d}."
        files = [Path(file) for file in os.scandir(self.root / "_delta_log")]
        sync(file for file in files if file.name.startswith(version) or file.name == "_last_checkpoint")
        if any(file.name.startswith(f"{version}checkpoint") for file in files):
            self._delta.cleanup_metadata()

    @cached_property
    def _schema(self) -> Schema:
        return Schema.from_arrow(arrow_schema(self.name).append(pa.field(PARTITION, pa.string())))


class Catalog:
    """The tables of one lake, each opened when it is first asked for."""

    def __init__(self, lake_root: Path, store: Store = IN_FOLDER) -> None:
        self._root = lake_root
        self._store = store
        self._tables: dict[str, Table] = {}

    def __getitem__(self, table: str) -> Table:
        if table not in self._tables:
            self._tables[table] = Table(self._root, table, self._store, self._pins.get(table))
        return self._tables[table]

    @cached_property
    def _pins(self) -> Mapping[str, tuple[int, str]]:
        return pins(self._root)


def listed(parts: Mapping[str, Iterable[Part]]) -> str:
    """A digest of the parts of a table."""
    return digest_sum(part.content for of_partition in parts.values() for part in of_partition)


def digest_sum(digests: Iterable[str]) -> str:
    """A digest of many that does not depend on their order or grouping: their sum."""
    return f"{sum(int(digest, 16) for digest in digests) % _MODULUS:032x}"


def part_name(inputs: str, content: str) -> str:
    """Name of the file of a part."""
    return f"{inputs}-{content}.parquet"


def _part(below: str, path: str, rows: int, size_bytes: int) -> Part:
    folder, _, name = path.partition("/")
    inputs, _, content = name.removesuffix(".parquet").partition("-")
    return Part(folder.partition("=")[2], below + path, inputs, content, rows, size_bytes)


def _add(root: Path, part: Part, now_ms: int) -> AddAction:
    stats = json.dumps({"numRecords": part.rows})
    return AddAction(_below(root, part), part.size_bytes, {PARTITION: part.partition}, now_ms, True, stats)


def _remove(root: Path, part: Part, now_ms: int) -> RemoveAction:
    return RemoveAction(_below(root, part), True, now_ms, part.size_bytes, {PARTITION: part.partition})


def _below(root: Path, part: Part) -> str:
    return part.file.removeprefix(f"{root}/")
