"""[alarms] and [slo.NAME]: what holds without a word, and that a rule which can never fire is refused when read."""

from pathlib import Path

import pytest

from goodput.errors import SettingsError
from goodput.settings.alarms import Alarms, BurnRate, rules_of, threshold_of
from goodput.settings.load import load_settings


def message(tmp_path: Path, text: str) -> str:
    (tmp_path / "goodput.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "goodput.toml")
    return "\n".join(f"{mistake.key}: {mistake.wrong}" for mistake in caught.value.mistakes)


CHAT = "[workloads.chat]\nttft_s = 1.0\n"


def trend(rest: str) -> str:
    return f'[alarms.rules.mine]\nmetric = "p99_ttft_s"\n{rest}\n'


def absolute(metric: str, rest: str, first: str = "") -> str:
    return f'{first}\n[alarms.rules.mine]\nkind = "absolute"\nmetric = "{metric}"\n{rest}\n'


def slo(objective: float, rest: str = "", first: str = "") -> str:
    return f"{first}\n[slo.chat]\nobjective = {objective}\n{rest}"


def pair(budget: float, long_s: int, short_s: int) -> str:
    return f"burn_rates = [{{ budget_ratio = {budget}, long_s = {long_s}, short_s = {short_s} }}]"


NEVER = {
    # the average of clipped windows never reaches four sigma
    "alarms.rules.mine.threshold: 4.0 can never fire": trend("threshold = 4.0"),
    "alarms.rules.mine.threshold: 0.0 always fires": trend("threshold = 0.0"),
    "alarms.rules.mine.above: 1.0 can never fire": absolute("kv_usage_ratio", "above = 1.0"),
    "alarms.rules.mine.below: 0.0 can never fire": absolute("p99_ttft_s", "below = 0.0"),
    "alarms.rules.mine.above: -1.0 always fires": absolute("p99_ttft_s", "above = -1.0"),
    "alarms.rules.mine.below: 7.0 always fires": absolute("goodput_ratio", "below = 7.0"),
    "alarms.rules.mine.workload: caht is no workload": absolute("p99_ttft_s", 'above = 1.0\nworkload = "caht"', CHAT),
    "slo.chat.workload: caht is no workload": slo(0.99, 'workload = "caht"', CHAT),
    "alarms.rules.mine.match.bucket: 'idel' is none of its words": absolute(
        "waste.usd", 'above = 1.0\nmatch = { bucket = ["idel", "acc*"] }'
    ),
    "alarms.rules.mine: needs a bound": absolute("p99_ttft_s", ""),
    "alarms.rules.mine.metric: 'p98_ttft_s' is no metric": trend("").replace("p99", "p98"),
    "alarms.rules.mine.metric: is missing": "[alarms.rules.mine]\n",
    "alarms.rules.mine: above and below do not go with the kind trend": trend("above = 1.0"),
    "alarms.window_s: windows_s has none of 900 s": "[alarms]\nwindow_s = 900\n",
    "alarms.time_zone: 'Mars/Olympus' is no time zone": '[alarms]\ntime_zone = "Mars/Olympus"\n',
    # 14.4 times too fast at a 90 % objective: even if every request is bad it is 10 times
    "slo.chat.burn_rates.0: a burn rate of 14.4 can never fire": slo(0.9, pair(0.02, 3600, 300)),
    "slo.chat.burn_rates.0: a burn rate of 6 can never fire": slo(0.8),
    "slo.chat.burn_rates.0.short_s: 450 s is no multiple of the shortest of windows_s": slo(
        0.99, pair(0.05, 21600, 450)
    ),
    "slo.chat.burn_rates.0.short_s: 1800 s is no multiple": slo(0.99, first="windows_s = [3600]"),
    "slo.chat.burn_rates.0: its windows are not in order": slo(0.99, pair(0.05, 3600, 21600)),
    "slo.chat.objective: 1.0 is not usable": slo(1.0),
    "slo.chat.burn_rates.0.long: no such key": slo(0.99, "burn_rates = [{ long = 3 }]"),
}


@pytest.mark.parametrize(("wrong", "text"), NEVER.items(), ids=list(NEVER))
def test_what_cannot_be_meant_is_refused(tmp_path: Path, wrong: str, text: str) -> None:
    assert wrong in message(tmp_path, text)


def test_the_remedy_of_a_dead_burn_rate_is_alive(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(slo(0.9, pair(0.02, 3600, 300)))
    with pytest.raises(SettingsError, match=r"budget_ratio below 0\.01389"):  # 3600 / (0.1 * 30 * 86400)
        load_settings(tmp_path / "goodput.toml")
    (tmp_path / "goodput.toml").write_text(slo(0.9, pair(0.0138, 3600, 300)))
    load_settings(tmp_path / "goodput.toml")


def test_burn_rates_are_those_of_the_workbook() -> None:
    """Budget share x period / window, of 30 days and of 28."""
    pairs = [(0.02, 1), (0.05, 6), (0.1, 24), (0.1, 72)]
    burns = [BurnRate(budget_ratio=share, long_s=hours * 3600, short_s=300) for share, hours in pairs]
    assert [burn.threshold(30 * 86400) for burn in burns] == pytest.approx([14.4, 6, 3, 1])
    assert [burn.threshold(28 * 86400) for burn in burns] == pytest.approx([13.44, 5.6, 2.8, 0.9333], abs=1e-4)


def test_trends_of_pools_page_and_those_of_replicas_never_do() -> None:
    rules = rules_of(Alarms())
    pages = {rule.metric for rule in rules.values() if rule.severity == "page"}
    assert {"p99_ttft_s", "p99_tpot_s", "p99_e2e_s", "kv_usage_ratio", "hit_ratio", "goodput_ratio"} <= pages
    assert not [metric for metric in pages if metric is not None and metric.startswith("replica_")]
    hourly = [threshold_of(rules[f"{name}_page"], 3600) for name in ("p99_ttft_s", "kv_usage_ratio")]
    assert hourly == [3.0, 3.0]
    assert threshold_of(rules["p99_ttft_s_ticket"], 900) == 1.64


def test_a_default_rule_is_changed_by_its_name_and_others_are_added(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(
        "[alarms.rules.p99_ttft_s_page]\nthreshold = 3.0\n"
        "[alarms.rules.p99_e2e_s_page]\nenabled = false\n" + trend("threshold = 2.0")
    )
    rules = rules_of(load_settings(tmp_path / "goodput.toml").alarms)
    changed = rules["p99_ttft_s_page"]
    assert (changed.threshold, changed.severity, changed.metric) == (3.0, "page", "p99_ttft_s")
    assert "p99_e2e_s_page" not in rules
    assert rules["mine"].severity == "ticket"
