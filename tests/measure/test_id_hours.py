"""The index of ids by day: of whichever hashes are looked at together, the same part."""

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goodput.measure import id_hours
from goodput.nodes import NODES
from goodput.plumbing.assembly import assemble
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Context
from goodput.plumbing.workspace import Workspace
from published import demo_hour

IDS = ["record_id", "trace_id", "span_id", "response_id"]
(NODE,) = (node for node in NODES if node.name == id_hours.TABLE)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of the demo's hour, published."""
    return demo_hour(tmp_path_factory)


@pytest.mark.parametrize("rows_at_once", [10**9, 3000, 700])
def test_an_index_that_is_made_range_by_range_has_each_id_of_the_day(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    workspace = Workspace(lake)
    published = workspace.lake.catalog[id_hours.TABLE].parts
    (day,) = published
    batch = assemble(Context(workspace.lake, workspace.settings), NODE, {day: "0" * 32})
    monkeypatch.setattr(id_hours, "_ROWS_AT_ONCE", rows_at_once)
    part = NODE.compute(replace(batch, lake=Lake(tmp_path / "lake")))[id_hours.TABLE][day]
    assert part.content == published[day][0].content
    found = pq.ParquetFile(part.path).read()["id_hash"].to_pylist()
    records = [pq.ParquetFile(file).read(IDS) for file in workspace.lake.catalog["serving_records"].all_files()]
    ids = {text for table in records for name in IDS for text in table[name].to_pylist() if text}
    assert found == sorted(found)
    assert len(set(found)) > 0.99 * len(ids)  # hashes of 31 bits hardly ever meet
