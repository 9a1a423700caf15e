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


POLICY = """
---
apiVersion: openslo/v1
kind: AlertPolicy
metadata: {name: fast}
spec:
  alertWhenBreaching: true
  conditions: [{conditionRef: chat-fast-burn}]
  notificationTargets: [{targetRef: on-call}]
"""
INLINE = """
  alertPolicies:
  - alertPolicyRef: fast
  - kind: AlertPolicy
    metadata: {name: slow}
    spec:
      conditions:
      - kind: AlertCondition
        metadata: {name: slow-burn}
        spec: {severity: ticket, condition: {kind: burnrate, op: gt, threshold: 2, lookbackWindow: 1d}}
"""
ALERTED = SLO.replace("  budgetingMethod", INLINE.strip("\n") + "\n  budgetingMethod") + POLICY


def test_alert_policies_are_the_burn_rates_of_their_objective(tmp_path: Path) -> None:
    """13.44 times too fast for an hour of 28 days spends 13.44 / 672 = 2 % of the budget; twice for a day 2 / 28."""
    page, ticket = load_settings(written(tmp_path, ALERTED)).slo["chat-goodput"].burn_rates
    assert (page.long_s, page.short_s, page.severity) == (3600, 3600, "page")
    assert (ticket.long_s, ticket.short_s, ticket.severity) == (86400, 86400, "ticket")
    assert (page.budget_ratio, ticket.budget_ratio) == (pytest.approx(0.02), pytest.approx(2 / 28))
    assert (page.threshold(28 * 86400), ticket.threshold(28 * 86400)) == (pytest.approx(13.44), pytest.approx(2))


def test_an_slo_without_alert_policies_has_the_usual_ones_and_one_with_none_has_none(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    none = SLO.replace("  budgetingMethod", "  alertPolicies: []\n  budgetingMethod")
    assert load_settings(written(tmp_path / "none", none)).slo["chat-goodput"].burn_rates == ()
    assert len(load_settings(written(tmp_path, SLO)).slo["chat-goodput"].burn_rates) == 3


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("alertPolicyRef: fast", "alertPolicyRef: fats", "spec.alertPolicies: alertPolicyRef 'fats' is in none of the"),
        ("conditionRef: chat-fast-burn", "conditionRef: gone", "alert policy fast: conditionRef 'gone' is in none"),
        ("alertPolicyRef: fast", "alertPolicy: fast", "spec.alertPolicies: kind None is not usable"),
        ("op: gte", "op: lte", "alert condition chat-fast-burn: op 'lte' is not supported"),
        ("kind: burnrate, op: gte", "kind: budget, op: gte", "chat-fast-burn: kind 'budget' is not supported"),
        ("alertAfter: 0m", "alertAfter: 5m", "chat-fast-burn: alertAfter '5m' is not supported"),
        ("severity: page", "severity: critical", "chat-fast-burn: severity 'critical' is not known"),
        ("threshold: 13.44", "threshold: fast", "chat-fast-burn: threshold 'fast' is no burn rate"),
        ("lookbackWindow: 1h", "lookbackWindow: 1y", "chat-fast-burn: lookbackWindow '1y' is no duration"),
        ("alertWhenBreaching", "alertWhenNoData", "alert policy fast: alertWhenNoData is not supported"),
        ("[{conditionRef: chat-fast-burn}]", "[]", "alert policy fast: conditions is not usable"),
        ("threshold: 13.44", "threshold: 100", "slo.chat-goodput.burn_rates.0: a burn rate of 100 can never fire"),
        ("lookbackWindow: 1h", "lookbackWindow: 1m", "slo.chat-goodput.burn_rates.0.long_s: 60 s is no multiple"),
        ("alertPolicies:\n", "alertPolicies: fast\n  other:\n", "spec.alertPolicies: is no list"),
        ("severity: ticket, condition: {kind: burnrate, op: gt, threshold: 2, lookbackWindow: 1d}",
         "severity: page, condition: {kind: burnrate, op: gt, threshold: 2, lookbackWindow: 1h}",
         "slo.chat-goodput.burn_rates.1: a page over 3600 s is there already"),
    ],
)  # fmt: skip
def test_an_alert_policy_that_cannot_be_meant_is_refused_by_name(
    tmp_path: Path, before: str, after: str, expected: str
) -> None:
    assert before in ALERTED
    with pytest.raises(SettingsError) as caught:
        load_settings(written(tmp_path, ALERTED.replace(before, after)))
    assert expected in str(caught.value)


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
