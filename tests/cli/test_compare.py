"""`goodput compare`: differences with their intervals, an honest verdict, and tails that means hide."""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import NormalDist
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from scipy.stats import t as student_t

from goodput.ask.verdict import undecided_among
from goodput.contracts import arrow_schema
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.sql_files import connect

Run = Callable[..., Any]
Row = dict[str, Any]
START = datetime(2026, 11, 20, 9, tzinfo=UTC)
WINDOW_S = 10


def requests(route: str, accepted: Iterable[bool], seconds: float = 5.0, **given: Any) -> list[Row]:
    return [
        {
            "request_key": f"{route}/{seconds}/{given.get('output_tokens')}/{n}",
            "workload": "chat",
            "route": route,
            "arrived_at": START + timedelta(seconds=seconds - 1),
            "ended_at": START + timedelta(seconds=seconds),
            "attempts": 1,
            "retry_count": 0,
            "delivering_attempt_id": f"{route}/{n}",
            "outcome": "ok",
            "pass_success": True,
            "needs_label": False,
            "tpot_na": False,
            "verdict": "accepted" if good else "slow",
            **given,
        }
        for n, good in enumerate(accepted)
    ]


def judged(route: str, passed: Iterable[bool], tokens: int) -> list[Row]:
    return [
        row | {"pass_quality": good, "needs_label": True, "verdict": "accepted" if good else "rejected"}
        for good, row in zip(passed, requests(route, passed, output_tokens=tokens), strict=True)
    ]


def beside(bucket: str, usd: float, seconds: float = 0.0, **given: Any) -> Row:
    """Money of a window that no request had."""
    start = {"window_start": START + timedelta(seconds=seconds), "window_s": WINDOW_S}
    return {**start, "bucket": bucket, "usd": usd, "tokens": 0.0, "estimated": False, **given}


def served(route: str, gpu_s: float, pool: str = "p", seconds: float = 5.0, n: int = 0) -> Row:
    """The attempt of one of the requests of a route."""
    key = {"request_key": f"{route}/{seconds}/None/{n}", "attempt_id": f"{route}/{n}"}
    return beside("accepted", 0.01, seconds, gpu_s=gpu_s, pool=pool, **key)


def deployed(
    pool: str | None, seconds: float, revision: str | None, kind: str = "deployment", replica: str | None = None
) -> Row:
    at = START + timedelta(seconds=seconds)
    named = f"{kind}/{pool}/{revision}/{seconds}"
    whose = {"pool": pool, "replica": replica}
    return {"event_id": named, "kind": kind, "occurred_at": at, "revision": revision, "source": "s", **whose}


def passing(good: int, of: int) -> list[bool]:
    return [n < good for n in range(of)]


@pytest.fixture
def compare(goodput: Run, tmp_path: Path) -> Callable[..., Any]:
    """Publishes requests and windows, and compares routes A and B as JSON, or as asked."""

    def run(
        rows: list[Row],
        *asked: str,
        windows: int = 1,
        spent: Sequence[Row] = (),
        done: Sequence[Row] = (),
        of_workloads: Sequence[Row] = (),
        pruned: Sequence[Row] = (),
        workloads: Sequence[Row] = (),
    ) -> Any:
        starts = [START + timedelta(seconds=n * WINDOW_S) for n in range(windows)]
        overall = [
            {"window_start": start, "window_s": WINDOW_S, "slice": "overall", "partial": False} for start in starts
        ]
        tables = {"requests": rows, "goodput": [*overall, *of_workloads], "cost_ledger": spent, "ops_events": done}
        with duckdb.connect(tmp_path / "goodput.duckdb") as connection:
            for name, table in tables.items():
                connection.register("given", pa.Table.from_pylist(list(table), schema=arrow_schema(name)))
                connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
            for name, settings in {"pruned": pruned, "workloads": workloads}.items():
                connection.register("given", pa.Table.from_pylist(list(settings), schema=PARAMETERS[name].schema))
                connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given")
        arguments = asked or ("--by", "route", "A", "B", "--format", "json")
        ended = goodput("compare", *arguments, "--lake", str(tmp_path), ask=False)
        return json.loads(ended.stdout) if "json" in arguments else ended

    return run


def student(df: float, comparisons: int = 1) -> float:
    """Two-sided 95 %, of so many comparisons at once."""
    return float(student_t.isf(0.025 / comparisons, df))


def wilson(p: Any, n: float, z: float) -> tuple[Any, Any]:
    """Wilson's (1927) interval, by the roots of its quadratic equation."""
    middle, root = p + z**2 / (2 * n), z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
    return (middle - root) / (1 + z**2 / n), (middle + root) / (1 + z**2 / n)


def added(x: float, y: float, phi: float) -> float:
    """Two distances squared and added, of estimates with this correlation (Newcombe 1998, method 10)."""
    return math.sqrt(x**2 - 2 * phi * x * y + y**2)


def metric(found: Any, name: str) -> Row:
    (row,) = [row for row in found["metrics"] if row["metric"] == name]
    return dict(row)


WORKED = requests("A", passing(58, 100), cost_usd=0.0110) + requests("B", passing(85, 100), cost_usd=0.0145)


def test_the_worked_example(compare: Run) -> None:
    # Two routes, 100 requests each in 10 s, 58 and 85 pass all gates, $1.10 and $1.45.
    found = compare(WORKED)
    goodput, cost = metric(found, "goodput_rps"), metric(found, "cost_per_accepted_usd")
    assert (goodput["a"], goodput["b"], goodput["better"]) == (pytest.approx(5.8), pytest.approx(8.5), "B")
    assert (round(cost["a"], 3), round(cost["b"], 3)) == (0.019, 0.017)
    assert metric(found, "throughput_rps")["better"] == "not distinguishable"
    # Newcombe (1998), method 10: Wilson's 95 % intervals are 0.4821..0.6720 of 58 and 0.7672..0.9069 of 85.
    ratio = metric(found, "goodput_ratio")
    assert ratio["difference"] == pytest.approx(0.27)
    assert ratio["difference_ci_low"] == pytest.approx(0.27 - (0.0828**2 + 0.0920**2) ** 0.5, abs=2e-4)
    assert ratio["difference_ci_high"] == pytest.approx(0.27 + (0.0569**2 + 0.0979**2) ** 0.5, abs=2e-4)
    assert found["verdict"].startswith("Verdict: B is better (route B); goodput_ratio B - A 0.27 (0.146")


def test_the_interval_of_cost_per_accepted_is_that_of_a_ratio(compare: Run) -> None:
    # Delta method by hand on the log scale, as every request costs the same: variance n p (1 - p) / accepted^2.
    cost = metric(compare(WORKED), "cost_per_accepted_usd")
    a, b = 1.10 / 58, 1.45 / 85
    a_factor, b_factor = (math.exp(1.96 * (100 * p * (1 - p)) ** 0.5 / (100 * p)) for p in (0.58, 0.85))
    assert (cost["a_ci_low"], cost["a_ci_high"]) == (
        pytest.approx(a / a_factor, rel=1e-3),
        pytest.approx(a * a_factor, rel=1e-3),
    )
    below = math.hypot(b - b / b_factor, a * a_factor - a)
    above = math.hypot(b * b_factor - b, a - a / a_factor)
    assert cost["difference_ci_low"] == pytest.approx(b - a - below, rel=1e-3)
    assert cost["difference_ci_high"] == pytest.approx(b - a + above, rel=1e-3)
    assert cost["better"] == "not distinguishable"


def test_idle_time_is_part_of_what_a_side_costs(compare: Run) -> None:
    # Route A's requests cost $1.10 and its share of idle time, by GPU seconds, $0.30; nobody's is on neither side.
    spent = [
        *(served("A", 3.0), served("B", 1.0), beside("idle", 0.40, pool="p")),
        *(beside("unattributed", 5.0), beside("idle", 7.0, pool="night")),
    ]
    found = compare(WORKED, spent=spent)
    cost = metric(found, "cost_per_accepted_usd")
    assert (cost["a"], cost["b"]) == (pytest.approx(1.40 / 58), pytest.approx(1.55 / 85))
    assert metric(found, "direct_cost_per_accepted_usd")["a"] == pytest.approx(1.10 / 58)
    assert [(side["cost_usd"], side["idle_usd"]) for side in found["sides"]] == [
        (pytest.approx(1.40), pytest.approx(0.30)),
        (pytest.approx(1.55), pytest.approx(0.10)),
    ]
    assert "idle replicas" in found["cost_contains"]
    by_tenant = [row | {"tenant": row["route"]} for row in WORKED]
    found = compare(by_tenant, "--by", "tenant", "A", "B", "--format", "json", spent=spent)
    assert metric(found, "cost_per_accepted_usd")["a"] == pytest.approx(1.40 / 58)


def test_a_side_carries_the_night_of_its_pool_and_overhead_by_requests(compare: Run) -> None:
    """Tenants with 3 and 1 GPU s of a pool and 20 requests each; the pool idles before any of them came."""
    rows = [
        row | {"tenant": tenant, "workload": workload}
        for tenant, route, workload in (("acme", "A", "chat"), ("beta", "B", "chat"), ("acme", "C", "search"))
        for row in requests(route, [True] * (20 if route == "B" else 10), 65.0, cost_usd=0.01)
    ]
    spent = [
        *(served("A", 2.0, seconds=65.0), served("B", 1.0, seconds=65.0), served("C", 1.0, seconds=65.0)),
        beside("idle", 4.0, pool="p"),
        *(beside("overhead", 2.0, 60.0), beside("overhead", 1.0, 60.0, tenant="acme")),
        beside("overhead", 3.0, 60.0, workload="chat"),
    ]
    found = compare(rows, "--by", "tenant", "acme", "beta", "--format", "json", windows=7, spent=spent)
    sides = {side["name"]: (side["idle_usd"], side["overhead_usd"]) for side in found["sides"]}
    assert sides == {
        "tenant acme": (pytest.approx(3.0), pytest.approx(1.0 + 1.0 + 1.0)),
        "tenant beta": (pytest.approx(1.0), pytest.approx(1.0 + 2.0)),
    }
    assert metric(found, "cost_per_accepted_usd")["a"] == pytest.approx((0.2 + 6.0) / 20)
    asked = ("--by", "tenant", "acme", "beta", "--workload", "chat", "--format", "json")
    chat = compare(rows, *asked, windows=7, spent=spent)
    assert [(side["idle_usd"], side["overhead_usd"]) for side in chat["sides"]] == [
        (pytest.approx(2.0), pytest.approx(0.5 + 0.5 + 1.0)),
        (pytest.approx(1.0), pytest.approx(1.0 + 2.0)),
    ]


def test_periods_and_revisions_carry_all_that_was_spent_in_them(compare: Run) -> None:
    rows = [
        row for second in (5.0, 15.0) for row in requests("A", passing(90, 100), second, pool="chat", cost_usd=0.01)
    ]
    spent = [
        *(beside("idle", 0.5, second, pool="chat") for second in (0.0, 10.0)),
        beside("unattributed", 0.3, 10.0, pool="chat"),
        beside("unattributed", 7.0, 10.0, pool="other"),
    ]
    at = "2026-11-20T09:00:10"
    found = compare(rows, "--before", at, "--after", at, "--format", "json", windows=2, spent=spent)
    assert [side["cost_usd"] for side in found["sides"]] == [pytest.approx(1.5), pytest.approx(8.8)]
    done = [deployed("chat", -86400, "v1"), deployed("chat", 8, "v2"), deployed("other", 9, "v3")]
    asked = ("--by", "model_revision", "v1", "v2", "--format", "json")
    found = compare(rows, *asked, windows=2, spent=spent, done=done)
    # v2 has two of the ten seconds of the step in which it was deployed
    assert [side["cost_usd"] for side in found["sides"]] == [pytest.approx(1.4), pytest.approx(1.9)]


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat()


def test_a_step_that_a_bound_divides_is_shared_by_time(compare: Run) -> None:
    """A has 5 s of the step of 9:00:00, B its last 2 s and the next step: of $2 idle $1.00 and $0.40, B $1 more."""
    rows = [row for second in (4.0, 9.0, 15.0) for row in requests("A", [True] * 30, second, pool="p", cost_usd=0.01)]
    spent = [
        *(beside("idle", 2.0, pool="p"), beside("idle", 1.0, 10.0, pool="p")),
        *(beside("overhead", 0.5), beside("unattributed", 0.1), beside("idle", 9.0, 20.0, pool="p")),
    ]
    asked = ("--since", at(3), "--before", at(8), "--after", at(8), "--until", at(20))
    found = compare(rows, *asked, "--format", "json", windows=3, spent=spent)
    a, b = found["sides"]
    assert [(side["n"], side["time_s"]) for side in (a, b)] == [(30, 5), (60, 12)]
    assert [(side["idle_usd"], side["overhead_usd"], side["unattributed_usd"]) for side in (a, b)] == [
        (pytest.approx(1.0), pytest.approx(0.25), pytest.approx(0.05)),
        (pytest.approx(1.4), pytest.approx(0.10), pytest.approx(0.02)),
    ]
    rate = metric(found, "throughput_rps")
    assert (rate["a"], rate["b"]) == (pytest.approx(30 / 5), pytest.approx(60 / 12))
    assert rate["a_ci_low"] == pytest.approx((30 - 1.959964 * 30**0.5) / 5)  # of one window: as so many requests
    # what is divided, without the whole step of 9:00:10: 1 + 0.4, 0.25 + 0.1 and 0.05 + 0.02
    assert "other money beside requests in these, $1.82, is an estimate" in found["divided"]
    assert "$1.82" in compare(rows, *asked, windows=3, spent=spent).stdout
    whole = compare(rows, "--before", at(10), "--after", at(10), "--format", "json", windows=3, spent=spent)
    assert (whole["divided"], [side["time_s"] for side in whole["sides"]]) == (None, [10, 20])


def test_bounds_cut_the_time_and_the_money_of_two_routes(compare: Run) -> None:
    rows = [row for route in "AB" for second in (4.0, 12.0) for row in requests(route, [True] * 20, second, pool="p")]
    spent = [
        *(served(route, 1.0, seconds=second) for route in "AB" for second in (4.0, 12.0)),
        *(beside("idle", usd, second, pool="p") for usd, second in ((2.0, 0.0), (1.0, 10.0))),
    ]
    bounds = ("--since", at(2), "--until", at(13), "--format", "json")
    found = compare(rows, "--by", "route", "A", "B", *bounds, windows=2, spent=spent)
    assert [(side["n"], side["time_s"]) for side in found["sides"]] == [(40, 11), (40, 11)]
    assert [side["idle_usd"] for side in found["sides"]] == [pytest.approx((2.0 * 0.8 + 1.0 * 0.3) / 2)] * 2
    swapped = compare(rows, "--by", "route", "B", "A", *bounds, windows=2, spent=spent)
    for there, back in zip(found["metrics"], swapped["metrics"], strict=True):
        if there["difference"] is not None:
            assert there["difference"] == pytest.approx(-back["difference"])
            assert there["a"] == pytest.approx(back["b"])


@pytest.mark.parametrize("seed", range(4))
def test_two_periods_that_meet_anywhere_are_the_whole(compare: Run, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ended = [5.0, 55.0, *rng.uniform(0, 60, 200).round(3)]  # some are in both periods
    rows = [row for second in ended for row in requests("A", [True], second, pool="p", cost_usd=0.01)]
    steps = [(bucket, 10.0 * n, rng.uniform(0, 3)) for n in range(6) for bucket in ("idle", "overhead", "unattributed")]
    spent = [beside(bucket, usd, start, pool="p") for bucket, start, usd in steps]
    since, middle, until = rng.uniform(0, 4), rng.uniform(6, 54), rng.uniform(56, 60)
    bounds = ("--since", at(since), "--before", at(middle), "--after", at(middle), "--until", at(until))
    sides = compare(rows, *bounds, "--format", "json", windows=6, spent=spent)["sides"]

    def shared(bucket: str, begin: float, end: float) -> float:
        of_bucket = [(start, usd) for name, start, usd in steps if name == bucket]
        return sum(usd * max(0.0, min(start + 10, end) - max(start, begin)) / 10 for start, usd in of_bucket)

    for side, begin, end in ((sides[0], since, middle), (sides[1], middle, until)):
        assert side["time_s"] == pytest.approx(end - begin, abs=2e-6)  # times are cut to microseconds
        assert side["n"] == sum(begin <= second < end for second in ended)
        for bucket in ("idle", "overhead", "unattributed"):
            assert side[f"{bucket}_usd"] == pytest.approx(shared(bucket, begin, end), rel=1e-5)
    assert sum(side["time_s"] for side in sides) == pytest.approx(until - since, abs=2e-6)
    assert sum(side["n"] for side in sides) == sum(since <= second < until for second in ended)
    whole = sum(shared(bucket, since, until) for bucket in ("idle", "overhead", "unattributed"))
    assert sum(side["cost_usd"] for side in sides) == pytest.approx(
        whole + 0.01 * sum(side["n"] for side in sides), rel=1e-6
    )


def test_two_revisions_that_follow_each_other_are_the_whole(compare: Run) -> None:
    """v1 until 9:00:14, v2 from then on; two of its replicas are deployed at once, and their time counts once."""
    rows = [row for n in range(4) for row in requests("A", [True] * 5, 10 * n + 5.0, pool="p", replica="p-0")]
    # the answer to what arrived before the deployment is v1's, and adds no time
    rows += requests("A", [True], 15.5, pool="p", replica="p-1", arrived_at=START + timedelta(seconds=13))
    spent = [beside("idle", 1.0, 10.0 * n, pool="p", replica=f"p-{of}") for n in range(4) for of in range(2)]
    done = [
        deployed("p", -86400, "v1"),
        *(deployed("p", 14, "v2", replica=replica) for replica in (None, "p-0", "p-1")),
    ]
    asked = ("--by", "model_revision", "v1", "v2", "--since", at(0), "--until", at(38), "--format", "json")
    found = compare(rows, *asked, windows=4, spent=spent, done=done)
    assert [(side["n"], side["time_s"]) for side in found["sides"]] == [(6, 14), (15, 24)]
    assert [side["idle_usd"] for side in found["sides"]] == [pytest.approx(2 * 1.4), pytest.approx(2 * 2.4)]


def test_a_window_that_is_cut_is_as_much_of_one_as_it_is_long(compare: Run) -> None:
    """Seven windows with answers that vary, the first of them cut to its last 5 s: 6.5 windows."""
    counts, lengths = np.array([40, 10, 90, 20, 80, 60, 30]), np.array([5, 10, 10, 10, 10, 10, 10])
    rows = [row for n, count in enumerate(counts) for row in requests("A", [True] * count, 10 * n + 7.0)]
    rows += requests("B", [True] * 9, 67.0)
    found = compare(rows, "--by", "route", "A", "B", "--since", at(5), "--format", "json", windows=7)
    rate, worth = counts.sum() / 65, 6.5
    variance = ((counts - rate * lengths) ** 2).sum() * worth / (worth - 1)
    throughput = metric(found, "throughput_rps")
    assert throughput["a"] == pytest.approx(rate)
    assert throughput["a_ci_low"] == pytest.approx(rate - student(worth - 1) * variance**0.5 / 65, rel=2e-3)


def test_a_window_that_two_times_divide_is_not_common(compare: Run) -> None:
    """A falls from window to window as nothing does by chance; of nine windows one has both sides, in turn."""
    falling = [50, 45, 40, 35, 30, 25, 20]
    rows = fared([*falling, 35, 35]) + requests("A", passing(3, 5), 72.0)
    found = compare(rows, "--before", at(73), "--after", at(73), "--format", "json", windows=9)
    assert [(side["n"], side["time_s"]) for side in found["sides"]] == [(355, 73), (100, 17)]
    assert found["drift"] is not None


def test_what_only_stood_idle_longer_is_not_called_worse(compare: Run) -> None:
    rows = [row for route in "AB" for row in requests(route, passing(90, 100), cost_usd=0.01)]
    spent = [
        *(served(route, 1.0, route) for route in "AB"),
        beside("idle", 1.0, pool="A"),
        beside("idle", 0.1, pool="B"),
    ]
    found = compare(rows, spent=spent)
    assert metric(found, "cost_per_accepted_usd")["better"] == "B"
    assert found["verdict"].startswith(
        "Verdict: not distinguishable but for idle time; goodput_ratio not distinguishable"
    )
    assert found["verdict"].endswith("by idle time, which goes with the load.")


def test_windows_that_vary_make_cost_less_sure(compare: Run) -> None:
    # Ten windows, each with 10 accepted requests of a cent; A's idle time costs $1 in two of them, B's $0.2 in each.
    rows = [
        row for route in "AB" for n in range(10) for row in requests(route, [True] * 10, 10 * n + 5.0, cost_usd=0.01)
    ]
    spent = [served(route, 1.0, route) for route in "AB"]
    spent += [beside("idle", 1.0, 10.0 * n, pool="A") for n in (3, 7)]
    spent += [beside("idle", 0.2, 10.0 * n, pool="B") for n in range(10)]
    cost = metric(compare(rows, windows=10, spent=spent), "cost_per_accepted_usd")
    assert (cost["a"], cost["b"]) == (pytest.approx(0.03), pytest.approx(0.03))
    # A: residuals of cost - 0.03 x accepted are 0.8 twice and -0.2 eight times; B has none, but 100 independent
    # requests of 0.01 - 0.03 each would vary as well
    a, b = (2 * 0.64 + 8 * 0.04) * 10 / 9, 100 * 0.02**2
    # the windows of both show a as the variance of the difference, so that b is what the correlation takes away
    above = added(math.exp(student(9) * b**0.5 / 3) - 1, 1 - math.exp(-student(9) * a**0.5 / 3), b / 2 / (a * b) ** 0.5)
    assert cost["difference_ci_high"] == pytest.approx(0.03 * max(above, student(9) * a**0.5 / 3), rel=2e-3)


def test_unknown_cost_is_not_compared(compare: Run) -> None:
    rows = [*WORKED[:-1], WORKED[-1] | {"cost_usd": None}]
    assert metric(compare(rows), "cost_per_accepted_usd")["b"] is None
    assert metric(compare(rows), "cost_per_accepted_usd")["better"] == "not distinguishable"


def test_a_side_without_a_cost_says_why_in_its_place(compare: Run) -> None:
    def shown(rows: list[Row]) -> str:
        printed = compare(rows, "--by", "route", "A", "B").stdout
        (line,) = (line for line in printed.splitlines() if line.startswith("cost_per_accepted_usd "))
        return re.sub(" {2,}", " | ", line.strip())

    unpriced = [row | {"cost_usd": None} for row in WORKED[:3]]
    assert shown([*unpriced, *WORKED[3:]]).startswith(
        "cost_per_accepted_usd | unknown: 3 of 100 without a price | 0.0171 ("
    )
    failed = requests("B", [False] * 20, cost_usd=0.0145)
    assert " | nothing was accepted | " in shown([*WORKED[:100], *failed])
    none = [row | {"cost_usd": None} for row in WORKED]
    whole = "unknown: 100 of 100 without a price"
    assert shown(none).startswith(f"cost_per_accepted_usd | {whole} | {whole} |")
    sides = compare([*WORKED[:100], *failed])["sides"]
    assert [(side["no_cost"], side["unpriced"]) for side in sides] == [(None, 0), ("nothing_accepted", 0)]


def test_what_reports_no_value_is_the_side_that_the_tables_call_unknown(compare: Run) -> None:
    # Of 100 requests without a route 85 are good; idle time of a pool that served nobody is on no side.
    nameless = [row | {"route": None} for row in requests("B", passing(85, 100), cost_usd=0.0145)]
    spent = [beside("idle", 5.0, pool="elsewhere")]
    rows = [*requests("A", passing(58, 100), cost_usd=0.0110), *nameless]
    found = compare(rows, "--by", "route", "A", "unknown", "--format", "json", spent=spent)
    assert [side["n"] for side in found["sides"]] == [100, 100]
    assert found["sides"][1]["cost_usd"] == pytest.approx(1.45)
    assert metric(found, "goodput_rps")["b"] == pytest.approx(8.5)
    missing = compare(rows, "--by", "route", "A", "C")
    assert "Of route there is: A, unknown." in missing.stderr


def test_a_difference_that_is_rounding_alone_is_none() -> None:
    with connect() as connection:
        connection.execute("CREATE TEMP MACRO exactly(x) AS {value: x, low: x, high: x}")
        ((found,),) = connection.sql("SELECT difference(exactly(0.3::DOUBLE), exactly(0.1::DOUBLE + 0.2))").fetchall()
        one = "{value: 1.0, low: 0.5, high: 1.5}"
        ((apart,),) = connection.sql(f"SELECT difference({one}, exactly(2.0))").fetchall()
    assert found == {"value": 0, "low": 0, "high": 0}
    assert apart == {"value": 1.0, "low": 0.5, "high": 1.5}


def test_what_is_alike_is_not_distinguishable(compare: Run) -> None:
    found = compare(requests("A", passing(80, 100), ttft_s=0.5) + requests("B", passing(81, 100), ttft_s=0.5))
    assert {row["better"] for row in found["metrics"]} == {"not distinguishable"}
    assert found["verdict"] == "Verdict: not distinguishable; goodput_ratio not distinguishable."


def test_few_values_leave_the_interval_of_a_tail_open(compare: Run) -> None:
    def some(route: str, longer: float) -> list[Row]:
        return [row | {"ttft_s": longer + n / 1000} for n, row in enumerate(requests(route, [True] * 50))]

    found = compare(some("A", 0.0) + some("B", 1.0))
    assert metric(found, "p50_ttft_s")["better"] == "A"
    assert metric(found, "p99_ttft_s")["difference"] == pytest.approx(1.0)
    assert metric(found, "p99_ttft_s")["better"] == "not distinguishable"
    assert [side["low_n"] for side in found["sides"]] == [True, True]


def test_a_median_lies_between_its_order_statistics(compare: Run) -> None:
    # 1001 values 0..1 s: ranks 500 +- 1.96 sqrt(1001 x 0.25) are 469 and 531 thousandths.
    def spread(route: str, offset: float) -> list[Row]:
        return [row | {"ttft_s": offset + n / 1000} for n, row in enumerate(requests(route, [True] * 1001))]

    found = metric(compare(spread("A", 0.0) + spread("B", 0.1)), "p50_ttft_s")
    assert found["difference"] == pytest.approx(0.1)
    assert found["difference_ci_high"] - 0.1 == pytest.approx(2**0.5 * 0.031, abs=5e-4)


def test_a_tail_that_fails_shows_behind_equal_means(compare: Run) -> None:
    # Both pass 90 % of their labels; A anywhere, B never where answers are long.
    lengths = (10, 20, 30, 40)
    rows = [row for tokens in lengths for row in judged("A", passing(225, 250), tokens)]
    rows += [row for tokens in lengths for row in judged("B", passing(250 if tokens < 40 else 150, 250), tokens)]
    found = compare(rows)
    assert metric(found, "quality_ratio")["difference"] == pytest.approx(0.0)
    assert metric(found, "goodput_ratio")["better"] == "not distinguishable"
    better = {
        (row["from_tokens"], row["to_tokens"]): row["better"]
        for row in found["slices"]
        if row["metric"] == "quality_ratio"
    }
    assert better == {(10, 10): "B", (20, 20): "B", (30, 30): "B", (40, 40): "A"}
    assert "yet slices differ, most of all output_tokens 40..40: " in found["verdict"]


def test_a_revision_is_what_was_last_deployed_in_the_pool(compare: Run) -> None:
    # Quantised weights, rolled out at 9:00:10, answer as well on the whole and fail where answers are long.
    def served(seconds: float, pool: str, long_passed: int) -> list[Row]:
        answers = [(tokens, 225 + (225 - long_passed) // 3) for tokens in (10, 20, 30)] + [(40, long_passed)]
        return [
            row | {"pool": pool, "arrived_at": START + timedelta(seconds=seconds)}
            for tokens, passed in answers
            for row in judged(f"{pool}/{seconds}", passing(passed, 250), tokens)
        ]

    rows = [*served(8, "rag", 225), *served(10, "rag", 150), *served(10, "chat", 225), *served(-100, "rag", 225)]
    done = [
        deployed("rag", -86400, None),
        deployed("rag", -90, "pkg:oci/vllm-rag@3.0.0?arch=amd64"),
        deployed("rag", 9, "config-7", kind="config_change"),
        deployed("rag", 10, "pkg:oci/vllm-rag@3.1.0-fp8"),
        deployed("chat", -86400, "3.0.0"),
    ]
    asked = ("--by", "model_revision", "3.0.0", "3.1.0-fp8", "--workload", "chat")
    found = compare([row for row in rows if row["pool"] == "rag"], *asked, "--format", "json", done=done)
    assert [side["n"] for side in found["sides"]] == [1000, 1000]
    assert metric(found, "quality_ratio")["difference"] == pytest.approx(0.0)
    (tail,) = [row for row in found["slices"] if row["is_tail"] and row["metric"] == "quality_ratio"]
    assert (tail["from_tokens"], tail["better"], tail["difference"]) == (40, "A", pytest.approx(-0.3))
    assert "output_tokens 40..40" in compare(rows, *asked, done=done).stdout
    unknown = compare(rows, "--by", "model_revision", "3.0.0", "3.1.0", done=done)
    assert (
        "model_revision 3.1.0: no such request was published. Of model_revision there is: 3.0.0, 3.1.0-fp8, unknown."
        in (unknown.stderr.replace("\n", " "))
    )


def windowed(*numbers: int) -> list[Row]:
    """Windows of the whole fleet, where there are requests alone, as they are published."""
    starts = [START + timedelta(seconds=n * WINDOW_S) for n in numbers]
    return [{"window_start": at, "window_s": WINDOW_S, "slice": "overall", "partial": False} for at in starts]


def test_time_in_which_nobody_asked_is_time_of_a_period(compare: Run) -> None:
    rows = [*requests("A", passing(30, 30), 5.0), *requests("A", passing(60, 60), 55.0)]
    at = "2026-11-20T09:00:40"
    asked = ("--before", at, "--after", at, "--format", "json")
    found = compare(rows, *asked, of_workloads=windowed(5))
    assert [side["time_s"] for side in found["sides"]] == [40, 20]
    rate = metric(found, "throughput_rps")
    assert (rate["a"], rate["b"]) == (pytest.approx(30 / 40), pytest.approx(60 / 20))
    found = compare(
        rows, *asked, "--since", "2026-11-20T09:00:00", "--until", "2026-11-20T09:01:00", of_workloads=windowed(5)
    )
    assert [side["time_s"] for side in found["sides"]] == [40, 20]
    found = compare(
        rows, *asked, "--since", "2026-11-20T08:00:00", "--until", "2026-11-20T10:00:00", of_workloads=windowed(5)
    )
    assert [side["time_s"] for side in found["sides"]] == [40, 20]  # no more than is observed


def test_where_no_window_is_observed_from_end_to_end_those_with_requests_count(compare: Run) -> None:
    rows = [*requests("A", passing(30, 30), 5.0), *requests("A", passing(60, 60), 15.0)]
    at, partial = "2026-11-20T09:00:10", [row | {"partial": True} for row in windowed(0, 1)]
    asked = ("--before", at, "--after", at, "--since", "2020-01-01", "--format", "json")
    found = compare(rows, *asked, windows=0, of_workloads=partial)
    assert [side["time_s"] for side in found["sides"]] == [10, 10]


def test_a_revision_that_was_rolled_back_has_the_time_of_its_own_deployments(compare: Run) -> None:
    rows = [row for n in range(6) for row in requests("A", passing(10, 10), 10 * n + 5.0, pool="chat")]
    done = [
        deployed("chat", -60, "v1"),
        deployed("chat", 0, "v2"),
        deployed("chat", 10, "v1"),
        deployed("chat", 40, "v2"),
    ]
    asked = ("--by", "model_revision", "v1", "v2", "--format", "json")
    found = compare(rows, *asked, windows=6, done=done)
    assert [(side["n"], side["time_s"]) for side in found["sides"]] == [(30, 30), (30, 30)]
    assert metric(found, "throughput_rps")["difference"] == pytest.approx(0)


def test_a_deployment_of_a_replica_or_of_the_fleet_is_that_of_whom_it_concerns(compare: Run) -> None:
    def of(replica: str, seconds: float, pool: str = "chat") -> list[Row]:
        return requests(replica, [True], seconds, pool=pool, replica=replica)

    rows = [row for n in range(5) for replica in ("c-0", "c-1") for row in of(replica, 10 * n + 5.0)]
    rows += [row for n in range(5) for row in of("r-0", 10 * n + 5.0, "rag")]
    done = [
        deployed(None, 0, "fleet"),  # all three, from 0 on
        deployed("chat", 10, "canary", replica="c-1"),  # its replica alone
        deployed("chat", 20, "chat"),  # both replicas of the pool
        deployed(None, 30, "canary", replica="c-0"),
        deployed("rag", 30, None),  # nobody knows which
        deployed(None, 40, "fleet"),
    ]

    def sides(a: str, b: str) -> list[tuple[int, int]]:
        found = compare(rows, "--by", "model_revision", a, b, "--format", "json", windows=5, done=done)
        return [(side["n"], side["time_s"]) for side in found["sides"]]

    # arrivals are a second before the end, and 9:00:04 is the first
    assert sides("fleet", "chat") == [(3 + 2 + 1 + 3, 50), (2 + 1, 20)]
    assert sides("canary", "unknown") == [(1 + 1, 20), (1, 10)]


def test_what_is_on_neither_side_is_said(compare: Run) -> None:
    refused = [row | {"outcome": "error", "verdict": "failed"} for row in requests("none", [False] * 40)]
    rows = [row for pool in "AB" for row in requests(pool, passing(90, 100), pool=pool)]
    rows += [row | {"pool": None} for row in [*refused, *requests("some", [True] * 2)]]
    found = compare(rows, "--by", "pool", "A", "B", "--format", "json")
    assert found["beside"].startswith("On neither side: 42 of 242 requests, whose pool is unknown")
    assert found["beside"].endswith("; 2 of them accepted.")
    assert "On neither side: 42 of 242" in compare(rows, "--by", "pool", "A", "B").stdout
    assert compare(rows, "--by", "pool", "A", "unknown", "--format", "json")["beside"] is None
    assert compare(rows, "--by", "route", "A", "B", "--format", "json")["beside"] is None


def test_what_was_refused_before_any_work_cost_nothing_and_work_without_a_price_leaves_it_unknown(compare: Run) -> None:
    refused = {"outcome": "error", "verdict": "failed", "cost_usd": None}
    rows = [row for route in "AB" for row in requests(route, passing(90, 100), replica="r", cost_usd=0.01)]
    with_refused = [*rows, *(row | refused for row in requests("B", [False] * 10, 6.0))]
    assert [side["cost_usd"] for side in compare(with_refused)["sides"]] == [pytest.approx(1.0), pytest.approx(1.0)]
    asked = [row | {"input_tokens": 100} for row in with_refused]
    assert [side["unpriced"] for side in compare(asked)["sides"]] == [0, 10]
    # a try of one request has no price, another has: what is known of it is a part
    spent = [served("A", 1.0) | {"request_key": rows[0]["request_key"], "usd": usd} for usd in (0.01, None)]
    assert [side["unpriced"] for side in compare(rows, spent=spent)["sides"]] == [1, 0]


def test_windows_that_vary_make_rates_less_sure(compare: Run) -> None:
    steady = [row for n in range(10) for row in requests("A", [True] * 10, seconds=10 * n + 5.0)]
    bursts = [row for n in (0, 9) for row in requests("B", [True] * 60, seconds=10 * n + 5.0)]
    found = compare(steady + bursts, windows=10)
    rate = metric(found, "throughput_rps")
    assert (rate["a"], rate["b"]) == (pytest.approx(1.0), pytest.approx(1.2))
    # B: 60, eight times 0, 60: the sum of ten windows has variance 10 x 640; A's is that of 100 independent requests
    # from window to window B - A varies as B alone does
    assert rate["difference_ci_high"] - rate["difference"] == pytest.approx(student(9) * 80 / 100, rel=2e-3)
    assert rate["b_ci_high"] == pytest.approx(1.2 + student(9) * 80 / 100, rel=2e-3)
    assert rate["b_ci_low"] == 0


def test_a_side_of_one_request_in_each_window_is_compared(compare: Run) -> None:
    alone = [row for n, good in enumerate((True, False, True, True)) for row in requests("A", [good], 10 * n + 5.0)]
    found = compare(alone + requests("B", passing(50, 100)), windows=4)
    assert [side["n"] for side in found["sides"]] == [4, 100]
    # Wilson at 3 of 4, as of independent requests: (3 + 1.92) / (4 + 3.84)
    ratio = metric(found, "goodput_ratio")
    assert ratio["a"] == pytest.approx(0.75)
    assert (ratio["a_ci_low"], ratio["a_ci_high"]) == (pytest.approx(0.3006, abs=1e-4), pytest.approx(0.9544, abs=1e-4))


def test_requests_that_were_pruned_are_told(compare: Run) -> None:
    rows = [row for route in "AB" for row in requests(route, passing(90, 100), cost_usd=0.01)]
    pruned = [{"relation": "requests", "holds": "rows", "kept_from": START}]
    asked = ("--by", "route", "A", "B")
    told = f"Requests that ended before {START:%Y-%m-%dT%H:%M} UTC were pruned"
    assert told in compare(rows, *asked, pruned=pruned).stderr
    assert "pruned" not in compare(rows, *asked, "--since", START.isoformat(), pruned=pruned).stderr
    assert "pruned" not in compare(rows, *asked).stderr


def test_slices_weigh_workloads_by_need_and_not_by_labels(compare: Run) -> None:
    # Each side has 100 easy requests of which 90 % pass and 100 hard ones of which 60 % do; A judged the easy ones.
    rows = [
        row | {"workload": workload, "request_key": f"{workload}/{row['request_key']}"}
        for route, counts in (("A", {"easy": (90, 100), "hard": (6, 10)}), ("B", {"easy": (9, 10), "hard": (60, 100)}))
        for workload, (passed, labelled) in counts.items()
        for row in some_judged(route, passed, labelled, 100, 40)
    ]
    found = compare(rows)
    (row,) = [row for row in found["slices"] if row["metric"] == "quality_ratio"]
    # one dimension, one slice, two metrics: two comparisons
    z = NormalDist().inv_cdf(1 - 0.025 / 2)
    assert (row["a"], row["b"], row["difference"]) == (pytest.approx(0.75), pytest.approx(0.75), pytest.approx(0))
    sides = {}
    for side, (easy, hard) in {"a": (100, 10), "b": (10, 100)}.items():
        size = 0.75 * 0.25 / (0.25 * (0.9 * 0.1 / easy + 0.6 * 0.4 / hard))
        whole, strata = wilson(0.75, size, z), (wilson(0.9, easy, z), wilson(0.6, hard, z))
        below = max(0.75 - whole[0], 0.5 * math.hypot(0.9 - strata[0][0], 0.6 - strata[1][0]))
        above = max(whole[1] - 0.75, 0.5 * math.hypot(strata[0][1] - 0.9, strata[1][1] - 0.6))
        sides[side] = below, above
        assert row[f"{side}_ci_low"] == pytest.approx(0.75 - below, abs=1e-6)
        assert row[f"{side}_ci_high"] == pytest.approx(0.75 + above, abs=1e-6)
    assert row["difference_ci_low"] == pytest.approx(-math.hypot(sides["b"][0], sides["a"][1]), abs=1e-6)


def test_labels_of_other_rates_within_a_workload_are_no_difference(compare: Run) -> None:
    # As above, but within one workload: A judged its easy pool, B its hard one.
    rows = [
        row | {"pool": pool, "request_key": f"{pool}/{row['request_key']}"}
        for route, counts in (("A", {"easy": (90, 100), "hard": (6, 10)}), ("B", {"easy": (9, 10), "hard": (60, 100)}))
        for pool, (passed, labelled) in counts.items()
        for row in some_judged(route, passed, labelled, 100, 40)
    ]
    found = compare(rows)
    for row in (metric(found, "quality_ratio"), metric(found, "goodput_ratio"), *found["slices"]):
        assert (row["a"], row["b"]) == (pytest.approx(0.75), pytest.approx(0.75))
        assert row["better"] == "not distinguishable"
    # A: of its hard pool a label stands for 10 requests: 6 times 10 x 0.4 and 4 times -10 x 0.6 about the pool's 0.6
    squares = 90 * 0.25**2 + 10 * 0.75**2 + 90 * 0.15**2
    squares += 6 * (10 * 0.4 * (10 / 9) ** 0.5 - 0.15) ** 2 + 4 * (-10 * 0.6 * (10 / 9) ** 0.5 - 0.15) ** 2
    size = 0.75 * 0.25 / (squares / 200**2)
    assert metric(found, "goodput_ratio")["a_ci_low"] == pytest.approx(wilson(0.75, size, 1.959964)[0], abs=2e-3)


def test_slices_are_as_sure_as_their_number_and_their_windows_allow(compare: Run) -> None:
    """Of four slices alike, four windows each: A passes 20, 15, 20, 15 of 20, B passes all of them."""
    rows = [
        row | {"request_key": f"{n}/{row['request_key']}"}
        for tokens in (10, 20, 30, 40)
        for n, passed in enumerate((20, 15, 20, 15))
        for row in [
            *requests("A", passing(passed, 20), 10 * n + 5.0, output_tokens=tokens),
            *requests("B", passing(20, 20), 10 * n + 5.0, output_tokens=tokens),
        ]
    ]
    found = compare(rows, windows=4)
    assert len(found["slices"]) == 4
    for row in found["slices"]:
        # residuals of 20, 15, 20, 15 about 17.5; c / (c - 1); three degrees of freedom, which the difference has too
        variance = 4 * 2.5**2 * 4 / 3 / 80**2
        low, _ = wilson(0.875, 0.875 * 0.125 / variance, student(3, comparisons=4))
        assert row["a_ci_low"] == pytest.approx(low, rel=0.01)
        assert (row["b"], row["b_ci_high"]) == (1.0, 1.0)
    # sessions of a side that fare alike are its draws, windows apart
    alike = [row | {"session_id": f"{row['route']}{row['request_key'].split('/')[-1]}"} for row in rows]
    (whole,) = [row for row in compare(alike, windows=1)["metrics"] if row["metric"] == "goodput_ratio"]
    # B: 20 sessions of 16 requests each, all good: worth 20
    assert whole["b_ci_low"] == pytest.approx(wilson(1.0, 20, 1.959964)[0], abs=1e-6)


def test_what_nobody_judged_is_in_the_interval_and_decides_nothing(compare: Run) -> None:
    # Of A's 100 requests 60 pass; of B's 50 other ones nobody knows, the 50 known pass as A's do.
    known = judged("A", passing(60, 100), 10) + judged("B", passing(30, 50), 10)
    unknown = [
        row | {"workload": "new", "request_key": f"new/{row['request_key']}"} for row in some_judged("B", 0, 0, 50, 10)
    ]
    found = compare(known + unknown)
    ratio = metric(found, "goodput_ratio")
    # counted as accepted 80 of 100, and by 50 of 100 too many at most
    variance = (0.8 * 0.2) / 100
    assert ratio["b"] == pytest.approx(0.8)
    assert ratio["b_ci_low"] == pytest.approx(wilson(0.8, 0.8 * 0.2 / variance, 1.959964)[0] - 0.5, abs=0.02)
    assert ratio["better"] == "not distinguishable"
    assert (ratio["more_labels"], ratio["times_as_long"]) == (None, None)
    assert found["undecided"][0] == (
        "goodput_ratio: open as long as 50 requests are of workloads without a sample of labels"
    )


def test_labels_that_nobody_drew_give_bounds_alone(compare: Run) -> None:
    # 30 of 100 requests have thumbs; A's are all up, B's all down
    rows = some_judged("A", 30, 30, 100, 10) + some_judged("B", 0, 30, 100, 10)
    assert metric(compare(rows), "quality_ratio")["better"] == "A"
    thumbs = {"window_start": START, "window_s": WINDOW_S, "slice": "workload", "workload": "chat"}
    found = compare(rows, of_workloads=[thumbs | {"definition": "unweighted"}])
    assert "quality_ratio" not in {row["metric"] for row in found["metrics"]}
    ratio = metric(found, "goodput_ratio")
    # B's 70 without a label may all be good: 0 to 70 of 100
    assert (ratio["b"], ratio["b_ci_low"], ratio["better"]) == (0.7, 0.0, "not distinguishable")


@pytest.mark.parametrize(
    ("labelled", "of", "session", "expected"),
    [((20, 10), 30, 1, 1 / 2), ((20, 10), 30, 10, 2 / 3), ((60, 20), 60, 10, 1 / 2), ((60, 10), 60, 10, 6 / 7)],
)
def test_label_rates_are_compared_by_draws(
    compare: Run, labelled: tuple[int, int], of: int, session: int, expected: float
) -> None:
    """The labelled requests of A's first model pass, those of its second fail.

    Of 30 requests each 20 and 10 are labelled: chi-square is 2 x 5^2/(30/4) = 6.67, above 1 + sqrt(2): two strata, of
    which all and none pass. Drawn as 3 of 6 sessions of ten it is 0.667: one stratum. Of 60 each 60 and 20 are:
    2 x 20^2/(60 x 2/9)/10 = 6, again two. A single draw shows nothing of how others vary: no stratum of its own.
    """
    rows = [
        row | {"model": model, "session_id": f"{model}/{n // session}", "request_key": f"{model}/{n}"}
        for model, drawn, passed in (("m1", labelled[0], labelled[0]), ("m2", labelled[1], 0))
        for n, row in enumerate(some_judged("A", passed, drawn, of, 10))
    ]
    found = compare(rows + judged("B", passing(45, 60), 10))
    assert metric(found, "goodput_ratio")["a"] == pytest.approx(expected)


def some_judged(route: str, passed: int, labelled: int, of: int, tokens: int) -> list[Row]:
    """Requests that need a label, of which only the first have one."""
    rows = judged(route, passing(passed, of), tokens)
    return [
        row if n < labelled else row | {"pass_quality": None, "verdict": "unlabelled"} for n, row in enumerate(rows)
    ]


POWER = 1 + NormalDist().inv_cdf(0.8) / NormalDist().inv_cdf(0.975)  # four in five, in half intervals


def power(a: float, b: float, n: int) -> float:
    """How often n labels on each side show that two true rates differ: over all counts, by their chance."""
    counts = np.arange(n + 1)
    low, high = wilson(counts / n, n, 1.959964)
    above = np.hypot((high - counts / n)[:, None], (counts / n - low)[None, :])
    shown = (counts[None, :] - counts[:, None]) / n > above
    return float(binom.pmf(counts, n, a) @ shown @ binom.pmf(counts, n, b))


def test_how_many_more_labels_would_decide(compare: Run) -> None:
    # 200 of 4,000 are labelled on each side; 170 and 180 of them pass.
    rows = some_judged("A", 170, 200, 4000, 10) + some_judged("B", 180, 200, 4000, 10)
    found = compare(rows)
    quality = metric(found, "quality_ratio")
    (_, a_high), (b_low, _) = wilson(0.85, 200, 1.959964), wilson(0.9, 200, 1.959964)
    times = (POWER * math.hypot(0.9 - b_low, a_high - 0.85) / 0.05) ** 2
    # what is drawn has variance p q / 200 on each side, of which 1 - 1 / times must go
    more = math.ceil(400 * (times - 1))
    assert quality["better"] == "not distinguishable"
    assert quality["times_as_long"] == pytest.approx(times, rel=1e-4)
    assert quality["more_labels"] == more
    line = next(line for line in found["undecided"] if line.startswith("quality_ratio"))
    promised = "a true difference of 0.05 shows in four of five cases with about 1,000 more labels or 3.5 times as long"
    assert line.startswith(f"quality_ratio: {promised}")
    # as promised
    assert power(0.85, 0.9, 200) < 0.4
    assert power(0.85, 0.9, 200 + more // 2) == pytest.approx(0.8, abs=0.02)


def test_how_much_longer_would_decide(compare: Run) -> None:
    # Everything is known: 80 and 89 of 100 in 10 s are good; no label would help.
    found = compare(requests("A", passing(80, 100)) + requests("B", passing(89, 100)))
    ratio = metric(found, "goodput_ratio")
    (_, a_high), (b_low, _) = wilson(0.8, 100, 1.959964), wilson(0.89, 100, 1.959964)
    times = (POWER * math.hypot(0.89 - b_low, a_high - 0.8) / 0.09) ** 2
    assert (ratio["more_labels"], ratio["times_as_long"]) == (None, pytest.approx(times, rel=1e-4))
    assert power(0.8, 0.89, round(100 * times)) == pytest.approx(0.8, abs=0.02)
    assert any(line.startswith("goodput_ratio: a true difference of 0.09 shows in ") for line in found["undecided"])


def test_nothing_is_promised_of_a_difference_within_its_standard_error(compare: Run) -> None:
    # 0.05 with a standard error of sqrt(0.8 x 0.2 + 0.85 x 0.15) / 10 = 0.0536
    found = compare(requests("A", passing(80, 100)) + requests("B", passing(85, 100)))
    ratio = metric(found, "goodput_ratio")
    (a_low, a_high), (b_low, b_high) = wilson(0.8, 100, 1.959964), wilson(0.85, 100, 1.959964)
    far = 0.05 + math.hypot(b_high - 0.85, 0.8 - a_low)
    assert far > math.hypot(0.85 - b_low, a_high - 0.8) - 0.05
    assert (ratio["times_as_long"], ratio["alike_within"]) == (None, pytest.approx(far, abs=1e-6))
    assert found["undecided"] == [f"goodput_ratio: the sides are alike to within {far:.3g}"]


def test_nothing_is_promised_where_there_is_no_difference(compare: Run) -> None:
    found = compare(requests("A", passing(80, 100)) + requests("B", passing(80, 100)))
    ratio = metric(found, "goodput_ratio")
    low, high = wilson(0.8, 100, 1.959964)
    assert (ratio["more_labels"], ratio["times_as_long"]) == (None, None)
    assert ratio["alike_within"] == pytest.approx(math.hypot(0.8 - low, high - 0.8), abs=1e-6)
    assert found["undecided"] == ["goodput_ratio: the sides are alike to within 0.111"]


def test_the_verdict_is_of_all_its_questions_at_once(compare: Run) -> None:
    """A difference of 0.1 with the variance (0.7 x 0.3 + 0.8 x 0.2)/n has z = 0.1644 sqrt(n): 2.14 of 170.

    It shows by itself, beyond 1.96, and neither as one of two questions, goodput and slices (2.24), nor of three.
    Of 200 each z is 2.32: it decides beside the slices, and not where cost is a third question (2.39).
    """

    def found(n: int, *, cost: bool) -> tuple[str, str]:
        both = [(route, passing(round(share * n), n)) for route, share in (("A", 0.7), ("B", 0.8))]
        priced = {"cost_usd": 0.01} if cost else {}
        # per accepted both cost the same
        rows = [row for route, passed in both for row in requests(route, passed, output_tokens=10, **priced)]
        rows = [row | {"cost_usd": 0.01 * 8 / 7} if cost and row["route"] == "B" else row for row in rows]
        answer = compare(rows)
        return metric(answer, "goodput_ratio")["better"], answer["verdict"].split(";")[0]

    assert found(170, cost=False) == ("B", "Verdict: not distinguishable")
    assert found(200, cost=False) == ("B", "Verdict: B is better (route B)")
    assert found(200, cost=True) == ("B", "Verdict: not distinguishable")
    assert found(230, cost=True) == ("B", "Verdict: B is better (route B)")


@pytest.mark.parametrize(
    ("questions", "left"),
    [
        ([], 0),
        ([0], 1),
        ([1], 0),
        ([1, 1], 2),
        ([2, 1], 0),
        ([2, 0], 1),
        ([1, 3, 2], 0),
        ([2, 2, 2], 3),
        ([3, 1, 1], 2),
    ],
)
def test_each_question_that_is_decided_leaves_one_less_for_the_next(questions: list[int], left: int) -> None:
    assert undecided_among(questions) == left


def test_the_verdict_names_what_makes_costs_differ(compare: Run) -> None:
    rows = [row for route in "AB" for row in requests(route, passing(90, 100), cost_usd=0.01)]
    for_a = {"overhead": "overhead", "unattributed": "unattributed money"}
    for bucket, name in for_a.items():
        spent = [served(route, 1.0, route) for route in "AB"] + [
            beside(bucket, 2.0, route="A"),
            beside("idle", 0.1, pool="B"),
        ]
        found = compare(rows, spent=spent)
        assert metric(found, "cost_per_accepted_usd")["better"] == "B"
        assert found["verdict"].startswith(f"Verdict: not distinguishable but for {name};")
        assert found["verdict"].endswith(f"by {name}, not by its requests.")
    both = [served(route, 1.0, route) for route in "AB"] + [
        beside("overhead", 2.0, route="A"),
        beside("idle", 1.0, pool="A"),
    ]
    assert compare(rows, spent=both)["verdict"].endswith("by overhead and idle time, not by its requests.")


def test_ends_are_0_and_1_where_nothing_or_everything_passed(compare: Run) -> None:
    found = compare(requests("A", passing(0, 97), cost_usd=0.01) + requests("B", passing(97, 97), cost_usd=0.01))
    ratio = metric(found, "goodput_ratio")
    assert (ratio["a_ci_low"], ratio["b_ci_high"]) == (0.0, 1.0)
    with connect() as connection:
        asked = "SELECT n, wilson(0.0, n).low AS low, wilson(1.0, n).high AS high FROM range(1, 5000) AS r (n)"
        assert connection.sql(f"FROM ({asked}) WHERE low <> 0 OR high <> 1").fetchall() == []


def test_a_cost_is_never_less_than_nothing(compare: Run) -> None:
    # Two of 40 accepted: their number is so unsure that a symmetric interval would reach below 0.
    found = compare(requests("A", passing(2, 40), cost_usd=0.01) + requests("B", passing(2, 40), cost_usd=0.01))
    cost = metric(found, "cost_per_accepted_usd")
    factor = math.exp(1.959964 * (0.95 / 2) ** 0.5)
    assert (cost["a_ci_low"], cost["a_ci_high"]) == (pytest.approx(0.2 / factor), pytest.approx(0.2 * factor))


def test_students_t_at_every_level_that_slices_need() -> None:
    degrees, comparisons = (1, 1.5, 2, 2.5, 3, 4, 4.9, 5, 7.3, 11, 22, 60, 1e7), (1, 2, 8, 16, 20, 32)
    with connect() as connection:
        for df in degrees:
            for k in comparisons:
                ((found,),) = connection.sql(f"SELECT student_beyond({df}::DOUBLE, 0.025 / {k})").fetchall()
                assert found == pytest.approx(student(df, k), rel=0.025 if df < 5 else 0.015), (df, k)
        ((z,),) = connection.sql("SELECT normal_beyond(0.025)").fetchall()
    assert z == pytest.approx(NormalDist().inv_cdf(0.975), rel=1e-8)


def test_periods(compare: Run) -> None:
    rows = requests("A", passing(90, 100)) + requests("A", passing(50, 100), seconds=15.0)
    limits = ("--before", "2026-11-20T09:00:10", "--after", "2026-11-20T09:00:10")
    found = compare(rows, *limits, "--format", "json", windows=2)
    assert [side["n"] for side in found["sides"]] == [100, 100]
    assert metric(found, "goodput_ratio")["better"] == "A"


def fared(passed: Sequence[int], route: str = "A", first: int = 0) -> list[Row]:
    """Windows of 50 requests each, of which so many are accepted."""
    each = ((passing(good, 50), (first + n) * WINDOW_S + 5.0) for n, good in enumerate(passed))
    return [row for accepted, seconds in each for row in requests(route, accepted, seconds=seconds)]


def by_newcombe(a: Sequence[int], b: Sequence[int], t: float, phi: float) -> tuple[float, float]:
    """The interval of the difference of two shares, of windows of 50 requests of which so many are accepted."""
    ends = []
    for passed in (a, b):
        share = sum(passed) / len(passed) / 50
        low, high = wilson(share, share * (1 - share) / over_windows(passed), t)
        ends.append((share - low, high - share))
    (below_a, above_a), (below_b, above_b) = ends
    difference = (sum(b) / len(b) - sum(a) / len(a)) / 50
    # of paired sides no less than the difference itself varies
    apart = t * added(over_windows(a) ** 0.5, over_windows(b) ** 0.5, phi) if phi else 0.0
    return (
        difference - max(apart, added(below_b, above_a, phi)),
        difference + max(apart, added(above_b, below_a, phi)),
    )


def over_windows(passed: Sequence[int]) -> float:
    """The variance of their share."""
    return float(np.var(passed, ddof=1)) / len(passed) / 50**2


SHARED = ([45, 25, 40, 30], [49, 25, 49, 43])


def test_what_hits_both_sides_in_a_window_cancels(compare: Run) -> None:
    """Residuals of A are 10, -10, 5, -5; of B 7.5, -16.5, 7.5, 1.5: their correlation is 270 / sqrt(250 x 387).

    As the difference of each window, 4, 0, 9, 13, it has the three degrees of freedom of four windows.
    """
    a, b = SHARED
    found = metric(compare(fared(a) + fared(b, "B"), windows=4), "goodput_ratio")
    phi = 270 / (250 * 387) ** 0.5
    low, high = by_newcombe(a, b, student(3), phi)
    assert (found["difference_ci_low"], found["difference_ci_high"]) == (
        pytest.approx(low, rel=0.02),
        pytest.approx(high, rel=0.01),
    )
    # both sides as samples of their own
    variance = over_windows(a), over_windows(b)
    welch = 3 * sum(variance) ** 2 / (variance[0] ** 2 + variance[1] ** 2)
    far, _ = by_newcombe(a, b, student(welch), 0)
    assert found["difference_ci_low"] > far + 0.09
    rate = metric(compare(fared(a) + fared(b, "B"), windows=4), "goodput_rps")
    half = student(3) * float(np.std(np.array(b) - a, ddof=1)) / 4**0.5 / WINDOW_S
    assert rate["difference_ci_high"] - rate["difference"] == pytest.approx(half, rel=0.02)


def test_the_sides_have_no_order(compare: Run) -> None:
    a, b = SHARED
    one = compare(fared(a) + fared(b, "B"), windows=4)["metrics"]
    other = compare(fared(b) + fared(a, "B"), windows=4)["metrics"]
    for row, swapped in zip(one, other, strict=True):
        assert row["metric"] == swapped["metric"]
        if row["difference"] is not None:
            assert row["difference_ci_low"] == pytest.approx(-swapped["difference_ci_high"], abs=1e-12)
            assert row["difference_ci_high"] == pytest.approx(-swapped["difference_ci_low"], abs=1e-12)


def test_what_one_side_gains_and_the_other_loses_adds_up(compare: Run) -> None:
    a, b = [45, 25, 40, 30], [25, 45, 31, 39]  # residuals of A are 10, -10, 5, -5, of B -10, 10, -4, 4
    found = metric(compare(fared(a) + fared(b, "B"), windows=4), "goodput_ratio")
    low, _ = by_newcombe(a, b, student(3), -240 / (250 * 232) ** 0.5)
    assert found["difference_ci_low"] == pytest.approx(low, rel=0.02)


def test_sides_without_a_window_in_common_are_independent(compare: Run) -> None:
    a, b = SHARED
    found = metric(compare(fared(a) + fared(b, "B", first=4), windows=8), "goodput_ratio")
    variance = over_windows(a), over_windows(b)
    low, high = by_newcombe(a, b, student(3 * sum(variance) ** 2 / (variance[0] ** 2 + variance[1] ** 2)), 0)
    assert (found["difference_ci_low"], found["difference_ci_high"]) == (
        pytest.approx(low, rel=0.02),
        pytest.approx(high, rel=0.02),
    )


def test_windows_that_agree_by_chance_do_not_undo_what_requests_vary(compare: Run) -> None:
    # B passes 3 more in every window: windows alone would be sure of it; 200 independent requests a side are not
    a, b = [45, 25, 40, 30], [48, 28, 43, 33]
    found = metric(compare(fared(a) + fared(b, "B"), windows=4), "goodput_ratio")
    alone = (0.7 * 0.3 + 0.76 * 0.24) / 200
    variance = over_windows(a), over_windows(b)
    low, high = by_newcombe(a, b, 1.959964, (sum(variance) - alone) / 2 / (variance[0] * variance[1]) ** 0.5)
    assert (found["difference_ci_low"], found["difference_ci_high"]) == (pytest.approx(low), pytest.approx(high))
    assert found["better"] == "not distinguishable"


def test_windows_of_one_side_alone_are_a_sample_of_their_own() -> None:
    """A lies in windows 1 to 4, B in 3 to 5: squares of two, one and two windows (Satterthwaite 1946)."""
    rows = (
        "(1, 0.3, 0.0, true, false), (2, -0.1, 0.0, true, false), (3, -0.4, -0.2, true, true), "
        "(4, 0.2, 0.3, true, true), (5, 0.0, -0.1, false, true)"
    )
    with connect() as connection:
        ((found,),) = connection.sql(
            f"SELECT over_windows(a, b, a * b, in_a, in_b, 1, nth) FROM (VALUES {rows}) AS r (nth, a, b, in_a, in_b)"
        ).fetchall()
    alone, other, both = 0.3**2 + 0.1**2, 0.1**2, 0.2**2 + 0.1**2
    assert found["variance"] == pytest.approx(alone + other + both)
    by_df = alone**2 / (2 * 3 / 4) + other**2 / 1 + both**2 / (2 * 2 / 3)
    assert found["df"] == pytest.approx((alone + other + both) ** 2 / by_df)


def test_a_window_that_telemetry_covers_in_part_has_its_observed_seconds(compare: Run) -> None:
    """One request a second for 42.5 s, from 2.5 s before the first whole window to 10 s after the last but one."""
    observed = {-1: 2.5, 3: 10.0, 4: 0.5}
    edges = [
        {"window_start": START + timedelta(seconds=n * WINDOW_S), "window_s": WINDOW_S, "slice": "overall"}
        | {"partial": observed_s < WINDOW_S, "observed_s": observed_s}
        for n, observed_s in observed.items()
    ]
    rows = [row for n in range(-2, 41) for row in requests("A", [True], seconds=n + 0.25)]
    half = (START + timedelta(seconds=20)).isoformat()
    asked = ("--before", half, "--after", half, "--format", "json")
    found = compare(rows, *asked, windows=3, of_workloads=edges)
    assert [side["time_s"] for side in found["sides"]] == [22.5, 20.5]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"unit": "session"}, "Here each request counts; goodput counts sessions of chat."),
        (
            {"unit": "request", "gate": "quality", "unlabelled": "fail"},
            "in goodput they all fail, as its settings say.",
        ),
        ({"unit": "request", "gate": "quality", "unlabelled": "estimate"}, None),
    ],
)
def test_what_goodput_counts_otherwise_is_said(compare: Run, rule: Row, said: str | None) -> None:
    rules = [{"workload": "chat", **rule}, {"workload": "rag", "unit": "session"}]  # of rag no request is compared
    counted = compare(WORKED, workloads=rules)["counted"]
    assert counted is None if said is None else counted.endswith(said)
    table = compare(WORKED, "--by", "route", "A", "B", workloads=rules).stdout
    assert (said is None) == ("Here" not in table)


SLOWLY = [45, 45, 44, 43, 41, 39, 37, 36, 35, 35]


def test_slow_change_between_two_times_is_named(compare: Run) -> None:
    half = START + timedelta(seconds=10 * WINDOW_S)
    asked = ("--before", half.isoformat(), "--after", half.isoformat(), "--format", "json")
    found = compare(fared([*SLOWLY, *reversed(SLOWLY)]), *asked, windows=20)
    around = np.array(SLOWLY) - np.mean(SLOWLY)
    first, second = around[:-1], around[1:]  # the later side is the earlier one in reverse: the same pairs
    alike = 2 * (first @ second) / (first @ first + second @ second)
    assert alike > 1.645 / math.sqrt(18)
    assert f"(correlation {alike:.2g})" in found["drift"]
    # the same windows, put in an order in which neighbours have nothing in common
    shuffled = [SLOWLY[n] for n in (0, 5, 9, 2, 7, 1, 8, 3, 6, 4)]
    assert compare(fared([*shuffled, *shuffled]), *asked, windows=20)["drift"] is None


def test_change_that_both_sides_saw_is_in_no_difference(compare: Run) -> None:
    assert compare(fared(SLOWLY) + fared(SLOWLY, "B"), windows=10)["drift"] is None


def test_a_table_for_people(compare: Run) -> None:
    shown = compare(WORKED, "--by", "route", "A", "B").stdout
    assert "A: route A: 100 requests in 10 s" in shown
    line = next(line for line in shown.splitlines() if line.startswith("goodput_rps"))
    # Poisson: 5.8 and 8.5 a second from 58 and 85 in 10 s
    assert re.split(r"  +", line)[1:4] == ["5.8 (4.31..7.29)", "8.5 (6.69..10.3)", "2.7 (0.356..5.04)"]
    assert shown.splitlines()[-1].startswith("Verdict: B is better")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("A", "B"), "Name two sides"),
        (("--by", "route", "A"), "Name two sides"),
        (("--before", "2026-11-20T10", "--after", "2026-11-20T09"), "the sides would overlap"),
        (("--by", "rout", "A", "B"), "requests have no column rout. Right would be: route"),
        (("--by", "route", "A", "C"), "route C: no such request was published"),
        (("--by", "route", "A", "A"), "Both sides are route A"),
        (("--by", "route", "A", "B", "--workload", "chta"), "no such request was published. Workloads: chat."),
        (("--before", "noon", "--after", "2026-11-20T09"), "--before noon: no time"),
        (
            ("--before", "2026-11-20T09", "--after", "2026-11-20T09"),
            "ended from 2026-11-20T09:00:05Z to",
        ),
        (("--by", "route", "A", "B", "--since", "2026-11-20T10", "--until", "2026-11-20T09"), "nothing lies between"),
    ],
)
def test_what_cannot_be_compared_is_refused(compare: Run, asked: tuple[str, ...], expected: str) -> None:
    failed = compare(WORKED, *asked)
    assert failed.returncode == 2
    assert expected in failed.stderr
