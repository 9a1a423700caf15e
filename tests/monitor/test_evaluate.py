"""Alarms from the rows of published relations to their events: what is reported, when, why not, and never twice."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from goodput.contracts import arrow_schema
from goodput.monitor.alarm_tables import AlarmTables, alarm_tables, read_evidence
from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.monitor.lookback import lookback
from goodput.plumbing.alarm_actions import Action
from goodput.plumbing.sql_files import connect
from goodput.settings.model import Settings
from monitor.latencies import Fleet
from monitor.latencies import latencies as simulated
from monitor.noise import hourly_p99, ramp
from monitor.rows import MONDAY, goodput_rows

DAYS, A_DAY = 35, 24
ONSET = 30 * A_DAY
SLOW = (1480 / 920) ** (1 / 36) - 1
TTFT = ["p99_ttft_s_page", "p99_ttft_s_ticket"]
ONLY_TTFT = {
    name: {"enabled": False}
    for metric in ("p99_tpot_s", "p99_e2e_s", "p95_tpot_s", "p95_e2e_s", "goodput_ratio")
    for name in (f"{metric}_page", f"{metric}_ticket")
}


def settings(**given: Any) -> Settings:
    """Settings with the rules of ttft alone, and what else is given."""
    alarms = {"rules": {**ONLY_TTFT, **given.pop("rules", {})}, **given.pop("alarms", {})}
    return Settings.model_validate({"workloads": {"chat": {"ttft_s": 1.5}}, "alarms": alarms, **given})


@pytest.fixture(scope="module")
def fleet() -> tuple[np.ndarray, np.ndarray]:
    """p99 and requests of four pools over five weeks; from hour 720 on the first drifts from 920 to 1480 ms."""
    p99, requests = hourly_p99(np.random.default_rng(7), 4, DAYS, base_s=0.92)
    p99[0] *= np.exp(ramp(DAYS * A_DAY, np.array([ONSET]), SLOW, 1480 / 920 - 1))[0]
    return p99, requests


@pytest.fixture(scope="module")
def rows(fleet: tuple[np.ndarray, np.ndarray]) -> pl.DataFrame:
    return goodput_rows(*fleet)


def at(hour: float) -> Any:
    return MONDAY + timedelta(hours=hour)


def evaluation(rows: pl.DataFrame, hour: float, given: Settings | None = None, **more: Any) -> Evaluation:
    """What a run sees ten minutes after an hour is over."""
    seen = rows.filter(pl.col("window_start") < at(hour))
    return Evaluation(Evidence({"goodput": seen}, given or settings(), **more), at(hour) + timedelta(minutes=10))


def run_through(rows: pl.DataFrame, hours: Sequence[int], given: Settings | None = None, **more: Any) -> list[Any]:
    """The events of runs at these hours, one after the other."""
    recorded: list[Any] = []
    for hour in hours:
        recorded += evaluation(rows, hour, given, **more).new_events(recorded)
    return recorded


def brief(events: list[Any], *transitions: str) -> list[tuple[str, str, Any, Any]]:
    wanted = transitions or ("firing", "resolved", "corrected")
    recorded = [e for e in events if e["transition"] in wanted]
    return [(e["transition"], e["rule"], e["occurred_at"], e["suppressed"]) for e in recorded]


def test_the_drifting_pool_pages_within_25_hours_and_no_other_does(rows: pl.DataFrame) -> None:
    recorded = run_through(rows, range(ONSET, ONSET + 40, 4))
    pages = [e for e in recorded if e["severity"] == "page"]
    assert [(e["pool"], e["transition"], e["suppressed"]) for e in pages] == [("pool-0", "firing", None)]
    assert pages[0]["occurred_at"] <= at(ONSET + 25)
    assert pages[0]["workload"] == "chat"


def test_one_run_and_many_runs_find_the_same_alarms(rows: pl.DataFrame) -> None:
    many = run_through(rows, range(ONSET - 4, DAYS * A_DAY, 10))
    once = evaluation(rows, DAYS * A_DAY).new_events([])
    live = {(e["alarm_id"], e["transition"], e["starts_at"]) for e in many if e["kind"] == "trend"}
    late = {(e["alarm_id"], e["transition"], e["starts_at"]) for e in once if e["kind"] == "trend"}
    assert live == late
    assert not brief(many, "corrected")


def test_the_order_of_rows_and_another_run_tell_nothing_new(rows: pl.DataFrame) -> None:
    recorded = evaluation(rows, DAYS * A_DAY).new_events([])
    shuffled = evaluation(rows.sample(fraction=1.0, shuffle=True, seed=3), DAYS * A_DAY)
    assert shuffled.new_events([]) == recorded
    assert shuffled.new_events(recorded) == []
    assert len({e["event_id"] for e in recorded}) == len(recorded)


def test_rows_have_the_columns_of_their_contracts(rows: pl.DataFrame) -> None:
    seen = evaluation(rows, DAYS * A_DAY)
    for table, found in (
        ("alarms", seen.alarms()),
        ("alarm_events", seen.new_events([])),
        ("alarm_power", seen.power()),
    ):
        assert found
        assert {name for row in found for name in row} <= set(arrow_schema(table).names)


def test_what_is_long_past_is_recorded_and_what_is_still_on_is_told_once(rows: pl.DataFrame) -> None:
    first = evaluation(rows, ONSET + 60).new_events([])
    page = [e for e in first if e["rule"] == "p99_ttft_s_page"]
    assert [(e["transition"], e["suppressed"]) for e in page] == [("firing", "backfill"), ("firing", None)]
    assert page[1]["occurred_at"] == at(ONSET + 60)
    assert page[1]["starts_at"] == page[0]["starts_at"] == page[0]["occurred_at"]
    again = evaluation(rows, ONSET + 63).new_events(first)
    assert not brief(again)


def test_nothing_of_an_old_archive_is_told(rows: pl.DataFrame) -> None:
    seen = evaluation(rows, DAYS * A_DAY)
    years_later = Evaluation(seen.evidence, seen.now + timedelta(days=1000))
    recorded = [e for e in years_later.new_events([]) if e["suppressed"] is None]
    assert [e["rule"] for e in recorded] == ["watchdog"]


def firing_now(found: AlarmTables) -> dict[str, Any]:
    """Rules whose alarm fires, and why nobody is notified of each."""
    return {row["rule"]: row["suppressed"] for row in found.rows["alarms"].to_dicts() if row["state"] == "firing"}


def test_what_fires_in_old_telemetry_says_that_nobody_is_notified_and_no_more_once_somebody_is(
    rows: pl.DataFrame,
) -> None:
    """A day after the newest window an alarm that nobody was notified of is a matter of the past, until data comes."""
    then = evaluation(rows, ONSET + 60)
    late = alarm_tables(then.evidence, {}, at(ONSET + 84))
    events = late.rows["alarm_events"].filter(rule=TTFT[0])
    assert events.select("transition", "suppressed").rows() == [("firing", "backfill")]
    assert firing_now(late) == {TTFT[0]: "backfill", TTFT[1]: "inhibited"}
    unchanged = alarm_tables(then.evidence, late.rows, at(ONSET + 85), inputs=late.inputs)
    assert firing_now(unchanged) == firing_now(late)
    newer = evaluation(rows, ONSET + 63)
    live = alarm_tables(newer.evidence, late.rows, newer.now)
    assert firing_now(live) == {TTFT[0]: None, TTFT[1]: "inhibited"}
    stale = alarm_tables(newer.evidence, live.rows, newer.now + timedelta(days=2))
    assert firing_now(stale) == {TTFT[0]: None, TTFT[1]: "inhibited"}, "whoever was notified has heard of no end"


def test_the_explanation_says_what_happened(rows: pl.DataFrame) -> None:
    seen = evaluation(rows, ONSET + 30, operations=[{"kind": "deployment", "occurred_at": at(ONSET - 3), "pool": None}])
    row = next(a for a in seen.alarms() if a["rule"] == "p99_ttft_s_page" and a["pool"] == "pool-0")
    facts = json.loads(row["explanation"])
    assert row["state"] == "firing"
    assert facts["shape"] == "ramp"
    assert facts["tail_only"] is True  # the medians of these rows never move
    assert facts["slope_per_hour"] == pytest.approx(SLOW, abs=0.004)
    assert facts["excess_ratio"] == pytest.approx((1 + SLOW) ** 28 - 1, abs=0.15)
    onset = datetime.fromisoformat(facts["onset_at"])
    assert at(ONSET - 12) <= onset <= at(ONSET + 12)
    assert facts["limit"] == 1.5
    hours = (np.log(1.5) - np.log(facts["value"])) / facts["slope_per_hour"]
    assert facts["hours_to_limit"] == pytest.approx(max(hours, 0), rel=0.01)
    done = {"kind": "deployment", "occurred_at": at(ONSET - 3).strftime("%Y-%m-%dT%H:%M:%SZ"), "pool": None}
    assert facts["last_operation"] == facts["likely_cause"] == done
    assert "likely cause: deployment at" in row["summary"]
    assert "pool = 'pool-0'" in facts["sql"]
    assert "its median flat" in row["summary"]  # and p95, which is 0.6 of p99 here, is not


@pytest.mark.parametrize(
    ("body", "chart", "says"), [(0.0, "tail", "its tail alone"), (1.0, "level", "its median flat")]
)
def test_the_explanation_says_which_chart_stood_out_and_what_p95_explains(body: float, chart: str, says: str) -> None:
    seen = simulated(np.random.default_rng(16), Fleet(load=0.3), 1, 32)
    moved = seen.moved(ramp(32 * A_DAY, np.array([ONSET]), 0.05), body)
    rows = goodput_rows(moved.p99, moved.requests, p95=moved.p95)
    found = {row["rule"]: row for row in evaluation(rows, ONSET + 12).alarms()}
    page = found[TTFT[0]]
    facts = json.loads(page["explanation"])
    assert (page["state"], facts["chart"]) == ("firing", chart)
    over = facts["value"] / facts["usual"]
    # p95 moves the value by as much as it moved itself, as far as it has moved so far before: six times its sigma
    assert facts["body_ratio"] == pytest.approx(0.0, abs=0.15) if not body else facts["body_ratio"] > 0.3 * (over - 1)
    assert facts["strays"] == pytest.approx(1.0, abs=0.2)
    assert f"({100 * (over - 1):+.0f} %" in page["summary"]
    assert says in page["summary"]


def test_the_load_s_part_of_a_slowdown_is_named() -> None:
    """Latency follows the load; then twice the requests come, and it is half as slow again beyond that."""
    seen = simulated(np.random.default_rng(17), Fleet(load=0.25, sensitivity=0.4), 1, 31)
    requests = seen.requests.copy()
    requests[0, ONSET:] = 2 * requests[0, ONSET - 7 * A_DAY : ONSET - 6 * A_DAY]
    change = np.where(np.arange(31 * A_DAY) >= ONSET, np.log(1.8), 0.0)[None, :]
    moved = seen.moved(change, 1.0)
    page = next(
        row
        for row in evaluation(goodput_rows(moved.p99, requests, p95=moved.p95), ONSET + 10).alarms()
        if row["rule"] == TTFT[0]
    )
    facts = json.loads(page["explanation"])
    assert facts["load_ratio"] > 0.1
    assert f"load explains {100 * facts['load_ratio']:+.0f} %" in page["summary"]


def test_what_was_over_before_is_no_part_of_what_happens_now() -> None:
    p99, requests = hourly_p99(np.random.default_rng(13), 1, 33)
    first, second = 30 * A_DAY, 30 * A_DAY + 34
    p99[0, first : first + 20] *= 3
    p99[0, second:] *= 1.8
    done = [{"kind": "deployment", "occurred_at": at(hour), "pool": "pool-0"} for hour in (first, second)]
    recorded = evaluation(goodput_rows(p99, requests), 33 * A_DAY, operations=done).new_events([])
    facts = {e["starts_at"]: json.loads(e["explanation"]) for e in recorded if e["rule"] == TTFT[0]}
    for since, onset in zip(sorted(facts), (first, second), strict=True):
        assert abs(datetime.fromisoformat(facts[since]["onset_at"]) - at(onset)) <= timedelta(hours=3)
    causes = [facts[since]["likely_cause"]["occurred_at"] for since in sorted(facts)]
    assert causes == [f"{at(hour):%Y-%m-%dT%H:%M:%SZ}" for hour in (first, second)]


def test_an_alarm_that_goes_on_keeps_its_onset_and_shows_the_fault_from_there_on() -> None:
    """Twice as slow since a deployment five days ago; there was another: neither history nor SQL loses any of it."""
    p99, requests = hourly_p99(np.random.default_rng(13), 1, 35)
    p99[0, ONSET:] *= 2
    done = [{"kind": "deployment", "occurred_at": at(hour), "pool": "pool-0"} for hour in (ONSET, ONSET + 100)]
    seen = evaluation(goodput_rows(p99, requests), ONSET + 5 * A_DAY, operations=done)
    fired = next(json.loads(e["explanation"]) for e in seen.new_events([]) if e["rule"] == TTFT[0])
    page = next(row for row in seen.alarms() if row["rule"] == TTFT[0])
    facts = json.loads(page["explanation"])
    assert page["state"] == "firing"
    assert facts["evaluated_at"] > fired["evaluated_at"]
    onset = f"{at(ONSET):%Y-%m-%dT%H:%M:%SZ}"
    assert [found["onset_at"] for found in (fired, facts)] == [onset, onset]
    assert facts["likely_cause"]["occurred_at"] == onset
    assert facts["shape"] == "step"
    assert facts["accept_with"].endswith(f"--from {onset}")
    assert f"ended_at >= TIMESTAMPTZ '{at(ONSET):%Y-%m-%d %H:%M:%S}Z'" in facts["sql"]
    assert "began_earlier" not in facts


@pytest.mark.parametrize(("step_s", "shifted"), [(21600, 1), (21600, 2), (86400, 1)])
def test_a_step_at_a_deployment_is_called_one_and_asks_whether_it_is_meant_in_long_windows_too(
    step_s: int, shifted: int
) -> None:
    """Two requests an hour, or twenty; deployed a minute before a window, as slow as is just allowed from there on."""
    windows, day = 35 * A_DAY * 3600 // step_s, MONDAY.replace(hour=0)
    rng = np.random.default_rng(21)
    p95 = 0.6 * np.exp(rng.normal(0, 0.03, windows))
    p95[-shifted:] *= 1.18
    starts = [day + timedelta(seconds=step_s * n) for n in range(windows)]
    hourly = goodput_rows(np.full((1, 35 * A_DAY), 0.6), np.full((1, 35 * A_DAY), 2))
    long = goodput_rows(p95[None, :], np.full((1, windows), 120), p95=p95[None, :]).with_columns(
        pl.Series("window_start", starts, dtype=pl.Datetime("us", "UTC")), window_s=pl.lit(step_s, pl.Int32)
    )
    deployed = starts[-shifted] - timedelta(minutes=1)
    done = [{"kind": "deployment", "occurred_at": deployed, "pool": "pool-0"}]
    given = {"windows_s": [3600, 21600, 86400], "alarms": {"max_age_s": 1e9}}
    evidence = Evidence({"goodput": pl.concat([hourly, long])}, Settings.model_validate(given), operations=done)
    ticket = next(
        row
        for row in Evaluation(evidence, day + timedelta(days=35)).alarms()
        if (row["rule"], row["window_s"]) == ("p95_ttft_s_ticket", step_s)
    )
    facts = json.loads(ticket["explanation"])
    assert ticket["state"] == "firing"
    assert facts["onset_at"] == f"{starts[-shifted]:%Y-%m-%dT%H:%M:%SZ}"
    assert facts["shape"] == "step"
    assert facts["likely_cause"]["occurred_at"] == f"{deployed:%Y-%m-%dT%H:%M:%SZ}"
    assert f"; accept the new level? goodput alarms accept {ticket['alarm_id']} --from " in ticket["summary"]


def test_a_page_holds_its_ticket_back(rows: pl.DataFrame) -> None:
    fixed = rows.filter((pl.col("pool") != "pool-0") | (pl.col("window_start") < at(ONSET + 40)))
    recorded = run_through(fixed, range(ONSET + 4, ONSET + 40, 5))
    ticket = next(a for a in evaluation(fixed, ONSET + 40).alarms() if a["rule"] == TTFT[1] and a["pool"] == "pool-0")
    assert (ticket["state"], ticket["suppressed"], ticket["suppressed_by"]) == ("firing", "inhibited", TTFT[0])
    assert [(e[0], e[1], e[3]) for e in brief(recorded)] == [("firing", TTFT[1], None), ("firing", TTFT[0], None)]


def latencies(rows: pl.DataFrame, tpot_after_h: int, hours: Sequence[int] = (ONSET + 64,), **given: Any) -> list[Any]:
    """Pages of pool-0 where ttft and e2e drift, and tpot does so many hours later; runs at these hours."""
    late = rows.filter(pl.col("pool") == "pool-0").with_columns(p99_tpot_s=pl.col("p99_ttft_s").shift(tpot_after_h))
    others = {f"p99_{name}_s_{of}": {} for name in ("tpot", "e2e") for of in ("page", "ticket")}
    watched = settings(rules=others, alarms={"max_age_s": 1e9})
    recorded = run_through(late, hours, watched, **given)
    return sorted((e["rule"], e["suppressed"], e["suppressed_by"]) for e in recorded if e["severity"] == "page")


def test_one_drift_of_all_latencies_is_one_page(rows: pl.DataFrame) -> None:
    """The first to be found is reported, ttft of those found at once; its explanation names those that follow."""
    assert latencies(rows, 0, range(ONSET + 16, ONSET + 30, 2)) == [
        ("p99_e2e_s_page", "inhibited", "p99_ttft_s_page"),
        ("p99_tpot_s_page", "inhibited", "p99_ttft_s_page"),
        ("p99_ttft_s_page", None, None),
    ]


def test_a_latency_that_drifts_a_day_later_pages_too(rows: pl.DataFrame) -> None:
    recorded = latencies(rows, 24)
    assert {(rule, suppressed) for rule, suppressed, _ in recorded} == {
        ("p99_ttft_s_page", None),
        ("p99_e2e_s_page", "inhibited"),
        ("p99_tpot_s_page", None),
    }


def test_what_nobody_is_told_of_holds_no_other_latency_back(rows: pl.DataFrame) -> None:
    silence = Action("s1", "silence", {"metric": "p99_ttft_s"}, at(ONSET), at(ONSET), at(ONSET + 400))
    assert latencies(rows, 0, actions=[silence]) == [
        ("p99_e2e_s_page", "inhibited", "p99_tpot_s_page"),
        ("p99_tpot_s_page", None, None),
        ("p99_ttft_s_page", "silenced", "s1"),
    ]


def test_a_step_that_nobody_accepts_never_becomes_normal(fleet: tuple[np.ndarray, np.ndarray]) -> None:
    p99, requests = hourly_p99(np.random.default_rng(8), 1, 90)
    p99[0, 30 * A_DAY :] *= 1.6
    found = evaluation(goodput_rows(p99, requests), 90 * A_DAY).alarms()
    page = next(a for a in found if a["rule"] == TTFT[0])
    assert page["state"] == "firing"
    assert page["starts_at"] <= at(30 * A_DAY + 8)


def test_history_that_is_out_of_reach_changes_nothing_that_was_told() -> None:
    p99, requests = hourly_p99(np.random.default_rng(8), 2, 160)
    p99[0, 30 * A_DAY :] *= 1.6  # and nobody accepts it
    p99[1, 80 * A_DAY : 80 * A_DAY + 30] *= 1.6
    p99[1, 150 * A_DAY : 150 * A_DAY + 30] *= 1.6
    rows = goodput_rows(p99, requests)
    recorded = evaluation(rows, 156 * A_DAY, settings(alarms={"max_age_s": 1e9})).new_events([])
    fixed = [e for e in recorded if e["pool"] == "pool-1"]
    for before, days in ((recorded, 160 - 30), (fixed, 92)):
        looks = lookback(at(160 * A_DAY - 1), before)
        assert timedelta(days=days) <= at(160 * A_DAY) - looks.since <= timedelta(days=days + 40)
        near = rows.filter(pl.col("window_start") >= looks.since, pl.col("pool").is_in([e["pool"] for e in before]))
        again = evaluation(near, 160 * A_DAY, settled=looks.settled).new_events(before)
        assert [e["rule"] for e in again] == ["watchdog"]
    assert len({e["starts_at"] for e in fixed if e["rule"] == TTFT[0]}) == 2


def test_replica_windows_that_are_not_over_yet_are_not_judged() -> None:
    hours = [MONDAY + timedelta(hours=hour) for hour in range(40)]
    replicas = pl.DataFrame({"window_start": hours, "pool": "a", "replica": "a-0", "mean_kv_usage_ratio": 0.4})
    whole = goodput_rows(np.full((1, 40), 0.5), np.full((1, 40), 1000))
    seen = whole.with_columns(partial=pl.col("window_start") == hours[-1])
    rows = {
        "goodput": seen,
        "replica_windows": replicas.with_columns(
            pl.col("window_start").cast(seen["window_start"].dtype), window_s=pl.lit(3600, pl.Int32)
        ),
    }
    assert Evaluation(Evidence(rows, settings()), at(40)).until == 39


def accepted(since: int, accepted_at: int) -> Action:
    return Action("a1", "accept", {"metric": "p99_ttft_s", "pool": "pool-0"}, at(accepted_at), at(since))


def test_accepting_a_step_ends_the_alarm_at_once_and_another_step_is_found() -> None:
    p99, requests = hourly_p99(np.random.default_rng(9), 1, 70)
    p99[0, 30 * A_DAY :] *= 1.6
    p99[0, 60 * A_DAY :] *= 1.6
    rows = goodput_rows(p99, requests)
    accepted_at = 31 * A_DAY
    recorded = evaluation(rows, 70 * A_DAY, actions=[accepted(30 * A_DAY, accepted_at)]).new_events([])
    page = [e for e in recorded if e["rule"] == TTFT[0] and e["occurred_at"] < at(70 * A_DAY)]
    assert [(e["transition"], e["reason"]) for e in page] == [
        ("firing", None),
        ("resolved", "accepted"),
        ("firing", None),
    ]
    assert page[0]["starts_at"] < page[1]["occurred_at"] == at(accepted_at)
    assert at(60 * A_DAY) < page[2]["starts_at"] <= at(60 * A_DAY + 8)


def test_a_silence_holds_back_and_what_is_still_on_when_it_expires_is_told(rows: pl.DataFrame) -> None:
    silence = Action("s1", "silence", {"pool": "pool-*"}, at(ONSET), at(ONSET), at(ONSET + 40))
    before = run_through(rows, range(ONSET + 4, ONSET + 40, 5), actions=[silence])
    assert {e[3] for e in brief(before)} == {"silenced"}
    assert {e["suppressed_by"] for e in before if e["transition"] == "firing"} == {"s1"}
    after = evaluation(rows, ONSET + 42, actions=[silence]).new_events(before)
    assert brief(after) == [("firing", TTFT[0], at(ONSET + 40), None)]


def test_a_silence_that_is_ended_early_lets_what_still_fires_be_told_by_the_next_run(rows: pl.DataFrame) -> None:
    silence = Action("s1", "silence", {"pool": "pool-*"}, at(ONSET), at(ONSET), at(ONSET + 400))
    before = run_through(rows, range(ONSET + 4, ONSET + 40, 5), actions=[silence])
    assert {e[3] for e in brief(before)} == {"silenced"}
    assert not brief(evaluation(rows, ONSET + 42, actions=[silence]).new_events(before))
    ended = replace(silence, ends=at(ONSET + 41))
    after = evaluation(rows, ONSET + 42, actions=[silence, ended]).new_events(before)
    assert [(e[0], e[1], e[3]) for e in brief(after)] == [("firing", TTFT[0], None)]
    assert not brief(evaluation(rows, ONSET + 42, actions=[silence, ended]).new_events([*before, *after]))


def test_a_silence_holds_by_the_clock_for_telemetry_that_comes_late(rows: pl.DataFrame) -> None:
    """Telemetry is three hours late: what it shows before the silence began is read, and not reported, during it."""
    silence = Action("s1", "silence", {"pool": "pool-*"}, at(ONSET + 32), at(ONSET + 32), at(ONSET + 34))
    evidence = evaluation(rows, ONSET + 30, actions=[silence]).evidence
    during = Evaluation(evidence, at(ONSET + 33))
    silent = during.new_events([])
    assert {(e[0], e[3]) for e in brief(silent)} == {("firing", "silenced")}
    firing = [a for a in during.alarms() if a["state"] == "firing" and a["rule"] == TTFT[0]]
    assert [(a["suppressed"], a["suppressed_by"]) for a in firing] == [("silenced", "s1")]
    after = Evaluation(evidence, at(ONSET + 34)).new_events(silent)
    assert [(e[0], e[1], e[3]) for e in brief(after)] == [("firing", TTFT[0], None)]
    for hour in (ONSET + 33, ONSET + 35, ONSET + 37):  # by then the silence is over by the data too
        later = evaluation(rows, hour, actions=[silence]).evidence
        assert not brief(Evaluation(later, at(hour + 3)).new_events([*silent, *after]))


def test_what_a_silence_holds_back_is_judged_again_when_the_clock_ends_it(rows: pl.DataFrame) -> None:
    """Nothing new came meanwhile: evidence that was judged before is judged by the clock alone, and so are silences."""
    silence = Action("s1", "silence", {"pool": "pool-*"}, at(ONSET + 32), at(ONSET + 32), at(ONSET + 34))
    seen = evaluation(rows, ONSET + 30, actions=[silence]).evidence
    first = alarm_tables(seen, {}, at(ONSET + 33))
    again = alarm_tables(seen, first.rows, at(ONSET + 33.5), inputs=first.inputs)
    over = alarm_tables(seen, again.rows, at(ONSET + 34), inputs=again.inputs)
    events = [tables.rows["alarm_events"].filter(rule=TTFT[0]) for tables in (first, again, over)]
    assert [found["suppressed"].to_list() for found in events] == [["silenced"], ["silenced"], ["silenced", None]]


def test_late_data_that_undo_an_alarm_correct_it_and_change_no_event(rows: pl.DataFrame) -> None:
    recorded = run_through(rows, range(ONSET + 4, ONSET + 40, 5))
    mended = rows.with_columns(
        p99_ttft_s=pl.when((pl.col("pool") == "pool-0") & (pl.col("window_start") >= at(ONSET)))
        .then(0.9)
        .otherwise("p99_ttft_s")
    )
    added = evaluation(mended, ONSET + 41).new_events(recorded)
    firing = {e["event_id"] for e in recorded if e["transition"] == "firing"}
    corrected = [e for e in added if e["transition"] == "corrected"]
    assert {e["corrects"] for e in corrected} == firing
    assert {e["suppressed"] for e in corrected} == {None}
    back = evaluation(rows, ONSET + 42).new_events(recorded + added)  # and the first data come again
    assert len(brief(back, "firing")) >= 1
    assert not {e["event_id"] for e in back} & {e["event_id"] for e in recorded + added}


def test_another_threshold_ends_what_fires_and_corrects_nothing(rows: pl.DataFrame) -> None:
    recorded = run_through(rows, range(ONSET + 4, ONSET + 40, 5))
    off = settings(rules={TTFT[0]: {"enabled": False}, TTFT[1]: {"enabled": False}})
    added = evaluation(rows, ONSET + 41, off).new_events(recorded)
    assert sorted(
        (e["transition"], e["rule"], e["reason"], e["suppressed"]) for e in added if e["kind"] == "trend"
    ) == [("resolved", rule, "settings", None) for rule in TTFT]
    assert not brief(evaluation(rows, ONSET + 42, off).new_events(recorded + added))


def test_a_trend_that_pages_too_often_pages_no_more() -> None:
    p99, requests = hourly_p99(np.random.default_rng(10), 1, 49)
    for day in (29, 33, 37, 41, 45):
        p99[0, day * A_DAY : day * A_DAY + 12] *= 2
    seen = evaluation(goodput_rows(p99, requests), 49 * A_DAY, settings(alarms={"max_age_s": 1e9}))
    page = [e for e in seen.new_events([]) if e["rule"] == TTFT[0]]
    assert [e["suppressed"] for e in page if e["transition"] == "firing"] == [None] * 3 + ["over_budget"] * 2
    power = next(row for row in seen.power() if row["rule"] == TTFT[0])
    assert (power["fired"], power["budget"], power["armed"]) == (5, 3, False)
    assert "5 times in 28 days" in power["why"]


def test_the_series_of_an_alarm_goes_from_a_week_before_it_to_now_with_its_gaps(rows: pl.DataFrame) -> None:
    steady = rows.with_columns(n_ttft=5000)  # so that the load explains nothing
    holes = steady.filter((pl.col("pool") != "pool-0") | ~pl.col("window_start").is_between(at(ONSET), at(ONSET + 3)))
    seen = evaluation(holes, ONSET + 40)
    page = next(a for a in seen.alarms() if a["rule"] == TTFT[0] and a["pool"] == "pool-0")
    series = seen.series().filter(pl.col("alarm_id") == page["alarm_id"])
    assert set(seen.series()["alarm_id"]) == {a["alarm_id"] for a in seen.alarms() if a.get("starts_at")}
    assert (
        series["window_start"].to_list()
        == pl.datetime_range(page["starts_at"] - timedelta(days=7), at(ONSET + 39), "1h", eager=True).to_list()
    )
    of_pool = holes.filter(pl.col("pool") == "pool-0").select("window_start", "p99_ttft_s")
    beside = series.join(of_pool, on="window_start", how="left")
    assert beside["value"].to_list() == beside["p99_ttft_s"].to_list()
    assert series.filter(pl.col("value").is_null())["window_start"].to_list() == [at(ONSET + n) for n in range(4)]
    assert series["usual"].null_count() == series["bound"].null_count() == 0
    last = series.row(-1, named=True)
    assert (last["usual"], last["score"]) == (pytest.approx(page["usual"]), page["score"])
    assert last["bound"] == pytest.approx(page["usual"] * np.exp(page["threshold"] * page["sigma"]))
    assert set(series["quantity"]) == {"p99 TTFT (s)"}


def test_a_value_that_stays_at_its_bound_fires_and_one_below_it_does_not() -> None:
    """What the bound of a trend says, by the detector itself: it is where the average reaches the threshold."""
    p99, requests = hourly_p99(np.random.default_rng(14), 1, 30)
    p99[0, 29 * A_DAY :] *= 3
    fired = evaluation(goodput_rows(p99, requests), 30 * A_DAY)
    page = next(a["alarm_id"] for a in fired.alarms() if a["rule"] == TTFT[0])
    bound = dict(fired.series().filter(pl.col("alarm_id") == page).select("window_start", "bound").iter_rows())
    for share, states in ((1.01, {"firing"}), (0.97, {"inactive", "pending"})):
        for hour in range(29 * A_DAY, 30 * A_DAY):
            p99[0, hour] = share * bound[at(hour)]
        found = evaluation(goodput_rows(p99, requests), 30 * A_DAY).alarms()
        assert next(a["state"] for a in found if a["rule"] == TTFT[0]) in states


def test_rules_without_a_baseline_have_their_bound() -> None:
    p99, requests = hourly_p99(np.random.default_rng(15), 1, 10)
    p99[0, -5:] = 9.0
    ratio = np.full(p99.shape, 0.99)
    ratio[0, -30:] = 0.2
    rules = {"slow": {"kind": "absolute", "metric": "p99_ttft_s", "above": 5.0, "severity": "page"}}
    rows = goodput_rows(p99, requests, ratio=ratio)
    given = settings(rules=rules, slo={"chat": {"objective": 0.9}}, windows_s=[3600], alarms={"window_s": 3600})
    seen = evaluation(rows, 10 * A_DAY, given)
    names = {a["alarm_id"]: a["rule"] for a in seen.alarms()}
    lines = {
        names[row["alarm_id"]]: (row["usual"], row["bound"], row["score"] is None)
        for row in seen.series().group_by("alarm_id").last().iter_rows(named=True)
    }
    assert lines["slow"] == (None, 5.0, True)
    # 10 % of a budget of 10 % over 30 days in one day: 3 times too fast, so 30 % bad
    assert lines["chat_burn_24h_ticket"] == (None, pytest.approx(0.7), False)


def test_power_says_what_the_alarm_can_see(rows: pl.DataFrame) -> None:
    power = {(row["rule"], row["pool"]): row for row in evaluation(rows, DAYS * A_DAY).power()}
    page, ticket = (power[rule, "pool-1"] for rule in TTFT)
    assert page["armed"]
    assert page["sigma"] == pytest.approx(0.074, abs=0.012)
    assert page["smallest_shift"] == pytest.approx(np.expm1(3.0 * page["sigma"]))
    fast, usual, slow = (page[f"drift_{name}_delay_s"] / 3600 for name in ("10pct", "5pct", "2pct"))
    assert 4 <= fast < usual < slow <= 18
    assert 7 <= usual <= 11
    assert ticket["drift_2pct_delay_s"] <= page["drift_2pct_delay_s"]
    assert page["drift_5pct_found_ratio"] == page["drift_2pct_found_ratio"] == 1.0
    assert 0 < page["false_alarms_per_week"] < ticket["false_alarms_per_week"] < 0.1


def test_little_traffic_is_watched_by_its_p95(fleet: tuple[np.ndarray, np.ndarray]) -> None:
    p99, requests = hourly_p99(np.random.default_rng(11), 1, 30, per_hour=500)
    few = np.minimum(requests, 200)
    states = {a["rule"]: (a["state"], a["why"]) for a in evaluation(goodput_rows(p99, few), 30 * A_DAY).alarms()}
    assert states[TTFT[0]] == ("learning", "too little traffic: at most 200 requests a window, 368 are needed")
    assert states["p95_ttft_s_page"] == ("inactive", None)
    some = goodput_rows(p99, np.where(np.arange(few.shape[1]) % 24 < 4, 400, few))
    why = next(a["why"] for a in evaluation(some, 30 * A_DAY).alarms() if a["rule"] == TTFT[0])
    assert why == "too little traffic: 4 of 24 windows have the 368 requests that are needed"
    many = {a["rule"]: a for a in evaluation(goodput_rows(*fleet), DAYS * A_DAY).alarms()}
    assert "p95_ttft_s_page" not in many


def test_a_pool_that_falls_silent_while_others_speak(rows: pl.DataFrame) -> None:
    gone = rows.filter((pl.col("pool") != "pool-2") | (pl.col("window_start") < at(ONSET)))
    back = pl.concat([gone, rows.filter((pl.col("pool") == "pool-2") & (pl.col("window_start") >= at(ONSET + 10)))])
    recorded = run_through(back, [ONSET, ONSET + 1, ONSET + 2, ONSET + 3, ONSET + 11])
    silent = [e for e in recorded if e["rule"] == "pool_silent"]
    assert [(e["transition"], e["pool"], e["occurred_at"]) for e in silent] == [
        ("firing", "pool-2", at(ONSET + 2)),
        ("resolved", "pool-2", at(ONSET + 11)),
    ]


def test_silent_telemetry_pages_by_the_clock_and_is_over_when_it_speaks_again(rows: pl.DataFrame) -> None:
    seen = evaluation(rows, ONSET, seen_live=True)
    quiet = [Evaluation(seen.evidence, at(ONSET + hours)).new_events([]) for hours in (1.9, 2.1)]
    assert [len([e for e in recorded if e["rule"] == "telemetry_silent"]) for recorded in quiet] == [0, 1]
    alarm = next(e for e in quiet[1] if e["rule"] == "telemetry_silent")
    assert (alarm["severity"], alarm["suppressed"], alarm["starts_at"]) == ("page", None, at(ONSET + 2))
    states = []
    for days in (0, 3, 30):
        later = Evaluation(seen.evidence, at(ONSET) + timedelta(days=days, hours=1)).alarms()
        states.append(next(a["state"] for a in later if a["rule"] == "telemetry_silent"))
    assert states == ["inactive", "firing", "inactive"]  # what was silent for a month is an archive
    over = evaluation(rows, ONSET + 4, seen_live=True).new_events(quiet[1])
    assert [(e["transition"], e["reason"]) for e in over if e["rule"] == "telemetry_silent"] == [
        ("resolved", "cleared")
    ]


@pytest.mark.parametrize("hours", [8.1, 30, 100])
def test_telemetry_that_fell_silent_while_no_run_looked_pages_all_the_same(rows: pl.DataFrame, hours: float) -> None:
    seen = evaluation(rows, ONSET, seen_live=True).evidence
    late = Evaluation(seen, at(ONSET + hours)).new_events([])
    [alarm] = [e for e in late if e["rule"] == "telemetry_silent"]
    assert (alarm["suppressed"], alarm["starts_at"]) == (None, at(ONSET + 2))
    again = Evaluation(seen, at(ONSET + hours + 1)).new_events(late)
    assert "telemetry_silent" not in {e["rule"] for e in again}
    archive = Evaluation(seen, at(ONSET + 8 * A_DAY)).new_events([])
    assert [e["suppressed"] for e in archive if e["rule"] == "telemetry_silent"] == ["backfill"]


@pytest.mark.parametrize("hours", [5, 20])
def test_silent_telemetry_is_told_once_its_silence_is_over_however_long_that_was(
    rows: pl.DataFrame, hours: float
) -> None:
    silence = Action("s1", "silence", {"rule": "telemetry_silent"}, at(ONSET), at(ONSET), at(ONSET + hours - 1))
    seen = evaluation(rows, ONSET, seen_live=True, actions=[silence]).evidence
    during = Evaluation(seen, at(ONSET + 3)).new_events([])
    after = Evaluation(seen, at(ONSET + hours)).new_events(during)
    assert [(e["transition"], e["suppressed"]) for e in after if e["rule"] == "telemetry_silent"] == [("firing", None)]
    later = Evaluation(seen, at(ONSET + hours + 2)).new_events([*during, *after])
    assert "telemetry_silent" not in {e["rule"] for e in later}


def test_telemetry_is_silent_since_its_newest_row_and_not_since_the_newest_whole_window(rows: pl.DataFrame) -> None:
    seen = replace(evaluation(rows, ONSET, seen_live=True).evidence, newest=at(ONSET) + timedelta(minutes=58))
    fired = {
        hours: [e for e in Evaluation(seen, at(ONSET + hours)).new_events([]) if e["rule"] == "telemetry_silent"]
        for hours in (2.5, 2.95, 2.97)
    }
    assert [len(events) for events in fired.values()] == [0, 0, 1]
    [alarm] = fired[2.97]
    assert alarm["starts_at"] == at(ONSET + 2) + timedelta(minutes=58)
    assert alarm["summary"].endswith(f"since {at(ONSET) + timedelta(minutes=58):%Y-%m-%dT%H:%MZ}")
    spoke = replace(seen, newest=at(ONSET + 3.5))
    [over] = [e for e in Evaluation(spoke, at(ONSET + 3.6)).new_events([alarm]) if e["rule"] == "telemetry_silent"]
    assert (over["transition"], over["starts_at"], over["ends_at"]) == ("resolved", alarm["starts_at"], at(ONSET + 3.6))


def test_silent_telemetry_can_be_silenced(rows: pl.DataFrame) -> None:
    silence = Action("s1", "silence", {"rule": "telemetry_silent"}, at(ONSET), at(ONSET), at(ONSET + 4))
    seen = evaluation(rows, ONSET, seen_live=True, actions=[silence]).evidence
    during = Evaluation(seen, at(ONSET + 3)).new_events([])
    mine = [(e["transition"], e["suppressed"], e["suppressed_by"]) for e in during if e["rule"] == "telemetry_silent"]
    assert mine == [("firing", "silenced", "s1")]
    after = Evaluation(seen, at(ONSET + 5)).new_events(during)
    assert [(e["transition"], e["suppressed"]) for e in after if e["rule"] == "telemetry_silent"] == [("firing", None)]


def test_the_watchdog_barks_once_an_hour(rows: pl.DataFrame) -> None:
    seen = evaluation(rows, ONSET)
    recorded = seen.new_events([])
    assert [e["transition"] for e in recorded if e["rule"] == "watchdog"] == ["heartbeat"]
    soon, later = (Evaluation(seen.evidence, seen.now + timedelta(minutes=m)).new_events(recorded) for m in (20, 60))
    assert [[e["rule"] for e in added if e["rule"] == "watchdog"] for added in (soon, later)] == [[], ["watchdog"]]
    assert [e["rule"] for e in Evaluation(Evidence({}, settings()), seen.now).new_events([])] == ["watchdog"]


def test_evidence_that_was_judged_before_is_judged_again_by_the_clock_alone(
    rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a full evaluation gives at each later time, without one: also once the silence has become an alarm."""
    hour = DAYS * A_DAY
    seen = Evidence({"goodput": rows}, settings(), seen_live=True, settled=at(0))
    first = alarm_tables(seen, {}, at(hour) + timedelta(minutes=10))
    later = [timedelta(minutes=20), timedelta(hours=1), timedelta(hours=3), timedelta(hours=30)]
    full, before = [], first.rows
    for after in later:
        full.append(alarm_tables(seen, before, at(hour) + after, inputs={}))
        before = full[-1].rows
    monkeypatch.setattr(Evaluation, "rule_series", property(lambda _: pytest.fail("judged again")))
    made, before = first.inputs, first.rows
    for after, expected in zip(later[:3], full, strict=False):
        found = alarm_tables(seen, before, at(hour) + after, inputs=made)
        for table in ("alarms", "alarm_events", "alarm_series"):
            assert found.rows[table].sort(pl.all()).equals(expected.rows[table].sort(pl.all())), table
        assert (found.new_events, found.firing) == (expected.new_events, expected.firing)
        made, before = found.inputs, found.rows
    assert [event["rule"] for event in before["alarm_events"].to_dicts()[-2:]] == ["telemetry_silent", "watchdog"]
    with pytest.raises(pytest.fail.Exception):  # on another day power is replayed again
        alarm_tables(seen, before, at(hour) + later[3], inputs=made)
    with pytest.raises(pytest.fail.Exception):
        alarm_tables(Evidence({"goodput": rows[:-1]}, settings(), seen_live=True), before, at(hour), inputs=made)


def test_why_an_alarm_is_not_armed_is_that_of_the_last_run_without_a_replay(
    rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six days teach nothing yet; once later telemetry is there, on the same day, what may page is said again."""
    early = rows.filter(pl.col("window_start") < at(6 * A_DAY))
    now = at(DAYS * A_DAY) + timedelta(minutes=10)
    first = alarm_tables(Evidence({"goodput": early}, settings(), settled=at(0)), {}, now)
    seen = Evidence({"goodput": rows}, settings(), settled=at(0))
    full = alarm_tables(seen, {}, now).rows["alarm_power"]
    stale = first.rows["alarm_power"]
    follow = ["alarm_id", "fired", "armed", "why", "false_alarms_per_week"]
    assert "less than seven days of windows to learn from" in set(stale["why"])
    assert full["armed"].any()
    monkeypatch.setattr(Evaluation, "power", lambda _: pytest.fail("replayed"))
    found = alarm_tables(seen, first.rows, now, inputs=first.inputs).rows["alarm_power"]
    assert found.select(follow).sort("alarm_id").equals(full.select(follow).sort("alarm_id"))
    assert found.drop(follow[1:]).equals(stale.drop(follow[1:]))


def test_a_database_gives_what_the_rows_give_and_no_more(rows: pl.DataFrame) -> None:
    """Other slices, other windows, hours to come, and relations that are not there."""
    late = pl.col("window_start") + pl.duration(days=40)
    others = [rows.with_columns(slice=pl.lit("all")), rows.with_columns(window_s=pl.lit(300, pl.Int32))]
    others.append(rows.with_columns(window_start=late).filter(pl.col("window_start") > at(DAYS * A_DAY + 1)))
    everything = pl.concat([rows, *others]).to_arrow()
    now = at(DAYS * A_DAY) + timedelta(minutes=10)
    with connect() as connection:
        connection.register("goodput", everything)
        found = read_evidence(connection, settings(), now)
    assert set(found.rows) == {"goodput"}
    expected = Evaluation(Evidence({"goodput": rows}, settings()), now)
    assert Evaluation(found, now).new_events([]) == expected.new_events([])
    columns = found.rows["goodput"].columns
    assert found.rows["goodput"].equals(rows.select(columns).sort("window_s", "window_start", "workload", "pool"))
    with connect() as connection:
        assert read_evidence(connection, settings(), now).rows == {}
