"""A question checks the settings only where they may be others than those that the lake was last published by."""

from pathlib import Path

import pytest

from goodput.ask.database import published
from goodput.errors import NotPublished, SettingsError
from goodput.plumbing import checked_settings
from goodput.plumbing.checked_settings import lake_of_checked, note_checked
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from published import run_at

pytestmark = pytest.mark.only("goodput")

SLO = """
apiVersion: openslo/v1
kind: SLO
metadata: {name: good}
spec:
  service: chat
  indicator:
    metadata: {name: good}
    spec:
      ratioMetric:
        counter: false
        good: {metricSource: {type: duckdb, spec: {column: accepted}}}
        total: {metricSource: {type: duckdb, spec: {column: offered}}}
  timeWindow: [{duration: 28d, isRolling: true}]
  budgetingMethod: Occurrences
  objectives: [{displayName: good, target: 0.99}]
"""


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """A settings file by which a run has published."""
    (tmp_path / "landing").mkdir()
    file = tmp_path / "goodput.toml"
    file.write_text("windows_s = [3600]\n")
    run_at(file)
    return file


def test_the_file_that_a_run_took_is_not_checked_again(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lake_of_checked(settings, None) == settings.parent / "lake"
    assert lake_of_checked(settings, settings.parent / "lake") == settings.parent / "lake"
    monkeypatch.chdir(settings.parent)
    assert lake_of_checked(None, None) == settings.parent / "lake"


@pytest.mark.parametrize(
    "text",
    ["lakee = 'other'\n", "windows_s = [3601]\n", "lake = 3\n", "[lake]\nurl = 'x'\n", "lake = 'lake\n", "no = 1"],
)
def test_any_other_file_is(settings: Path, text: str) -> None:
    sound = settings.read_bytes()
    settings.write_text(text)
    with pytest.raises(SettingsError), published(settings, None):
        pass
    settings.write_bytes(sound)
    with published(settings, None) as connection:
        assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_a_file_that_was_edited_while_the_run_went_on_is(settings: Path) -> None:
    workspace = Workspace(settings)
    assert workspace.settings.windows_s == (3600,)
    settings.write_text("lakee = 'other'\n")
    run(workspace)
    with pytest.raises(SettingsError), published(settings, None):
        pass


def test_the_same_file_is_for_a_lake_that_was_not_published_by_it(settings: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert lake_of_checked(settings, elsewhere) is None
    copied = elsewhere / "goodput.toml"
    copied.write_bytes(settings.read_bytes())
    assert lake_of_checked(copied, None) is None
    with pytest.raises(NotPublished), published(copied, None):
        pass


def test_files_that_settings_name_are_always_read(settings: Path) -> None:
    slo = settings.parent / "slo.yaml"
    slo.write_text(SLO)
    settings.write_text("openslo = ['*.yaml']\n[workloads.chat]\nmatch = { model = 'm' }\n")
    run_at(settings)
    with published(settings, None):
        pass
    slo.unlink()
    with pytest.raises(SettingsError, match="openslo"), published(settings, None):
        pass


def test_where_there_is_no_file_there_is_nothing_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lake_of_checked(None, None) == tmp_path / "lake"
    assert lake_of_checked(None, tmp_path / "other") == tmp_path / "other"
    assert lake_of_checked(None, Path("s3://bucket/lake")) is None
    with pytest.raises(SettingsError):
        lake_of_checked(tmp_path / "goodput.toml", None)


def test_what_is_noted_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note_checked(tmp_path, "")
    assert not list(tmp_path.iterdir())
    note_checked(tmp_path, "digest")
    written = []
    monkeypatch.setattr(checked_settings, "write_atomically", lambda path, _: written.append(path))
    note_checked(tmp_path, "digest")
    assert not written
    note_checked(tmp_path, "another")
    assert len(written) == 1
