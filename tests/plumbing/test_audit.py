"""The audit: what it costs where all is good, which files it accepts, and which failures are not of rows."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contract_rows import write
from goodput.plumbing import audit as audit_module
from goodput.plumbing.audit import audit
from goodput.plumbing.expectations import validation

NINE = "2026-11-20T09"
TEN = "2026-11-20T10"

Part = Callable[..., Path]


@pytest.fixture
def part(tmp_path: Path) -> Part:
    return partial(write, tmp_path)


def test_great_expectations_is_not_imported_where_nothing_is_wrong(part: Part) -> None:
    parts = {NINE: [part("requests", {}), part("requests")], TEN: [part("requests", {})]}
    script = (
        "import sys; from pathlib import Path; from goodput.plumbing.audit import audit; "
        f"parts = { ({partition: [str(path) for path in paths] for partition, paths in parts.items()})!r}; "
        "print(audit('requests', {name: [Path(path) for path in paths] for name, paths in parts.items()})); "
        "print([m for m in ('great_expectations', 'sqlalchemy', 'pandas') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["{}", "[]"]


def test_a_key_must_be_unique_over_all_files_of_a_partition(part: Part) -> None:
    once, again, other = part("requests", {}), part("requests", {}), part("requests", {"request_key": "r2"})
    assert audit("requests", {NINE: [once, other], TEN: [again]}) == {}
    assert audit("requests", {NINE: [once, other, again], TEN: [other]}) == {
        NINE: (
            "key: rows of one hour have the same request_key, delivering_attempt_id: "
            f"1 row, for example hour='{NINE}', request_key='r1', delivering_attempt_id='a1', copies=2",
        )
    }


def test_keys_of_one_hash_are_compared_themselves(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = {NINE: [part("requests", {}, {"request_key": "r2"})], TEN: [part("requests", {}, {})]}
    monkeypatch.setattr("goodput.plumbing.audit_scan._LayoutFiles._key_hash", lambda _layout: "1")
    assert list(audit("requests", paths)) == [TEN]


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    """Damage the pages behind the first and leave the footer as it is."""
    content = bytearray(path.read_bytes())
    content[20:200] = bytes(byte ^ 0xFF for byte in content[20:200])
    path.write_bytes(content)


def without_columns(path: Path) -> None:
    pq.write_table(pa.table({}), path)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": truncated,
    "no Parquet": lambda path: path.write_text("request_key,workload\nr1,qa\n"),
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "pages": flipped,
    "no columns": without_columns,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_cannot_be_read_fails_its_partition_alone(part: Part, damage: str) -> None:
    hours = [f"2026-11-20T{hour:02}" for hour in range(6, 12)]
    parts = {hour: [part("requests", {})] for hour in hours}
    broken = part("requests", {})
    DAMAGE[damage](broken)
    parts[NINE].append(broken)
    found = audit("requests", parts)
    assert list(found) == [NINE]
    (failure,) = found[NINE]
    assert failure.startswith(f"unreadable: a file cannot be read: {broken}: ")
    assert "\n" not in failure


def test_beside_an_unreadable_file_the_others_are_still_audited(part: Part) -> None:
    bad, broken = part("requests", {"attempts": 0}), part("requests", {})
    truncated(broken)
    found = audit("requests", {NINE: [broken, bad], TEN: [part("requests", {"outcome": None})]})
    assert {partition: [failure.split(":")[0] for failure in failures] for partition, failures in found.items()} == {
        NINE: ["unreadable", "attempts_out_of_range"],
        TEN: ["outcome_missing"],
    }


WEIGHTS = """
name: weights
description: {purpose: What a lorry weighs}
schema:
  - properties:
      - {name: lorry, physicalType: VARCHAR, required: true, primaryKey: true, description: Which lorry}
      - {name: weight, physicalType: VARCHAR, description: As it was printed}
    quality:
      - {name: too_heavy, implementation: "weight::INTEGER < 40", description: "heavier than the bridge allows"}
"""


def test_a_rule_that_cannot_be_evaluated_fails_its_partition_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weights.yaml").write_text(WEIGHTS)
    monkeypatch.setattr("goodput.contracts.project_folder", lambda _name: tmp_path)
    parts = {}
    for partition, weight in {NINE: "39", TEN: "heavy", "2026-11-20T11": "41"}.items():
        parts[partition] = [tmp_path / f"{partition}.parquet"]
        pq.write_table(pa.table({"lorry": ["l1"], "weight": [weight]}), parts[partition][0])
    found = audit("weights", parts)
    assert list(found) == [TEN, "2026-11-20T11"]
    assert found[TEN][0].startswith("too_heavy: heavier than the bridge allows: could not be checked: ")
    assert found["2026-11-20T11"][0].startswith("too_heavy: heavier than the bridge allows: 1 row, for example ")


def test_more_partitions_than_one_scan_takes(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "_PARTITIONS_A_SCAN", 2)
    parts = {f"p{number}": [part("requests", {"attempts": number % 3})] for number in range(7)}
    assert list(audit("requests", parts)) == ["p0", "p3", "p6"]


def test_a_partition_is_not_let_through_where_great_expectations_finds_nothing(
    part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "failures", lambda _table, suspects: [[] for _ in suspects])
    assert audit("requests", {NINE: [part("requests", {"attempts": 0})]}) == {
        NINE: ("attempts_out_of_range: found by the audit, not by Great Expectations",)
    }
