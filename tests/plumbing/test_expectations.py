"""Contract checks: what breaks a partition, what does not, and what is reported of it."""

import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from contract_rows import write
from goodput.plumbing.audit import audit
from goodput.plumbing.expectations.suite import suite

HOUR = "2026-11-20T09"
NEXT_HOUR = "2026-11-20T10"

# The key of a row of `goodput` over everything.
OVERALL = (
    "window_start='2026-11-20 09:00:00+00:00', window_s=300, slice='overall', "
    "slice_value=None, workload=None, model=None, pool=None, route=None"
)

Part = Callable[..., Path]


@pytest.fixture
def part(tmp_path: Path) -> Part:
    return partial(write, tmp_path)


def failures(table: str, parts: Mapping[str, Sequence[Path]]) -> tuple[str, ...]:
    """Failures of the only partition that breaks the contract, which must be HOUR."""
    found = audit(table, parts)
    assert list(found) == [HOUR]
    return found[HOUR]


# What breaks each kind of rule and what is reported of it, then what only comes near; each case is a partition.
CASES: dict[str, dict[str, tuple[list[dict[str, Any]], str | None]]] = {
    "requests": {
        "required": (
            [{"outcome": None}],
            "outcome_missing: outcome is missing: "
            "1 row, for example request_key='r1', delivering_attempt_id='a1', outcome=None",
        ),
        "required key": (
            [{"request_key": None}],
            "request_key_missing: request_key is missing: "
            "1 row, for example request_key=None, delivering_attempt_id='a1'",
        ),
        "integer range": (
            [{"attempts": 0}],
            "attempts_out_of_range: attempts breaks attempts >= 1: "
            "1 row, for example request_key='r1', attempts=0, delivering_attempt_id='a1'",
        ),
        **{
            f"range {value}": (
                [{"ttft_s": value}],
                "ttft_s_out_of_range: ttft_s breaks ttft_s >= 0 AND isfinite(ttft_s): "
                f"1 row, for example request_key='r1', delivering_attempt_id='a1', ttft_s={value}",
            )
            for value in (-0.5, float("nan"), float("inf"))
        },
        "NaN among numbers": (
            [{"ttft_s": 1.0}, {"request_key": "r2", "ttft_s": float("nan")}, {"request_key": "r3", "ttft_s": 2.0}],
            "ttft_s_out_of_range: ttft_s breaks ttft_s >= 0 AND isfinite(ttft_s): "
            "1 row, for example request_key='r2', delivering_attempt_id='a1', ttft_s=nan",
        ),
        "row rule": (
            [{"verdict": "accepted", "pass_success": False}],
            "accepted_without_success: accepted without success: "
            "1 row, for example request_key='r1', delivering_attempt_id='a1', pass_success=False, verdict='accepted'",
        ),
        "good": ([{}], None),
        "range at its bound": ([{"ttft_s": 0.0}], None),
        "row rule is TRUE": ([{"verdict": "accepted", "pass_success": True}], None),
        "row rule is NULL": ([{"verdict": "accepted", "pass_success": None}], None),
    },
    "serving_records": {
        "value set": (
            [{"layer": "proxy"}],
            "layer_invalid: layer is none of 'client', 'gateway', 'engine': "
            "1 row, for example record_id='s1', layer='proxy'",
        ),
        "pattern": (
            [{"span_id": "00F067AA0BA902B7"}],
            "span_id_malformed: span_id is malformed: 1 row, for example record_id='s1', span_id='00F067AA0BA902B7'",
        ),
        "one nanosecond out of range": (
            [{"started_ns": 1_577_836_799_999_999_999}],
            "started_ns_out_of_range: "
            "started_ns breaks started_ns >= 1577836800000000000 AND started_ns <= 4102444800000000000: "
            "1 row, for example record_id='s1', started_ns=1577836799999999999",
        ),
        "good": ([{}], None),
        "pattern matches": ([{"span_id": "00f067aa0ba902b7"}], None),
        "nanoseconds at the bound": ([{"started_ns": 1_577_836_800_000_000_000}], None),
    },
    "goodput": {
        "maximum": (
            [{"retry_ratio": 1.5}],
            "retry_ratio_out_of_range: retry_ratio breaks retry_ratio >= 0 AND retry_ratio <= 1 AND "
            f"isfinite(retry_ratio): 1 row, for example {OVERALL}, retry_ratio=1.5",
        ),
        "key twice, NULL in it": (
            [{}, {}],
            "key: rows of one hour have the same window_start, window_s, slice, slice_value, workload, model, "
            "pool, route: "
            f"1 row, for example hour='key twice, NULL in it', {OVERALL}, copies=2",
        ),
        "good": ([{}], None),
        "keys that differ by NULL only": ([{"model": None}, {"model": "m"}], None),
    },
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[str, ...]]]:
    """Failures of each table's cases, all partitions of a table audited in one call."""
    folder = tmp_path_factory.mktemp("cases")
    return {
        table: audit(table, {case: [write(folder, table, *changes)] for case, (changes, _) in cases.items()})
        for table, cases in CASES.items()
    }


@pytest.mark.parametrize(("table", "case"), [(table, case) for table in CASES for case in CASES[table]])
def test_a_partition_fails_what_it_breaks(broken: dict[str, dict[str, tuple[str, ...]]], table: str, case: str) -> None:
    failure = CASES[table][case][1]
    assert broken[table].get(case, ()) == ((failure,) if failure else ())


def test_partitions_without_rows_do_not_fail(part: Part) -> None:
    assert audit("requests", {}) == {}
    assert audit("requests", {HOUR: []}) == {}
    assert audit("requests", {HOUR: [part("requests")]}) == {}


def test_a_bad_partition_among_good_ones_is_the_only_one_that_fails(part: Part) -> None:
    hours = [f"2026-11-20T{hour:02}" for hour in range(6, 12)]
    parts = {hour: [part("requests", {"request_key": hour})] for hour in hours}
    parts[HOUR].append(part("requests", {"verdict": "acepted"}, {"request_key": "r2", "verdict": "acepted"}))
    assert failures("requests", parts) == (
        "verdict_invalid: verdict is none of 'failed', 'ungated', 'over_budget', 'slow', 'rejected', 'unevaluable', "
        "'unlabelled', 'accepted', 'in_flight': 2 rows, for example "
        "request_key='r1', delivering_attempt_id='a1', verdict='acepted'; "
        "request_key='r2', delivering_attempt_id='a1', verdict='acepted'",
    )


def test_each_bad_partition_has_its_own_failures_only(part: Part) -> None:
    found = audit(
        "requests",
        {
            NEXT_HOUR: [part("requests", {"outcome": None})],
            HOUR: [part("requests", {"attempts": 0, "retry_count": -1})],
        },
    )
    assert [(hour, [failure.split(":")[0] for failure in failures]) for hour, failures in found.items()] == [
        (HOUR, ["attempts_out_of_range", "retry_count_out_of_range"]),
        (NEXT_HOUR, ["outcome_missing"]),
    ]


def test_a_failure_counts_all_rows_and_shows_three(part: Part) -> None:
    rows = [{"request_key": f"r{number}", "attempts": 0} for number in range(1000)]
    (failure,) = failures("requests", {HOUR: [part("requests", *rows)]})
    assert "1000 rows" in failure
    assert failure.count("request_key=") == 3


SHAPES: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "missing": (
        lambda table: table.drop_columns(["ttft_s"]),
        "columns: columns are not those of the contract: missing ttft_s",
    ),
    "unknown": (
        lambda table: table.append_column("filename", pa.array(["x"])),
        "columns: columns are not those of the contract: unknown filename",
    ),
    "wrong type": (
        lambda table: table.set_column(table.column_names.index("attempts"), "attempts", pa.array(["one"])),
        "types: columns are not of the contract's types: attempts is VARCHAR, not INTEGER",
    ),
    "narrower type": (
        lambda table: table.set_column(
            table.column_names.index("retry_count"), "retry_count", pa.array([0], pa.int32())
        ),
        "types: columns are not of the contract's types: retry_count is INTEGER, not BIGINT",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_part_of_another_shape_fails_even_beside_a_good_one(part: Part, shape: str) -> None:
    reshape, failure = SHAPES[shape]
    parts = {
        HOUR: [part("requests", {}), part("requests", {"request_key": "r2"}, reshape=reshape)],
        NEXT_HOUR: [part("requests", {})],
    }
    assert failures("requests", parts) == (failure,)


def test_columns_out_of_order_are_named_in_the_order_found(part: Part) -> None:
    path = part("requests", {}, reshape=lambda table: table.select(table.column_names[::-1]))
    (failure,) = failures("requests", {HOUR: [path]})
    assert failure.startswith("columns: columns are not those of the contract: out of order: cost_usd, verdict, ")


def test_a_key_may_return_in_another_partition(part: Part) -> None:
    path, again = part("requests", {}), part("requests", {})
    assert audit("requests", {HOUR: [path], NEXT_HOUR: [again]}) == {}


TRIPS = """
name: trips
description: {purpose: Trips of the ferry}
schema:
  - properties:
      - {name: trip_id, physicalType: VARCHAR, required: true, primaryKey: true, description: Which trip}
      - {name: berth, physicalType: VARCHAR, logicalTypeOptions: {pattern: "^[A-F]$"}, description: From}
      - {name: cars, physicalType: BIGINT, logicalTypeOptions: {minimum: 0, maximum: 40}, description: Cars}
      - name: tide
        physicalType: VARCHAR
        description: Which tide
        quality: [{metric: invalidValues, arguments: {validValues: [ebb, flood]}, mustBe: 0}]
    quality:
      - {name: empty_at_ebb, implementation: "tide <> 'ebb' OR cars = 0", description: "cars at ebb"}
"""


def test_the_suite_is_the_contract_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trips.yaml").write_text(TRIPS)
    monkeypatch.setattr("goodput.contracts.project_folder", lambda _name: tmp_path)
    assert [(item.meta["check"], item.expectation_type) for item in suite("trips").expectations if item.meta] == [
        ("columns", "expect_table_columns_to_match_ordered_list"),
        ("types", "unexpected_rows_expectation"),
        ("trip_id_missing", "expect_column_values_to_not_be_null"),
        ("berth_malformed", "unexpected_rows_expectation"),
        ("cars_out_of_range", "unexpected_rows_expectation"),
        ("tide_invalid", "expect_column_values_to_be_in_set"),
        ("empty_at_ebb", "unexpected_rows_expectation"),
        ("key", "unexpected_rows_expectation"),
    ]


def test_nothing_is_written_and_no_network_is_touched(
    part: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("the checks opened a socket")

    path = part("requests", {"outcome": None})
    before = sorted(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert list(audit("requests", {HOUR: [path]})) == [HOUR]
    assert sorted(tmp_path.iterdir()) == before
