"""Hostile telemetry and settings, little of each; `make drill-fuzz` does the same with a million inputs."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from fuzz.chosen import settings_trial
from fuzz.landing import fuzzed
from fuzz.trial import Ended, Sane, different, lost_rows, sane_lake, trial
from goodput.plumbing.workspace import Workspace

SEED, INPUTS = 7, 700


@pytest.fixture(scope="module")
def sane(tmp_path_factory: pytest.TempPathFactory) -> Sane:
    return sane_lake(tmp_path_factory.mktemp("sane"))


def test_the_sane_telemetry_is_all_there(sane: Sane) -> None:
    assert {name for name, rows in sane.items() if rows.height > 40} == {*sane}


@pytest.fixture(scope="module")
def beside(sane: Sane, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Workspace]:
    """What became of a trial, and the lake that it left."""
    folder = tmp_path_factory.mktemp("beside")
    return trial(Random(SEED), folder, INPUTS, sane), Workspace(folder / "goodput.toml")


def test_hostile_telemetry_stops_nothing_and_changes_nothing_beside_it(beside: tuple[Ended, Workspace]) -> None:
    ended, _ = beside
    assert ended.faults == []
    assert ended.inputs.total() >= INPUTS
    assert len(ended.inputs) > 20  # kinds
    assert ended.rows["quarantined"] > 100
    others = ended.rows["quarantined"] + ended.rows["ignored"] + ended.rows["duplicate"]
    assert ended.rows["read"] - others > 100  # what is believed is what can do harm


def test_rows_that_are_lost_and_sane_rows_that_differ_are_noticed(sane: Sane, beside: tuple[Ended, Workspace]) -> None:
    _, workspace = beside
    made = list(fuzzed(Random(SEED), INPUTS))
    assert not [*lost_rows(workspace, made)]
    spans = next(file for file in made if file.kind == "spans (JSON)" and file.rows)
    (lost,) = lost_rows(workspace, [replace(spans, rows=spans.inputs + 1)])
    assert lost.startswith("lost: fuzz/spans-0")
    (missing,) = lost_rows(workspace, [replace(spans, path=b"fuzz/nowhere.jsonl")])
    assert missing == "lost: fuzz/nowhere.jsonl is no source"
    other = sane | {"requests": sane["requests"].slice(1)}
    assert [fault.split(",")[0] for fault in different(workspace, other)] == ["not as without: requests"]


def test_settings_are_taken_or_refused_with_every_mistake(tmp_path: Path) -> None:
    ended = settings_trial(Random(7), tmp_path, 300)
    assert ended.faults == []
    assert min(ended.inputs.values()) > 50  # both were met
