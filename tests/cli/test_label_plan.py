"""How many labels a plan draws, which, and whether the interval that it promises is the one that is published."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from cli.judged_plans import DAY, Group, Made, asked, database, fleet, gated, planned
from goodput.ask.label_plan import PlanTarget, default_period, plan
from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import connect, sql_file
from river import Row, judged

TWO_ROUTES = (Group(400, 0.5, "a", (0, 1)), Group(400, 0.98, "b", (0, 1)))
SESSIONS = (Group(50, 0.8, session=5, hours=range(12)),)


def totals(made: Made) -> list[Row]:
    """The rows of whole workloads."""
    return [row for row in made.plan.strata if row["route"] is None]


def keys(made: Made) -> list[str]:
    return [row["request_key"] for row in made.keys]


# How many


def cells(connection: duckdb.DuckDBPyConnection, *known: tuple[int, int, int]) -> None:
    """What is known of hours 0, 1 ... of a workload, as (need, labelled, passed)."""
    units = [
        (hour, n < labelled or None, n < passed if n < labelled else None)
        for hour, (need, labelled, passed) in enumerate(known)
        for n in range(need)
    ]
    connection.execute(
        "CREATE TEMP TABLE plan_units AS SELECT 'qa' AS workload, 'm' AS model, 'p' AS pool, 'r' AS route, "
        "unnest($hour) AS part_s, true AS needs_label, unnest($passed) AS passed, "
        "unnest($number)::VARCHAR AS drawn_as",
        {
            "number": list(range(len(units))),
            "hour": [hour for hour, _, _ in units],
            "passed": [passed for _, _, passed in units],
        },
    )
    connection.execute(f"CREATE TEMP TABLE plan_cells AS {sql_file('plan_cells').text}")
    connection.execute("CREATE TEMP TABLE plan_draws AS SELECT 'qa' AS workload, 1 AS remaining")


def taken(connection: duckdb.DuckDBPyConnection, share: float) -> list[int]:
    """Labels of each hour at a share."""
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE plan_trials AS SELECT 'qa' AS workload, 'cell' AS slice, 0 AS trial, "
        "$share AS share",
        {"share": share},
    )
    found = connection.sql(f"SELECT taken FROM ({sql_file('trial_cells').text}) ORDER BY part_s")
    return [int(row[0]) for row in found.fetchall()]


def test_two_strata_are_allocated_as_neyman_does() -> None:
    """300 requests of which 20 of 40 labels pass, 700 of which 54 of 60 do.

    The workload: (74 + 1.920729)/(100 + 3.841459) = 0.731122. With 3.841459 labels more that pass like that,
    22.808573/43.841459 = 0.520251 and 56.808573/63.841459 = 0.889838, whose standard deviations are 0.499590 and
    0.313091: N S = 149.877 and 219.164. Of 200 labels the first gets 200 x 149.877/369.041 = 81.2, the second 118.8.
    """
    with connect() as connection:
        cells(connection, (300, 40, 20), (700, 60, 54))
        found = connection.sql("SELECT rate, spread, effort FROM plan_cells ORDER BY part_s").fetchall()
        assert found[0] == pytest.approx((0.520251, 0.499590, 478.70), rel=1e-5)
        assert found[1] == pytest.approx((0.889838, 0.313091, 700.0), rel=1e-5)
        allocated = taken(connection, 200 / (478.70 + 700))
    assert allocated == [82, 119]  # rounded up
    # no other division of 201 labels has less variance, sum N^2 S^2/m
    variance = {m: 149.877**2 / m + 219.164**2 / (201 - m) for m in range(1, 201)}
    assert min(variance, key=lambda m: variance[m]) == allocated[0]


@pytest.mark.parametrize(("passed", "labelled", "expected"), [(19, 20, 0.864817), (3, 5, 0.524571)])
def test_widths_are_planned_with_a_rate_that_labels_leave_room_for(passed: int, labelled: int, expected: float) -> None:
    """Of 20 labels 19 pass: Wilson's interval at z = 1.644854 begins at 0.803993.

    The workload's rate is (19 + 1.920729)/23.841459 = 0.877494, 0.073501 beyond; the cell's, (19 + 3.841459 x
    0.877494)/23.841459 = 0.938317, is moved as far towards 1/2. Of 3 of 5 the interval holds 1/2: the workload's
    0.556552 lies 0.056552 beyond, the cell's 0.581122 is moved by that.
    """
    with connect() as connection:
        cells(connection, (300, labelled, passed))
        ((found,),) = connection.sql("SELECT sure_rate FROM plan_cells").fetchall()
    assert found == pytest.approx(expected, abs=2e-6)


def test_no_stratum_gives_more_than_it_has_nor_fewer_than_two() -> None:
    with connect() as connection:
        cells(connection, (1, 0, 0), (5, 0, 0), (3, 3, 3), (1000, 30, 15))
        assert taken(connection, 1e-9) == [1, 2, 3, 30]
        assert taken(connection, 1.0) == [1, 5, 3, 1000]
        few = taken(connection, 0.5)
    assert all(most >= m for m, most in zip(few, (1, 5, 3, 1000), strict=True))


def test_unlabelled_requests_that_count_as_failed_are_judged_until_the_bounds_are_near() -> None:
    """Bounds of 100 requests are as far apart as what is not labelled: for 0.25 of 100, 65 of 90 beside 10 labelled."""
    made = fleet(1, 1, [Group(100, 0.8, hours=(0,))], 0).judge([f"000/0/0/{n}" for n in range(10)])
    with database(made.rows(), [gated("w000", unlabelled="fail")]) as connection:
        found = plan(connection, asked(0.25))
    assert found is not None
    (row,) = (row for row in found.strata if row["route"] is None)
    assert (row["labelled"], row["to_draw"]) == (10, 65)
    assert (row["width_now"], row["expected_width"]) == pytest.approx((0.9, 0.25))


def test_without_a_label_half_of_them_is_expected_to_pass() -> None:
    """Wilson's interval of 1/2 is sqrt(1/(1 + n/z^2)) wide: 0.2 where n = 24 z^2 = 92.2 of very many."""
    made = planned(fleet(2, 1, [Group(20_000, 0.97, hours=(0,))], 0), 0.2)
    assert [row["to_draw"] for row in totals(made)] == [92]


# Whether the promise is kept


@pytest.mark.parametrize(
    ("groups", "labelled", "sampling", "width", "design"),
    [
        ((Group(150, 0.9, hours=range(6)),), 0.1, "random", 0.07, "whole"),
        (TWO_ROUTES, 0.1, "random", 0.06, "cell"),
        (SESSIONS, 0.15, "session", 0.13, "whole"),
    ],
    ids=["requests of one kind", "two routes of which one varies", "sessions of five alike"],
)
def test_the_width_that_is_promised_is_published_and_holds_the_truth(  # noqa: PLR0917
    tmp_path: Path, groups: tuple[Group, ...], labelled: float, sampling: str, width: float, design: str
) -> None:
    before = fleet(3, 60, groups, labelled, sampling)
    made = planned(before, width)
    assert {drawn.design for drawn in made.plan.drawn.values()} == {design}
    promised = np.array([row["expected_width"] for row in totals(made)])
    assert promised.max() <= 1.02 * width
    after = before.judge(keys(made))
    published = after.goodput(tmp_path)
    low, high = (published[f"goodput_ratio_ci_{end}"].to_numpy() for end in ("low", "high"))
    # a plan rests on the rates of a small sample: of 60, of which one in 20 is wider by a tenth, 6 or fewer are in 97 %
    assert ((high - low) > 1.1 * width).sum() <= 6
    assert 0.75 * promised.mean() < (high - low).mean() < promised.mean()
    truth = after.truth()
    # of 60 intervals that each hold in 95 % of cases, 54 or more do in 97 % of runs
    assert ((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean() >= 0.90
    assert published["labelled"].to_list() == [row["labelled"] + row["to_draw"] for row in totals(made)]


@pytest.mark.parametrize(("groups", "sampling"), [(TWO_ROUTES, "random"), (SESSIONS, "random"), (SESSIONS, "session")])
def test_the_width_now_is_the_published_one(tmp_path: Path, groups: tuple[Group, ...], sampling: str) -> None:
    before = fleet(4, 5, groups, 0.2, sampling)
    published = before.goodput(tmp_path)
    widths = (published["goodput_ratio_ci_high"] - published["goodput_ratio_ci_low"]).to_list()
    assert [row["width_now"] for row in totals(planned(before, 0.01))] == pytest.approx(widths, rel=1e-9)


# Which


def test_the_keys_depend_on_the_seed_and_not_on_the_order_of_rows() -> None:
    before = fleet(5, 2, TWO_ROUTES, 0.1)
    made = planned(before, 0.08)
    again, other = planned(before.shuffled(1), 0.08), planned(before, 0.08, seed=1)
    assert made.keys == again.keys
    assert made.plan.asked.plan_id == again.plan.asked.plan_id != other.plan.asked.plan_id
    # half of them at most would be drawn again by chance
    assert len({*keys(made)} & {*keys(other)}) < len(keys(made)) / 2


def test_keys_are_unlabelled_and_stand_for_all_that_need_a_label() -> None:
    before = fleet(6, 1, TWO_ROUTES, 0.1)
    made = planned(before, 0.06)
    unlabelled = {key for key, has in zip(before.columns["request_key"], before.labelled, strict=True) if not has}
    assert len(keys(made)) == len({*keys(made)}) == totals(made)[0]["to_draw"]
    assert {*keys(made)} <= unlabelled
    strata = [row for row in made.plan.strata if row["route"] is not None]
    assert sum(row["need_label"] for row in strata) == totals(made)[0]["need_label"] == 1600
    for row in strata:
        (weight,) = {
            key["weight"] for key in made.keys if (key["route"], key["part_start"]) == (row["route"], row["part_start"])
        }
        assert weight * (row["labelled"] + row["to_draw"]) == pytest.approx(row["need_label"])
    assert all(key["session_id"] is None for key in made.keys)


def test_a_wider_plan_draws_the_first_of_a_narrower_one() -> None:
    before = fleet(7, 1, [Group(100, 0.9)], 0.05)
    wide, narrow = planned(before, 0.06), planned(before, 0.04)
    assert 0 < len(keys(wide)) < len(keys(narrow))
    assert keys(wide) == keys(narrow)[: len(keys(wide))]


def test_sessions_are_drawn_whole_and_those_judged_in_part_first() -> None:
    before = fleet(8, 1, SESSIONS, 0.1, "session")
    made = planned(before, 0.13)
    assert set(Counter(row["session_id"] for row in made.keys).values()) == {5}
    last = made.keys[-1]["session_id"]
    half = [row["request_key"] for row in made.keys if row["session_id"] == last][:2]
    again = planned(before.judge(half), 0.13)
    rest = [row["request_key"] for row in again.keys if row["session_id"] == last]
    assert len(rest) == 3
    assert not {*rest} & {*half}


def test_where_a_workload_counts_sessions_these_are_drawn_and_counted() -> None:
    rows = [
        judged(f"s{n}/{part}", "unlabelled", end=60.0 * n + part, session_id=f"s{n}", workload="agents")
        for n in range(50)
        for part in range(n % 3 + 1)
    ]
    rows[0] |= {"verdict": "slow", "needs_label": False}  # s0 is over: no label makes it good
    rows += [judged("alone", "unlabelled", session_id=None, workload="agents")]
    with database(
        pa.Table.from_pylist(rows, schema=arrow_schema("requests")), [gated("agents", unit="session")]
    ) as connection:
        found = plan(connection, asked(0.3))
        drawn = connection.sql("SELECT session_id, count(*) FROM drawn_keys GROUP BY ALL").fetchall()
    assert found is not None
    (total,) = found.strata
    assert (total["need_label"], total["to_draw"]) == (49, len(drawn))
    assert all(count == int(session[1:]) % 3 + 1 for session, count in drawn)


# Where labels come from


def planned_label(key: str, plan_id: str) -> Row:
    return {
        **{"label_id": key, "subject_kind": "request", "subject_id": key, "request_key": key, "evaluator": "judge"},
        **{"plan_id": plan_id, "labelled_at": DAY, "withdrawn": False, "current": True, "source": "s", "line": 1},
    }


def test_labels_that_nobody_drew_count_only_where_they_came_from_a_plan() -> None:
    before = fleet(9, 1, [Group(100, 0.9, hours=(0,))], 0, "none").judge([f"000/0/0/{n}" for n in range(30)])
    labels = [planned_label(f"000/0/0/{n}", "plan-x") for n in range(12)]
    made = planned(before, 0.2, labels=labels)
    (row,) = made.plan.provenance
    assert (row["labelled"], row["by_plan"], row["by_this_plan"], row["undrawn"]) == (12, 12, 0, 18)
    assert totals(made)[0]["labelled"] == 12
    assert not {*keys(made)} & {f"000/0/0/{n}" for n in range(12)}


def test_what_judges_passed_over_shows_when_the_plan_is_asked_for_again() -> None:
    before = fleet(10, 1, TWO_ROUTES, 0.1)
    first = planned(before, 0.06)
    assert first.plan.provenance[0]["passed_over"] == 0
    route, part = first.keys[0]["route"], first.keys[0]["part_start"]
    stratum = [row["request_key"] for row in first.keys if (row["route"], row["part_start"]) == (route, part)]
    judged_keys = [*stratum[:3], *stratum[5:8]]
    labels = [planned_label(key, first.plan.asked.plan_id) for key in judged_keys]
    again = planned(before.judge(judged_keys), 0.06, labels=labels)
    (row,) = again.plan.provenance
    assert (row["by_this_plan"], row["passed_over"]) == (6, 2)
    assert {*stratum[3:5]} <= {*keys(again)}  # they are the next to judge


# When


def test_a_plan_is_for_the_day_of_the_last_request() -> None:
    last = DAY + timedelta(hours=10)
    assert default_period(None, None, last) == (DAY, DAY + timedelta(days=1))
    assert default_period(last, None, last) == (last, DAY + timedelta(days=1))
    assert default_period(None, last, last) == (last - timedelta(days=1), last)


@pytest.mark.parametrize(("hours", "part_h"), [(1, 1), (24, 1), (25, 2), (7 * 24, 7)])
def test_parts_are_hours_and_at_most_24(hours: int, part_h: int) -> None:
    assert PlanTarget(0.1, DAY, DAY + timedelta(hours=hours), 0, None).part_s == part_h * 3600
