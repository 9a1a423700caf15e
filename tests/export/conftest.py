"""A published lake from which metrics are exported: an hour of a simulated fleet, and one whose names are hostile."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from goodput.ask.database import published
from published import demo_hour

HOSTILE = '</script>, "quoted" \\ back\nnew line\ttab {a="b"} # 100 % \u2028 é'
NAMED = ("goodput", "gate_failures", "waste", "quality", "cache_by_replica")


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a lake in which an hour of a fleet is published."""
    return demo_hour(tmp_path_factory)


@pytest.fixture
def lake(config: Path, tmp_path: Path) -> Path:
    """A copy of the lake that a test may change."""
    shutil.copytree(config.parent / "lake", tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def hostile(lake: Path) -> Path:
    """The same lake, with names that break what does not escape them."""
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        for relation in NAMED:
            found = [row[0] for row in connection.execute(f"DESCRIBE stored.{relation}").fetchall()]
            for column in {"workload", "model", "pool", "route", "evaluator"} & set(found):
                connection.execute(f"UPDATE stored.{relation} SET {column} = ? || {column}", [HOSTILE])
    return lake


@contextmanager
def asking(config: Path, lake: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection as commands have one."""
    with published(config, lake) as connection:
        yield connection
