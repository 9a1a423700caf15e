"""What cost records are spent on, and where the requests that they name are looked for (docs/semantics.md#bills)."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alike_names import alike_names
from by_seconds import Fleet, Record, Try
from charging import attempt_row, charged, fleets
from goodput.contracts import arrow_schema
from goodput.measure.bills import bills_of, request_partitions
from goodput.measure.cost_ledger import SETTINGS_TABLES
from goodput.plumbing.node import Context
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect, sql_file
from goodput.plumbing.workspace import Workspace
from goodput.settings.model import Settings
from lakes import observe, put

HOUR = 498_657  # 2026-11-20T09, counted from the Unix epoch
KNOWN = pa.table(
    {"replica": ["r1"], "pool": ["chat"], "epoch_hour": [HOUR], "by_engine": [True], "names": [["r1", "u1"]]}
)


def record(number: int = 0, *, hours: tuple[float, float] = (0, 1), **given: Any) -> dict[str, Any]:
    """A bill of 12 USD over hours after HOUR."""
    begin, end = (round((HOUR + hour) * 3600 * 10**6) for hour in hours)
    row = {"cost_id": f"c{number}", "dialect": "d", "basis": "billing", "amount_usd": 12.0, "currency_usd": 1.0}
    return {**row, "period_start": begin, "period_end": end, "source": "s", "line": 1, **given}


def pieces(*rows: Mapping[str, Any], **settings: Any) -> pl.DataFrame:
    """The pieces of records in HOUR."""
    with connect() as connection:
        connection.register("cost_records", pa.Table.from_pylist(list(rows), schema=arrow_schema("cost_records")))
        connection.register("replica_hours", KNOWN)
        connection.register("billed_days", as_rows("billed_days", {"from_s": 0, "until_s": 4 * 10**9}))
        connection.register("target_hours", as_rows("target_hours", {"epoch_hour": HOUR}))
        connection.register("ledger_options", SETTINGS_TABLES["ledger_options"](Settings(**settings)))
        compute(connection, "cost_pieces")
        return pl.DataFrame(connection.sql("FROM cost_pieces ORDER BY cost_id, step_s").to_arrow_table())


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ({"workload": "rag"}, "request"),
        ({"route": "/v1"}, "request"),
        ({"tenant": "acme"}, "request"),
        ({"basis": "overhead"}, "request"),
        ({"basis": "overhead", "pool": "chat", "workload": "rag"}, "request"),
        ({"request_key": "q", "pool": "chat"}, "request"),
        ({"session_id": "s", "replica": "r1", "pool": "chat"}, "request"),
        # a bill of machines or of a model stays one, whoever it was tagged for
        ({"workload": "rag", "replica": "r1"}, "replica"),
        ({"workload": "rag", "pool": "chat"}, "pool"),
        ({"tenant": "acme", "model": "m"}, "model"),
        ({}, "none"),
    ],
)
def test_what_a_record_is_spent_on(given: dict[str, Any], level: str) -> None:
    found = pieces(record(**given))
    assert found["level"].to_list() == [level] * 12
    for name in ("workload", "route", "tenant", "request_key", "session_id"):
        assert set(found[name]) == {given.get(name)}
    assert found["usd"].sum() == pytest.approx(12)


def test_requests_of_a_record_are_looked_for_from_the_lateness_before_its_end_on() -> None:
    found = pieces(record(hours=(0.5, 3), request_key="q"), label_lateness_s=7200.0, max_request_lifetime_s=3601.0)
    end_ns = (HOUR + 3) * 3600 * 10**9
    assert set(found["found_from_ns"]) == {end_ns - 2 * 3600 * 10**9}
    assert set(found["found_until_ns"]) == {end_ns + 2 * 3600 * 10**9}


def test_only_hours_whose_records_name_requests_read_those_that_ended_before(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text("label_lateness_s = 10800.0")
    at = Workspace(tmp_path / "goodput.toml")
    at.lake.open()
    rows = [
        record(0, hours=(0, 1), pool="chat"),
        record(1, hours=(1, 3.5), session_id="s"),
    ]
    put(at.lake, "cost_records", "all", rows)
    context = Context(at.lake, at.settings)

    def read(hour: int) -> tuple[str, str]:
        found = sorted(request_partitions(context, f"2026-11-20T{hour:02d}"))
        return found[0][-2:], found[-1][-2:]

    assert read(9) == ("09", "10")
    # of 10 to 12:30: from 9:30 to 13:30, an hour of life being the default
    assert [read(hour) for hour in (10, 11, 12)] == [("09", "13"), ("09", "13"), ("09", "13")]
    assert read(13) == ("13", "14")


# what the ledger reads of a record, as others wrote it: dialect and basis are words of the contract
NAMES = sorted(
    field.name
    for field in arrow_schema("cost_records")
    if pa.types.is_string(field.type)
    and field.name not in ("dialect", "basis")
    and re.search(rf"\b{field.name}\b", sql_file("cost_pieces").text)
)


@pytest.mark.parametrize("name", NAMES)
def test_hours_notice_that_a_record_names_something_else(tmp_path: Path, name: str) -> None:
    found = set()
    names = alike_names(2)
    for called in names:
        (tmp_path / called).mkdir()
        (tmp_path / called / "goodput.toml").touch()
        at = Workspace(tmp_path / called / "goodput.toml")
        at.lake.open()
        put(at.lake, "cost_records", "all", [record(hours=(0, 1), **{name: called})])
        begin_ns = HOUR * 3600 * 10**9
        observe(at.lake, begin_ns, begin_ns + 1)
        found |= set(bills_of(Context(at.lake, at.settings)).values())
    assert len(found) == len(names)


priced = st.builds(
    Record,
    usd=st.floats(0.01, 100),
    start=st.integers(-600, 7800),
    end=st.just(0),
    replica=st.just(None),
    pool=st.sampled_from([None, "p1"]),
    model=st.just("api"),
)


@given(fleet=fleets, models=st.lists(priced, max_size=2), draws=st.randoms())
@settings(max_examples=40, deadline=None)
def test_each_source_s_money_is_in_a_bucket_or_displaced_and_buckets_are_the_ledger_s(
    fleet: Fleet, models: list[Record], draws: Any
) -> None:
    bases = ("billing", "allocation", "rate_card", "overhead")
    models = [replace(record, end=record.start + draws.choice([0, 100, 3000])) for record in models]
    categories = (None, "Usage", "Credit")
    records = [
        replace(record, basis=draws.choice(bases), category=draws.choice(categories))
        for record in [*fleet.records, *models]
    ]
    fleet = replace(fleet, records=records, rates={}, price=None)
    found = charged(fleet, (0, 1), relation="billed_buckets")
    billed: dict[tuple[str, str], float] = defaultdict(float)
    for number, one in enumerate(records):
        long = one.end - one.start
        inside = max(0, min(one.end, 7200) - max(one.start, 0)) / long if long else float(0 <= one.start < 7200)
        billed[f"d{number % 2}", one.basis] += one.usd * inside
    spent: dict[tuple[str, str], float] = defaultdict(float)
    by_bucket: dict[str, float] = defaultdict(float)
    for row in found.iter_rows(named=True):
        spent[row["dialect"], row["basis"]] += row["usd"]
        by_bucket[row["bucket"]] += row["usd"]
    for source in billed.keys() | spent.keys():
        assert spent[source] == pytest.approx(billed[source], rel=1e-9, abs=1e-9), source
    by_bucket.pop("displaced", None)
    ledger: dict[str, float] = defaultdict(float)
    for row in charged(fleet, (0, 1)).iter_rows(named=True):
        ledger[row["bucket"]] += row["usd"] or 0
    for bucket in by_bucket.keys() | ledger.keys():
        assert by_bucket[bucket] == pytest.approx(ledger[bucket], rel=1e-9, abs=1e-9), bucket


def test_a_source_pays_for_what_was_done_in_its_own_time() -> None:
    """Two sources pay for a pool, 3 USD for 100 s, then 4 for 200 s in which a second is up, half of it busy.

    Of the 4 USD each has 2: the first source has paid for nothing but the idle time of the other.
    """
    records = [Record(3.0, 0, 100, pool="p"), Record(4.0, 100, 300, pool="p")]
    sampled = [("a", "p", 0, 300), ("b", "p", 100, 300)]
    fleet = Fleet([Try("t", "accepted", 200, 300, "b", "p")], sampled, records)
    found = charged(fleet, relation="billed_buckets")
    spent = {(row["dialect"], row["bucket"]): row["usd"] for row in found.iter_rows(named=True)}
    assert spent == pytest.approx({("d0", "idle"): 3.0, ("d1", "idle"): 3.0, ("d1", "accepted"): 1.0})


def test_shares_of_a_listed_price_add_up_to_the_cost() -> None:
    """1,000 input tokens at 2, of them 400 cached at the same price, and 50 output tokens at 8 USD per million."""
    bought = Try("q", "accepted", 0, 10, None, "api", "api", (1000, 400, 50))
    row = attempt_row(bought, engine_seen=False, cache_write_tokens=None, reasoning_tokens=20)
    (found,) = charged(Fleet(price=(2e-6, 8e-6)), attempts=[row]).to_dicts()
    assert found["basis"] == "token_price"
    shares = [found[f"{name}_usd"] for name in ("input", "cached_input", "output")]
    assert shares == [pytest.approx(600 * 2e-6), pytest.approx(400 * 2e-6), pytest.approx(50 * 8e-6)]
    assert found["usd"] == pytest.approx(sum(shares))


def test_costs_without_a_listed_price_have_no_shares() -> None:
    bill = Record(6.0, 0, 300, model="api")
    row = attempt_row(Try("q", "accepted", 0, 10, None, "api", "api"), engine_seen=False)
    (found,) = charged(Fleet(records=[bill], price=(2e-6, 8e-6)), attempts=[row]).to_dicts()
    assert (found["basis"], found["usd"]) == ("billing", pytest.approx(6.0))
    assert [found[f"{name}_usd"] for name in ("input", "cached_input", "output")] == [None] * 3
