"""A kind of rule is one module of a folder: what is in it is all that the pipeline needs to know of the kind."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from goodput.contracts import contract
from goodput.errors import SettingsError
from goodput.monitor import rules
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.rule_kind import rule_kinds
from goodput.settings.load import load_settings
from goodput.settings.rule import kind_names
from goodput.settings.rule_kinds import rule_settings
from monitor.rows import MONDAY, goodput_rows

LEVEL_SHIFT = '''
"""Fires in the window in which a series jumps by more than a ratio."""

import numpy as np
from pydantic import Field

from goodput.errors import Mistake
from goodput.monitor.rule_kind import RuleKind
from goodput.monitor.rule_series import RuleSeries, selected
from goodput.monitor.states import Debounce, episodes
from goodput.settings.rule import Rule


class LevelShiftRule(Rule):
    """Its own key."""

    ratio: float = Field(default=2.0, gt=1)


class LevelShift(RuleKind):
    """A jump between two windows."""

    name = "level_shift"
    model = LevelShiftRule

    def mistakes(self, key, rule):
        """A ratio that nothing reaches."""
        if rule.ratio > 100:
            yield Mistake(f"{key}.ratio", "is never reached", "less than 100")

    def series(self, observed):
        """The ratio of each window to the one before."""
        for name, rule, panel, row in selected(observed.rules_of(self.name), observed.panels):
            values = panel.values[row]
            score = np.full(len(values), np.nan)
            score[1:] = values[1:] / values[:-1]
            found = episodes(score >= rule.ratio, score < rule.ratio, np.isfinite(score), Debounce(1, 1))
            parts = (name, self.name, rule.severity, rule.metric, panel.labels[row], rule.ratio, score, values)
            yield RuleSeries(*parts, tuple(found), panel=panel, row=row, grid=panel.grid)

    def headline(self, one, facts):
        """How large the jump is."""
        return f"{one.metric} jumped {facts['score']:.2g} times"


KIND = LevelShift()
'''
SETTINGS = '[alarms.rules.jump]\nkind = "level_shift"\nmetric = "p99_ttft_s"\n'


@pytest.fixture
def level_shift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of rules that holds one module more."""
    (tmp_path / "level_shift.py").write_text(LEVEL_SHIFT)
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    for cached in (kind_names, rule_settings, rule_kinds):
        cached.cache_clear()
    yield
    for cached in (kind_names, rule_settings, rule_kinds):
        cached.cache_clear()


def wrong(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "goodput.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "goodput.toml")
    return [f"{mistake.key}: {mistake.wrong}: {mistake.right}" for mistake in caught.value.mistakes]


def test_kinds_are_those_of_the_folder() -> None:
    assert kind_names() == ("absence", "absolute", "burn_rate", "cascade", "trend")
    assert [kind.name for kind in rule_kinds()] == list(kind_names())


@pytest.mark.usefixtures("level_shift")
def test_a_module_more_is_a_kind_more(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(SETTINGS + "ratio = 1.5\n")
    settings = load_settings(tmp_path / "goodput.toml")
    p99 = np.array([[1.0, 1.0, 1.2, 2.4, 2.4, 2.5]])
    rows = {"goodput": goodput_rows(p99, np.full(p99.shape, 1000))}
    seen = Evaluation(Evidence(rows, settings), MONDAY + timedelta(hours=6, minutes=10))
    (alarm,) = (row for row in seen.alarms() if row["rule"] == "jump")
    assert (alarm["kind"], alarm["state"], alarm["threshold"]) == ("level_shift", "resolved", 1.5)
    assert alarm["summary"] == "p99_ttft_s jumped 2 times"
    events = [event for event in seen.new_events([]) if event["rule"] == "jump"]
    assert [(event["transition"], event["occurred_at"].hour) for event in events] == [("firing", 4), ("resolved", 5)]
    assert not contract("alarms")["kind"].valid_values  # the contract lists no kinds either
    assert "ratio" in settings.model_dump()["alarms"]["rules"]["jump"]  # what is replayed again is decided by it


@pytest.mark.usefixtures("level_shift")
def test_its_settings_are_judged_by_itself(tmp_path: Path) -> None:
    assert wrong(tmp_path, SETTINGS + "ratio = 101\n") == ["alarms.rules.jump.ratio: is never reached: less than 100"]
    assert wrong(tmp_path, SETTINGS + "ratio = 1\n")[0].startswith("alarms.rules.jump.ratio: 1 is not usable")
    assert wrong(tmp_path, SETTINGS + "depth = 2\n")[0].startswith("alarms.rules.jump.depth: no such key")
    assert wrong(tmp_path, SETTINGS + "above = 2.0\n") == [
        'alarms.rules.jump: above and below do not go with the kind level_shift: kind = "absolute" or kind = "cascade"'
    ]


def test_a_rule_is_of_a_kind_that_there_is(tmp_path: Path) -> None:
    assert wrong(tmp_path, SETTINGS) == [
        "alarms.rules.jump.kind: 'level_shift' is not usable: absence, absolute, burn_rate, cascade, trend"
    ]
    (mistake,) = wrong(tmp_path, SETTINGS.replace("level_shift", "burn_rate"))
    assert (
        mistake == "alarms.rules.jump.kind: a burn rate needs an objective: [slo.NAME], which has such rules by itself"
    )


def test_a_threshold_goes_with_kinds_that_take_one(tmp_path: Path) -> None:
    given = SETTINGS.replace("level_shift", "absolute") + "above = 1.0\nthreshold = 2.0\n"
    assert wrong(tmp_path, given) == ['alarms.rules.jump: threshold does not go with the kind absolute: kind = "trend"']
