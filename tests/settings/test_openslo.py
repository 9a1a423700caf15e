"""Objectives as OpenSLO v1 YAML: the specification's own example, and what is reported of files that are otherwise."""

from pathlib import Path

import pytest

from goodput.errors import SettingsError
from goodput.settings.alarms import Slo
from goodput.settings.load import load_settings

SLO = """\
apiVersion: openslo/v1
kind: SLO
metadata: {name: chat-goodput, displayName: Chat goodput}
spec:
  service: chat
  indicator:
    metadata: {name: chat-goodput-ratio}
    spec:
      ratioMetric:
        counter: false
        good: {metricSource: {type: duckdb, spec: {column: accepted}}}
        total: {metricSource: {type: duckdb, spec: {column: offered}}}
  timeWindow: [{duration: 28d, isRolling: true}]
  budgetingMethod: Occurrences
  objectives: [{displayName: good, target: 0.99}]
---
apiVersion: openslo/v1
kind: AlertCondition
metadata: {name: chat-fast-burn}
spec: {severity: page, condition: {kind: burnrate, op: gte, threshold: 13.44, lookbackWindow: 1h, alertAfter: 0m}}
"""


def written(tmp_path: Path, text: str, more: str = "") -> Path:
    (tmp_path / "slo").mkdir()
    (tmp_path / "slo/chat.yaml").write_text(text)
    (tmp_path / "goodput.toml").write_text(f'openslo = ["slo/*.yaml"]\n{more}')
    return tmp_path / "goodput.toml"


def test_an_slo_document_is_an_objective_and_other_kinds_are_left_alone(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, SLO, "[slo.other]\nobjective = 0.9\nburn_rates = []\n"))
    assert settings.slo == {
        "chat-goodput": Slo(objective=0.99, period_s=28 * 86400.0, workload=("chat",)),
        "other": Slo(objective=0.9, burn_rates=()),
    }


def test_a_target_in_percent_is_the_same(tmp_path: Path) -> None:
    percent = SLO.replace("target: 0.99", "targetPercent: 99")
    assert load_settings(written(tmp_path, percent)).slo["chat-goodput"].objective == 0.99


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("openslo/v1\nkind: SLO", "openslo/v2\nkind: SLO", "apiVersion: 'openslo/v2' is not known"),
        ("Occurrences", "Timeslices", "spec.budgetingMethod: 'Timeslices' is not supported"),
        ("target: 0.99", "target: 0.99, targetPercent: 99", "spec.objectives: needs one target"),
        ("target: 0.99", "target: high", "spec.objectives: 'high' is no number"),
        ("ratioMetric", "thresholdMetric", "spec.indicator: thresholdMetric is not supported"),
        ("target: 0.99", "target: 0.99, op: lte, value: 2", "spec.objectives: op, value is not supported"),
        ("28d", "1M", "spec.timeWindow: is not usable"),
        ("isRolling: true", "isRolling: false", "spec.timeWindow: is not usable"),
        ("chat-goodput,", "Chat_Goodput,", "metadata.name: 'Chat_Goodput' is no name"),
        ("target: 0.99", "target: 1.5", "slo.chat-goodput.objective: 1.5 is not usable"),
        ("target: 0.99", "target: 0.5", "slo.chat-goodput.burn_rates.0: a burn rate of 5.6 can never fire"),
        ("spec:\n  service", "spec: [\n  service", "slo/chat.yaml: "),
    ],
)
def test_what_cannot_be_meant_is_reported_with_its_place(
    tmp_path: Path, before: str, after: str, expected: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(written(tmp_path, SLO.replace(before, after)))
    assert expected in str(caught.value)


def test_a_name_given_twice_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    file = written(tmp_path, SLO, '[slo."chat-goodput"]\nobjective = 0.9\nburn_rates = []\n')
    file.write_text(file.read_text().replace('"slo/*.yaml"', '"slo/*.yaml", "gone/*.yaml"'))
    with pytest.raises(SettingsError) as caught:
        load_settings(file)
    keys = [mistake.key for mistake in caught.value.mistakes]
    assert keys == ["openslo", "slo.chat-goodput"]
