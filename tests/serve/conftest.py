"""A published hour of the demo's fleet, in which two alarms fired, and its live pages."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from published import demo_hour
from serve.served import Served, serving

FIRED_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("serve") / "lake"
    shutil.copytree(demo_hour(tmp_path_factory).parent / "lake", found)
    with duckdb.connect(found / "goodput.duckdb") as connection:
        _fire(connection, "a1b2c3d4e5f6", "p99 of ttft of chat is twice its usual 0.6 s", "chat")
        _fire(connection, "ffffffffffff", f"{HOSTILE} is slow", HOSTILE)
    return found


@pytest.fixture
def copy(lake: Path, tmp_path: Path) -> Path:
    """A lake of its own."""
    found = tmp_path / "lake"
    shutil.copytree(lake, found)
    return found


@pytest.fixture(scope="session")
def served(lake: Path) -> Iterator[Served]:
    with serving(lake) as found:
        yield found


def _fire(connection: duckdb.DuckDBPyConnection, alarm_id: str, summary: str, pool: str) -> None:
    facts = {"shape": "step", "slope_ratio_per_h": 0.05, "sql": "SELECT 1 < 2"}
    shared = {
        **{"alarm_id": alarm_id, "rule": "p99_ttft_s_page", "kind": "trend", "severity": "page"},
        **{"metric": "p99_ttft_s", "pool": pool, "labels": json.dumps({"pool": pool}), "starts_at": FIRED_AT},
        **{"value": 1.2, "usual": 0.6, "score": 4.0, "threshold": 2.8, "period": "all"},
        **{"summary": summary, "explanation": json.dumps(facts)},
    }
    _insert(connection, "alarms", {**shared, "state": "firing", "state_since_at": FIRED_AT, "evaluated_at": FIRED_AT})
    event = {"event_id": alarm_id, "transition": "firing", "occurred_at": FIRED_AT, "recorded_at": FIRED_AT}
    _insert(connection, "alarm_events", {**shared, **event, "method": "m"})
    for hours in range(3):
        series = {"alarm_id": alarm_id, "window_start": FIRED_AT - timedelta(hours=3 - hours), "window_s": 3600}
        shown = {"quantity": "p99 TTFT (s)", "value": 0.6 * (1 + hours // 2), "usual": 0.6, "bound": 0.75, "score": 0.0}
        _insert(connection, "alarm_series", {**series, **shown, "period": "all"})


def _insert(connection: duckdb.DuckDBPyConnection, table: str, row: dict[str, object]) -> None:
    known = [found[0] for found in connection.execute(f"DESCRIBE stored.{table}").fetchall()]
    given = {name: value for name, value in row.items() if name in known}
    columns = ", ".join(f"${name} AS {name}" for name in given)
    connection.execute(f"INSERT INTO stored.{table} BY NAME SELECT {columns}", given)
