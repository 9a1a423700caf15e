"""Incidents: which alarm reports what begins together, and by what the others are inhibited."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from goodput.monitor.grid import Grid
from goodput.monitor.rule_series import RuleSeries
from goodput.monitor.states import Episode
from goodput.monitor.suppression import Suppression, Suppressors, suppression_at, suppressions
from goodput.plumbing.alarm_actions import Action
from monitor.rows import MONDAY

GRID = Grid(int(MONDAY.timestamp()), 3)
CHAT, OTHER = {"workload": "chat", "pool": "a"}, {"workload": "chat", "pool": "b"}


def alarm(
    metric: str, firing: int, resolved: int | None, labels: Mapping[str, str], severity: str = "page"
) -> RuleSeries:
    """An alarm of a trend that fired in one window and was over in another."""
    none = np.full(GRID.windows, np.nan)
    parts = (f"{metric}_{severity}", "trend", severity, metric, tuple(labels.items()), 3.0, none, none)
    return RuleSeries(*parts, (Episode(firing - 1, firing, resolved),), grid=GRID)


def inhibited(*alarms: RuleSeries, silences: tuple[Action, ...] = ()) -> dict[str, str | None]:
    """By rule and pool what suppresses each alarm when it fires."""
    found = suppressions(alarms, Suppressors(silences))
    by = {}
    for one in alarms:
        mine: list[Suppression] = found[str(one.named["alarm_id"])]
        at_s = GRID.end_s(one.episodes[0].firing or 0)
        what = suppression_at(mine, at_s)
        place = dict(one.labels)
        by[f"{one.rule} {place.get('replica', place['pool'])}"] = what and what.by
    return by


def test_what_users_notice_is_reported_and_what_may_cause_it_is_beneath_it() -> None:
    """All fire in one window: the ttft of a pool, its goodput, its KV cache, and a replica of it."""
    alarms = (
        alarm("kv_usage_ratio", 30, 40, {"pool": "a"}),
        alarm("goodput_ratio", 30, 40, CHAT),
        alarm("replica_hit_ratio", 30, 40, {"pool": "a", "replica": "a-1"}, "ticket"),
        alarm("p99_ttft_s", 30, 40, CHAT),
    )
    assert inhibited(*alarms) == {
        "p99_ttft_s_page a": None,
        "goodput_ratio_page a": "p99_ttft_s_page",
        "kv_usage_ratio_page a": "p99_ttft_s_page workload=chat pool=a",
        "replica_hit_ratio_ticket a-1": "p99_ttft_s_page workload=chat pool=a",
    }


def test_a_cause_that_pages_first_reports_the_incident() -> None:
    cause, symptom = alarm("kv_usage_ratio", 20, 50, {"pool": "a"}), alarm("p99_ttft_s", 31, 50, CHAT)
    assert inhibited(cause, symptom) == {
        "kv_usage_ratio_page a": None,
        "p99_ttft_s_page a": "kv_usage_ratio_page pool=a",
    }


@pytest.mark.parametrize(
    ("leader_ends", "begins", "is_another"),
    [
        (60, 33, False),  # 13 hours later, while the first fires
        (32, 33, True),  # 13 hours later, when the first is just over
        (60, 44, False),  # a day later
        (60, 45, True),  # more than that
    ],
)
def test_until_when_what_begins_is_a_part_of_the_incident(leader_ends: int, begins: int, is_another: bool) -> None:
    cause = alarm("kv_usage_ratio", 20, leader_ends, {"pool": "a"})
    by = inhibited(cause, alarm("p99_ttft_s", begins, 60, CHAT))["p99_ttft_s_page a"]
    assert by == (None if is_another else "kv_usage_ratio_page pool=a")


def test_a_ticket_keeps_no_page_back() -> None:
    ticket, page = alarm("hit_ratio", 20, 60, {"pool": "a"}, "ticket"), alarm("p99_ttft_s", 22, 60, CHAT)
    assert set(inhibited(ticket, page).values()) == {None}


def test_pools_that_move_in_one_window_are_reported_together_and_one_that_follows_by_itself() -> None:
    later = {**CHAT, "pool": "c"}
    pages = (alarm("p99_ttft_s", 30, 40, OTHER), alarm("p99_ttft_s", 30, 40, CHAT), alarm("p99_ttft_s", 31, 40, later))
    assert inhibited(*pages) == {
        "p99_ttft_s_page a": None,
        "p99_ttft_s_page b": "p99_ttft_s_page workload=chat pool=a",
        "p99_ttft_s_page c": None,
    }


@pytest.mark.parametrize(
    ("first_ends", "second_ends", "begins", "by"),
    [
        (60, 60, 42, "p99_ttft_s_page workload=chat pool=a"),  # twelve hours later, while all fire
        (60, 60, 55, None),  # more than a day later
        (40, 60, 47, "p99_ttft_s_page workload=chat pool=a"),  # what b's own ttft says by then
        (60, 40, 47, "p99_ttft_s_page workload=chat pool=a"),  # the incident goes on, though b's ttft does not
        (40, 40, 47, None),
    ],
)
def test_what_follows_in_each_of_several_pools_belongs_to_the_alarm_that_reported_them(
    first_ends: int, second_ends: int, begins: int, by: str | None
) -> None:
    first, second = alarm("p99_ttft_s", 30, first_ends, CHAT), alarm("p99_ttft_s", 30, second_ends, OTHER)
    later = alarm("p99_e2e_s", begins, 70, OTHER)
    assert inhibited(first, second, later)["p99_e2e_s_page b"] == by


def test_a_ticket_that_follows_a_page_elsewhere_keeps_no_page_back() -> None:
    """Of b's ttft there is a ticket alone: whoever was paged for a does not know that b is as bad."""
    first, ticket = alarm("p99_ttft_s", 30, 60, CHAT), alarm("p99_ttft_s", 30, 60, OTHER, "ticket")
    page, other_ticket = alarm("p99_e2e_s", 33, 60, OTHER), alarm("goodput_ratio", 34, 60, OTHER, "ticket")
    assert inhibited(first, ticket, page)["p99_e2e_s_page b"] is None
    assert inhibited(first, ticket, other_ticket)["goodput_ratio_ticket b"] == "p99_ttft_s_page workload=chat pool=a"


def test_what_follows_in_one_pool_does_not_carry_its_incident_on() -> None:
    """Each begins 20 hours after the one before; the incident that the first reports takes in a day."""
    first, second = alarm("kv_usage_ratio", 5, 60, {"pool": "a"}), alarm("p99_ttft_s", 25, 60, CHAT)
    third = alarm("p99_e2e_s", 45, 60, CHAT)
    by = inhibited(first, second, third)
    assert (by["p99_ttft_s_page a"], by["p99_e2e_s_page a"]) == ("kv_usage_ratio_page pool=a", None)


def test_another_metric_of_another_pool_is_another_incident() -> None:
    assert set(inhibited(alarm("p99_ttft_s", 30, 40, CHAT), alarm("p99_e2e_s", 30, 40, OTHER)).values()) == {None}


def test_another_workload_of_the_pool_is_another_incident() -> None:
    batch = {"workload": "batch", "pool": "a"}
    assert set(inhibited(alarm("p99_ttft_s", 28, 40, CHAT), alarm("goodput_ratio", 30, 40, batch)).values()) == {None}


def test_a_replica_is_no_part_of_what_another_one_does() -> None:
    first = alarm("replica_hit_ratio", 30, 40, {"pool": "a", "replica": "a-1"}, "ticket")
    second = alarm("replica_kv_usage_ratio", 31, 40, {"pool": "a", "replica": "a-2"}, "ticket")
    assert set(inhibited(first, second).values()) == {None}


def test_what_nobody_was_notified_of_keeps_nothing_back() -> None:
    silence = Action("s1", "silence", {"metric": "p99_ttft_s"}, MONDAY, MONDAY, MONDAY.replace(day=9))
    alarms = (
        alarm("p99_ttft_s", 30, 40, CHAT),
        alarm("p99_e2e_s", 31, 40, CHAT),
        alarm("kv_usage_ratio", 32, 40, {"pool": "a"}),
    )
    assert inhibited(*alarms, silences=(silence,)) == {
        "p99_ttft_s_page a": "s1",
        "p99_e2e_s_page a": None,
        "kv_usage_ratio_page a": "p99_e2e_s_page workload=chat pool=a",
    }


def test_what_is_reported_late_leads_from_then_on() -> None:
    """A silence is over at the end of window 31: what began before is news, what begins after is of the incident."""
    silence = Action("s1", "silence", {"metric": "p99_ttft_s"}, MONDAY, MONDAY, MONDAY + timedelta(hours=32))
    leader, place = alarm("p99_ttft_s", 30, 50, CHAT), {"pool": "a"}
    before, after = alarm("kv_usage_ratio", 30, 40, place), alarm("kv_usage_ratio", 33, 40, place)
    assert inhibited(leader, before, silences=(silence,))["kv_usage_ratio_page a"] is None
    assert inhibited(leader, after, silences=(silence,))["kv_usage_ratio_page a"] == (
        "p99_ttft_s_page workload=chat pool=a"
    )


@pytest.mark.parametrize(
    ("scores", "by"),
    [
        ({45: 3.5, 46: 3.5}, None),  # the first window that ends six hours after the leader's end
        ({45: 3.5, 46: 2.9}, "p99_ttft_s_page"),  # it only has not sunk to half of its threshold yet
        ({46: 2.9, 48: 3.1}, "p99_ttft_s_page"),
    ],
)
def test_what_outlasts_the_incident_is_news_where_it_reaches_its_threshold_still(
    scores: dict[int, float], by: str | None
) -> None:
    leader, follower = alarm("p99_ttft_s", 30, 40, CHAT), alarm("p99_e2e_s", 31, 60, CHAT)
    score = np.full(GRID.windows, 2.0)
    score[list(scores)] = list(scores.values())
    found = suppressions([leader, replace(follower, score=score)], Suppressors())
    mine = found[str(follower.named["alarm_id"])]
    suppression = suppression_at(mine, GRID.end_s(46))
    assert (suppression and suppression.by) == by
    assert suppression_at(mine, GRID.end_s(45)) is not None
    assert suppression_at(mine, GRID.end_s(48)) is None or 48 not in scores


def test_what_fires_again_after_the_incident_is_reported() -> None:
    """The leader was over at window 20 and counts for six hours more; the follower that begins at 27 is news."""
    leader, follower = alarm("p99_ttft_s", 18, 20, CHAT), alarm("p99_e2e_s", 27, 40, CHAT)
    assert inhibited(leader, follower)["p99_e2e_s_page a"] is None
    sooner = replace(follower, episodes=(Episode(24, 25, 40),))
    assert inhibited(leader, sooner)["p99_e2e_s_page a"] == "p99_ttft_s_page"
