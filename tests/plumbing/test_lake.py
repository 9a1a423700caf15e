"""The lake on disk: writes that cannot tear, one writer at a time, formats, and parts by their content."""

import errno
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from full_disk import largest_file
from goodput.errors import GoodputError, LakeBusy, LakeTooNew, LakeTooOld, LakeUnreadable, LakeUnwritable
from goodput.plumbing import lake as lake_module
from goodput.plumbing.files import write_atomically
from goodput.plumbing.lake import Lake, delete, write_each, write_parquet
from goodput.plumbing.part_writer import ROWS_A_GROUP
from lakes import put

HOLD = """
import sys
from pathlib import Path
from goodput.plumbing.lake import Lake
with Lake(Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""
ROWS = pa.table({"a": [1, 2, 3]})
NINE = "2026-11-20T09"
INPUTS = "0" * 31 + "7"


def everything_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep/er/file.txt"

    def write(path: Path) -> None:
        path.write_text("half")
        assert not target.exists()
        path.write_text("whole")

    write_atomically(target, write)
    assert target.read_text() == "whole"
    assert everything_below(tmp_path) == ["deep/er/file.txt"]


def test_a_lake_that_has_lost_its_marker_is_no_new_one(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.open()
    put(lake, "requests", "2026-11-20T09", [])
    (tmp_path / "lake/lake.json").unlink()
    with pytest.raises(LakeUnreadable, match=r"lake.json: cannot be read: it is not there, though the lake has tables"):
        Lake(tmp_path / "lake").open()
    assert not (tmp_path / "lake/lake.json").exists()


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), ValueError("bad"), KeyboardInterrupt()])
def test_a_writer_that_fails_leaves_the_old_file_and_nothing_torn(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")

    def write(path: Path) -> None:
        path.write_text("ha")
        raise error

    with pytest.raises((LakeUnwritable, ValueError, KeyboardInterrupt)):
        write_atomically(target, write)
    assert target.read_text() == "old"
    assert everything_below(tmp_path) == ["file.txt"]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.EEXIST, "A file lies where a folder is to be"),
        (errno.ENOTDIR, "A file lies where a folder is to be"),
        (errno.EACCES, "Let the user that runs goodput write there"),
        (errno.EIO, "Free some space, fix the permissions or mend the disk"),
    ],
)
def test_what_to_do_fits_what_is_wrong(code: int, remedy: str, tmp_path: Path) -> None:
    assert str(LakeUnwritable(tmp_path, OSError(code, os.strerror(code)))).splitlines()[1].startswith(remedy)


def test_a_full_disk_is_told_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(LakeUnwritable) as caught:
        write_parquet(tmp_path / "part.parquet", ROWS)
    assert str(caught.value) == (
        f"{tmp_path}/part.parquet: cannot write: No space left on device.\n"
        "Free some space, then run again: what was finished is kept."
    )
    assert caught.value.exit_code == 1
    assert everything_below(tmp_path) == []


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, for whom no folder is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)


def test_a_read_only_folder_is_told(read_only_folder: Path) -> None:
    lake = Lake(read_only_folder / "lake")
    with as_nobody(), pytest.raises(LakeUnwritable, match="Permission denied"):
        lake.open()
    with as_nobody(), pytest.raises(LakeUnwritable, match="Permission denied"), lake.lock():
        pass
    assert everything_below(read_only_folder) == []


def test_parts_in_a_read_only_folder_are_not_deleted_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(LakeUnwritable, match="Permission denied"):
        delete([tmp_path / "a.parquet"])


def test_a_file_in_the_place_of_the_lake_is_told(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("")
    with pytest.raises(LakeUnwritable):
        Lake(tmp_path / "lake").open()


def test_a_new_lake_says_its_format_and_opens_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.open()
    lake.open()
    assert json.loads((tmp_path / "lake/lake.json").read_text()) == {"format": 4}


def test_a_lake_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text('{"format": 5}')
    with pytest.raises(LakeTooNew) as caught:
        Lake(tmp_path).open()
    assert str(caught.value) == (
        f"{tmp_path}: this lake has format 5; this version of Goodput knows formats up to 4.\n"
        "Upgrade Goodput, or name another lake with `lake` in goodput.toml or --lake."
    )


def test_a_lake_of_an_older_version_names_the_command_that_makes_it_anew(tmp_path: Path) -> None:
    (tmp_path / "lake.json").write_text('{"format": 1}')
    with pytest.raises(LakeTooOld) as caught:
        Lake(tmp_path).open()
    assert str(caught.value) == (
        f"{tmp_path}: this lake has format 1; this version of Goodput writes format 4.\n"
        "`goodput rebuild` makes it anew from the landing files, alarms and deliveries kept; the old one is kept "
        "beside it until the new one is complete."
    )
    assert caught.value.exit_code == 1
    assert everything_below(tmp_path) == ["lake.json"]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": "new"}', "\x00"])
def test_a_marker_that_cannot_be_read_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "lake.json").write_text(content)
    with pytest.raises(GoodputError, match=r"lake\.json"):
        Lake(tmp_path).open()


def test_one_writer_at_a_time_within_a_process(tmp_path: Path) -> None:
    busy = "another run is writing to this lake"
    with Lake(tmp_path).lock(), pytest.raises(LakeBusy, match=busy), Lake(tmp_path).lock():
        pass
    with Lake(tmp_path).lock():
        pass


def test_the_lock_of_another_process_holds_and_goes_with_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(lake_module.__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(LakeBusy), Lake(tmp_path).lock():
            pass
        other.kill()
    with Lake(tmp_path).lock():
        pass


def test_a_part_is_named_by_what_it_was_made_from_and_by_its_bytes(tmp_path: Path) -> None:
    part = Lake(tmp_path).write_part("requests", NINE, ROWS, INPUTS)
    content = hashlib.sha256(part.path.read_bytes()).hexdigest()[:32]
    assert part == (NINE, str(part.path), INPUTS, content, 3, part.path.stat().st_size)
    assert everything_below(tmp_path) == [f"joined/requests/period={NINE}/{INPUTS}-{content}.parquet"]
    assert pq.ParquetFile(part.path).read().equals(ROWS)


def test_the_same_rows_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_parquet(tmp_path / name, ROWS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    lake = Lake(tmp_path / "lake")
    parts = [lake.write_part("requests", hour, ROWS, INPUTS) for hour in (NINE, "2026-11-20T10", NINE)]
    assert len({part.content for part in parts}) == 1
    assert parts[0] == parts[2]
    assert lake.write_part("requests", NINE, ROWS.slice(1), INPUTS).content != parts[0].content


def test_a_part_without_rows_has_its_columns_with_all_that_is_said_of_them(tmp_path: Path) -> None:
    """Files without rows are made once for each schema: one that differs in its metadata alone has its own."""
    lake = Lake(tmp_path)
    schemas = [
        pa.schema([pa.field("ttft_s", pa.float64(), metadata={"unit": unit}), pa.field("model", pa.string())], metadata)
        for unit in ("s", "ms")
        for metadata in (None, {"of": "one"})
    ]
    for schema in schemas * 2:
        part = lake.write_part("requests", NINE, schema.empty_table(), INPUTS)
        found = pq.read_table(part.path)
        assert (part.rows, found.num_rows, pq.read_metadata(part.path).num_rows) == (0, 0, 0)
        assert found.schema.equals(schema, check_metadata=True)
        assert part.size_bytes == part.path.stat().st_size
        assert part.content == hashlib.sha256(part.path.read_bytes()).hexdigest()[:32]


def test_a_part_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    old = lake.write_part("requests", NINE, ROWS, INPUTS)
    many = pa.table({"a": list(range(100_000))})
    with largest_file(20_000), pytest.raises(LakeUnwritable, match=rf"requests/period={NINE}: cannot write: "):
        lake.write_part("requests", NINE, many, INPUTS)
    assert everything_below(tmp_path) == [old.path.relative_to(tmp_path).as_posix()]
    assert pq.ParquetFile(old.path).read().equals(ROWS)


def test_parts_written_side_by_side_come_in_the_order_asked(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    hours = [f"2026-11-20T{hour:02}" for hour in range(20)]
    parts = write_each(lambda hour: lake.write_part("requests", hour, ROWS, INPUTS), hours)
    assert [part.partition for part in parts] == hours
    assert len(everything_below(tmp_path)) == len(hours)


def test_deleting_the_last_part_of_an_hour_takes_its_folder_too(tmp_path: Path) -> None:
    for name in ("h1/a", "h1/b", "h2/a"):
        write_parquet(tmp_path / name, ROWS)
    delete([tmp_path / "h1/a", tmp_path / "h2/a"])
    assert [path.name for path in tmp_path.iterdir()] == ["h1"]
    assert everything_below(tmp_path) == ["h1/b"]


@pytest.mark.parametrize("sizes", [[ROWS_A_GROUP], [ROWS_A_GROUP - 1, 3], [1000, 7, 50_000], [2 * ROWS_A_GROUP + 5]])
def test_the_same_rows_are_the_same_bytes_in_whichever_pieces_they_come(tmp_path: Path, sizes: list[int]) -> None:
    count = 3 * ROWS_A_GROUP
    # few texts at first, and then so many that their dictionary is given up on the way
    texts = ["often"] * 1000 + [f"a text of its own, number {number}" for number in range(1000, count)]
    rows = pa.table({"text": texts, "number": [number * 7919 % 65_537 for number in range(count)]})

    def content(pieces: list[int]) -> str:
        lake, at = Lake(tmp_path), 0
        with lake.part_writer("requests", "2026-11-20T09", "0" * 32, rows.schema) as writer:
            for size in cycle(pieces):
                if at >= count:
                    break
                writer.write(rows.slice(at, size))
                at += size
        return writer.content

    assert content(sizes) == content([count])
