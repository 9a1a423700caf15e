"""Identities of the join and measure stages together, over random requests and random settings.

See docs/semantics.md#gates-and-verdicts, #windows, #time-and-restatement.
"""

from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from goodput.settings.model import Settings
from random_requests import random_cases, random_settings
from river import START_S, VERDICTS, Joined, Parts, Stretch, at_ns, join, measure, session_hours, windows

OBSERVED_S = 3 * 3600.0
FEW = settings(max_examples=3, deadline=None)
SEEDS = st.integers(0, 2**32)
KEY = ["window_start", "window_s", "slice", "workload", "model", "pool", "route"]


def measured(joined: Joined, chosen: Settings) -> pl.DataFrame:
    with TemporaryDirectory() as folder:
        return windows(Path(folder), joined.requests_table, chosen, (300, 3600), hours=3)


@FEW
@given(SEEDS, st.integers(0, 300))
def test_what_holds_in_every_row(seed: int, count: int) -> None:
    chance = Random(seed)
    chosen, cases = random_settings(chance), random_cases(chance, count, 2 * 3600)
    joined = join(
        [row for case in cases for row in case.records],
        [label for case in cases for label in case.labels],
        settings=chosen,
        observed_until_s=OBSERVED_S,
    )
    frame = measured(joined, chosen)
    holds = {
        "identity V": pl.col("offered") == pl.sum_horizontal(*VERDICTS),
        "bounds": pl.col("goodput_lower_rps").is_between(0, pl.col("goodput_upper_rps") + 1e-9),
        "estimate": pl.col("goodput_rps").is_between(
            pl.col("goodput_lower_rps") - 1e-9, pl.col("goodput_upper_rps") + 1e-9
        ),
        "interval": pl.col("goodput_rps").is_between(
            pl.col("goodput_ci_low_rps") - 1e-9, pl.col("goodput_ci_high_rps") + 1e-9
        ),
        "goodput is throughput at most": pl.col("goodput_upper_rps") <= pl.col("throughput_rps") + 1e-9,
        "tokens": pl.col("output_token_goodput_tps").is_between(0, pl.col("output_tps") + 1e-9),
        "accepted is the lower bound": (pl.col("accepted") / pl.col("window_s") - pl.col("goodput_lower_rps")).abs()
        < 1e-9,
        "succeeded": pl.col("succeeded") == pl.col("offered") - pl.col("failed"),
    }
    broken = {name: frame.filter(~rule).to_dicts() for name, rule in holds.items()}
    assert not any(broken.values()), {name: rows[:1] for name, rows in broken.items() if rows}
    # nothing is lost or counted twice: every request that is over is in one hour of the overall slice
    over = sum(row["verdict"] != "in_flight" for row in joined.requests.values())
    hourly = frame.filter((pl.col("slice") == "overall") & (pl.col("window_s") == 3600))
    assert hourly["offered"].sum() == over
    assert (
        hourly["arrivals"].sum() + sum(row["arrived_at"].timestamp() < START_S for row in joined.requests.values())
        == count
    )
    for name in ("pool", "workload", "workload_model", "workload_pool", "workload_route", "finest"):
        sliced = frame.filter((pl.col("slice") == name) & (pl.col("window_s") == 3600))
        assert sliced["offered"].sum() == over


@FEW
@given(SEEDS, st.integers(1, 200))
def test_sessions_are_counted_once_each_where_a_workload_counts_sessions(seed: int, count: int) -> None:
    chance = Random(seed)
    chosen, cases = random_settings(chance), random_cases(chance, count, 2 * 3600)
    units = dict(zip(chosen.workloads, ("session", "request", "session"), strict=False))
    workloads = {name: chosen.workloads[name].model_copy(update={"unit": unit}) for name, unit in units.items()}
    chosen = chosen.model_copy(update={"workloads": workloads})
    named = {case.request_key: chance.choice([None, *(f"s{n}" for n in range(count // 3))]) for case in cases}
    records = [row | {"session_id": named[case.request_key]} for case in cases for row in case.records]
    labels = [label for case in cases for label in case.labels]
    joined = join(records, labels, settings=chosen, observed_until_s=OBSERVED_S)
    rows = joined.requests.values()
    with TemporaryDirectory() as folder:
        frame = windows(Path(folder), joined.requests_table, chosen, (300, 3600), hours=3, sessions=session_hours(rows))
    assert frame.filter(pl.col("offered") != pl.sum_horizontal(*VERDICTS)).height == 0
    # whoever is alone in its group: a request where those count; who has no session is no unit of those that count them
    groups = defaultdict(list)
    for row in rows:
        if units.get(row["workload"]) != "session":
            groups[row["workload"], "request", row["request_key"]].append(row)
        elif row["session_id"]:
            groups[row["workload"], "session", row["session_id"]].append(row)
    expected: Counter[tuple[str, int, int, str]] = Counter()
    for (workload, *_), group in groups.items():
        if all(row["verdict"] != "in_flight" for row in group):
            ended_s = max(int(row["ended_at"].timestamp()) for row in group)
            for window_s in (300, 3600):
                worst = min((row["verdict"] for row in group), key=VERDICTS.index)
                expected[workload, ended_s // window_s * window_s, window_s, worst] += 1
    found = {
        (row["workload"], int(row["window_start"].timestamp()), row["window_s"], verdict): row[verdict]
        for row in frame.filter(slice="workload").to_dicts()
        for verdict in VERDICTS
        if row[verdict]
    }
    assert found == expected


@FEW
@given(SEEDS, st.integers(1, 150))
def test_the_order_of_rows_and_copies_from_other_sources_change_nothing(seed: int, count: int) -> None:
    chance = Random(seed)
    chosen, cases = random_settings(chance), random_cases(chance, count, 2 * 3600)
    records = [row for case in cases for row in case.records]
    labels = [label for case in cases for label in case.labels]
    mixed = [
        chance.sample(rows + copies, len(rows + copies))
        for rows in (records, labels)
        for copies in [[row | {"source_id": "zz", "line": 99} for row in rows if chance.random() < 0.4]]
    ]
    once = join(records, labels, settings=chosen, observed_until_s=OBSERVED_S)
    again = join(mixed[0], mixed[1], settings=chosen, observed_until_s=OBSERVED_S)
    assert again.attempts == once.attempts
    assert again.requests == once.requests
    assert again.labels == once.labels
    assert_frame_equal(measured(again, chosen), measured(once, chosen), check_exact=True)


@FEW
@given(SEEDS, st.integers(1, 200))
def test_hours_measured_apart_are_hours_measured_together(seed: int, count: int) -> None:
    chance = Random(seed)
    chosen, cases = random_settings(chance), random_cases(chance, count, 2 * 3600)
    joined = join([row for case in cases for row in case.records], settings=chosen, observed_until_s=OBSERVED_S)
    together = measured(joined, chosen)
    observed = (at_ns(-86400), at_ns(86400))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "requests.parquet"
        pl.DataFrame(joined.requests_table).write_parquet(path)
        spans = [(0, 1), (1, 3)]
        apart = [
            measure(
                chosen, Parts([str(path)]), (300, 3600), Stretch(START_S + a * 3600, START_S + b * 3600, observed)
            ).goodput
            for a, b in spans
        ]
    assert_frame_equal(pl.concat(apart), together, check_row_order=False, abs_tol=1e-12)
