"""Whatever part of a lake is damaged, and however it shows, the next run publishes what it would have without."""

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from goodput.contracts import contract, stored_tables
from goodput.errors import LakeUnreadable
from goodput.plumbing.catalog import Part
from goodput.plumbing.lake import Lake
from goodput.plumbing.verify import damages, parts_of
from goodput.plumbing.workspace import Workspace
from goodput.run import Ran, run
from published import RESTATED, copied, demo_hour, table

pytestmark = pytest.mark.only

WORK = '\n[work.llama]\nmodel = "llama-*"\nprefill_weight = 2.0\ncached_weight = 0.2\ndecode_weight = 4.0\n'
MADE_AGAIN = sorted(
    name
    for name in stored_tables()
    if contract(name).layer in ("conformed", "joined", "measured", "monitored") and name != "quarantine"
)
COMPARED = {
    "goodput": RESTATED,
    "alarm_events": ("recorded_at",),
    "alarm_power": (),
    **dict.fromkeys(("waste", "cost_ledger", "requests", "coverage"), ()),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_hour(tmp_path_factory)


@pytest.fixture
def config(whole: Path, tmp_path: Path) -> Path:
    return copied(whole, tmp_path / "mine")


@pytest.fixture(scope="module")
def expected(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """What is published of a lake that nothing harms, when its settings weigh work anew."""
    config = copied(whole, tmp_path_factory.mktemp("unharmed") / "mine")
    again(config)
    return tables(config)


def tables(config: Path) -> dict[str, pl.DataFrame]:
    at = Workspace(config)
    return {name: table(at, name, without) for name, without in COMPARED.items()}


def again(config: Path) -> Ran:
    """A run after which most of what was computed is due, and a new file has been read."""
    config.write_text(config.read_text() + WORK)
    landing = config.parent / "landing"
    first = min(path for path in landing.rglob("*") if path.is_file() and path.name.endswith(".jsonl"))
    shutil.copyfile(first, first.with_name(f"copy-{first.name}"))
    return run(Workspace(config))


def flip(path: Path) -> None:
    """One bit among the values, which Parquet does not notice."""
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def damaged(config: Path) -> set[str]:
    """Tables of which a part is damaged still."""
    lake = Workspace(config).lake
    return {damage.table for damage in damages(parts_of(lake), lake.store)}


def a_part(lake: Lake, name: str) -> Part | None:
    found = sorted(part for parts in lake.catalog[name].parts.values() for part in parts if part.rows)
    return found[len(found) // 2] if found else None


@pytest.mark.parametrize("harm", [flip, empty])
@pytest.mark.parametrize(
    "name", ["event_records", "judged_hours", "label_rows", "ops_events", "coverage", "cost_records"]
)
def test_a_part_that_is_read_anywhere_is_made_again(
    config: Path, expected: dict[str, pl.DataFrame], name: str, harm: Callable[[Path], None]
) -> None:
    """Events, judged hours and prices are read where it is planned what is due, others where they are published."""
    part = a_part(Workspace(config).lake, name)
    assert part
    harm(part.path)
    again(config)
    assert name not in damaged(config)
    check(config, expected)


def test_many_parts_at_once_are_made_again(config: Path, expected: dict[str, pl.DataFrame]) -> None:
    lake = Workspace(config).lake
    harmed = [part for part in (a_part(lake, name) for name in MADE_AGAIN) if part]
    assert len(harmed) > 30
    for part in harmed:
        flip(part.path)
    again(config)
    assert damaged(config) == set()
    check(config, expected)


def test_what_alarms_did_is_kept_in_the_database(config: Path, expected: dict[str, pl.DataFrame]) -> None:
    """Nothing could judge it again: of what is published the very bytes are made, or the part is lost."""
    part = a_part(Workspace(config).lake, "alarm_events")
    assert part
    before = part.path.read_bytes()
    empty(part.path)
    run(Workspace(config))
    assert part.path.read_bytes() == before
    newest = a_part(Workspace(config).lake, "alarm_events")  # with a heartbeat where another hour has begun
    assert newest
    flip(newest.path)
    Workspace(config).lake.database.unlink()
    with pytest.raises(LakeUnreadable, match="alarm_events"):
        run(Workspace(config))


def check(config: Path, expected: dict[str, pl.DataFrame]) -> None:
    found = tables(config)
    for name, rows in expected.items():
        assert_frame_equal(found[name], rows)
