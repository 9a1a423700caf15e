"""All rows of a table from one file: what the parts hold, of which only new ones are opened."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from goodput.plumbing.gathered import gathered
from goodput.plumbing.lake import Lake
from lakes import put

NINE, TEN, ELEVEN = (f"2026-11-20T{hour:02}" for hour in (9, 10, 11))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.open()
    return made


def know(lake: Lake, hour: str, *replicas: str, pool: str = "chat") -> None:
    rows = [
        {"epoch_hour": int(hour[-2:]), "replica": name, "pool": pool, "sampled": True, "by_engine": True}
        | {"other_names": [f"{name}:8000"]}
        for name in replicas
    ]
    put(lake, "known_replicas", hour, rows)


def known(lake: Lake) -> list[tuple[int, str, str]]:
    rows = gathered(lake, "known_replicas")
    return sorted(zip(*(rows[name].to_pylist() for name in ("epoch_hour", "replica", "pool")), strict=True))


def lose_parts(lake: Lake) -> None:
    """Take every part of now away: who does not open them does not miss them."""
    for file in lake.catalog["known_replicas"].all_files():
        Path(file).unlink()


def test_rows_of_all_parts(lake: Lake) -> None:
    assert known(lake) == []
    know(lake, NINE, "a", "b")
    know(lake, TEN, "a")
    know(lake, ELEVEN)
    assert known(lake) == [(9, "a", "chat"), (9, "b", "chat"), (10, "a", "chat")]


def test_only_parts_that_are_new_are_opened(lake: Lake) -> None:
    know(lake, NINE, "a")
    know(lake, TEN, "a")
    before = gathered(lake, "known_replicas")
    lose_parts(lake)
    again = gathered(Lake(lake.root), "known_replicas")
    assert again.sort_by("epoch_hour") == before.sort_by("epoch_hour")
    know(lake, ELEVEN, "b")
    assert known(lake) == [(9, "a", "chat"), (10, "a", "chat"), (11, "b", "chat")]


def test_rows_of_parts_that_were_replaced_or_are_gone_are_left_out(lake: Lake) -> None:
    for hour in (NINE, TEN, ELEVEN):
        know(lake, hour, "a")
    gathered(lake, "known_replicas")
    know(lake, NINE, "a", pool="code")
    lake.catalog["known_replicas"].replace({TEN: ()})
    assert known(lake) == [(9, "a", "code"), (11, "a", "chat")]
    assert pq.read_metadata(lake.root / "known_replicas.parquet").num_rows == 2


@pytest.mark.parametrize("content", [b"", b"PAR1", b"[]"])
def test_what_another_left_in_the_file_is_not_read(lake: Lake, content: bytes) -> None:
    know(lake, NINE, "a")
    (lake.root / "known_replicas.parquet").write_bytes(content)
    assert known(lake) == [(9, "a", "chat")]


def test_a_file_of_other_columns_is_made_anew(lake: Lake) -> None:
    know(lake, NINE, "a")
    gathered(lake, "known_replicas")
    path = lake.root / "known_replicas.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["pool"]), path)
    assert known(lake) == [(9, "a", "chat")]
