"""Cells that a check holds back: remembered by what they were made from, forgotten when they pass."""

from pathlib import Path

from goodput.errors import HeldHour
from goodput.plumbing.held import Held, held_inputs, note_held, read_held
from goodput.plumbing.lake import Lake

NINE, TEN = "hour=2026-11-20T09", "hour=2026-11-20T10"


def test_nothing_is_held_in_a_new_lake(tmp_path: Path) -> None:
    assert read_held(Lake(tmp_path)) == []
    assert held_inputs(Lake(tmp_path)) == set()


def test_a_cell_that_failed_is_held_with_what_it_was_made_from(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    note_held(lake, ["requests"], {NINE: "i9", TEN: "i10"}, [HeldHour("requests", TEN, ("verdict_missing", "e2e"))])
    assert read_held(lake) == [Held("requests", TEN, "i10", ("verdict_missing", "e2e"))]
    assert held_inputs(lake, "requests") == {(TEN, "i10")}
    assert held_inputs(lake, "attempts") == set()


def test_other_cells_and_other_tables_stay_held(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    note_held(lake, ["requests"], {NINE: "a"}, [HeldHour("requests", NINE, ("x",))])
    note_held(lake, ["attempts"], {NINE: "a"}, [HeldHour("attempts", NINE, ("y",))])
    note_held(lake, ["requests"], {TEN: "b"}, [HeldHour("requests", TEN, ("z",))])
    assert {(held.table, held.cell) for held in read_held(lake)} == {
        *(("requests", NINE), ("attempts", NINE), ("requests", TEN)),
    }
    assert held_inputs(lake) == {(NINE, "a"), (TEN, "b")}


def test_a_cell_that_passes_is_held_no_longer(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    note_held(lake, ["requests"], {NINE: "a"}, [HeldHour("requests", NINE, ("x",))])
    note_held(lake, ["requests"], {NINE: "b"}, [HeldHour("requests", NINE, ("still",))])
    assert read_held(lake) == [Held("requests", NINE, "b", ("still",))]
    note_held(lake, ["requests"], {NINE: "c"}, [])
    assert read_held(lake) == []
