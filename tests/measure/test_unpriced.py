"""Work that nothing prices: what is known of cost is a lower bound or a part, and no interval says otherwise.

Attempts take a second a cent in pool `p`; nobody knows what pool `q` costs.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from by_seconds import Fleet, Try
from charging import BEGIN_S, attempt_row, charged, requests_of, wasted
from goodput.contracts import arrow_schema
from goodput.settings.model import Quality, Workload
from measure.test_disruptions import costs, disruptions, event, steady, window
from measure.test_frontier import frontiers, load
from measure.test_price_changes import SEPARATE, day, own
from river import Parts, Row, Stretch, measure, one_workload

ENDS = ("usd", "ci_low_usd", "ci_high_usd", "no_interval")
SHARES = ("share_ratio", "share_ci_low_ratio", "share_ci_high_ratio", "no_share_interval")
PRICE = ("cost_per_accepted_usd", "cost_per_accepted_ci_low_usd", "cost_per_accepted_ci_high_usd", "no_cost_interval")
WASTED = ("wasted_ratio", "wasted_ci_low_ratio", "wasted_ci_high_ratio", "no_wasted_interval")


def spent(tries: Sequence[Try], quality: Quality | None = None) -> tuple[pl.DataFrame, list[Row]]:
    """Waste of a window of five minutes, and its requests."""
    rows = [attempt_row(of) for of in tries]
    ended = requests_of(rows)
    if quality is not None:
        passed = {"accepted": True, "rejected": False}
        ended = [row | {"needs_label": True, "pass_quality": passed.get(row["verdict"])} for row in ended]
    ledger = charged(Fleet(rates={"p": 0.01}), attempts=rows)
    return wasted(ledger, 300, ended=ended, workloads={"qa": Workload(quality=quality)}), ended


def told(row: Row, names: Sequence[str]) -> list[Any]:
    return [row[name] for name in names]


def buckets(waste: pl.DataFrame, names: Sequence[str], slice_: str = "overall", **of: str) -> dict[str, list[Any]]:
    return {row["bucket"]: told(row, names) for row in waste.filter(slice=slice_, **of).to_dicts()}


def goodput(folder: Path, waste: pl.DataFrame, requests: list[Row], quality: Quality | None = None) -> pl.DataFrame:
    paths = {"requests": folder / "requests.parquet", "waste": folder / "waste.parquet"}
    pq.write_table(pa.Table.from_pylist(requests, schema=arrow_schema("requests")), paths["requests"])
    pq.write_table(waste.select(arrow_schema("waste").names).to_arrow().cast(arrow_schema("waste")), paths["waste"])
    stretch = Stretch(BEGIN_S, BEGIN_S + 300, (BEGIN_S * 10**9, (BEGIN_S + 300) * 10**9))
    parts = Parts([str(paths["requests"])], waste=[str(paths["waste"])])
    settings = one_workload(quality=quality) if quality else one_workload()
    return measure(settings, parts, (300,), stretch).goodput


PRICED = [Try("a", "accepted", 0, 100, "r", "p"), Try("b", "rejected", 0, 50, "t", "p")]  # $1 and 50 cents
UNPRICED = Try("c", "slow", 0, 60, "s", "q")


def test_a_bucket_without_a_price_leaves_the_others_their_ends_and_no_share_any() -> None:
    waste, _ = spent([*PRICED, UNPRICED])
    assert buckets(waste, ENDS) == {
        "accepted": [pytest.approx(1.0)] * 3 + [None],
        "rejected": [pytest.approx(0.5)] * 3 + [None],
        "slow": [None, None, None, "cost_unknown"],
    }
    assert buckets(waste, SHARES) == {
        "accepted": [pytest.approx(2 / 3), None, None, "work_unpriced"],
        "rejected": [pytest.approx(1 / 3), None, None, "work_unpriced"],
        "slow": [None, None, None, "cost_unknown"],
    }
    # all that pool p did has a price
    assert buckets(waste, SHARES, "pool", pool="p")["accepted"] == [pytest.approx(2 / 3)] * 3 + [None]


def test_a_bucket_of_which_a_part_has_no_price_has_no_upper_end() -> None:
    waste, _ = spent([*PRICED, Try("c", "rejected", 0, 60, "s", "q")])
    assert buckets(waste, ENDS) == {
        "accepted": [pytest.approx(1.0)] * 3 + [None],
        "rejected": [pytest.approx(0.5), pytest.approx(0.5), None, "work_unpriced"],
    }


def test_what_has_neither_a_label_nor_a_price_may_be_of_either_bucket() -> None:
    """Of ten at a dollar 3 were accepted, 1 rejected, 6 have no label; an eleventh has no price besides."""
    verdicts = ["accepted"] * 3 + ["rejected"] + ["unlabelled"] * 6
    tries = [Try(f"{n}", verdict, 0, 100, f"r{n}", "p") for n, verdict in enumerate(verdicts)]
    slow = Try("slow", "slow", 0, 100, "rs", "p")
    (known, _), (partly, _) = (
        spent([*tries, slow, *more], Quality()) for more in ([], [Try("x", "unlabelled", 0, 100, "s", "q")])
    )
    before = buckets(known, ENDS, "pool", pool="p")
    assert before == buckets(partly, ENDS, "pool", pool="p")
    after = buckets(partly, ENDS)
    for bucket in ("accepted", "rejected"):
        assert before[bucket][3] is None
        assert after[bucket][:1] == pytest.approx(before[bucket][:1])
        assert after[bucket][2:] == [None, "work_unpriced"]
    assert after["slow"] == [pytest.approx(1.0)] * 3 + [None]


def test_a_price_is_the_least_and_a_wasted_share_that_of_what_has_a_price(tmp_path: Path) -> None:
    frame = goodput(tmp_path, *spent([*PRICED, UNPRICED]))
    (row,) = frame.filter(slice="overall").to_dicts()
    assert (row["unpriced"], row["cost_usd"]) == (1, pytest.approx(1.5))
    assert told(row, PRICE) == [pytest.approx(1.5), pytest.approx(1.5), None, "work_unpriced"]
    assert told(row, WASTED) == [pytest.approx(1 / 3), None, None, "work_unpriced"]
    (whole,) = frame.filter(slice="pool", pool="p").to_dicts()
    assert whole["unpriced"] == 0
    assert told(whole, PRICE) == [pytest.approx(1.5)] * 3 + [None]
    assert told(whole, WASTED) == [pytest.approx(1 / 3)] * 3 + [None]
    (none,) = frame.filter(slice="pool", pool="q").to_dicts()
    assert (none["unpriced"], none["no_cost_interval"], none["no_wasted_interval"]) == (1, *["cost_unknown"] * 2)


def test_the_least_holds_whatever_the_rest_costs(tmp_path: Path) -> None:
    """The same work with a rate for pool q, from nothing to ten times that of p: all ends hold what is true then."""
    tries = [*PRICED, Try("c", "slow", 0, 60, "s", "q"), Try("d", "accepted", 60, 90, "s", "q")]
    waste, ended = spent(tries)
    (least,) = goodput(tmp_path, waste, ended).filter(slice="overall").to_dicts()
    rows = [attempt_row(of) for of in tries]
    for rate in (0.0001, 0.01, 0.1):
        true = wasted(charged(Fleet(rates={"p": 0.01, "q": rate}), attempts=rows), 300, ended=ended)
        (row,) = goodput(tmp_path, true, ended).filter(slice="overall").to_dicts()
        assert least["cost_per_accepted_ci_low_usd"] <= row["cost_per_accepted_usd"]
        dollars = {bucket: usd for bucket, (usd,) in buckets(true, ["usd"]).items()}
        for bucket, (_, low, high, _) in buckets(waste, ENDS).items():
            assert (low or 0) <= dollars[bucket]
            assert high is None or dollars[bucket] <= high + 1e-9


def test_loads_are_priced_by_windows_that_have_a_price_for_all_of_their_work(tmp_path: Path) -> None:
    rows = load(0, 600) + [row | {"request_key": f"o{n}", "workload": "o"} for n, row in enumerate(load(0, 60))]
    both = one_workload(ttft_s=1.0).model_copy(update={"workloads": {n: Workload(ttft_s=1.0) for n in ("qa", "o")}})
    found = [
        frontiers(tmp_path, rows, settings=both, cost_usd=4.8, partly=partly).filter(slice="route").to_dicts()[0]
        for partly in (None, "o")
    ]
    assert found[0]["cost_per_accepted_usd"] == pytest.approx(2 * 4.8 / 660)
    assert (found[1]["cost_per_accepted_usd"], found[1]["no_cost_interval"]) == (None, "cost_unknown")


def test_an_operation_of_which_a_part_has_no_price_has_none() -> None:
    """What it lost is known all the same; windows of before that are partly priced are not compared with."""
    before = [*steady(-60, 0, cost_usd=0.01, unpriced=4), *steady(0, 60)]
    cold = {"accepted": 60, "hit": 100, "p95_ttft_s": 2.0}
    (whole,) = disruptions([*before, *steady(60, 75, **cold), *steady(75, 120)], [event(62)]).values()
    assert whole["excess_cost_usd"] == pytest.approx(3 * 1.08 - 180 * 1.08 / 90)
    during = [window(60, **cold), window(65, **cold, unpriced=1), window(70, **cold)]
    (partly,) = disruptions([*before, *during, *steady(75, 120)], [event(62)]).values()
    assert (partly["cost_usd"], partly["excess_cost_usd"], partly["no_interval"]) == (None, None, "cost_unknown")
    assert partly["lost_accepted"] == whole["lost_accepted"] == pytest.approx(90)


def test_a_kind_of_operations_of_which_a_part_has_no_price_has_none() -> None:
    windows = day(own(a=0.4, b=0.4), own(a=0.4, b=0.4))
    at = SEPARATE[0]["occurred_at"]
    partly = [
        row | {"unpriced": 2} if row["window_start"] <= at < row["window_start"] + timedelta(minutes=5) else row
        for row in windows
    ]
    for given, reason in ((windows, None), (partly, "cost_unknown")):
        rows = costs(given, SEPARATE)["disruption_cost"]
        assert {row["no_interval"] for row in rows} == {reason}
