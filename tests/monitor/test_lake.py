"""Alarms in a lake: written once, published, asked and silenced on the command line."""

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from goodput.alarms import evidence, judge
from goodput.cli.headline import print_headline
from goodput.cli.main import main
from goodput.contracts import arrow_schema
from goodput.measure.gates import gate_rows
from goodput.monitor.alarm_tables import TABLES
from goodput.plumbing.alarm_actions import Action, actions_file, add_action, newest, read_actions
from goodput.plumbing.catalog import ALL
from goodput.plumbing.database import Published
from goodput.plumbing.database import publish as publish_tables
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.workspace import Workspace
from lakes import put, rows_of
from monitor.noise import hourly_p99, ramp
from monitor.rows import MONDAY, goodput_rows

DAYS, A_DAY = 31, 24
NOW = MONDAY + timedelta(days=DAYS, minutes=10)
Say = Callable[..., str]


@pytest.fixture(scope="module")
def measured() -> pl.DataFrame:
    """Rows of goodput of two pools, the first of which drifts 5 %/h since a day."""
    p99, requests = hourly_p99(np.random.default_rng(12), 2, DAYS, base_s=0.6)
    p99[0] *= np.exp(ramp(DAYS * A_DAY, np.array([(DAYS - 1) * A_DAY]), 0.05))[0]
    return goodput_rows(p99, requests)


@pytest.fixture
def workspace(tmp_path: Path, measured: pl.DataFrame) -> Workspace:
    """A lake whose measured layer holds those rows, a day's in the part of its first hour."""
    (tmp_path / "goodput.toml").write_text('lake = "lake"\n[workloads.chat]\nttft_s = 2.0\n')
    at_work = Workspace(tmp_path / "goodput.toml")
    at_work.lake.open()
    schema = arrow_schema("goodput")
    missing = [name for name in schema.names if name not in measured.columns]
    widened = measured.with_columns(pl.lit(None).alias(name) for name in missing)
    parts = {}
    for (day,), rows in widened.group_by(pl.col("window_start").dt.date()):
        table = rows.select(schema.names).to_arrow().cast(schema)
        parts[f"{day}T00"] = (at_work.lake.write_part("goodput", f"{day}T00", table, fingerprint(str(day))),)
    at_work.lake.catalog["goodput"].replace(parts)
    return at_work


def publish(workspace: Workspace) -> Published:
    return publish_tables(workspace.lake, gate_rows(workspace.settings))


def evaluate(workspace: Workspace, now: datetime) -> dict[str, int]:
    """Judge the alarms by what is published, as a run does."""
    publish(workspace)
    return judge(workspace.lake, workspace.settings, now)


@pytest.fixture
def say(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Publishes what was evaluated, then runs `goodput alarms ...`; the answer is what was printed."""
    publish(workspace)
    monkeypatch.chdir(workspace.config.parent if workspace.config else os.curdir)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["goodput", "alarms", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert (ended.value.code or 0) == code, printed.err
        return printed.out + printed.err

    return run


@pytest.fixture
def evaluated(workspace: Workspace) -> dict[str, Any]:
    evaluate(workspace, NOW)
    return {row["rule"]: row for row in rows_of(workspace.lake, "alarms") if row["pool"] == "pool-0"}


def test_a_second_evaluation_adds_no_event_and_edits_none(workspace: Workspace) -> None:
    first = evaluate(workspace, NOW)
    recorded = rows_of(workspace.lake, "alarm_events")
    second = evaluate(workspace, NOW + timedelta(minutes=20))
    assert first["new_events"] == first["alarm_events"] == len(recorded) > 3
    assert second["new_events"] == 0
    assert rows_of(workspace.lake, "alarm_events") == recorded


def _npz(arrays: dict[str, Any]) -> bytes:
    stored = io.BytesIO()
    np.savez(stored, **arrays)
    return stored.getvalue()


def test_what_days_were_judged_to_be_may_be_lost_or_torn(workspace: Workspace) -> None:
    evaluate(workspace, NOW)
    expected = {table: rows_of(workspace.lake, table) for table in ("alarms", "alarm_series")}
    stored = workspace.lake.root / "judged.npz"
    whole = stored.read_bytes()
    assert len(whole) > 100_000
    with np.load(stored) as arrays:
        shapes = [np.zeros(3), np.array("text"), np.zeros((3, 1, 1))]
        others = [_npz(dict.fromkeys(arrays.files, shape)) for shape in shapes]
    for content in (whole, whole[:5000], b"", whole[:-3000] + bytes(3000), *others):
        stored.write_bytes(content)
        workspace.lake.catalog["alarms"].replace({ALL: ()})  # or nothing would be judged again
        evaluate(workspace, NOW)
        assert {table: rows_of(workspace.lake, table) for table in expected} == expected


def test_all_relations_are_published(workspace: Workspace) -> None:
    counts = evaluate(workspace, NOW)
    rows = publish(workspace).rows
    assert {name: rows[name] for name in TABLES} == {name: counts[name] for name in TABLES}
    assert min(rows[name] for name in TABLES) > 0


def test_an_empty_lake_has_only_the_watchdog(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text('lake = "lake"\n')
    empty = Workspace(tmp_path / "goodput.toml")
    empty.lake.open()
    assert evaluate(empty, NOW)["alarms"] == 0
    assert [row["rule"] for row in rows_of(empty.lake, "alarm_events")] == ["watchdog"]


@pytest.mark.usefixtures("evaluated")
def test_the_list_shows_what_fires_and_counts_the_rest(say: Say) -> None:
    shown = say()
    assert "p99_ttft_s workload=chat pool=pool-0" in shown
    assert "pool-1" not in shown
    assert "firing" in shown.splitlines()[-1]
    assert "pool-1" in say("list", "--all")


def test_show_tells_everything_of_one(evaluated: dict[str, Any], say: Say) -> None:
    alarm = evaluated["p99_ttft_s_page"]
    shown = say("show", alarm["alarm_id"][:8])
    assert alarm["summary"] in shown
    assert "slope_per_hour" in shown
    assert f'goodput query "{json.loads(alarm["explanation"])["sql"]}"' in shown
    assert "no alarm is called 'nothing'" in say("show", "nothing", code=2)


def test_what_is_held_back_says_by_what(evaluated: dict[str, Any], say: Say) -> None:
    page, ticket = (evaluated[f"p99_ttft_s_{severity}"] for severity in ("page", "ticket"))
    assert "Nobody is notified: inhibited: p99_ttft_s_page" in say("show", ticket["alarm_id"]).splitlines()
    assert "Nobody is notified" not in say("show", page["alarm_id"])
    printed = " ".join(say("list").split())
    assert printed.count("; inhibited: p99_") == printed.count("firing (inhibited)") == 5


def test_show_draws_one(evaluated: dict[str, Any], say: Say, tmp_path: Path) -> None:
    alarm = evaluated["p99_ttft_s_page"]["alarm_id"]
    say("show", alarm, "--plot", "alarm.png")
    assert (tmp_path / "alarm.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "cannot write" in say("show", alarm, "--plot", "nowhere/alarm.png", code=1)
    quiet = evaluated["pool_silent"]["alarm_id"]
    assert "nothing to draw: it did not fire" in say("show", quiet, "--plot", "quiet.png", code=2)


@pytest.mark.usefixtures("evaluated")
def test_a_run_ends_with_what_to_expect_of_alarms(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    power = pl.DataFrame(rows_of(workspace.lake, "alarm_power"), infer_schema_length=None)
    expected = power.filter("armed")["false_alarms_per_week"].sum()
    often = pl.col("rule") == "p99_e2e_s_page"
    noisy = power.with_columns(fired=pl.when(often).then(5).otherwise("fired"), armed=pl.col("armed") & ~often)
    rows = noisy.to_arrow().cast(arrow_schema("alarm_power"))
    put(workspace.lake, "alarm_power", ALL, rows)
    publish(workspace)
    monkeypatch.setenv("COLUMNS", "200")
    print_headline(workspace.config, None)
    printed = capsys.readouterr().out
    left = expected - power.filter(often)["false_alarms_per_week"].sum()
    assert f"{left:.2g} false alarms a week expected" in printed
    assert "2 page(s) not armed: fired as often in 28 days as page_budget allows" in printed


@pytest.mark.usefixtures("evaluated")
def test_replay_says_what_is_expected(say: Say) -> None:
    shown = say("replay", "p99_ttft_s_page")
    assert "2 of 2 trend alarms armed; 0.0035 false alarms a week expected" in shown
    assert "No trend rule is called 'p99_ttft_s_pgae'" in say("replay", "p99_ttft_s_pgae", code=2)
    shown = say("replay", "p99_ttft_s_page", "--budget", "1")
    assert "none keeps it" in shown  # one true page in 28 days
    shown = say("replay", "p99_ttft_s_page", "--budget", "40")
    assert "cannot be known: 50 series are needed" in shown
    assert "1 trend rule(s), at most 40 alarm(s) in 1,000 series-days, true or false" in shown


@pytest.mark.usefixtures("evaluated")
def test_a_silence_is_kept_and_expires(workspace: Workspace, say: Say) -> None:
    printed = " ".join(say("silence", "--match", "pool=pool-0", "--for", "4h", "--reason", "load test").split())
    assert "silenced until" in printed
    there = rows_of(workspace.lake, "alarms")
    matching = [row for row in there if row["pool"] == "pool-0"]
    assert f"{len(matching)} of {len(there)} alarms of now match" in printed
    assert matching
    (silence,) = read_actions(workspace.lake.root)
    assert (silence.kind, silence.match, silence.reason) == ("silence", {"pool": "pool-0"}, "load test")
    assert silence.ends is not None
    assert silence.ends - silence.said_at == timedelta(hours=4)
    assert silence.begins <= silence.said_at - timedelta(hours=1)
    assert "load test" in say("actions")
    assert "no length of time" in say("silence", "--match", "pool=a", "--for", "4", code=2)
    assert "right would be NAME=GLOB" in say("silence", "--match", "chat", "--for", "4h", code=2)
    assert "366 days at most" in say("silence", "--match", "pool=a", "--for", "367d", code=2)
    assert "no length of time" in say("silence", "--match", "pool=a", "--for", "99999999999d", code=2)
    both = ("--match", "pool=a", "--match", "pool=b")
    assert "pool is given twice" in say("silence", *both, "--for", "4h", code=2)
    assert len(read_actions(workspace.lake.root)) == 1
    printed = " ".join(say("silence", "--match", "pool=pool-O", "--match", "severity=page", "--for", "4h").split())
    assert f"none of {len(there)} alarms of now matches (no alarm has pool=pool-O; near it: pool-" in printed
    assert "severity=page" not in printed


@pytest.mark.usefixtures("evaluated")
def test_a_silence_is_ended_early(workspace: Workspace, say: Say) -> None:
    say("silence", "--match", "pool=pool-0", "--for", "4h", "--reason", "load test")
    say("silence", "--match", "pool=pool-1", "--for", "4h")
    one, other = read_actions(workspace.lake.root)
    assert f"{one.action_id} is over" in say("unsilence", one.action_id, "--reason", "done")
    ended, untouched = newest(read_actions(workspace.lake.root))
    assert ended == replace(one, ends=ended.ends, reason="load test; done")
    assert ended.ends is not None
    assert one.begins <= ended.ends <= one.said_at.replace(minute=0, second=0)
    assert untouched == other
    assert say("actions").count(one.action_id) == 1
    assert f"{one.action_id} is over" in say("unsilence", one.action_id, code=2)
    assert f"names 0 silences; those that hold: {other.action_id}." in say("unsilence", "nobody", code=2)
    assert "names 2 silences" in say("unsilence", "", code=2)


def test_a_line_that_was_never_finished_spoils_no_other(workspace: Workspace) -> None:
    now = datetime(2026, 11, 20, 9, tzinfo=UTC)
    first, second = (Action(name, "silence", {}, now, now, now) for name in ("a", "b"))
    add_action(workspace.lake.root, first)
    with actions_file(workspace.lake.root).open("a") as torn:
        torn.write('{"action_id": "killed", "ki')
    assert read_actions(workspace.lake.root) == [first]
    add_action(workspace.lake.root, second)
    assert read_actions(workspace.lake.root) == [first, second]


def test_an_accepted_shift_ends_the_alarm_of_the_series(
    workspace: Workspace, evaluated: dict[str, Any], say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Clock":
            return cls.fromtimestamp(NOW.timestamp(), UTC)

    monkeypatch.setattr("goodput.cli.alarm_actions.datetime", Clock)
    since = MONDAY + timedelta(days=DAYS - 1)
    say("accept", evaluated["p99_ttft_s_page"]["alarm_id"], "--from", since.isoformat())
    evaluate(workspace, NOW)
    last = [row for row in rows_of(workspace.lake, "alarm_events") if row["pool"] == "pool-0"]
    ended = {(row["rule"], row["reason"]) for row in last if row["transition"] == "resolved"}
    assert {("p99_ttft_s_page", "accepted"), ("p99_ttft_s_ticket", "accepted")} <= ended
    assert not [rule for rule, reason in ended if "e2e" in rule and reason == "accepted"]
    alarm = evaluated["p99_ttft_s_page"]["alarm_id"]
    assert "before all windows" in say("accept", alarm, "--from", (MONDAY - timedelta(days=1)).isoformat(), code=2)
    assert "not in the past" in say(
        "accept", evaluated["p99_e2e_s_page"]["alarm_id"], "--from", (NOW + timedelta(days=1)).isoformat(), code=2
    )


def test_silence_is_what_follows_on_speech(workspace: Workspace) -> None:
    def clock(hours: float) -> tuple[str, int]:
        evaluate(workspace, NOW + timedelta(hours=hours))
        row = next(row for row in rows_of(workspace.lake, "alarms") if row["rule"] == "telemetry_silent")
        recorded = [e for e in rows_of(workspace.lake, "alarm_events") if e["rule"] == "telemetry_silent"]
        return row["state"], len(recorded)

    assert clock(20) == ("learning", 0)  # a folder of old telemetry, read for the first time
    assert clock(1) == ("inactive", 0)
    assert clock(3) == ("firing", 1)


def test_no_hour_is_read_that_is_older_than_verdicts_need(workspace: Workspace, measured: pl.DataFrame) -> None:
    publish(workspace)
    lake, settings = workspace.lake, workspace.settings
    rows = evidence(lake, settings, NOW).rows["goodput"]
    assert rows.height == measured.height  # a month is within reach
    assert set(rows["window_s"].unique()) == {3600}
    copied = measured.with_columns(window_start=pl.lit(MONDAY + timedelta(days=238)))
    schema = arrow_schema("goodput")
    missing = [pl.lit(None).alias(name) for name in schema.names if name not in measured.columns]
    newest = copied.head(1).with_columns(missing).select(schema.names).to_arrow().cast(schema)
    put(lake, "goodput", "2026-08-31T00", newest)
    publish(workspace)
    assert evidence(lake, settings, MONDAY + timedelta(days=239)).rows["goodput"].height == 1
    assert evidence(lake, settings, NOW).rows["goodput"].equals(rows)  # what is yet to come, a wrong clock wrote


RULE_TESTS = """
series:
  - {metric: p99_ttft_s, labels: {workload: chat, pool: a}, noise: 0.07, values: "0.6x720 0.6*1.05x24"}
  - {metric: p99_ttft_s, labels: {workload: chat, pool: b}, noise: 0.07, values: "0.6x744"}
expect:
  - {at_hour: 720, rule: p99_ttft_s_page, labels: {pool: a}, state: inactive}
  - {at_hour: 740, rule: p99_ttft_s_page, labels: {pool: a}, state: firing}
  - {at_hour: 744, rule: p99_ttft_s_page, labels: {pool: b}, state: inactive}
"""


def test_rules_are_tested_beside_objectives_and_on_ratios(say: Say, tmp_path: Path) -> None:
    """Whatever else the settings watch sees rows of which nothing else is known."""
    objective = '[slo.chat]\nobjective = 0.95\nworkload = "chat"\n'
    bound = '[alarms.rules.low]\nkind = "absolute"\nmetric = "goodput_ratio"\nbelow = 0.5\nfor_windows = 2\n'
    (tmp_path / "watched.toml").write_text(f"[workloads.chat]\nttft_s = 1.0\n{objective}{bound}")
    (tmp_path / "drift.yaml").write_text(RULE_TESTS)
    assert "3 expectation(s) hold" in say("test", "drift.yaml", "--config", "watched.toml")
    (tmp_path / "low.yaml").write_text(
        'series: [{metric: goodput_ratio, labels: {workload: chat}, values: "0.9x100 0.3x24"}]\n'
        "expect:\n"
        "  - {at_hour: 101, rule: low, labels: {workload: chat}, state: pending}\n"
        "  - {at_hour: 102, rule: low, labels: {workload: chat}, state: firing}\n"
    )
    assert "2 expectation(s) hold" in say("test", "low.yaml", "--config", "watched.toml")


def test_rules_are_tested_on_made_up_series(say: Say, tmp_path: Path) -> None:
    (tmp_path / "drift.yaml").write_text(RULE_TESTS)
    assert "3 expectation(s) hold" in say("test", "drift.yaml")
    (tmp_path / "quarters.toml").write_text("windows_s = [900, 3600]\n[alarms]\nwindow_s = 900\n")
    assert "3 expectation(s) hold" in say("test", "drift.yaml", "--config", "quarters.toml")
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("at_hour: 740", "at_hour: 721"))
    told = " ".join(say("test", "drift.yaml", code=1).split())
    assert "once 721 hours are over, p99_ttft_s_page pool=a is inactive, not firing" in told
    fires = int(told.partition("over all of them it is firing once ")[2].split()[0])
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("at_hour: 740", f"at_hour: {fires}"))
    assert "3 expectation(s) hold" in say("test", "drift.yaml")
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("at_hour: 740", f"at_hour: {fires - 1}"))
    assert "is inactive, not firing" in " ".join(say("test", "drift.yaml", code=1).split())
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("pool: b}, state: inactive", "pool: b}, state: firing"))
    assert "it never fires over all of them" in " ".join(say("test", "drift.yaml", code=1).split())
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("rule: p99_ttft_s_page", "rule: p99_tft_s_page"))
    assert "no rule has this name: nearest are p99_ttft_s_page" in " ".join(say("test", "drift.yaml", code=1).split())
    for wrong, told in (
        ("0.6x8785", "more than a year"),
        ("1e400x744", "no number"),
        ("_x744", "no hour with a value"),
    ):
        (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("0.6x744", wrong))
        assert told in " ".join(say("test", "drift.yaml", code=2).split())
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("0.6x744", "0.6 744"))
    assert "'0.6' is no stretch of hours right would be: LEVELxHOURS" in " ".join(
        say("test", "drift.yaml", code=2).split()
    )
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("p99_ttft_s, labels", "p98_ttft_s, labels"))
    assert "'p98_ttft_s' is no metric" in " ".join(say("test", "drift.yaml", code=2).split())


def test_mistakes_of_rule_tests_are_listed_at_once(say: Say, tmp_path: Path) -> None:
    """A test that tests nothing does not hold: hours after the end of its series, or no expectation at all."""
    wrong = RULE_TESTS.replace("0.6x744", "0.6 744").replace("at_hour: 740", "at_hour: -1").replace("noise: ", "nois: ")
    (tmp_path / "drift.yaml").write_text(wrong.replace("state: firing", "state: burning", 1))
    found = say("test", "drift.yaml", code=2)
    for said in ("is no stretch of hours", "at_hour: -1 is not usable", "nois: no such key", "'burning' is not usable"):
        assert said in found
    assert "errors.pydantic.dev" not in found
    (tmp_path / "drift.yaml").write_text(RULE_TESTS.replace("at_hour: 740", "at_hour: 99999"))
    assert "at_hour 99999 of `expect` is after the last series has ended" in say("test", "drift.yaml", code=2)
    (tmp_path / "drift.yaml").write_text(RULE_TESTS[: RULE_TESTS.index("expect:")] + "expect: []\n")
    assert "expect" in say("test", "drift.yaml", code=2)
