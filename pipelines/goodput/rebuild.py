"""Makes a lake anew from the landing files, beside the old one, and then puts it in its place.

The old one is of an older format, or has lost what it cannot do without.
What the landing files cannot give is carried over: alarms and their events, what operators did about them, the outbox
with its deliveries, and whose identities were erased. Until the new lake is complete the old one stays as it is.
"""

import shutil
import sqlite3
from contextlib import closing, suppress
from itertools import chain, count
from pathlib import Path

import pyarrow as pa

from goodput.errors import (
    LakeUnreadable,
    LakeUnwritable,
    NothingToRebuild,
    NotInObjectStore,
    OutboxUnusable,
    PartitionsBlocked,
)
from goodput.measure.gates import gate_rows
from goodput.measure.setting_rows import setting_rows
from goodput.monitor.alarm_tables import TABLES as ALARM_TABLES
from goodput.notify.outbox import outbox_file
from goodput.plumbing.catalog import ALL
from goodput.plumbing.database import deliveries_file, publish
from goodput.plumbing.erased import NOTED as ERASED
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake, write_parquet
from goodput.plumbing.lake_marker import FORMAT, check, format_in, marker
from goodput.plumbing.part_rows import read_part
from goodput.plumbing.published_copy import published_copy
from goodput.plumbing.workspace import Workspace
from goodput.run import run

_ALARM_EVENTS = "alarm_events"
_CARRIED = ("alarm_actions.jsonl", "plots", ERASED)


def rebuild(workspace: Workspace) -> tuple[Path, PartitionsBlocked | None]:
    """Rebuild the lake that the settings name; where the old lake is kept, and what is blocked in the new one.

    Raises NothingToRebuild where there is none; LakeTooNew, LakeUnreadable, LakeUnwritable, OutboxUnusable; what else
    `run` raises.
    """
    old = workspace.lake
    if old.store.url is not None:
        to_do = "Name another prefix as `lake` and run: what is in the landing files comes into the new lake."
        raise NotInObjectStore("goodput rebuild", old.store.url, to_do)
    if not old.is_made:
        raise NothingToRebuild(old.root)
    called = _called(old.root)
    with old.lock():
        beside = old.root.with_name(f"{old.root.name}.rebuilding")
        fresh = Workspace(workspace.config, workspace.landing, beside, workspace.progress)
        fresh.lake.open()
        _carry(old, fresh.lake)
        blocked = _run(fresh)
        kept = _free(old.root.with_name(f"{old.root.name}.{called}"))
        _swap(old.root, fresh.lake.root, kept)
    publish(
        Lake(old.root), gate_rows(workspace.settings), setting_rows(workspace.settings)
    )  # views name the place of the lake
    return kept, blocked


def _called(root: Path) -> str:
    """What the old lake is called from then on: by its format, where that can be read. Raises LakeTooNew."""
    try:
        found = format_in(marker(root))
    except LakeUnreadable:
        return "unreadable"
    if found > FORMAT:
        check(root)
    return f"format{found}"


def _free(path: Path) -> Path:
    """The path, with a number where an earlier lake is called that."""
    numbered = (path.with_name(f"{path.name}.{number}") for number in count(2))
    return next(one for one in chain([path], numbered) if not one.exists())


def _run(fresh: Workspace) -> PartitionsBlocked | None:
    try:
        run(fresh, deliver=False)
    except PartitionsBlocked as blocked:  # as in any run all others are published
        return blocked
    return None


def _swap(root: Path, fresh: Path, kept: Path) -> None:
    try:
        root.rename(kept)
        try:
            fresh.rename(root)
        except OSError:
            with suppress(OSError):  # why it failed is the better error
                kept.rename(root)
            raise
    except OSError as error:
        raise LakeUnwritable(root, error) from error


def _carry(old: Lake, new: Lake) -> None:
    for name in _CARRIED:
        here = old.root / name
        if here.is_dir():
            shutil.copytree(here, new.root / name, dirs_exist_ok=True)
        elif here.exists():
            shutil.copy2(here, new.root / name)
    _carry_outbox(outbox_file(old), outbox_file(new))
    for deliveries in (old.root / "notified/deliveries/all/part.parquet", deliveries_file(old)):
        if deliveries.exists():
            write_parquet(deliveries_file(new), read_part(deliveries, "deliveries"))
    for table in ALARM_TABLES:
        rows = _rows_of_alarms(old, table)
        if rows:
            part = new.write_part(table, ALL, pa.concat_tables(rows), fingerprint("carried", table))
            new.catalog[table].replace({ALL: (part,)})


def _rows_of_alarms(old: Lake, table: str) -> list[pa.Table]:
    """What a table of alarms holds. Of a damaged one what was published; of those that are judged anew perhaps nothing.

    Raises LakeUnreadable where what alarms did is lost.
    """
    try:
        return [read_part(file, table) for file in _parts(old, table)]
    except LakeUnreadable:
        damaged = [part for part in old.catalog[table].parts.get(ALL, ()) if part.rows]
        copies = [rows for part in damaged if (rows := published_copy(old, table, part)) is not None]
        if table == _ALARM_EVENTS and not copies:
            raise
        return copies


def _parts(old: Lake, table: str) -> list[Path]:
    """Parts of a table of an older lake: by its Delta log, before which there was one part at a fixed place."""
    return [Path(file) for file in old.catalog[table].all_files()] or sorted(
        (old.root / "monitored" / table).glob("*/part.parquet")
    )


def _carry_outbox(old: Path, new: Path) -> None:
    """Copy the outbox with what is still in its write-ahead log."""
    if not old.exists():
        return
    try:
        with closing(sqlite3.connect(old)) as source, closing(sqlite3.connect(new)) as target:
            source.backup(target)
    except sqlite3.Error as error:
        raise OutboxUnusable(old, error) from error
