"""Goodput where labels are a sample: estimate, bounds, Wilson interval, policies and definition.

See docs/semantics.md#goodput-from-a-sample.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from goodput.settings.model import Quality, Settings, Workload
from river import Row, judged, row_of, windows

GATED = Workload(quality=Quality())
WINDOW_S = 300

# workload: (accepted, rejected, unlabelled), beside 2 slow and 1 failed each
LABELLED = {
    "full": (6, 2, 0),
    "half": (30, 10, 40),
    "few": (2, 1, 97),
    "all_good": (5, 0, 20),
    "all_bad": (0, 4, 16),
    "one": (1, 0, 1),
    "none": (0, 0, 12),
    "nothing_passes": (0, 0, 0),
}


def requests_of(workload: str, accepted: int, rejected: int, unlabelled: int, *, gated: bool = True) -> list[Row]:
    counts = {"accepted": accepted, "rejected": rejected, "unlabelled": unlabelled, "slow": 2, "failed": 1}
    return [
        judged(f"{workload}/{verdict}/{n}", verdict, end=60.0 + n, workload=workload, gated=gated)
        for verdict, count in counts.items()
        for n in range(count)
    ]


def wilson(passed: int, drawn: int, population: int) -> tuple[float, float]:
    """95 % interval of the share that passes: where |p - share| is 1.96 of the share's own standard error.

    (p - s)^2 = z^2 s (1 - s) / n solved for s, with n the sample size after the finite-population correction.
    """
    share = passed / drawn
    if drawn == population:
        return share, share
    per_draw = 1.959963984540054**2 * (population - drawn) / (population - 1) / drawn
    low, high = np.sort(np.roots([1 + per_draw, -(2 * share + per_draw), share**2]).real)
    return low, high


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    rows = [row for name, counts in LABELLED.items() for row in requests_of(name, *counts)]
    rows += requests_of("ungated", 7, 0, 0, gated=False)
    rows += [row for policy in ("fail", "pass") for row in requests_of(policy, 3, 1, 6)]
    workloads = dict.fromkeys(LABELLED, GATED) | {
        "ungated": Workload(),
        "fail": Workload(quality=Quality(unlabelled="fail")),
        "pass": Workload(quality=Quality(unlabelled="pass")),
    }
    return windows(tmp_path_factory.mktemp("labelled"), rows, Settings(workloads=workloads))


def counts(measured: pl.DataFrame, workload: str) -> Row:
    """Rates of a workload's row as requests per window."""
    row = row_of(measured, slice="workload", workload=workload)
    names = ("goodput", "goodput_lower", "goodput_upper", "goodput_ci_low", "goodput_ci_high")
    return {name.removeprefix("goodput_") or name: row[f"{name}_rps"] * WINDOW_S for name in names} | {
        name: row[name] for name in ("definition", "quality_coverage_ratio", "goodput_ratio")
    }


@pytest.mark.parametrize("workload", ["full", "half", "few", "all_good", "all_bad", "one"])
def test_goodput_is_estimated_from_the_labelled_share(measured: pl.DataFrame, workload: str) -> None:
    accepted, rejected, unlabelled = LABELLED[workload]
    found = counts(measured, workload)
    labelled, need = accepted + rejected, accepted + rejected + unlabelled
    assert found["goodput"] == pytest.approx(need * accepted / labelled)
    assert found["goodput_ratio"] == pytest.approx(need * accepted / labelled / (need + 3))
    assert found["quality_coverage_ratio"] == pytest.approx(labelled / need)
    assert found["definition"] == ("estimated" if unlabelled else "full")
    # what is known bounds what is estimated
    assert found["lower"] == pytest.approx(accepted)
    assert found["upper"] == pytest.approx(accepted + unlabelled)
    low, high = wilson(accepted, labelled, need)
    assert found["ci_low"] == pytest.approx(max(need * low, accepted), abs=1e-9)
    assert found["ci_high"] == pytest.approx(min(need * high, accepted + unlabelled), abs=1e-9)


def test_full_coverage_leaves_no_doubt(measured: pl.DataFrame) -> None:
    found = counts(measured, "full")
    assert found["ci_low"] == found["ci_high"] == found["goodput"] == pytest.approx(6)
    assert found["lower"] == found["upper"] == pytest.approx(6)


def test_without_a_label_goodput_is_latency_constrained(measured: pl.DataFrame) -> None:
    found = counts(measured, "none")
    assert found["definition"] == "latency_constrained"
    assert found["quality_coverage_ratio"] == 0
    assert found["goodput"] == pytest.approx(12)
    assert (found["ci_low"], found["ci_high"]) == (found["lower"], found["upper"]) == (0, pytest.approx(12))


def test_without_a_quality_gate_goodput_is_latency_constrained(measured: pl.DataFrame) -> None:
    found = counts(measured, "ungated")
    assert found["definition"] == "latency_constrained"
    assert found["quality_coverage_ratio"] is None
    rates = [found[name] for name in ("goodput", "lower", "upper", "ci_low", "ci_high")]
    assert rates == pytest.approx([7] * 5)


def test_where_nothing_passes_the_other_gates_goodput_is_zero(measured: pl.DataFrame) -> None:
    found = counts(measured, "nothing_passes")
    assert found["goodput"] == found["lower"] == found["upper"] == found["ci_high"] == 0
    assert found["quality_coverage_ratio"] is None


def test_policies_take_a_bound_instead_of_an_estimate(measured: pl.DataFrame) -> None:
    for policy, expected in (("fail", 3), ("pass", 9)):
        found = counts(measured, policy)
        assert found["goodput"] == pytest.approx(expected)
        assert (found["lower"], found["upper"]) == (pytest.approx(3), pytest.approx(9))
        assert found["ci_low"] <= found["goodput"] <= found["ci_high"]
        assert found["definition"] == "estimated"


def test_workloads_are_estimated_one_by_one_and_added(measured: pl.DataFrame) -> None:
    overall = row_of(measured)
    parts = measured.filter(pl.col("slice") == "workload")
    for name in ("goodput_rps", "goodput_lower_rps", "goodput_upper_rps", "output_token_goodput_tps"):
        assert overall[name] == pytest.approx(parts[name].sum())
    # never less sure than the ends of all parts at once
    assert parts["goodput_ci_low_rps"].sum() <= overall["goodput_ci_low_rps"] + 1e-12 < overall["goodput_rps"]
    assert overall["goodput_rps"] < overall["goodput_ci_high_rps"] <= parts["goodput_ci_high_rps"].sum() + 1e-12
    # one of them has no label, another no gate
    assert overall["definition"] == "estimated"
    passing = sum(sum(LABELLED[name]) for name in LABELLED) + 2 * (3 + 1 + 6)
    assert overall["quality_gated_ratio"] == pytest.approx(passing / (passing + 7))


def test_a_total_is_surer_than_its_parts_and_as_sure_as_the_sample_of_all(tmp_path: Path) -> None:
    # 36 of 40 labelled passed, of 80; 27 of 30, of 60: either way 9 of 10, so together like 63 of 70, of 140
    rows = requests_of("a", 36, 4, 40) + requests_of("b", 27, 3, 30)
    overall = row_of(windows(tmp_path, rows, Settings(workloads={"a": GATED, "b": GATED})))
    variance = sum(n**2 * 0.9 * 0.1 / (m - 1) * (1 - m / n) for m, n in ((40, 80), (30, 60)))
    worth = 140**2 * 0.9 * 0.1 / variance
    per_draw = student.ppf(0.975, 39 + 29) ** 2 / worth
    low, high = np.sort(np.roots([1 + per_draw, -(1.8 + per_draw), 0.81]).real)
    arms = [
        (n * 0.9 - n * bound[0], n * bound[1] - n * 0.9)
        for m, n in ((40, 80), (30, 60))
        for bound in [wilson(round(0.9 * m), m, n)]
    ]
    below, above = (float(np.hypot(*pair)) for pair in zip(*arms, strict=True))
    assert overall["goodput_ci_low_rps"] * WINDOW_S == pytest.approx(min(126 - below, 140 * low), rel=1e-5)
    assert overall["goodput_ci_high_rps"] * WINDOW_S == pytest.approx(max(126 + above, 140 * high), rel=1e-5)


def test_what_has_no_label_adds_all_that_may_pass_to_the_interval_of_a_total(tmp_path: Path) -> None:
    rows = requests_of("half", *LABELLED["half"]) + requests_of("none", *LABELLED["none"])
    frame = windows(tmp_path, rows, Settings(workloads={"half": GATED, "none": GATED}))
    half, overall = row_of(frame, slice="workload", workload="half"), row_of(frame)
    assert overall["goodput_ci_low_rps"] == pytest.approx(half["goodput_ci_low_rps"])
    assert overall["goodput_ci_high_rps"] == pytest.approx(half["goodput_ci_high_rps"] + 12 / WINDOW_S)


def test_labels_that_nobody_drew_give_bounds_and_no_estimate(tmp_path: Path) -> None:
    settings = Settings(workloads={"half": Workload(quality=Quality(sampling="none"))})
    row = row_of(windows(tmp_path, requests_of("half", *LABELLED["half"]), settings))
    names = ("goodput_rps", "goodput_ratio", "output_token_goodput_tps", "cost_per_accepted_usd")
    assert [row[name] for name in names] == [None] * 4
    assert row["definition"] == "unweighted"
    assert row["goodput_ci_low_rps"] * WINDOW_S == pytest.approx(30)
    assert row["goodput_ci_high_rps"] * WINDOW_S == pytest.approx(70)
    assert row["goodput_ratio_ci_high"] == pytest.approx(70 / 83)


def test_routes_that_are_labelled_at_other_rates_are_estimated_one_by_one(tmp_path: Path) -> None:
    # 60 requests each: 30 labelled on r1, of which 27 passed; 6 on r2, of which 3
    rows = [
        judged(f"{route}/{n}", verdict, end=60.0, gated=True, route=route)
        for route, counts in {"r1": (27, 3, 30), "r2": (3, 3, 54)}.items()
        for verdict, count in zip(("accepted", "rejected", "unlabelled"), counts, strict=True)
        for n in range(sum(counts))
        if n < count
    ]
    rows = [row | {"request_key": str(n)} for n, row in enumerate(rows)]
    row = row_of(windows(tmp_path, rows, Settings(workloads={"qa": GATED})))
    assert row["goodput_rps"] * WINDOW_S == pytest.approx(60 * 0.9 + 60 * 0.5)


def test_sessions_that_are_labelled_whole_count_as_one_draw_each(tmp_path: Path) -> None:
    # 20 sessions of 4, ten of them labelled, eight of which passed: as sure as ten requests of twenty
    verdicts = ["accepted"] * 8 + ["rejected"] * 2 + ["unlabelled"] * 10
    rows = [
        judged(f"{session}/{n}", verdict, end=60.0, gated=True, session_id=f"s{session}")
        for session, verdict in enumerate(verdicts)
        for n in range(4)
    ]
    row = row_of(windows(tmp_path, rows, Settings(workloads={"qa": GATED})))
    t = 2.262157, 2.022691  # Student's at 97.5 %, of 9 and 39 degrees of freedom
    variance = 0.8 * 0.2 / 40 * (80 - 40) / 79 * 4 * (t[0] / t[1]) ** 2
    per_draw = 1.959963984540054**2 * variance / 0.16
    low, high = np.sort(np.roots([1 + per_draw, -(1.6 + per_draw), 0.64]).real)
    assert row["goodput_rps"] * WINDOW_S == pytest.approx(64)
    assert row["goodput_ci_low_rps"] * WINDOW_S == pytest.approx(80 * low, rel=2e-3)
    assert row["goodput_ci_high_rps"] * WINDOW_S == pytest.approx(min(72, 80 * high), rel=2e-3)


def test_tokens_are_estimated_by_the_labelled_rate_weighted_by_tokens(tmp_path: Path) -> None:
    def one(name: str, verdict: str, tokens: int | None, minute: int = 0, workload: str = "qa") -> Row:
        return judged(name, verdict, 60.0 * minute + 5, gated=True, output_tokens=tokens, workload=workload)

    rows = [
        one("a", "accepted", 300),
        one("b", "rejected", 100),
        one("c", "unlabelled", 600),
        one("d", "slow", 5000),
        one("e", "unlabelled", None),
        one("f", "accepted", 30, 5),
        one("g", "rejected", 70, 5),
        one("h", "unlabelled", 40, 10),
        one("i", "unlabelled", 2, 10),
        one("j", "accepted", 300, 0, "strict"),
        one("k", "unlabelled", 600, 0, "strict"),
        one("l", "accepted", 0, 15),
        one("m", "rejected", 0, 15),
        one("n", "unlabelled", 8, 15),
    ]
    settings = Settings(workloads={"qa": GATED, "strict": Workload(quality=Quality(unlabelled="fail"))})
    frame = windows(tmp_path, rows, settings)

    def tokens(minute: int, workload: str = "qa") -> float:
        row = row_of(frame, minute, slice="workload", workload=workload)
        return float(row["output_token_goodput_tps"] * WINDOW_S)

    # 1,000 tokens passed the other gates; of 400 labelled ones 300 are good
    assert tokens(0) == pytest.approx(1000 * 300 / 400)
    assert tokens(5) == pytest.approx(30)
    assert tokens(10) == pytest.approx(42)  # no label: what passed the other gates
    assert tokens(0, "strict") == pytest.approx(300)
    assert tokens(15) >= 0  # no labelled token: nothing can be said by weight


def test_what_fails_anyway_does_not_take_the_labels_from_the_rest(tmp_path: Path) -> None:
    # 16 client errors in no workload beside 8 answers that were all judged
    rows = requests_of("qa", 6, 2, 0)
    rows += [judged(f"e{n}", "failed", 30.0 + n, workload="unassigned") for n in range(16)]
    rows += [judged("u", "ungated", workload="unassigned")]
    frame = windows(tmp_path, rows, Settings(workloads={"qa": GATED}))
    named = ("definition", "quality_gated_ratio", "quality_coverage_ratio")
    assert [row_of(frame)[name] for name in named] == ["full", 1, 1]
    alone = row_of(frame, slice="workload", workload="unassigned")
    assert [alone[name] for name in named] == ["latency_constrained", None, None]


def test_a_total_over_workloads_with_and_without_a_quality_gate_is_estimated(tmp_path: Path) -> None:
    # 8 judged answers, and 24 that no judge will ever see: a quarter of what passes every other gate has the gate
    rows = requests_of("qa", 6, 2, 0) + requests_of("fast", 24, 0, 0, gated=False)
    frame = windows(tmp_path, rows, Settings(workloads={"qa": GATED, "fast": Workload()}))
    named = ("definition", "quality_gated_ratio", "quality_coverage_ratio")
    assert [row_of(frame)[name] for name in named] == ["estimated", 0.25, 1]
    found = {name: row_of(frame, slice="workload", workload=name) for name in ("qa", "fast")}
    assert [found["qa"][name] for name in named] == ["full", 1, 1]
    assert [found["fast"][name] for name in named] == ["latency_constrained", 0, None]


def test_what_no_workload_selects_is_offered_and_never_goodput(tmp_path: Path) -> None:
    rows = [judged("a", "ungated", workload="unassigned", output_tokens=100), judged("b", "accepted", output_tokens=50)]
    frame = windows(tmp_path, rows, Settings(workloads={"qa": Workload()}))
    alone, overall = row_of(frame, slice="workload", workload="unassigned"), row_of(frame)
    names = ("offered", "succeeded", "ungated", "accepted", "goodput_upper_rps", "output_token_goodput_tps")
    assert [alone[name] for name in names] == [1, 1, 1, 0, 0, 0]
    assert alone["cost_per_accepted_usd"] is None
    assert [overall[name] for name in ("offered", "succeeded", "ungated", "accepted")] == [2, 2, 1, 1]
    assert overall["goodput_ratio"] == pytest.approx(1 / 2)
    assert overall["output_token_goodput_tps"] * WINDOW_S == pytest.approx(50)
