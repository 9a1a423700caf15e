"""What a run publishes, asked as users ask it."""

import fcntl
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from goodput.contracts import arrow_schema, stored_tables
from goodput.join.options import source_files
from goodput.measure.nodes import WARNINGS
from goodput.plumbing.graph import closure, inputs_of
from goodput.plumbing.node import Context
from goodput.plumbing.parameters import register
from goodput.plumbing.sql_files import compute, connect, read_parts
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.simulate.demo import demo_settings, write_demo

RESTATED = ("computed_at", "revision")


def run_at(config: Path) -> Workspace:
    """One run over the settings at `config`."""
    workspace = Workspace(config)
    run(workspace)
    return workspace


def copied(config: Path, folder: Path) -> Path:
    """Settings of a copy of a lake, with its landing zone, that a test may change."""
    shutil.copytree(config.parent, folder)
    return folder / config.name


def demo_hour(folders: pytest.TempPathFactory) -> Path:
    """Settings of a lake in which an hour of the demo's fleet is published, with everything that a report shows.

    It is made once, for all processes of a test session: nothing may write to it.
    """
    shared = folders.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    root, is_made = shared / "demo_hour", shared / "demo_hour.made"
    with (shared / "demo_hour.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_made.exists():
            shutil.rmtree(root, ignore_errors=True)  # of a process that failed
            write_demo(root / "landing", hours=1.0, requests=3000)
            (root / "goodput.toml").write_text(demo_settings())
            run_at(root / "goodput.toml")
            is_made.touch()
    return root / "goodput.toml"


def ask(workspace: Workspace, sql: str) -> pl.DataFrame:
    """What the published database answers."""
    with connect(str(workspace.lake.database), read_only=True) as connection:
        return pl.DataFrame(connection.sql(sql).to_arrow_table())


def computed(workspace: Workspace, name: str) -> pl.DataFrame:
    """A relation of sql/ over what the lake holds now: of one kind of warning a test needs no other tables."""
    tables, lake = stored_tables(), workspace.lake
    with connect() as connection:
        for table in sorted(inputs_of([name], tables)):
            if table in tables:
                read_parts(connection, table, lake.catalog[table].all_files(), arrow_schema(table))
            elif table == "source_files":
                register(connection, table, source_files(Context(lake, workspace.settings)))
            else:
                register(connection, table, WARNINGS.from_settings[table](workspace.settings))
        for inner in closure([name], tables):
            compute(connection, inner)
        return pl.DataFrame(connection.table(name).to_arrow_table())


def table(workspace: Workspace, name: str, without: tuple[str, ...] = ()) -> pl.DataFrame:
    """A published relation in an order of its own."""
    rows = ask(workspace, f'SELECT * FROM "{name}"').drop(without)
    return rows.sort(pl.all().exclude(pl.List(pl.String)), nulls_last=True)
