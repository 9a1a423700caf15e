"""What can be watched follows from contracts: names, direction, charts, and which names are near a wrong one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from goodput.contracts import contract
from goodput.errors import SettingsError
from goodput.plumbing.alarm_actions import MATCHED
from goodput.settings.alarms import default_rules
from goodput.settings.load import load_settings
from goodput.settings.metrics import DEFAULTS, AlarmMetric
from goodput.settings.rule import Rule
from goodput.settings.watched import canonical, metric_of, metrics, near, watched_relations


def metric(name: str) -> AlarmMetric:
    found = metric_of(name)
    assert found is not None
    return found


def test_relations_of_windows_are_watched() -> None:
    assert {"goodput", "replica_windows", "quality", "waste", "cache_by_replica", "coverage"} <= set(
        watched_relations()
    )
    assert not {"restatements", "cost_ledger", "latest_window", "alarm_series"} & set(watched_relations())


def test_every_numeric_column_is_a_metric_and_no_key_interval_or_flag_is() -> None:
    for relation in watched_relations():
        table = contract(relation)
        mine = {known.column for known in metrics().values() if known.relation == relation}
        numeric = {column.name for column in table.columns if column.duckdb_type in {"BIGINT", "DOUBLE"}}
        assert mine <= numeric - set(table.primary_key)
        left_out = numeric - mine
        assert all(any(part in name for part in ("_ci_", "low", "high", "upper")) for name in left_out), left_out
    assert (
        metric_of("goodput_ci_low_rps")
        is metric_of("partial")
        is metric_of("window_s")
        is metric_of("revision")
        is None
    )


@pytest.mark.parametrize(
    ("name", "of", "chart", "scale", "worse"),
    [
        ("failed", "offered", "ratio", "logit", "up"),
        ("retry_ratio", "offered", "ratio", "logit", "up"),
        ("goodput_ratio", "offered", "ratio", "logit", "down"),
        ("pass_ratio", "judged", "ratio", "logit", "down"),
        ("hit_ratio", "looked_up_tokens", "ratio", "logit", "down"),
        ("preemptions", "up_s", "rate", "log", "up"),
        ("offered", None, "rate", "log", None),
        ("kv_usage_ratio", None, "level", "logit", "up"),
        ("replica_hit_ratio", "looked_up_tokens", "level", "logit", "down"),  # against its peers
        ("p99_ttft_s", "n_ttft", "level", "log", "up"),
        ("cost_per_accepted_usd", "accepted", "level", "log", "up"),
        ("usd", None, "level", "log", None),
    ],
)
def test_how_a_column_is_charted_follows_from_its_type_its_unit_and_what_it_is_of(
    name: str, of: str | None, chart: str, scale: str, worse: str | None
) -> None:
    known = metric(name)
    assert (known.of, known.chart, known.scale, known.worse) == (of, chart, scale, worse)


def test_requests_that_make_a_quantile_believable_bound_it_from_above_19_times_in_20() -> None:
    """The largest of n is above the q-quantile with 1 - q**n: the least n that leaves 2.5 %."""
    for name, share in (("p99_ttft_s", 0.99), ("p95_ttft_s", 0.95)):
        least = metric(name).least_requests
        assert share**least <= 0.025 < share ** (least - 1)
    assert (metric("p95_ttft_s").stands_in_for, metric("p99_ttft_s").body) == ("p99_ttft_s", "p95_ttft_s")
    assert metric("replica_p95_ttft_s").stands_in_for is None


def test_a_name_that_several_relations_have_is_that_of_goodput_or_has_its_relation_before_it() -> None:
    assert metric("coverage_ratio").relation == "goodput"
    assert metric("coverage.coverage_ratio").relation == "coverage"
    assert metric_of("attempts") is None
    assert metric("replica_windows.attempts").relation == "replica_windows"
    assert canonical("goodput.failed") == "failed"
    assert metric("goodput.failed") is metric("failed")
    assert metric("mean_kv_usage_ratio") is metric("kv_usage_ratio")
    assert len(metrics()) == len(set(metrics()))


def test_labels_are_the_words_of_the_key() -> None:
    assert metric("failed").labels == ("workload", "pool")
    assert metric("pass_ratio").labels == ("workload", "evaluator", "label")
    assert metric("usd").labels == ("workload", "bucket", "pool")
    assert (metric("preemptions").labels, metric("replica_preemptions").labels) == (("pool",), ("pool", "replica"))


def test_every_label_can_be_silenced() -> None:
    labels = {
        label for known in metrics().values() if not known.relation.endswith("histograms") for label in known.labels
    }
    assert labels <= set(MATCHED)


def test_what_a_contract_says_for_alarms_is_about_a_column_that_is_there() -> None:
    for relation in watched_relations():
        table = contract(relation)
        names = {column.name for column in table.columns}
        said = [column for column in table.columns if column.worse or column.of]
        assert {column.worse for column in said} <= {"up", "down", None}
        assert {column.of for column in said if column.of} <= names


def test_every_default_metric_has_a_direction_and_every_default_rule_its_metric() -> None:
    assert all(metric(name).worse for name in DEFAULTS)
    assert {rule.metric for rule in default_rules().values()} <= set(metrics())


def test_the_documentation_lists_what_is_watched_by_default() -> None:
    """Each row of the table: metrics, of what, which way is worse, sigma of page and ticket, requests."""
    text = (Path(__file__).parents[2] / "docs/alarms.md").read_text()
    lines = text[text.index("| metric | of | worse |") :].split("\n\n", 1)[0].split("\n")[2:]
    told = {}
    for line in lines:
        names, _, worse, page, ticket, requests = (cell.strip() for cell in line.strip("|").split("|"))
        for name in re.findall(r"`([a-z0-9_]+)`", names):
            told[name] = (worse, page, ticket, requests)
    rules = default_rules()
    for name in DEFAULTS:
        known = metric(name)
        page = f"{known.page:g}" if f"{name}_page" in rules else "none"
        requests = str(known.least_requests) if known.chart == "level" and known.least_requests else ""
        worse, its_page, ticket, needed = told.pop(name)
        assert (worse, needed) == (known.worse, requests), name
        assert float(ticket) == known.ticket, name
        assert page == (its_page if its_page == "none" else f"{float(its_page):g}"), name
    assert not told


def test_a_mistyped_name_lists_the_near_ones() -> None:
    assert near("p99_tft_s")[0] == "p99_ttft_s"
    assert near("retries_ratio")[0] == "retry_ratio"
    assert "coverage.coverage_ratio" in near("coverage.coverag_ratio")
    assert near("zzzz") == sorted(DEFAULTS)


def wrong(tmp_path: Path, text: str) -> str:
    (tmp_path / "goodput.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "goodput.toml")
    return "\n".join(f"{mistake.key}: {mistake.wrong}: {mistake.right}" for mistake in caught.value.mistakes)


def test_a_trend_needs_a_direction_and_a_label_that_its_series_have(tmp_path: Path) -> None:
    rule = "[alarms.rules.mine]\nmetric = {}\n"
    said = wrong(tmp_path, rule.format('"usd"'))
    assert said == 'alarms.rules.mine.worse: nobody says which way usd is worse: "up" or "down"'
    said = wrong(tmp_path, rule.format('"failed"\nmatch = { evaluator = "judge" }'))
    assert said == "alarms.rules.mine.evaluator: failed has no series by evaluator: nothing would match: workload, pool"
    said = wrong(tmp_path, rule.format('"failed"\nkind = "absolute"\nabove = 0.1\nworse = "up"'))
    assert "worse does not go with the kind absolute" in said
    said = wrong(tmp_path, rule.format('"failed"\nthreshold = 17.0'))
    assert "17.0 can never fire" in said


def test_a_rule_may_watch_anything_and_say_which_way_is_worse(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(
        '[alarms.rules.idle]\nmetric = "waste.usd"\nworse = "up"\nmatch = { bucket = "idle" }\n'
        '[alarms.rules.failing]\nmetric = "failed"\nthreshold = 5.0\n'
    )
    rules = load_settings(tmp_path / "goodput.toml").alarms.rules
    assert rules["idle"].wanted["bucket"] == ("idle",)
    assert isinstance(rules["failing"], Rule)


def test_settings_without_such_rules_read_no_contract(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text("")
    script = (
        "import sys; from pathlib import Path; from goodput.settings.load import load_settings; "
        f"from goodput.contracts import contract; load_settings(Path({str(tmp_path / 'goodput.toml')!r})); "
        "print(contract.cache_info().currsize, 'duckdb' in sys.modules, 'polars' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["0", "False", "False"]
