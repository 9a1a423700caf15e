"""The index of ids: a request is found by any id of it without opening a part of an hour that has none of them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from goodput.ask.request_record import read_request_record
from goodput.errors import UnknownRequest
from goodput.measure.nodes import ID_HOURS
from goodput.plumbing.database import publish
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Context
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.plan import execute
from goodput.settings.model import Settings
from lakes import by_hour, put, put_sources

FIRST = datetime(2026, 11, 20, 21, tzinfo=UTC)
WANTED = 2  # the number of the hour with the request that is looked for, which ends two hours later, on another day
NO_GATES = PARAMETERS["workloads"].schema.empty_table()


def trace(number: int) -> str:
    return f"{number + 1:032x}"


def span(number: int, layer: int) -> str:
    return f"{number * 2 + layer + 1:016x}"


def record(number: int, layer: int, started: datetime) -> dict[str, Any]:
    return {
        "record_id": f"{trace(number)}:{span(number, layer)}",
        "source_id": "0" * 32,
        "line": number,
        "position": layer,
        "dialect": "genai",
        "layer": ("client", "engine")[layer],
        "trace_id": trace(number),
        "span_id": span(number, layer),
        "response_id": f"response-{number}-{layer}",
        "started_ns": int(started.timestamp()) * 10**9,
        "outcome": "ok",
    }


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Hours with a request each; the parts of all but the first and those of the one wanted are gone."""
    made = Lake(tmp_path_factory.mktemp("lake"))
    made.open()
    records = []
    for number in range(6):
        arrived = FIRST + timedelta(hours=number)
        ended = arrived + timedelta(hours=2)
        key, attempt = f"request-{number}", f"attempt-{number}"
        both = [record(number, layer, arrived + timedelta(hours=layer)) for layer in (0, 1)]
        records += both
        put(made, "requests", f"{ended:%Y-%m-%dT%H}", [{"request_key": key, "arrived_at": arrived, "ended_at": ended}])
        given = {name: both[0][name] for name in ("trace_id", "span_id", "response_id")}
        given |= {"record_ids": [one["record_id"] for one in both], "request_key": key, "attempt_id": attempt}
        put(made, "attempts", f"{ended:%Y-%m-%dT%H}", [given])
        cost = {"window_start": arrived, "request_key": key, "attempt_id": attempt, "usd": 0.25}
        put(made, "cost_ledger", f"{arrived:%Y-%m-%dT%H}", [cost])
    put_sources(made, "serving_records", by_hour(records, "started_ns"))
    outcome = execute(ID_HOURS, Context(made, Settings()))
    assert (sorted(outcome.computed), outcome.blocked) == (["2026-11-20", "2026-11-21"], [])
    put(made, "waste", "2026-11-20T23", [{"usd": 1.0}])  # requests have costs once any is known
    publish(made, NO_GATES)
    needed = {FIRST + timedelta(hours=number) for number in (0, 2, WANTED, WANTED + 1, WANTED + 2)}
    for path in made.root.glob("*/*/period=*T*/*.parquet"):
        if path.parent.name not in {f"period={hour:%Y-%m-%dT%H}" for hour in needed} and path.parts[-3] != "waste":
            path.unlink()
    return made


@pytest.mark.parametrize(
    "key",
    [
        f"request-{WANTED}",
        f"attempt-{WANTED}",
        trace(WANTED),
        span(WANTED, 0),
        span(WANTED, 1),
        f"response-{WANTED}-0",
        f"response-{WANTED}-1",
        f"{trace(WANTED)}:{span(WANTED, 1)}",
    ],
)
def test_any_id_is_found_with_the_parts_of_its_hours_alone(lake: Lake, key: str) -> None:
    with duckdb.connect(str(lake.database), read_only=True) as connection:
        found = read_request_record(connection, key)
    assert found.request["request_key"] == f"request-{WANTED}"
    assert found.request["cost_usd"] == 0.25  # two hours before the request's own
    assert sorted(found.records) == [f"{trace(WANTED)}:{span(WANTED, layer)}" for layer in (0, 1)]


def test_what_the_index_lacks_is_looked_for_everywhere(lake: Lake) -> None:
    everywhere = pytest.raises(duckdb.IOException)  # parts of other hours are opened, which are gone
    with duckdb.connect(str(lake.database), read_only=True) as connection, everywhere:
        read_request_record(connection, "response-of-nobody")


def test_an_id_of_nobody_is_unknown(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    made.open()
    publish(made, NO_GATES)
    with duckdb.connect(str(made.database), read_only=True) as connection, pytest.raises(UnknownRequest):
        read_request_record(connection, "response-of-nobody")
