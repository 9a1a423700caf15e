"""Makes a lake of an older format anew from the landing files, beside the old one, and then puts it in its place.

What the landing files cannot give is carried over: alarms and their events, what operators did about them, and the
outbox with its deliveries. Until the new lake is complete the old one stays as it is.
"""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from goodput.errors import LakeUnwritable, NothingToRebuild
from goodput.measure.gates import gate_rows
from goodput.monitor.alarm_tables import TABLES as ALARM_TABLES
from goodput.plumbing.catalog import ALL
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.database import deliveries_file, publish
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import FORMAT, Lake, write_parquet
from goodput.plumbing.workspace import Workspace
from goodput.run import Ran, run

_CARRIED = ("alarm_actions.jsonl", "outbox.db", "plots")


def rebuild(workspace: Workspace) -> tuple[Ran, Path]:
    """Rebuild the lake that the settings name; what the run did, and where the old lake is kept.

    Raises NothingToRebuild where the lake has the format of this version; LakeUnwritable; what `run` raises.
    """
    old = workspace.lake
    found = _format(old)
    if found is None or found >= FORMAT:
        raise NothingToRebuild(old.root, FORMAT)
    with old.lock():
        fresh = Workspace(
            workspace.config, workspace.landing, old.root.with_name(f"{old.root.name}.rebuilding"), workspace.progress
        )
        fresh.lake.open()
        _carry(old, fresh.lake)
        ran = run(fresh, deliver=False)
        kept = old.root.with_name(f"{old.root.name}.format{found}")
        try:
            old.root.rename(kept)
            fresh.lake.root.rename(old.root)
        except OSError as error:
            raise LakeUnwritable(old.root, error) from error
    publish(Lake(old.root), gate_rows(workspace.settings))  # views name the place of the lake
    return ran, kept


def _format(lake: Lake) -> int | None:
    marker = lake.root / "lake.json"
    return int(json.loads(marker.read_text())["format"]) if marker.exists() else None


def _carry(old: Lake, new: Lake) -> None:
    for name in _CARRIED:
        here = old.root / name
        if here.is_dir():
            shutil.copytree(here, new.root / name, dirs_exist_ok=True)
        elif here.exists():
            shutil.copy2(here, new.root / name)
    deliveries = old.root / "notified/deliveries/all/part.parquet"
    if deliveries.exists():
        write_parquet(deliveries_file(new), pq.ParquetFile(deliveries).read())
    for table in ALARM_TABLES:
        schema = arrow_schema(table)
        for file in sorted((old.root / "monitored" / table).glob("*/part.parquet")):
            rows = pq.ParquetFile(file).read(schema.names).cast(schema)
            part = new.write_part(table, ALL, rows, fingerprint("carried", table))
            new.catalog[table].replace({ALL: (part,)})
