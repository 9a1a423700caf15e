"""A log of calls that is corrected in place: what it held before still counts, and a warning says so."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from declared import source
from goodput.cli.main import app
from goodput.plumbing.workspace import Workspace
from published import ask, run_at

SETTINGS = 'landing = ["landing"]\nlake = "lake"\nalarms.enabled = false\n'
COLUMNS = {"request_key": "id", "started_at": "start", "ttft_s": "ttft", "ended_at": "end"}
UNITS = {"started_at": "epoch_s", "ended_at": "epoch_s", "ttft_s": "s"}
BEGIN_S = 1_795_165_200  # 2026-11-20T09:00:00Z


def published(root: Path, ttft_s: list[float], **more: str) -> tuple[list[tuple[str, int]], int]:
    """Rewritten files with their calls, and attempts, after a run over calls with these times to first token."""
    rows = [f"r{n},{BEGIN_S + n},{ttft},{BEGIN_S + n + 9}" for n, ttft in enumerate(ttft_s)]
    (root / "landing").mkdir(exist_ok=True)
    (root / "landing/calls.csv").write_text("\n".join(["id,start,ttft,end", *rows]) + "\n")
    (root / "goodput.toml").write_text(
        SETTINGS + source("calls", "calls.csv", "attempts", units=UNITS, **COLUMNS, **more)
    )
    workspace = run_at(root / "goodput.toml")
    warned = ask(workspace, "SELECT subject, affected FROM warnings WHERE kind = 'call_rewritten'").rows()
    return warned, ask(workspace, "SELECT count(*) FROM attempts").item()


def test_changed_rows_are_warned_of_and_grown_files_are_not(tmp_path: Path) -> None:
    assert published(tmp_path, [0.5] * 4) == ([], 4)
    assert published(tmp_path, [0.5] * 6) == ([], 6)
    assert published(tmp_path, [0.5] * 3 + [0.7] * 3) == ([("calls.csv", 3)], 9)


def nameless(root: Path, rows: list[tuple[int, int]]) -> tuple[list[tuple[str, str, int]], int]:
    """Rewritten files, and requests, after a run over rows of calls (start, tokens) that nothing names."""
    lines = [f"{BEGIN_S + start},{BEGIN_S + start + 9},{tokens}" for start, tokens in rows]
    (root / "landing").mkdir(exist_ok=True)
    (root / "landing/calls.csv").write_text("\n".join(["start,end,out", *lines]) + "\n")
    columns = {"started_at": "start", "ended_at": "end", "output_tokens": "out"}
    units = {"started_at": "epoch_s", "ended_at": "epoch_s"}
    (root / "goodput.toml").write_text(SETTINGS + source("calls", "calls.csv", "attempts", units=units, **columns))
    workspace = run_at(root / "goodput.toml")
    warned = ask(workspace, "SELECT subject, severity, affected FROM warnings WHERE kind = 'call_rewritten'").rows()
    return warned, ask(workspace, "SELECT count(*) FROM requests").item()


def test_rows_that_nothing_names_are_known_by_their_times(tmp_path: Path) -> None:
    """A column of all ten rows is corrected; then of two, the others being read as they were."""
    rows = [(n, 40) for n in range(10)]
    assert nameless(tmp_path, rows) == ([], 10)
    assert nameless(tmp_path, [(n, 41) for n in range(10)]) == ([("calls.csv", "high", 10)], 20)
    (tmp_path / "part").mkdir()
    assert nameless(tmp_path / "part", rows) == ([], 10)
    assert nameless(tmp_path / "part", [*rows[:8], (8, 41), (9, 41)]) == ([("calls.csv", "high", 2)], 12)


def test_a_log_that_begins_anew_under_its_path_is_no_correction(tmp_path: Path) -> None:
    """Ten calls of the next minute, one of which began with the last of before."""
    assert nameless(tmp_path, [(n, 40) for n in range(10)]) == ([], 10)
    assert nameless(tmp_path, [(9 + n, 50) for n in range(10)]) == ([], 20)
    assert nameless(tmp_path, [(60 + n, 50) for n in range(10)]) == ([], 30)


def test_rows_that_have_an_id_are_changed_in_place(tmp_path: Path) -> None:
    assert published(tmp_path, [0.5] * 4, attempt_id="id") == ([], 4)
    assert published(tmp_path, [0.5, 0.5, 0.5, 0.7], attempt_id="id") == ([], 4)


@pytest.mark.parametrize("ttft_s", [(0.5, 0.7), (0.7, 0.5)])
def test_a_correction_counts_or_is_warned_of(tmp_path: Path, ttft_s: tuple[float, float]) -> None:
    """Which of two contents has the smaller source id is chance; one of these two has."""
    before, after = ttft_s
    published(tmp_path, [0.4, before], attempt_id="id")
    published(tmp_path, [0.4, after], attempt_id="id")
    workspace = Workspace(tmp_path / "goodput.toml")
    asked = "SELECT subject, affected FROM warnings WHERE kind = 'record_corrected'"
    counts = ask(workspace, "SELECT max(ttft_s) FROM requests").item()
    assert ask(workspace, asked).rows() == ([] if counts == after else [("calls.csv", 1)])
    # what the warning says to do
    kept = (tmp_path / "landing/calls.csv").rename(tmp_path / "calls.csv")
    forgotten = CliRunner().invoke(app, ["forget", "calls.csv", "--config", str(tmp_path / "goodput.toml")])
    assert forgotten.exit_code == 0, forgotten.output
    kept.rename(tmp_path / "landing/calls.csv")
    workspace = run_at(tmp_path / "goodput.toml")
    assert ask(workspace, asked).is_empty()
    assert ask(workspace, "SELECT max(ttft_s) FROM requests").item() == after
