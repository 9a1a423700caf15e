"""For any damage to rows or to the columns of files, the audit finds the checks that Great Expectations finds."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from contract_rows import GOOD, write
from goodput.contracts import Column, contract
from goodput.plumbing.audit_scan import Suspect, find_suspects
from goodput.plumbing.expectations.suite import COLUMNS, KEY, PARTITION, TYPES, suite
from goodput.plumbing.expectations.validation import failures, open_validator

Row = dict[str, Any]

# Values on both sides of what contracts bound, by type.
VALUES: dict[str, tuple[Any, ...]] = {
    "VARCHAR": ("", "ok", "00f067aa0ba902b7", "00F067AA0BA902B7", "0af7651916cd43dd8448eb211c80319c", "accepted"),
    "INTEGER": (-1, 0, 1, 2, 2**31 - 1),
    "BIGINT": (-1, 0, 1, 1_577_836_799_999_999_999, 1_577_836_800_000_000_000, 2**62),
    "DOUBLE": (-1.0, -0.0, 0.5, 1.0, 1.0000001, 1e300, float("inf"), float("-inf"), float("nan")),
    "BOOLEAN": (True, False),
    "TIMESTAMPTZ": (datetime(2026, 11, 20, 8, tzinfo=UTC), datetime(2026, 11, 20, 10, tzinfo=UTC)),
}
# Of each table: a column of its key that a few rows share, for the others to be unique.
KEYS = {"requests": "request_key", "serving_records": "record_id", "goodput": "route"}
TABLES = pytest.mark.parametrize("table", list(GOOD))


def any_row(random: Random, table: str) -> Row:
    """Changes to a good row: up to a tenth of the columns have any value of their type."""
    columns = contract(table).columns
    changed = random.sample(columns, random.choice((0, 0, 1, len(columns) // 20, len(columns) // 10)))
    return {KEYS[table]: f"k{random.randrange(10)}", **{column.name: any_value(random, column) for column in changed}}


def any_value(random: Random, column: Column) -> Any:
    return random.choice((None, *VALUES.get(column.duckdb_type, ()), *column.valid_values))


def any_shape(random: Random, made: pa.Table) -> pa.Table:
    """The table with a column that is missing, unknown, moved or of another type."""
    place = random.randrange(made.num_columns)
    field, column = made.schema.field(place), made.column(place)
    damage = random.choice(("missing", "unknown", "moved", "type", "type"))
    if damage == "missing":
        return made.remove_column(place)
    if damage == "unknown":
        name = random.choice(("filename", "file_index", "Verdict", PARTITION))
        return made.append_column(name, pa.array(["x"] * len(made)))
    if damage == "moved":
        return made.remove_column(place).append_column(field, column)
    other = random.choice([t for t in (pa.string(), pa.int16(), pa.bool_(), pa.float32()) if t != field.type])
    value = {"string": "x", "int16": 7, "bool": True, "float": 0.25}[str(other)]
    return made.set_column(place, field.name, pa.array([random.choice((None, value))] * len(made), other))


def broken_by_partition(table: str, parts: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """What Great Expectations finds, all partitions at once: here its queries return partitions instead of rows."""
    expected = suite(table)
    for item in expected.expectations:
        if query := getattr(item, "unexpected_rows_query", None):
            item.unexpected_rows_query = re.sub(
                r"^SELECT .* FROM {batch} WHERE", f"SELECT DISTINCT {PARTITION} FROM {{batch}} WHERE", query
            )
    shown = {"result_format": "COMPLETE", "unexpected_index_column_names": [PARTITION]}
    partition_of = {file: partition for partition, files in parts.items() for file in files}
    with open_validator(table, partition_of) as validator:
        result = validator.validate(table, list(partition_of), expected, shown)
    broken: dict[str, set[str]] = {}
    for item in result.results:
        if not item.success:
            rows = item.result.get("unexpected_index_list") or item.result["details"]["unexpected_rows"]
            for row in rows:
                broken.setdefault(row[PARTITION], set()).add(item.expectation_config["meta"]["check"])
    return {partition: frozenset(checks) for partition, checks in broken.items()}


@TABLES
def test_damaged_rows(tmp_path: Path, table: str) -> None:
    random = Random(f"rows of {table}")
    parts = {
        f"p{partition}": [
            str(write(tmp_path, table, *(any_row(random, table) for _ in range(random.randrange(5)))))
            for _ in range(random.choice((1, 1, 2)))
        ]
        for partition in range(200)
    }
    # Up to 200 partitions: of a query's rows Great Expectations shows no more.
    audited = {suspect.partition: suspect.checks for suspect in find_suspects(table, parts)}
    assert audited == broken_by_partition(table, parts)
    assert 30 < len(audited) < 200
    names = {rule.name for rule in contract(table).rules} | {KEY}
    assert len(names & frozenset().union(*audited.values())) > 0.8 * len(names)


@pytest.mark.parametrize("table", ["requests", "serving_records"])
def test_damaged_columns(tmp_path: Path, table: str) -> None:
    random = Random(f"columns of {table}")
    parts = {
        f"p{partition}": [str(write(tmp_path, table, any_row(random, table), reshape=lambda t: any_shape(random, t)))]
        for partition in range(5)
    }
    every = frozenset({rule.name for rule in contract(table).rules} | {COLUMNS, TYPES, KEY})
    suspects = find_suspects(table, parts)
    wholly = [Suspect(suspect.partition, suspect.files, every) for suspect in suspects]
    assert {suspect.partition for suspect in suspects} == set(parts)
    assert failures(table, suspects) == failures(table, wholly)
