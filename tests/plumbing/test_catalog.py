"""The catalog: which parts count, what a commit changes, and that any reader of Delta Lake finds the same rows."""

import os
import random
import signal
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from polars.testing import assert_frame_equal

from goodput.contracts import arrow_schema
from goodput.errors import LakeUnreadable, LakeUnwritable
from goodput.plumbing import lake as lake_module
from goodput.plumbing.catalog import Part, digest_sum
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake

NINE, TEN, ELEVEN = (f"2026-11-20T{hour:02}" for hour in (9, 10, 11))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.open()
    return made


def labels(*sources: str) -> pa.Table:
    """One label of each source: a row of a conformed table."""
    rows = [{"record_id": f"l-{source}", "source_id": source, "score": float(n)} for n, source in enumerate(sources)]
    return pa.Table.from_pylist(rows, schema=arrow_schema("label_records"))


def of_sources(lake: Lake, partition: str, *sources: str) -> Part:
    """A part that holds the labels of some sources; its inputs are the sum of the sources' own digests."""
    made_from = digest_sum(fingerprint(source) for source in sources)
    return lake.write_part("label_records", partition, labels(*sources), made_from)


def requests(lake: Lake, partition: str, *keys: str, made_from: str = "") -> Part:
    rows = pa.Table.from_pylist([{"request_key": key} for key in keys], schema=arrow_schema("requests"))
    return lake.write_part("requests", partition, rows, fingerprint(made_from))


def keys(lake: Lake) -> list[str]:
    """Keys of the requests that count, in the order of the parts."""
    files = lake.catalog["requests"].all_files()
    return [key for file in files for key in pq.ParquetFile(file).read(["request_key"])["request_key"].to_pylist()]


def test_a_table_without_a_commit_has_no_parts(lake: Lake) -> None:
    table = lake.catalog["requests"]
    assert (table.version, table.parts, table.contents, table.all_files()) == (-1, {}, {}, [])
    assert table.inputs(NINE) is None
    assert table.files([NINE]) == []
    assert not table.root.exists(), "asking creates nothing"


def test_a_part_counts_once_it_is_committed(lake: Lake) -> None:
    part = requests(lake, NINE, "a", "b", made_from="x")
    assert keys(lake) == []
    assert lake.catalog["requests"].replace({NINE: (part,)}) == []
    table = lake.catalog["requests"]
    assert table.parts == {NINE: (part,)}
    assert table.inputs(NINE) == fingerprint("x")
    assert table.contents == {NINE: part.content}
    assert (table.version, part.rows, keys(lake)) == (0, 2, ["a", "b"])


def test_partitions_that_hold_rows_follow_each_commit(lake: Lake) -> None:
    table = lake.catalog["requests"]
    assert table.filled == ()
    table.replace({TEN: (requests(lake, TEN, "b"),), NINE: (requests(lake, NINE),)})
    assert table.filled == (TEN,)
    table.replace({NINE: (requests(lake, NINE, "a"),)})
    assert table.filled == (NINE, TEN)
    table.replace({TEN: ()})
    assert table.filled == Lake(lake.root).catalog["requests"].filled == (NINE,)


def test_partitions_and_parts_are_in_order(lake: Lake) -> None:
    parts = [of_sources(lake, hour, source) for hour, source in ((TEN, "b"), (NINE, "z"), (TEN, "a"))]
    lake.catalog["label_records"].change(parts)
    stray = lake.catalog["label_records"].root / f"period={ELEVEN}"
    stray.mkdir()
    (stray / f"{fingerprint('c')}-{fingerprint('d')}.parquet").write_bytes(b"written by a run that was killed")
    for reader in (lake, Lake(lake.root)):
        found = reader.catalog["label_records"]
        in_ten = sorted(part.path for part in parts if part.partition == TEN)
        assert [(hour, [part.path for part in of_hour]) for hour, of_hour in found.parts.items()] == [
            (NINE, [parts[1].path]),
            (TEN, in_ten),
        ]
        assert found.files([TEN, ELEVEN, NINE]) == found.all_files() == [str(path) for path in (parts[1].path, *in_ten)]


def test_replacing_swaps_the_parts_of_the_partitions_named_and_of_no_other(lake: Lake) -> None:
    table = lake.catalog["requests"]
    old = {hour: requests(lake, hour, f"old-{hour}") for hour in (NINE, TEN, ELEVEN)}
    table.replace({hour: (part,) for hour, part in old.items()})
    new = requests(lake, TEN, "new")
    assert table.replace({TEN: (new,), ELEVEN: ()}) == [old[TEN].path, old[ELEVEN].path]
    assert table.parts == {NINE: (old[NINE],), TEN: (new,)}
    assert keys(Lake(lake.root)) == [f"old-{NINE}", "new"]
    assert all(part.path.exists() for part in old.values()), "readers of the old parts may still be there"


def test_a_change_adds_and_removes_single_parts(lake: Lake) -> None:
    table = lake.catalog["label_records"]
    first, second, third = (of_sources(lake, NINE, source) for source in ("a", "b", "c"))
    assert table.change([first, second]) == []
    assert table.change([third], [first]) == [first.path]
    assert set(table.parts[NINE]) == {second, third}
    assert table.change([], [second, third]) == sorted([second.path, third.path])
    assert table.parts == {}
    assert Lake(lake.root).catalog["label_records"].parts == {}


def test_a_commit_that_changes_nothing_is_none(lake: Lake) -> None:
    table = lake.catalog["requests"]
    part = requests(lake, NINE, "a")
    table.replace({NINE: (part,)})
    log = sorted((table.root / "_delta_log").iterdir())
    assert table.replace({NINE: (requests(lake, NINE, "a"),)}) == []
    assert table.replace({TEN: ()}) == []
    assert table.change([part]) == []
    assert table.change([], [requests(lake, TEN, "never committed")]) == []
    assert table.change([]) == []
    assert table.version == 0
    assert sorted((table.root / "_delta_log").iterdir()) == log


def test_an_empty_first_commit_makes_the_table(lake: Lake) -> None:
    assert lake.catalog["requests"].replace({}) == []
    again = Lake(lake.root).catalog["requests"]
    assert (again.version, again.parts) == (0, {})
    assert pl.scan_delta(str(again.root)).collect().height == 0


def test_what_a_partition_holds_does_not_depend_on_how_its_sources_came(tmp_path: Path) -> None:
    contents = set()
    for number, order in enumerate(permutations("abc")):
        one_by_one = Lake(tmp_path / f"one-by-one-{number}")
        for source in order:
            one_by_one.catalog["label_records"].change([of_sources(one_by_one, NINE, source)])
        contents.add(one_by_one.catalog["label_records"].contents[NINE])
    for number, batches in enumerate([("abc",), ("ab", "c"), ("c", "ab"), ("cb", "a")]):
        in_batches = Lake(tmp_path / f"in-batches-{number}")
        for batch in batches:
            in_batches.catalog["label_records"].change([of_sources(in_batches, NINE, *batch)])
        contents.add(in_batches.catalog["label_records"].contents[NINE])
    assert len(contents) == 1
    other = Lake(tmp_path / "another-source")
    other.catalog["label_records"].change([of_sources(other, NINE, "a", "b", "d")])
    assert other.catalog["label_records"].contents[NINE] not in contents


def test_what_a_computed_partition_holds_follows_from_its_rows_alone(lake: Lake) -> None:
    table = lake.catalog["requests"]
    table.replace({NINE: (requests(lake, NINE, "a", made_from="x"),)})
    before = table.contents[NINE]
    table.replace({NINE: (requests(lake, NINE, "a", made_from="y"),)})
    assert (table.contents[NINE], table.inputs(NINE)) == (before, fingerprint("y"))
    table.replace({NINE: (requests(lake, NINE, "b", made_from="y"),)})
    assert table.contents[NINE] != before


def test_a_sum_of_digests_knows_no_order_and_no_grouping() -> None:
    digests = [fingerprint(n) for n in range(4)]
    whole = digest_sum(digests)
    assert digest_sum(reversed(digests)) == whole
    assert digest_sum([digest_sum(digests[:1]), digest_sum(digests[1:])]) == whole
    assert digest_sum(digests[1:]) != whole
    assert (digest_sum([]), len(whole)) == ("0" * 32, 32)
    assert digest_sum(["f" * 32, "0" * 31 + "2"]) == "0" * 31 + "1"


def test_another_process_sees_a_commit_once_it_looks_again(lake: Lake) -> None:
    other = Lake(lake.root)
    assert keys(other) == []
    lake.catalog["requests"].replace({NINE: (requests(lake, NINE, "a"),)})
    assert keys(other) == []
    other.refresh()
    assert keys(other) == ["a"]
    with other.lock():
        other.catalog["requests"].replace({TEN: (requests(other, TEN, "b"),)})
    with lake.lock():
        assert keys(lake) == ["a", "b"]
        assert lake.catalog["requests"].version == 1


def test_many_commits_leave_the_last_state(lake: Lake) -> None:
    for number in range(45):  # past two checkpoints of the log
        lake.catalog["requests"].replace({NINE: (requests(lake, NINE, f"r{number}"),)})
    lake.catalog["requests"].replace({TEN: (requests(lake, TEN, "other"),)})
    again = Lake(lake.root)
    assert (keys(again), again.catalog["requests"].version) == (["r44", "other"], 45)
    again.catalog["requests"].replace({NINE: ()})
    assert keys(Lake(lake.root)) == ["other"]


def test_a_table_that_follows_its_commits_knows_what_a_fresh_reader_finds(lake: Lake) -> None:
    chance, table = random.Random(11), lake.catalog["label_records"]
    for number in range(30):
        present = [part for parts in table.parts.values() for part in parts]
        if number % 3:
            assert table.contents.keys() == table.parts.keys()  # asked for, so that it is followed too
        hours = chance.sample((NINE, TEN, ELEVEN), chance.randint(1, 3))
        made = [of_sources(lake, hour, f"{number}-{of}") for hour in hours for of in range(chance.randint(0, 2))]
        if chance.random() < 0.5:
            table.change(made, chance.sample(present, min(len(present), chance.randint(0, 3))))
        else:
            table.replace({hour: [part for part in made if part.partition == hour] for hour in hours})
        fresh = Lake(lake.root).catalog["label_records"]
        assert [*table.parts.items()] == [*fresh.parts.items()]
        assert (table.contents, table.version) == (fresh.contents, fresh.version)


def test_a_table_that_follows_its_commits_finds_one_of_another_writer_between_them(lake: Lake) -> None:
    table = lake.catalog["requests"]
    table.replace({NINE: (requests(lake, NINE, "a"),)})
    assert list(table.parts) == [NINE]
    other = Lake(lake.root)
    other.catalog["requests"].replace({ELEVEN: (requests(other, ELEVEN, "b"),)})
    table.replace({TEN: (requests(lake, TEN, "c"),)})
    assert list(table.parts) == list(table.contents) == [NINE, TEN, ELEVEN]


def test_other_readers_of_delta_lake_find_the_rows_that_count(lake: Lake) -> None:
    table = lake.catalog["requests"]
    gone, kept = requests(lake, NINE, "gone"), requests(lake, TEN, "kept", "too")
    table.replace({NINE: (gone,), TEN: (kept,)})
    table.replace({NINE: (requests(lake, NINE, "replaced"),)})
    requests(lake, ELEVEN, "never committed")
    expected = pl.DataFrame(
        {"request_key": ["kept", "replaced", "too"], "period": [TEN, NINE, TEN]},
    )
    by_polars = pl.scan_delta(str(table.root)).select("request_key", "period").sort("request_key").collect()
    assert_frame_equal(by_polars, expected)
    delta = DeltaTable(table.root)
    by_deltalake = pl.DataFrame(delta.to_pyarrow_table()).select("request_key", "period").sort("request_key")
    assert_frame_equal(by_deltalake.cast(pl.String), expected)
    one_hour = pl.scan_delta(str(table.root)).filter(pl.col("period") == NINE).select("request_key").collect()
    assert one_hour["request_key"].to_list() == ["replaced"]
    assert delta.metadata().name == "requests"
    assert delta.metadata().partition_columns == ["period"]
    names = [field.name for field in delta.schema().fields]
    assert names == [*arrow_schema("requests").names, "period"]


DAMAGES = {
    "no JSON": b"\x00\xff",
    "no metadata": b'{"commitInfo":{"timestamp":1}}',
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_unreadable_log_is_reported_with_its_place(lake: Lake, damage: str) -> None:
    table = lake.catalog["requests"]
    table.replace({NINE: (requests(lake, NINE, "a"),)})
    (log,) = (table.root / "_delta_log").glob("*.json")
    log.write_bytes(DAMAGES[damage])
    with pytest.raises(LakeUnreadable) as caught:
        _ = Lake(lake.root).catalog["requests"].parts
    assert str(caught.value).startswith(f"{table.root / '_delta_log'}: cannot be read: ")
    assert "Restore the file from a backup" in str(caught.value)


def test_a_log_with_a_gap_is_not_read_as_a_smaller_table(lake: Lake) -> None:
    table = lake.catalog["requests"]
    for hour in (NINE, TEN, ELEVEN):
        table.replace({hour: (requests(lake, hour, hour),)})
    sorted((table.root / "_delta_log").glob("*.json"))[1].unlink()
    with pytest.raises(LakeUnreadable):
        _ = Lake(lake.root).catalog["requests"].parts


def test_a_commit_that_cannot_be_written_is_reported_and_counts_nothing(lake: Lake) -> None:
    table = lake.catalog["requests"]
    table.root.parent.mkdir(parents=True, exist_ok=True)
    part = requests(lake, NINE, "a")
    (table.root / "_delta_log").write_text("a file in the place of the log")
    with pytest.raises((LakeUnwritable, LakeUnreadable), match="_delta_log"):
        table.replace({NINE: (part,)})


KILLED = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from goodput.contracts import arrow_schema
from goodput.plumbing.lake import Lake
lake = Lake(Path(sys.argv[1]))
rows = pa.Table.from_pylist([{"request_key": "half"}], schema=arrow_schema("requests"))
lake.write_part("requests", "2026-11-20T09", rows, "1" * 32)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_writer_killed_before_its_commit_changes_nothing(lake: Lake) -> None:
    lake.catalog["requests"].replace({NINE: (requests(lake, NINE, "whole"),)})
    environment = {**os.environ, "PYTHONPATH": str(Path(lake_module.__file__).parents[2])}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(lake.root)], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    again = Lake(lake.root)
    assert (keys(again), again.catalog["requests"].version) == (["whole"], 0)
    assert len(list(again.catalog["requests"].root.glob("period=*/*.parquet"))) == 2
