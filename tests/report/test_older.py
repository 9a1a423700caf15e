"""A page of a database that an older version published is refused with what to do, not with what SQL stumbled on."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from goodput.ask.database import published
from goodput.errors import PublishedByOlder, QueryFailed
from goodput.report import write
from goodput.settings.load import load_settings


@pytest.fixture
def lake(config: Path, tmp_path: Path) -> Path:
    """A copy of the published database that a test may change, without the parts that its views lie over."""
    shutil.copy(load_settings(config).lake_path / "goodput.duckdb", tmp_path)
    return tmp_path


def without_column(lake: Path, relation: str, column: str) -> None:
    with duckdb.connect(lake / "goodput.duckdb") as connection:
        connection.execute(f"DROP VIEW {relation}")
        connection.execute(f"ALTER TABLE stored.{relation} DROP COLUMN {column}")
        connection.execute(f"CREATE VIEW {relation} AS FROM stored.{relation}")


def page(lake: Path) -> str:
    with published(None, lake) as connection:
        return write.write_report(connection, (None, None), {}, "md", datetime.now(UTC))


def test_a_database_without_a_column_that_a_chart_reads_is_an_older_versions(lake: Path) -> None:
    without_column(lake, "replica_windows", "p50_tpot_s")
    with pytest.raises(PublishedByOlder, match="`goodput run` publishes it anew"):
        page(lake)


def test_what_is_wrong_with_a_chart_is_not_called_old(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise duckdb.BinderException("no such column")

    monkeypatch.setattr(write, "gather", broken)
    with pytest.raises(QueryFailed, match="no such column"):
        page(lake)
