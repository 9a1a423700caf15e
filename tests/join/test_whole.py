"""Ops events, costs and prices from files: each once, however often, in whatever order and form they arrive."""

import json
import random
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from collect.telemetry import START_NS, spans_line
from collect.test_cost_dialects import ALLOCATION, CHARGE, IDLE, PRICES, Row, as_csv
from collect.test_event_dialects import APPLICATION, EVENT, POD, cdevent
from collect.test_spans import vllm_span
from declared import bills, source
from goodput.conform.ingest import ingest
from goodput.contracts import arrow_schema
from goodput.join.nodes import COST_RECORDS, OPS_EVENTS, RECORD_ROWS, REPLICA_NAMES, SESSION_LABELS, TOKEN_PRICES
from goodput.measure.gates import gate_rows
from goodput.plumbing import source_ledger
from goodput.plumbing.database import publish
from goodput.plumbing.node import Context
from goodput.plumbing.plan import execute
from goodput.plumbing.sql_files import connect, read_parts
from goodput.plumbing.workspace import Workspace
from published import ask

PUBLIC = ("ops_events", "cost_records", "token_prices")
MADE = {*PUBLIC, "session_labels"}
NODES = (REPLICA_NAMES, RECORD_ROWS, OPS_EVENTS, COST_RECORDS, TOKEN_PRICES, SESSION_LABELS)


def workspace(folder: Path, settings: str = "") -> Workspace:
    (folder / "landing").mkdir(parents=True, exist_ok=True)
    (folder / "goodput.toml").write_text(settings)
    made = Workspace(folder / "goodput.toml")
    made.lake.open()
    return made


def land(at: Workspace, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = at.settings.landing_paths[0] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def compute(at: Workspace) -> dict[str, int]:
    """Ingest what landed and compute what is due of it; rows of each table that was made."""
    with at.lake.lock():
        ingest(at)
        outcomes = [execute(node, Context(at.lake, at.settings)) for node in NODES]
    assert not [item for outcome in outcomes for item in outcome.blocked]
    return {table: rows for outcome in outcomes for table, rows in outcome.rows.items() if table in MADE}


def made(at: Workspace, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of a table once all that landed is ingested."""
    compute(at)
    with connect() as connection:
        read_parts(connection, table, at.lake.catalog[table].all_files(), arrow_schema(table))
        return connection.sql(f"SELECT {', '.join(columns)} FROM {table}").fetchall()


def accounts(at: Workspace) -> dict[str, tuple[int, ...]]:
    """Rows read, kept, duplicate, quarantined and ignored of each source, by its path."""
    publish(at.lake, gate_rows(at.settings))
    counts = "rows_read, rows_kept, rows_duplicate, rows_quarantined, rows_ignored"
    found = {path: tuple(rest) for path, *rest in ask(at, f"SELECT path, {counts} FROM sources").rows()}
    assert all(read == sum(others) for read, *others in found.values())  # identity R
    return found


def unused(at: Workspace, shown: str) -> list[tuple[Any, ...]]:
    """Cost lines that do not count: file, line, a column of theirs, why, and the file and line that count instead."""
    found = ask(
        at,
        f"""SELECT s.path, u.line, u.{shown}, u.reason, b.path AS instead, u.superseded_by_line
        FROM unused_cost_lines AS u JOIN sources AS s ON s.source_id = u.source
        LEFT JOIN sources AS b ON b.source_id = u.superseded_by_source ORDER BY ALL""",
    )
    return found.rows()


def lines(*rows: Row) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def day(number: int, usd: float, **given: str) -> Row:
    """A charge of the first hour of a day of November."""
    begin, end = (f"2026-11-{number:02d}T0{hour}:00:00Z" for hour in (0, 1))
    return {**CHARGE, "ChargePeriodStart": begin, "ChargePeriodEnd": end, "EffectiveCost": str(usd), **given}


def costs(tmp_path: Path, files: Mapping[str, str], settings: str = "") -> list[tuple[Any, ...]]:
    """(day, amount) of each cost record."""
    at = workspace(tmp_path, settings)
    land(at, files)
    return made(at, "cost_records", "day(period_start)", "amount_usd")


# Trap 21: bills are restated


def test_trap_21_a_later_export_of_the_month_replaces_the_one_before(tmp_path: Path) -> None:
    found = costs(
        tmp_path,
        {
            "focus-2026-11-03.csv": as_csv(day(1, 10), day(2, 20)),
            "focus-2026-11-04.csv": as_csv(day(1, 10), day(2, 21), day(2, 5), day(3, 30)),
        },
    )
    assert sorted(found) == [(1, 10), (2, 5), (2, 21), (3, 30)]


def test_trap_21_a_correction_comes_in_a_later_billing_period_and_counts_where_it_was_used(tmp_path: Path) -> None:
    later = {"BillingPeriodStart": "2026-12-01T00:00:00Z", "BillingPeriodEnd": "2027-01-01T00:00:00Z"}
    correction = day(2, -4, ChargeClass="Correction", ConsumedQuantity="-0.5", **later)
    files = {"nov/2026-12-01.csv": as_csv(day(1, 10), day(2, 20)), "dec/2026-12-02.csv": as_csv(correction)}
    assert sorted(costs(tmp_path, files)) == [(1, 10), (2, -4), (2, 20)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # exports of single days stand beside each other
        ({"a/2026-11-02.csv": (day(1, 10),), "a/2026-11-03.csv": (day(2, 20),)}, [(1, 10), (2, 20)]),
        # a part that did not change belongs to both exports
        (
            {
                "run=20261103T020000Z/part_0_0001.csv": (day(1, 10),),
                "run=20261103T020000Z/part_1_0001.csv": (day(1, 5), day(2, 19)),
                "run=20261104T020000Z/part_0_0001.csv": (day(1, 10),),
                "run=20261104T020000Z/part_1_0001.csv": (day(1, 6), day(2, 20)),
            },
            [(1, 6), (1, 10), (2, 20)],
        ),
        # so does a whole bill whose correction was taken back
        ({"2026-11-03.csv": (day(1, 10),), "2026-11-04.csv": (day(1, 9),), "2026-11-05.csv": (day(1, 10),)}, [(1, 10)]),
        # parts of one export belong together
        (
            {
                "run=20261104T020000Z/part_0_0001.csv": (day(1, 10),),
                "run=20261104T020000Z/part_1_0001.csv": (day(1, 11), day(2, 20)),
                "run=20261103T020000Z/part_0_0001.csv": (day(1, 9), day(2, 19)),
            },
            [(1, 10), (1, 11), (2, 20)],
        ),
        # without a date the export that reaches further, and then the one with more lines, is the later one
        ({"x.csv": (day(1, 10), day(2, 20)), "y.csv": (day(1, 9),)}, [(1, 10), (2, 20)]),
        ({"x.csv": (day(1, 9),), "y.csv": (day(1, 10), day(1, 11))}, [(1, 10), (1, 11)]),
        # accounts are billed apart, whoever exports them
        (
            {"s1/2026-11-02.csv": (day(1, 10),), "s2/2026-11-03.csv": (day(1, 20, SubAccountId="789"),)},
            [(1, 10), (1, 20)],
        ),
    ],
)
def test_trap_21_no_two_exports_of_a_time_are_counted(
    tmp_path: Path, files: dict[str, tuple[Row, ...]], expected: list[tuple[int, float]]
) -> None:
    assert sorted(costs(tmp_path, {name: as_csv(*rows) for name, rows in files.items()})) == expected


def test_trap_21_idle_and_unused_money_is_kept(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    unused = {**CHARGE, "CommitmentDiscountStatus": "Unused", "EffectiveCost": "3"}
    answer = {"code": 200, "data": [{"vllm": ALLOCATION, "__idle__": IDLE}]}
    land(at, {"focus.csv": as_csv(unused), "opencost.json": json.dumps(answer)})
    found = made(at, "cost_records", "basis", "charge_category", "commitment_status", "amount_usd")
    assert sorted(found, key=str) == [
        ("allocation", "idle", None, 7.5),
        ("allocation", None, None, 5.5),
        ("billing", "Usage", "Unused", 3.0),
    ]


def test_of_allocations_over_each_other_the_widest_counts(tmp_path: Path) -> None:
    def asked(first: int, last: int, usd: float, name: str = "vllm") -> Row:
        window = {"start": f"2026-11-20T{first:02d}:00:00Z", "end": f"2026-11-20T{last:02d}:00:00Z"}
        return {**ALLOCATION, **window, "name": name, "window": window, "totalCost": usd}

    at = workspace(tmp_path)
    today_so_far = [asked(0, 2, 2), asked(0, 3, 3), asked(1, 2, 1), asked(3, 4, 1), asked(2, 3, 9, "__idle__")]
    land(at, {"a.jsonl": lines(*today_so_far), "b.jsonl": lines(asked(0, 2, 2), asked(3, 4, 1))})
    found = made(at, "cost_records", "resource_id", "hour(period_start)", "hour(period_end)", "amount_usd")
    assert sorted(found) == [("__idle__", 2, 3, 9), ("vllm", 0, 3, 3), ("vllm", 3, 4, 1)]


def test_a_currency_without_a_rate_is_in_no_number_and_a_rate_brings_it_in(
    tmp_path: Path,
) -> None:
    at = workspace(tmp_path)
    land(at, {"focus.csv": as_csv(CHARGE, {**CHARGE, "BillingCurrency": "EUR", "BilledCost": "10"})})
    shown = ("line", "amount_usd", "billed_usd", "currency", "currency_usd")
    assert made(at, "cost_records", *shown) == [(2, 12.25, 0.0, "USD", 1.0)]
    assert accounts(at) == {"focus.csv": (2, 1, 0, 0, 1)}
    assert ask(at, "SELECT ignored FROM sources").item() == '{"no_exchange_rate":1}'
    left_out = "SELECT line, amount, currency, reason, superseded_by_source FROM unused_cost_lines"
    assert ask(at, left_out).rows() == [(3, 12.25, "EUR", "no_exchange_rate", None)]

    at = workspace(tmp_path, "[costs.currencies]\nEUR = 1.08\n")  # 12.25 x 1.08 = 13.23, 10 x 1.08 = 10.8
    with at.lake.lock():
        assert ingest(at).unchanged == 1
    found = sorted(made(at, "cost_records", *shown))
    assert found == [(2, 12.25, 0.0, "USD", 1.0), (3, pytest.approx(13.23), pytest.approx(10.8), "EUR", 1.08)]
    assert accounts(at) == {"focus.csv": (2, 2, 0, 0, 0)}
    assert ask(at, left_out).height == 0


DECLARED_BILLS = bills("gpu", "gpu*.csv", constants='basis = "BASIS"', amount_usd="usd", pool="pool")
WITH_IDS = bills("gpu", "gpu*.csv", constants='basis = "BASIS"', amount_usd="usd", pool="pool", cost_id="invoice")


def declared(*rows: tuple[str, float], day: int = 20) -> str:
    """A row (id, amount) for the whole of a day, of one pool."""
    period = f"2026-11-{day}T00:00:00Z,2026-11-{day + 1}T00:00:00Z"
    return "invoice,from,until,usd,pool\n" + "".join(f"{name},{period},{usd},chat\n" for name, usd in rows)


@pytest.mark.parametrize("basis", ["billing", "allocation", "rate_card", "overhead"])
@pytest.mark.parametrize("settings", [DECLARED_BILLS, WITH_IDS])
def test_every_row_of_a_declared_source_counts_in_however_many_files(tmp_path: Path, basis: str, settings: str) -> None:
    at = workspace(tmp_path, settings.replace("BASIS", basis))
    land(at, {"gpu-a.csv": declared(("a", 10), ("b", 20)), "gpu-b.csv": declared(("c", 40), ("d", 80), day=20)})
    assert sorted(made(at, "cost_records", "amount_usd")) == [(10,), (20,), (40,), (80,)]
    assert {path: account[:3] for path, account in accounts(at).items()} == {
        "gpu-a.csv": (2, 2, 0),
        "gpu-b.csv": (2, 2, 0),
    }
    if settings is WITH_IDS:
        assert ask(at, "SELECT cost_id FROM cost_records ORDER BY amount_usd")["cost_id"].to_list() == list("abcd")


def test_of_declared_rows_of_one_id_one_counts_and_the_others_say_which(tmp_path: Path) -> None:
    other = WITH_IDS.replace("sources.gpu", "sources.review").replace("gpu*", "review*")
    at = workspace(tmp_path, (WITH_IDS + other).replace("BASIS", "billing"))
    land(
        at,
        {
            "gpu-2026-11-20.csv": declared(("a", 10), ("b", 20)),
            "gpu-2026-11-21.csv": declared(("b", 15), ("c", 1), ("c", 2), ("d", 5)),
            "gpu-2026-11-22.csv": declared(("d", 5)),
            "review.csv": declared(("a", 7)),  # another source's ids are others
        },
    )
    found = made(at, "cost_records", "dialect", "cost_id", "amount_usd")
    assert sorted(found) == [
        *(("gpu", "a", 10), ("gpu", "b", 15), ("gpu", "c", 2), ("gpu", "d", 5)),
        ("review", "a", 7),
    ]
    assert accounts(at) == {
        "gpu-2026-11-20.csv": (2, 1, 0, 0, 1),
        "gpu-2026-11-21.csv": (4, 2, 1, 0, 1),
        "gpu-2026-11-22.csv": (1, 1, 0, 0, 0),
        "review.csv": (1, 1, 0, 0, 0),
    }
    assert unused(at, "cost_id") == [
        ("gpu-2026-11-20.csv", 3, "b", "superseded", "gpu-2026-11-21.csv", 2),
        ("gpu-2026-11-21.csv", 3, "c", "same_cost_id", "gpu-2026-11-21.csv", 4),
    ]


def test_sources_keeps_no_line_that_counts_nowhere(tmp_path: Path) -> None:
    at = workspace(tmp_path, "[costs]\nservices = ['*Compute*']\n")
    storage = day(3, 7, ServiceName="Amazon Simple Storage Service")
    allocated = [{**ALLOCATION, "totalCost": 3.0, "window": {**ALLOCATION["window"], "end": "2026-11-20T10:00:00Z"}}]
    land(
        at,
        {
            "focus-2026-11-03.csv": as_csv(day(1, 10), day(2, 20)),
            "focus-2026-11-04.csv": as_csv(day(1, 10), day(2, 21), storage),
            "a.jsonl": lines(*allocated, ALLOCATION),
        },
    )
    assert sorted(made(at, "cost_records", "amount_usd")) == [(5.5,), (10,), (21,)]
    assert accounts(at) == {
        "a.jsonl": (2, 1, 0, 0, 1),
        "focus-2026-11-03.csv": (2, 0, 1, 0, 1),  # its first line is a copy
        "focus-2026-11-04.csv": (3, 2, 0, 0, 1),
    }
    assert unused(at, "amount") == [
        ("a.jsonl", 1, 3.0, "superseded", "a.jsonl", 2),
        ("focus-2026-11-03.csv", 3, 20.0, "superseded", "focus-2026-11-04.csv", None),
        ("focus-2026-11-04.csv", 4, 7.0, "not_chosen", None, None),
    ]


def test_tags_say_what_a_line_is_for_and_settings_which_lines_count(tmp_path: Path) -> None:
    settings = """
[costs]
pool_tags = ["missing", "team"]
services = ["*Compute*"]
"""
    storage = {**CHARGE, "ServiceName": "Amazon Simple Storage Service"}
    files = {"focus.csv": as_csv(CHARGE, {**CHARGE, "Tags": "no JSON"}, storage), "a.jsonl": lines(ALLOCATION)}
    for name, toml, expected in (
        ("default", "", [("billing", "chat", None, None)] * 2 + [("billing", None, None, None)]),
        ("chosen", settings, [("billing", "llm", None, None), ("billing", None, None, None)]),
    ):
        at = workspace(tmp_path / name, toml)
        land(at, files)
        found = made(at, "cost_records", "basis", "pool", "replica", "model")
        assert sorted(found, key=str) == sorted([*expected, ("allocation", "vllm", "vllm-0", "m1")], key=str)


# Trap 22: price lists have no dates


def test_trap_22_prices_hold_from_the_date_of_their_list_until_they_change(tmp_path: Path) -> None:
    at = workspace(tmp_path, "[prices]\nvalid_from = 2026-09-01\n")
    dearer = {**PRICES, "gpt-x": {**PRICES["gpt-x"], "input_cost_per_token": 3e-06}}
    land(
        at,
        {
            "model_prices_and_context_window.json": json.dumps(PRICES),
            "prices-2026-10-01.json": json.dumps({**PRICES, "new/model": PRICES["gpt-x"]}),
            "prices-2026-11-01.json": json.dumps(dearer),
        },
    )
    found = made(at, "token_prices", "model", "valid_from::DATE::VARCHAR", "valid_to::DATE::VARCHAR", "input_token_usd")
    assert found == [
        ("deepseek/chat", "2026-09-01", None, 2.8e-07),
        ("free/model", "2026-09-01", None, 0),
        ("gpt-x", "2026-09-01", "2026-11-01", 2.5e-06),
        ("gpt-x", "2026-11-01", None, 3e-06),
        ("new/model", "2026-10-01", None, 2.5e-06),
    ]
    ledger = source_ledger.read(at.lake, ["path", "content_hash"]).to_pylist()
    hashes = {source["path"]: source["content_hash"] for source in ledger}
    lists = [hashes["model_prices_and_context_window.json"], hashes["prices-2026-11-01.json"]]
    assert [row[1] for row in made(at, "token_prices", "model", "source_hash") if row[0] == "gpt-x"] == lists


def test_trap_22_a_price_that_comes_back_holds_again(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    dearer = {**PRICES, "gpt-x": {**PRICES["gpt-x"], "input_cost_per_token": 3e-06}}
    lists = {"2026-09-01": PRICES, "2026-10-01": dearer, "2026-11-01": PRICES}
    land(at, {f"prices-{date}.json": json.dumps(prices) for date, prices in lists.items()})
    found = made(at, "token_prices", "model", "valid_from::DATE::VARCHAR", "input_token_usd")
    assert [row[1:] for row in found if row[0] == "gpt-x"] == [
        ("2026-09-01", 2.5e-06),
        ("2026-10-01", 3e-06),
        ("2026-11-01", 2.5e-06),
    ]


def test_a_part_of_a_bill_that_a_later_export_repeats_is_computed_again_once_it_is_there(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    first = {"run=20261103/part_0_0001.csv": as_csv(day(1, 10)), "run=20261103/part_1_0001.csv": as_csv(day(1, 5))}
    land(at, first)
    assert sorted(made(at, "cost_records", "amount_usd")) == [(5,), (10,)]
    land(at, {**first, "run=20261104/part_1_0001.csv": as_csv(day(1, 6))})
    assert sorted(made(at, "cost_records", "amount_usd")) == [(6,)]
    land(at, {"run=20261104/part_0_0001.csv": as_csv(day(1, 10))})
    assert sorted(made(at, "cost_records", "amount_usd")) == [(6,), (10,)]


# Trap 26: ops events change in place, are sent again, and are called as their emitter likes


def test_trap_26_an_event_counts_once_as_it_last_was(tmp_path: Path) -> None:
    started = {**EVENT, "involvedObject": POD, "reason": "Started", "message": "Started container vllm"}
    again = [{**started, "count": count, "lastTimestamp": f"2026-11-20T09:0{count}:00Z"} for count in (2, 4, 3)]
    at = workspace(tmp_path)
    land(
        at,
        {"a.jsonl": lines(*again[:2]), "b.jsonl": lines(again[2], APPLICATION), "c.jsonl": lines({"app": APPLICATION})},
    )
    found = made(at, "ops_events", "event_id", "kind", "occurred_at", "occurrences")
    assert found == [
        ("argocd/chat/6f2a/Succeeded/2026-11-20T08:59:00Z", "deployment", datetime(2026, 11, 20, 9, tzinfo=UTC), None),
        ("k8s/u1", "restart", datetime(2026, 11, 20, 9, 4, tzinfo=UTC), 4),
    ]


def test_trap_26_settings_say_which_pool_and_replica_a_subject_is(tmp_path: Path) -> None:
    at = workspace(
        tmp_path,
        """
[events]
pools = { search = "rag" }
replicas = { replica-a = "10.0.0.7:8000" }
""",
    )
    rows = [
        cdevent("service.deployed.0.3.0", {"id": name, "content": {}}, id=name) for name in ("search", "replica-a", "x")
    ]
    land(at, {"events.jsonl": lines(*rows)})
    found = made(at, "ops_events", "subject", "pool", "replica")
    assert sorted(found) == [("replica-a", None, "10.0.0.7:8000"), ("search", "rag", None), ("x", "x", None)]


def test_an_event_names_a_replica_by_its_uid_or_an_address_of_it(tmp_path: Path) -> None:
    """A span of 9 o'clock has name and uid of the pod, the settings an address; the uid is not known at 11."""
    at = workspace(tmp_path, '[replicas.vllm-0]\nnames = ["10.0.0.7:8000"]\n')
    subjects = [("uid-0", 10), ("uid-0", 11), ("10.0.0.7:8000", 11), ("vllm-0", 9), ("chat", 9)]
    removed = [
        cdevent(
            "service.removed.0.3.0", {"id": name, "content": {}}, id=f"e{n}", timestamp=f"2026-11-20T{hour:02d}:30:00Z"
        )
        for n, (name, hour) in enumerate(subjects)
    ]
    restarted = {"reason": "Started", "message": "Started container vllm", "count": 2}
    started = {**EVENT, **restarted, "involvedObject": {"kind": "Pod", "uid": "uid-0"}}
    span = vllm_span(startTimeUnixNano=str(START_NS))
    land(
        at,
        {
            "events.jsonl": lines(*removed, started),
            "spans.jsonl": spans_line(span, resource={"k8s.pod.name": "vllm-0", "k8s.pod.uid": "uid-0"}),
        },
    )
    found = made(at, "ops_events", "event_id", "subject", "pool", "replica")
    assert sorted(found) == [
        ("/cd#e0", "uid-0", None, "vllm-0"),
        ("/cd#e1", "uid-0", "uid-0", None),
        ("/cd#e2", "10.0.0.7:8000", None, "vllm-0"),
        ("/cd#e3", "vllm-0", "vllm-0", None),  # the pool may be called so
        ("/cd#e4", "chat", "chat", None),
        ("k8s/u1", None, None, "vllm-0"),
    ]


DECLARED = source(
    "salt",
    "salt.csv",
    "ops_events",
    units={"occurred_at": "iso8601"},
    constants='kind = "salt_rotation"',
    **{"occurred_at": "rotated", "pool": "pool"},
) + bills("review", "review.jsonl", cost_id="invoice", amount_usd="usd")
REVIEWED = {"invoice": "r-1", "from": "2026-11-20T00:00:00Z", "until": "2026-11-21T00:00:00Z", "usd": 40}


def test_trap_26_what_nothing_emits_is_declared(tmp_path: Path) -> None:
    at = workspace(tmp_path, DECLARED)
    salt = "rotated,pool\n2026-11-20T09:00:00Z,chat\n2026-11-20T09:00:00Z,chat\n2026-11-20T10:00:00Z,chat\n"
    land(at, {"salt.csv": salt, "review.jsonl": lines(REVIEWED, {**REVIEWED, "invoice": "r-2", "until": "yesterday"})})
    events = made(at, "ops_events", "kind", "pool", "hour(occurred_at)", "dialect")
    assert events == [("salt_rotation", "chat", 9, "salt"), ("salt_rotation", "chat", 10, "salt")]
    spent = made(at, "cost_records", "cost_id", "basis", "amount_usd", "period_end - period_start = INTERVAL 1 DAY")
    assert spent == [("r-1", "overhead", 40.0, True)]
    assert accounts(at) == {"review.jsonl": (2, 1, 0, 1, 0), "salt.csv": (3, 2, 1, 0, 0)}


# Purity: the same sources give the same tables (docs/semantics.md#time-and-restatement)

FILES = {
    "focus-2026-11-03.csv": as_csv(day(1, 10), day(2, 20)),
    "focus-2026-11-04.csv": as_csv(day(1, 10), day(2, 21), day(3, 30)),
    "opencost.json": json.dumps({"code": 200, "data": [{"vllm": ALLOCATION, "__idle__": IDLE}]}),
    "allocation.jsonl": lines(ALLOCATION),
    "prices-2026-10-01.json": json.dumps(PRICES),
    "prices-2026-11-01.json": json.dumps({"gpt-x": {**PRICES["gpt-x"], "input_cost_per_token": 3e-06}}),
    "k8s.jsonl": lines(EVENT, {**EVENT, "count": 2, "lastTimestamp": "2026-11-20T09:05:00Z"}),
    "k8s.json": json.dumps({"kind": "EventList", "items": [EVENT]}),
    "cdevents.jsonl": lines(cdevent("service.deployed.0.3.0"), cdevent("service.deployed.0.3.0")),
    "salt.csv": "rotated,pool\n2026-11-20T09:00:00Z,chat\n",
    "review.jsonl": lines(REVIEWED),
}


@pytest.mark.parametrize("seed", range(2))
def test_order_and_repetition_change_nothing(tmp_path: Path, seed: int) -> None:
    at_once = workspace(tmp_path / "at_once", DECLARED)
    land(at_once, FILES)
    expected = {table: made(at_once, table, "* EXCLUDE (source)") for table in PUBLIC}
    assert [len(rows) for rows in expected.values()] == [3, 6, 4]
    bit_by_bit = workspace(tmp_path / "bit_by_bit", DECLARED)
    names = list(FILES)
    random.Random(seed).shuffle(names)
    for some in (names[:4], names[4:8], names[8:]):
        land(bit_by_bit, {name: FILES[name] for name in some})
        compute(bit_by_bit)
    copy = bit_by_bit.settings.landing_paths[0] / "again"
    copy.mkdir()
    for name in ("focus-2026-11-03.csv", "k8s.jsonl", "opencost.json"):
        shutil.copy(bit_by_bit.settings.landing_paths[0] / name, copy / name)
    assert {table: made(bit_by_bit, table, "* EXCLUDE (source)") for table in PUBLIC} == expected
    kept = {name: account[1] for name, account in accounts(bit_by_bit).items()}
    assert kept["opencost.json"] + kept["allocation.jsonl"] == 2


def test_only_what_changed_is_made_again(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    land(at, {"focus.csv": as_csv(CHARGE)})
    assert compute(at) == {**dict.fromkeys((*PUBLIC, "session_labels"), 0), "cost_records": 1}
    assert compute(at) == {}
    land(at, {"events.jsonl": lines(EVENT)})
    assert compute(at) == {"ops_events": 1}
    assert compute(workspace(tmp_path, '[costs]\nservices = ["nothing"]\n')) == {"cost_records": 0}
