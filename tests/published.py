"""What a run publishes, asked as users ask it."""

from pathlib import Path

import polars as pl

from goodput.plumbing.sql_files import connect
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.simulate.demo import demo_settings, write_demo

RESTATED = ("computed_at", "revision")


def run_at(config: Path) -> Workspace:
    """One run over the settings at `config`."""
    workspace = Workspace(config)
    run(workspace)
    return workspace


def demo_hour(root: Path) -> Path:
    """Settings of a lake in which an hour of the demo's fleet is published, with everything that a report shows."""
    write_demo(root / "landing", hours=1.0, requests=3000)
    file = root / "goodput.toml"
    file.write_text(demo_settings())
    run_at(file)
    return file


def ask(workspace: Workspace, sql: str) -> pl.DataFrame:
    """What the published database answers."""
    with connect(str(workspace.lake.database), read_only=True) as connection:
        return pl.DataFrame(connection.sql(sql).to_arrow_table())


def table(workspace: Workspace, name: str, without: tuple[str, ...] = ()) -> pl.DataFrame:
    """A published relation in an order of its own."""
    rows = ask(workspace, f'SELECT * FROM "{name}"').drop(without)
    return rows.sort(pl.all().exclude(pl.List(pl.String)), nulls_last=True)
