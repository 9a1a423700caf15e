"""Which part of a workload does worse, and which replica is slower: by windows of which the truth is plain."""

from datetime import timedelta
from statistics import median, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t as student

from goodput.contracts import arrow_schema
from goodput.report.catalog import all_charts
from report.test_sums import DAY, asked, judged_by

ANSWERS = {chart.name: chart.answer for chart in all_charts()}
HOUR = 3600


def of_contract(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    empty = {field.name: 0 if pa.types.is_integer(field.type) else None for field in arrow_schema(name)}
    return pa.Table.from_pylist([empty | row for row in rows], schema=arrow_schema(name))


def parts(
    counts: dict[str, list[tuple[int, float, float]]],
    of: str = "route",
    workload: str = "chat",
    idle_usd: float = 0.0,
    judges: pa.Table | None = None,
    **labels: int,
) -> list[dict]:
    """Pairs of parts: offered, accepted and dollars of each part by hour, and what each carries of idle time beside."""
    windows = [
        {"slice": f"workload_{of}", "workload": workload, of: name, "window_s": HOUR, "offered": offered}
        | {"window_start": DAY + nth * timedelta(hours=1), "goodput_rps": accepted / HOUR}
        | {"cost_usd": usd + idle_usd, "direct_cost_usd": usd, **labels}
        for name, hours in counts.items()
        for nth, (offered, accepted, usd) in enumerate(hours)
        if offered
    ]
    totals, shown = [], []
    for choice, (name, hours) in enumerate(counts.items()):
        offered, accepted, usd = (sum(hour[part] for hour in hours) for part in range(3))
        shown.append({"choice": choice, "slice": f"workload_{of}", "workload": workload, of: name})
        totals.append(
            {"period": "all", "choice": choice, "offered": offered, "accepted": accepted}
            | {"ratio": accepted / offered, "price_usd": usd / accepted}
        )
    rules = {} if judges is None else {"workloads": judges}
    return asked(
        "parts_apart",
        shown,
        goodput=of_contract("goodput", windows),
        period_totals=pa.Table.from_pylist(totals),
        **rules,
    )


def test_what_all_windows_have_in_common_is_in_no_difference() -> None:
    """A busy hour spoils both routes alike: in pairs they differ surely, each by itself they would not."""
    load = [0.9, 0.3, 0.8, 0.2, 0.9, 0.4, 0.7, 0.3]
    noise = [0.01, -0.01, 0.0, 0.01, -0.02, 0.02, -0.01, 0.0]
    better = [100 * (share + 0.05 + one) for share, one in zip(load, noise, strict=True)]
    worse = [100 * share for share in load]
    (row,) = parts({"a": [(100, n, 1.0) for n in better], "b": [(100, n, 1.0) for n in worse]})
    apart = [(one - other) / 100 for one, other in zip(worse, better, strict=True)]
    # as many requests in each window: a t test of the paired differences
    half = student.ppf(0.975, 7) * stdev(apart) / np.sqrt(8)
    assert (row["name"], row["beside"], row["windows"]) == ("b", "a", 8)
    assert row["gap"] == pytest.approx(np.mean(apart))
    assert row["gap_half"] == pytest.approx(half, rel=2e-3)  # Student's t is true to 0.3 %
    alone = np.hypot(stdev(worse), stdev(better)) / 100 / np.sqrt(8)
    assert abs(row["gap"]) > row["gap_half"]
    assert abs(row["gap"]) < student.ppf(0.975, 14) * alone


@pytest.mark.parametrize(
    ("labelled", "policy", "windows"),
    [(0, "estimate", 0), (40, "estimate", 8), (90, "estimate", 8), (40, "fail", 0), (40, "pass", 0), (90, "fail", 8)],
)
def test_windows_that_nobody_judged_show_no_difference(labelled: int, policy: str, windows: int) -> None:
    """Of 90 answers that need a label some have one; what a bound says of the others is no observation."""
    counts = {"a": [(100, 80 + n % 3, 1.0) for n in range(8)], "b": [(100, 90 + n % 2, 1.0) for n in range(8)]}
    found = parts(counts, judges=judged_by(chat=policy), need_label=90, labelled=labelled)
    assert [row["windows"] for row in found] == [windows] * (windows > 0)


def test_the_difference_is_told_apart_by_how_busy_windows_were() -> None:
    """Nine hours: in the three with most requests of both they are alike, in the others half and all."""
    hours = [(10, 5, 1.0)] * 6 + [(100, 90, 1.0)] * 3
    (row,) = parts({"a": [(10, 10, 1.0)] * 6 + [(100, 90, 1.0)] * 3, "b": [*hours[:5], (9, 5, 1.0), *hours[6:]]})
    assert row["busy_gap"] == pytest.approx(0)
    assert row["quiet_gap"] == pytest.approx(30 / 59 - 1)


def test_of_a_price_no_more_cancels_than_of_what_requests_cost() -> None:
    """What both pay more in a busy hour cancels; what each carries of idle time beside it need not."""
    usd = [1.0, 3.0, 2.0, 4.0, 1.0, 2.0, 3.0, 1.0]
    both = {
        "a": [(100, 50, one) for one in usd],
        "b": [(100, 50, one + 1) for one in usd[:7]] + [(100, 50, usd[7] + 1.5)],
    }
    (direct,) = parts(both)
    stray = [-1 / 16] * 7 + [7 / 16]  # of the difference of both, in dollars
    assert direct["error_usd"] == pytest.approx(np.sqrt(sum(one**2 for one in stray) * 8 / 7) / 400)
    (idle,) = parts(both, idle_usd=0.5)
    assert idle["error_usd"] == pytest.approx(direct["error_usd"])  # as much in each hour: it varies by nothing


def test_neighbouring_windows_that_fare_alike_are_worth_less() -> None:
    shifts = [5, 5, 5, 5, 5, 5, -5, -5, -5, -5, -5, -5]
    hours = [(100, 50 + shift, 1.0) for shift in shifts]
    (row,) = parts({"a": [(100, 50, 1.0)] * 12, "b": hours})
    alike = np.corrcoef(shifts[:-1], shifts[1:])[0, 1]
    error = stdev([shift / 100 for shift in shifts]) / np.sqrt(12) * np.sqrt(1 + 2 * alike)
    assert row["error"] == pytest.approx(error)
    assert row["p"] == pytest.approx(2 * student.sf(abs(row["gap"]) / error, 11), abs=0.001)
    other_order = [(100, 50 + shift, 1.0) for pair in zip(shifts[:6], shifts[6:], strict=True) for shift in pair]
    (mixed,) = parts({"a": [(100, 50, 1.0)] * 12, "b": other_order})
    assert mixed["error"] == pytest.approx(error / np.sqrt(1 + 2 * alike))


def test_what_was_served_at_other_times_is_not_set_side_by_side() -> None:
    early, late = [(100, 90, 1.0)] * 8 + [(0, 0, 0.0)] * 8, [(0, 0, 0.0)] * 8 + [(100, 50, 1.0)] * 8
    assert parts({"a": early, "b": late}) == []
    assert (
        parts({"a": [(100, 90, 1.0)] * 5, "b": [(100, 50 + n, 1.0) for n in range(5)]}) == []
    )  # five windows show nothing


def test_an_unnamed_part_is_nothing_that_anybody_can_mend() -> None:
    hours = [(100, 50 + n % 3, 1.0) for n in range(8)]
    found = parts(
        {"unknown": [(900, 90, 1.0)] * 8, "(other)": [(900, 9, 1.0)] * 8, "a": [(100, 90, 1.0)] * 8, "b": hours}
    )
    assert [(row["name"], row["beside"]) for row in found] == [("b", "a")]


def test_alike_routes_are_called_unlike_as_seldom_as_promised() -> None:
    """Routes of one share in windows that fare badly together: one question in 20 is answered wrongly, not more."""
    rng, wrong, rounds = np.random.default_rng(7), 0, 300
    for _ in range(rounds):
        share = rng.uniform(0.3, 0.9, 12)
        counts = {name: [(80, int(n), 1.0) for n in rng.binomial(80, share)] for name in "ab"}
        (row,) = parts(counts)
        wrong += abs(row["gap"]) > row["gap_half"]
    assert 0.02 <= wrong / rounds <= 0.085  # within three standard errors of one in 20


def chance(errors: float) -> float:
    """How often a difference of so many standard errors comes by chance, of 24 windows."""
    return float(2 * student.sf(abs(errors), 23))


def pair(gap: float, gap_usd: float, **more: Any) -> dict[str, Any]:
    """Route b beside a, of which errors are a percent and a tenth of a cent."""
    return {
        "workload": "chat", "divided_by": "route", "name": "b", "beside": "a", "windows": 24,
        "offered": 1000, "other_offered": 2000, "accepted": 600 + 1000 * gap, "other_accepted": 1200.0,
        "ratio": 0.6 + gap, "other_ratio": 0.6, "price_usd": 0.01 + gap_usd, "other_price_usd": 0.01,
        "gap": gap, "gap_half": 0.02, "p": chance(gap / 0.01),
        "gap_usd": gap_usd, "gap_usd_half": 0.002, "p_usd": chance(gap_usd / 0.001),
        "busy_gap": 0.2 * gap, "quiet_gap": 1.4 * gap,
    } | more  # fmt: skip


def test_the_worse_of_a_pair_is_named_with_what_it_would_have_had() -> None:
    answer = ANSWERS["parts_apart"]([pair(-0.1, 0.005)])
    assert answer.startswith(
        "Route b of workload chat had 50.0 % of its requests accepted, a 60.0 %: 10.0 points apart (8.0 to 12.0); an "
        "accepted answer cost $0.0150, beside $0.0100: $0.00500 more ($0.00300 to $0.00700); by 24 windows that both "
        "served. Had b done as well as a, about 100 more of its answers (80 to 120) would count; the bill falls only "
        "where replicas go. In the busiest third of these windows they were 2.0 points apart, in the others 14.0."
    )
    # the other of the pair, from the same numbers the other way round
    assert "Route a of workload chat had 60.0 % of its requests accepted, b 70.0 %" in ANSWERS["parts_apart"](
        [pair(0.1, -0.005)]
    )


def test_where_the_price_alone_is_sure_no_answers_are_promised() -> None:
    answer = ANSWERS["parts_apart"]([pair(-0.01, 0.005)])
    assert "1.0 points apart (-1.0 to 3.0), which may be chance; an accepted answer cost $0.0150" in answer
    assert "Had b" not in answer


def test_a_difference_that_chance_explains_promises_nothing() -> None:
    answer = ANSWERS["parts_apart"]([pair(-0.01, 0.0005)])
    assert answer.startswith("No difference that chance does not explain; nearest comes route b of workload chat")
    assert "Had b" not in answer
    # one of 2.2 errors shows where it is asked for alone, and not among ten
    one = pair(-0.024, 0.0)
    assert "No difference" not in ANSWERS["parts_apart"]([one])
    assert "No difference" in ANSWERS["parts_apart"]([one] + [pair(0.0, 0.0, name=str(nth)) for nth in range(4)])


def test_names_are_quoted_in_the_command_that_is_offered() -> None:
    answer = ANSWERS["parts_apart"]([pair(-0.1, 0.005, name="a b; rm", beside="$(x)")])
    assert "--by route 'a b; rm' '$(x)' --workload chat" in answer


def replica(name: str, paces: list[float | None], **more: Any) -> list[dict[str, Any]]:
    """Windows of a replica, an hour each, with 20 answers, the fewest of which a median counts."""
    named = {"pool": "p", "model": "m", "replica": name, "window_s": HOUR, "up_s": 3600.0, "attempts": 25, "n_tpot": 20}
    return [
        named | {"window_start": DAY + nth * timedelta(hours=1), "p50_tpot_s": pace} | more
        for nth, pace in enumerate(paces)
        if pace is not None
    ]


def paces(windows: list[dict[str, Any]], ledger: list[dict[str, Any]] = []) -> list[dict[str, Any]]:  # noqa: B006
    return asked(
        "replica_paces",
        replica_windows=of_contract("replica_windows", windows),
        cost_ledger=of_contract("cost_ledger", ledger),
    )


@pytest.mark.parametrize("others", [1, 2, 3, 4, 5])
def test_a_replica_is_set_beside_the_median_of_the_others(others: int) -> None:
    rng = np.random.default_rng(others)
    values = {f"r{nth}": list(rng.uniform(0.01, 0.1, 3)) for nth in range(others + 1)}
    found = paces([row for name, of in values.items() for row in replica(name, of)])
    assert len(found) == 3 * (others + 1)
    for row in found:
        nth = (row["at"] - DAY) // timedelta(hours=1)
        beside = median(of[nth] for name, of in values.items() if name != row["replica"])
        assert row["others_s"] == pytest.approx(beside)
        assert row["is_slow"] == (values[row["replica"]][nth] >= 1.25 * beside)


def test_other_pools_and_models_and_few_answers_are_no_measure() -> None:
    alone = replica("a", [0.1])
    assert paces(alone + replica("b", [0.05], pool="q")) == []
    assert paces(alone + replica("b", [0.05], model="n")) == []
    assert paces(alone + replica("b", [0.05], n_tpot=19)) == []
    assert len(paces(alone + replica("b", [0.05]))) == 2


def test_what_was_late_at_a_slow_replica_is_beside_as_many_tries_at_the_others() -> None:
    windows = [*replica("a", [0.1]), *replica("b", [0.05]), *replica("c", [0.05], attempts=75)]
    ledger = [
        {"window_start": DAY + timedelta(minutes=minute), "window_s": 300, "pool": "p", "replica": name}
        | {"bucket": bucket, "usd": usd}
        for minute, name, bucket, usd in [
            (0, "a", "slow", 2.0), (55, "a", "slow", 1.0), (60, "a", "slow", 8.0), (5, "a", "accepted", 9.0),
            (5, "b", "slow", 0.5), (10, "c", "slow", 1.5), (10, "d", "slow", 0.0),
        ]
    ]  # fmt: skip
    slow = next(row for row in paces(windows, ledger) if row["is_slow"])
    # 2 dollars over 100 tries at the others, of which a had 25
    assert [slow[name] for name in ("replica", "slow_usd", "others_slow_usd")] == ["a", 3.0, 0.5]


def test_windows_that_follow_each_other_are_one_stretch() -> None:
    windows = [*replica("a", [0.05, 0.1, 0.2, 0.05, 0.1]), *replica("b", [0.05] * 5), *replica("c", [0.055] * 5)]
    found = paces(windows)
    for row in found:
        row["at"] = int(row["at"].timestamp() * 1000)
    said = ANSWERS["replica_paces"](found).splitlines()
    assert [line.split(":")[0] for line in said[:2]] == [
        "a was slower than the others of its pool from 20 Nov 01",
        "a was slower than the others of its pool from 20 Nov 04",
    ]
    assert (
        "01:00 to 20 Nov 03:00 UTC: 0.1 to 0.2 s a token, 1.9 to 3.8 times what they took, over 40 answers" in said[0]
    )
    assert said[2:] == [
        "Apart from that no replica took more than 1.10 times as long.",
        "What a replica was given to do may differ too.",
    ]
    quiet = ANSWERS["replica_paces"]([row for row in found if not row["is_slow"]])
    assert quiet.startswith(
        "No replica took 1.25 times as long for a token as the others of its pool; the most is 1.10 times"
    )
