"""Quality as a judge sees it: of all answers, beside the share of those that pass everything else.

See docs/semantics.md#what-evaluators-say.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.join.workloads import workload_rows
from goodput.measure.nodes import QUALITY
from goodput.measure.slices import slice_options
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Quality, Settings, Workload
from river import ALL_TIME, Joined, Row, at, join, judged, key, label, made, record, row_of, windows

SETTINGS = Settings(workloads={"qa": Workload(e2e_s=2.0, quality=Quality(evaluators=("judge",)))})
RATIO = ("pass_ratio", "pass_ci_low_ratio", "pass_ci_high_ratio")
NAMED = ("evaluator", "label", "answered", "judged", "passed")


def quality(joined: Joined, grains: Sequence[int] = (3600,), settings: Settings = SETTINGS) -> pl.DataFrame:
    """Rows of relation `quality` of joined requests."""
    labels = pa.Table.from_pylist(list(joined.labels.values()), schema=arrow_schema("quality_labels"))
    with connect() as connection:
        connection.register("requests", joined.requests_table)
        connection.register("quality_labels", labels)
        register(connection, "grains", as_rows("grains", *({"window_s": grain} for grain in grains)))
        register(connection, "measured_range", as_rows("measured_range", ALL_TIME))
        register(connection, "workload_rules", workload_rows(settings))
        register(connection, "slice_options", slice_options(settings))
        for relation in QUALITY.relations:
            compute(connection, relation)
        return pl.DataFrame(made(connection, "quality"))


def configuration(model: str, counts: Iterable[tuple[int, float, bool]]) -> tuple[list[Row], list[Row]]:
    """Calls of a model and the labels of all of them: so many took this long, and passed quality or not."""
    rows, labels = [], []
    for count, took_s, passed in counts:
        for _ in range(count):
            span = f"{model}{len(rows)}"
            rows.append(record(span, 10.0, 10.0 + took_s, model=model))
            labels.append(label("span", key(span), passed=passed))
    return rows, labels


def test_a_slow_good_answer_is_good_and_a_fast_bad_one_is_not(tmp_path: Path) -> None:
    # of 100 each: 72 and 91 pass quality, and 58 and 85 everything
    old = configuration("old", [(58, 1.0, True), (14, 9.0, True), (25, 1.0, False), (3, 9.0, False)])
    new = configuration("new", [(85, 1.0, True), (6, 9.0, True), (5, 1.0, False), (4, 9.0, False)])
    joined = join(old[0] + new[0], old[1] + new[1], settings=SETTINGS)
    frame = windows(tmp_path, joined.requests_table, SETTINGS, (3600,))
    named = ("quality_judged", "quality_pass_ratio", "quality_pass_in_bounds_ratio", "goodput_ratio")
    found = {model: row_of(frame, 0, 3600, "workload_model", model=model) for model in ("old", "new")}
    assert [found["old"][name] for name in named] == [100, 0.72, pytest.approx(58 / 83), pytest.approx(0.58)]
    assert [found["new"][name] for name in named] == [100, 0.91, pytest.approx(85 / 90), pytest.approx(0.85)]
    both = row_of(frame, 0, 3600)
    assert [both[name] for name in named] == [200, 163 / 200, pytest.approx(143 / 173), pytest.approx(0.715)]
    said = {(row["model"], row["evaluator"]): row for row in quality(joined).to_dicts()}
    assert {who: row["pass_ratio"] for who, row in said.items()} == {
        **{("old", None): 0.72, ("old", "judge"): 0.72},
        **{("new", None): 0.91, ("new", "judge"): 0.91},
    }
    # every answer was judged: nothing is left to chance
    assert all(row["pass_ci_low_ratio"] == row["pass_ratio"] == row["pass_ci_high_ratio"] for row in said.values())


def test_each_evaluator_and_each_label_has_a_row() -> None:
    spans = [f"r{n}" for n in range(8)]
    rows = [record(span, n, n + 1.0, outcome="error" if n == 7 else "ok") for n, span in enumerate(spans)]

    def says(n: int, evaluator: str, **given: object) -> Row:
        return label("span", key(spans[n]), evaluator=evaluator, **given)

    labels = [
        *(says(n, "judge", label=text) for n, text in enumerate(["good", "good", "bad", "good"])),
        says(4, "judge", passed=True),  # without a label
        says(7, "judge", label="good"),  # of a call that brought no answer
        says(0, "human", score=0.9),
        says(1, "human", score=0.2),
        says(2, "human", score=0.9, withdrawn=True),
        says(3, "human", label="seen"),  # which passes nothing, and fails where other labels would pass
    ]
    gate = Quality(evaluators=("judge",), pass_labels=("good",), min_score=0.5)
    joined = join(rows, labels, settings=Settings(workloads={"qa": Workload(quality=gate)}))
    found = quality(joined)
    assert found.select(NAMED).rows() == [
        ("human", "seen", 7, 1, 0),
        ("human", None, 7, 3, 1),
        ("judge", "bad", 7, 1, 0),
        ("judge", "good", 7, 3, 3),
        ("judge", None, 7, 5, 4),
        (None, None, 7, 5, 4),
    ]
    assert found["model"].unique().to_list() == ["unknown"]


def test_the_interval_is_that_of_a_share_drawn_without_replacement() -> None:
    rows, labels = configuration("m", [(60, 1.0, True), (20, 1.0, False), (120, 1.0, True)])
    joined = join(rows, labels[:80], settings=SETTINGS)
    row = quality(joined).filter(pl.col("evaluator") == "judge").to_dicts()[0]
    assert [row[name] for name in ("answered", "judged", "passed", "pass_ratio")] == [200, 80, 60, 0.75]
    # either end is as far from 0.75 as 80 draws of 200 stray 95 times in 100
    for end in (row["pass_ci_low_ratio"], row["pass_ci_high_ratio"]):
        strays = (end * (1 - end) / 80 * (200 - 80) / (200 - 1)) ** 0.5
        assert abs(end - 0.75) == pytest.approx(1.959963984540054 * strays)
    assert row["pass_ci_low_ratio"] < 0.75 < row["pass_ci_high_ratio"]
    undrawn = Settings(workloads={"qa": Workload(quality=Quality(sampling="none"))})
    (_, gate) = quality(joined, settings=undrawn).to_dicts()
    # no share of all answers, but that 60 of 200 passed and 20 failed
    assert [gate[name] for name in RATIO] == [None, 60 / 200, 180 / 200]
    assert [gate[name] for name in ("judged", "passed")] == [80, 60]


def within(share: float, drawn: float) -> list[float]:
    """Wilson's ends: where a share lies 1.96 of its own standard errors from the one that was seen."""
    per_draw = 1.959963984540054**2 / drawn
    return sorted(np.roots([1 + per_draw, -(2 * share + per_draw), share**2]).real)


def test_answers_of_sessions_that_were_judged_whole_are_worth_as_many_sessions() -> None:
    """Of 20 sessions of 5 eight were judged, 6 of these good: 40 labels are worth 8, and t(7) is wider than t(39).

    By hand: residuals 0.25 and -0.75 make 6 x 20 x 0.0625 + 2 x 20 x 0.5625 = 30 over pairs, beside
    40 x 0.75 x 0.25 = 7.5, so a design effect of 1 + 4 = 5; t(7) = 2.3646, t(39) = 2.0227.
    """
    spans = [(session, f"s{session}-{n}") for session in range(20) for n in range(5)]
    rows = [record(span, 10.0, 11.0, session_id=f"s{session}") for session, span in spans]
    labels = [label("span", key(span), passed=session < 6) for session, span in spans if session < 8]
    joined = join(rows, labels, settings=SETTINGS)
    drawn = 40 * 99 / 60 / (5 * (2.3646 / 2.0227) ** 2)
    for row in quality(joined).to_dicts():
        assert row["pass_ratio"] == 0.75
        ends = [row["pass_ci_low_ratio"], row["pass_ci_high_ratio"]]
        # 10 of 100 are known to be bad
        assert ends == pytest.approx([within(0.75, drawn)[0], 0.9], abs=2e-3)
    # one label says something: its own session, which nobody else's is
    alone = join(rows, labels[:1], settings=SETTINGS)
    (judge, _) = quality(alone).to_dicts()
    assert judge["pass_ci_high_ratio"] == 1
    assert judge["pass_ci_low_ratio"] < 0.25


def test_routes_that_are_judged_at_rates_of_their_own_count_by_their_answers() -> None:
    """Of 100 on a route 60 were judged, 30 good; on another 10, 9 good: 50 + 90 of 200, not 39 of 70."""
    spans = [(route, f"{route}{n}", n) for route in ("a", "b") for n in range(100)]
    rows = [record(span, 10.0, 11.0, route=route) for route, span, _ in spans]
    labels = [
        label("span", key(span), passed=n < {"a": 30, "b": 9}[route], label="seen")
        for route, span, n in spans
        if n < {"a": 60, "b": 10}[route]
    ]
    for row in quality(join(rows, labels, settings=SETTINGS)).to_dicts():
        assert [row[name] for name in ("judged", "passed", "pass_ratio")] == [70, 39, pytest.approx(0.7)]
        ends = [within(0.5, 60 * 99 / 40), within(0.9, 10 * 99 / 90)]
        apart = [
            math.hypot(*(100 * abs(end[side] - p) for end, p in zip(ends, (0.5, 0.9), strict=True))) for side in (0, 1)
        ]
        variance = 100**2 * (0.25 / 59 * 0.4 + 0.09 / 9 * 0.9)
        together = within(0.7, 140 * 60 / variance)
        # the wider of both, within what both routes can hold
        low, high = ((ends[0][side] + ends[1][side]) / 2 for side in (0, 1))
        assert row["pass_ci_low_ratio"] == pytest.approx(max(low, min(0.7 - apart[0] / 200, together[0])))
        assert row["pass_ci_high_ratio"] == pytest.approx(min(high, max(0.7 + apart[1] / 200, together[1])))


def test_one_label_of_answers_that_are_all_alike_is_a_draw_of_them() -> None:
    """One of six was judged, and is bad: Wilson's end of 0 at 1 x 5/5 draws, however 1/6 is rounded."""
    rows = [record(f"r{n}", 10.0, 11.0) for n in range(6)]
    for row in quality(join(rows, [label("span", key("r0"), passed=False)], settings=SETTINGS)).to_dicts():
        assert row["pass_ci_high_ratio"] == pytest.approx(within(0.0, 1.0)[1])


def test_sessions_of_which_nothing_was_judged_are_drawn_as_a_whole_too() -> None:
    """One of five was judged, and is bad; two others are of one session. By sessions a draw labels 1 + 2/5 requests.

    By hand: of routes with 1 of 1, 0 of 3 and 0 of 1 chi-square is 4 + 3/4 + 1/4 = 5, of draws 5/1.4 = 3.57, and
    2 + sqrt(4) is as much as chance leaves: no route has a rate of its own, and one label is a draw of all five.
    """
    told = {"x": [(None, False)], "y": [(None, None), ("s", None), ("s", None)], "z": [(None, None)]}
    spans = [(route, f"{route}{n}", session) for route, of in told.items() for n, (session, _) in enumerate(of)]
    rows = [record(span, 10.0, 11.0, route=route, session_id=session) for route, span, session in spans]
    by_session = Settings(workloads={"qa": Workload(quality=Quality(evaluators=("judge",), sampling="session"))})
    for row in quality(
        join(rows, [label("span", key("x0"), passed=False)], settings=SETTINGS), settings=by_session
    ).to_dicts():
        assert row["pass_ci_high_ratio"] == pytest.approx(within(0.0, 1.0)[1])


def test_answers_of_a_route_that_nobody_judged_are_answers_too() -> None:
    """Judged are 4 of 14: two good of 3 on a route, two bad of 6, none of 5; two of them are of one session's four.

    By hand: of 14 pairs 2 are labelled: labels come by session as far as (1 - (4/14)^2 x 7)/(1 - 4/14) = 0.6. They are
    4/(1 + 0.6/3) = 10/3 draws: a design effect of (t(7/3)/t(3))^2 = 1.828. None good of 2 of 6, at 2 x 5/4/1.828 =
    1.368, may be 3.84/(1.368 + 3.84) of 6: all 4 without a label. Beside them are the 5 that nobody judged, and 3.
    """
    told = {"a": [("s", True), ("t", True), (None, None)], "b": [("s", False), (None, False), ("s", None), ("s", None)]}
    told["b"] += [(None, None)] * 2
    told["c"] = [("u", None), ("u", None), *[(None, None)] * 3]
    spans = [(route, f"{route}{n}", *one) for route, of in told.items() for n, one in enumerate(of)]
    rows = [record(span, 10.0, 11.0, route=route, session_id=session) for route, span, session, _ in spans]
    labels = [label("span", key(span), passed=passed) for *_, span, _, passed in spans if passed is not None]
    for row in quality(join(rows, labels, settings=SETTINGS)).to_dicts():
        assert [row["judged"], row["answered"]] == [4, 14]
        assert row["pass_ci_high_ratio"] == pytest.approx((3 + 4 + 5) / 14)


def test_answers_count_in_the_window_in_which_they_ended_and_a_key_that_is_used_again_judges_nothing_else() -> None:
    rows = [
        record("a", 200.0, 310.0, request_key="K"),
        record("b", 3 * 3600.0, 3 * 3600.0 + 5, request_key="K"),
    ]
    joined = join(rows, [label("span", key("a"), at=400.0)], settings=SETTINGS)
    found = quality(joined, (300, 86400))
    assert set(found.select("window_s", "window_start", "answered", "judged").rows()) == {
        (300, at(300), 1, 1),
        (86400, at(-9 * 3600), 2, 1),
    }


def test_a_session_is_judged_by_all_of_its_requests(tmp_path: Path) -> None:
    def of(session: str, name: str, verdict: str, end: float, **given: object) -> Row:
        return judged(name, verdict, end, session_id=session, gated=True, **given)

    rows = [
        of("good but slow", "a", "accepted", 10),
        of("good but slow", "b", "slow", 20, pass_quality=True),
        of("bad and slow", "c", "slow", 10, pass_quality=False),
        of("half judged", "d", "accepted", 10),
        of("half judged", "e", "slow", 20),
        of("good", "f", "accepted", 10),
    ]
    settings = Settings(workloads={"qa": Workload(unit="session", ttft_s=1.0, quality=Quality())})
    with connect() as connection:
        connection.register("requests", pa.Table.from_pylist(rows, schema=arrow_schema("requests")))
        connection.execute("CREATE TEMP TABLE any_session AS SELECT true AS is_named")
        compute(connection, "session_hours")
        sessions = made(connection, "session_hours")
    frame = windows(tmp_path, rows, settings, sessions=sessions)
    row = row_of(frame)
    named = ("offered", "quality_judged", "quality_pass_ratio", "quality_pass_in_bounds_ratio")
    assert [row[name] for name in named] == [4, 3, pytest.approx(2 / 3), 1]


def test_parts_of_answers_that_add_up_to_more_than_all_of_them_leave_ratios_at_one() -> None:
    """Pools of which 95, 50 and 15 % are judged are strata, and all pass: of some windows a label's parts add up to
    a rounding more than the answers that it stands for."""
    chance, rows, labels = np.random.default_rng(1), [], []
    for window in range(100):
        for n in range(18):
            span, pool = f"w{window}n{n}", int(chance.integers(3))
            begin = 60 * window + 1 + n
            rows.append(record(span, begin, begin + 1.0, pool=f"p{pool}", route=f"r{chance.integers(2)}"))
            if chance.random() < (0.95, 0.5, 0.15)[pool]:
                text = str(chance.choice(["good", "fine", "well"]))
                labels.append(label("span", key(span), evaluator="judge", label=text, passed=True))
    found = quality(join(rows, labels, settings=SETTINGS), (60, 3600))
    assert (found["pass_ratio"].max(), found["pass_ci_high_ratio"].max()) == (1, 1)
