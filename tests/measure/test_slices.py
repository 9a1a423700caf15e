"""Slices by model, tenant and attribute: every request and dollar once in each (docs/semantics.md#slices)."""

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from goodput.settings.model import Settings, Slices
from published import ask, run_at
from river import VERDICTS, Row, at, judged, one_workload, row_of, windows

SLICED = Slices(by=("tenant", "attributes.acme.team"))
COUNTS = ("offered", "arrivals", "succeeded", *VERDICTS, "n_ttft")


def sliced(slices: Slices = SLICED) -> Settings:
    return one_workload().model_copy(update={"slices": slices})


def value_of(request: Row, name: str) -> str:
    """What a request counts as in a slice."""
    if name == "tenant":
        return request["tenant"] or "unknown"
    found = json.loads(request["attributes"] or "{}").get(name.removeprefix("attributes."))
    return found or "unknown"


@pytest.fixture(scope="module")
def busy() -> list[Row]:
    chance = random.Random(7)

    def one(n: int) -> Row:
        end = chance.uniform(1, 3599)
        team = chance.choice(["a", "b", 'it\'s "c"', None])
        return judged(
            f"r{n}",
            chance.choice(VERDICTS),
            end,
            start=end - chance.uniform(0.1, 900),
            workload=chance.choice(["qa", "unassigned"]),
            tenant=chance.choice(["t1", "t2", None]),
            attributes=json.dumps({"acme.team": team, "other": "x"})
            if team
            else chance.choice([None, '{"other":"x"}']),
            ttft_s=chance.choice([None, chance.random()]),
        )

    return [one(n) for n in range(300)]


@pytest.fixture(scope="module")
def measured(busy: list[Row], tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return windows(tmp_path_factory.mktemp("busy"), busy, sliced(), (300, 3600))


def test_a_slice_by_tenant_or_attribute_counts_the_requests_of_each_value(
    busy: list[Row], measured: pl.DataFrame
) -> None:
    for name in SLICED.by:
        rows = measured.filter(slice=name).to_dicts()
        assert {row["slice_value"] for row in rows} == {value_of(r, name) for r in busy}
        for row in rows:
            start, mine = row["window_start"].timestamp(), [r for r in busy if value_of(r, name) == row["slice_value"]]
            ended = [r for r in mine if start <= r["ended_at"].timestamp() < start + row["window_s"]]
            verdicts = Counter(r["verdict"] for r in ended)
            assert {v: row[v] for v in VERDICTS} == {v: verdicts[v] for v in VERDICTS}
            arrived = [r for r in mine if start <= r["arrived_at"].timestamp() < start + row["window_s"]]
            assert (row["offered"], row["arrivals"]) == (len(ended), len(arrived))
            times = [r["ttft_s"] for r in ended if r["pass_success"] and r["ttft_s"] is not None]
            assert row["p95_ttft_s"] == (pytest.approx(np.percentile(times, 95)) if times else None)
            assert (row["workload"], row["model"], row["pool"], row["route"]) == (None, None, None, None)


def test_every_slice_adds_up_to_the_whole(measured: pl.DataFrame) -> None:
    keys = ["window_s", "window_start"]
    whole = measured.filter(slice="overall").select(*keys, *COUNTS).sort(keys)
    for name in measured["slice"].unique():
        added = measured.filter(slice=name).group_by(keys).agg(pl.sum(*COUNTS)).sort(keys)
        assert added.equals(whole), name


def test_keys_are_unique_and_a_value_stands_where_it_cuts(measured: pl.DataFrame) -> None:
    keys = ["window_s", "window_start", "slice", "slice_value", "workload", "model", "pool", "route"]
    assert measured.select(keys).is_duplicated().sum() == 0
    assert (measured["slice_value"].is_not_null() == measured["slice"].is_in(SLICED.by)).all()


def test_what_is_not_asked_for_changes_nothing_else(busy: list[Row], measured: pl.DataFrame, tmp_path: Path) -> None:
    plain = windows(tmp_path, busy, one_workload(), (300, 3600))
    assert plain["slice_value"].null_count() == plain.height
    assert measured.filter(~pl.col("slice").is_in(SLICED.by)).equals(plain)


def test_labels_are_estimated_within_each_workload_of_a_value(tmp_path: Path) -> None:
    rows = [judged(f"a{n}", "accepted", n + 1.0, gated=True, tenant="a") for n in range(3)]
    rows += [judged("a3", "rejected", 4.0, tenant="a"), *(judged(f"a{n}", "unlabelled", n, tenant="a") for n in (5, 6))]
    rows += [judged("b0", "rejected", 7.0, tenant="b"), judged("b1", "unlabelled", 8.0, tenant="b")]
    settings = one_workload(quality={}).model_copy(update={"slices": SLICED})
    found = windows(tmp_path, rows, settings)
    # of a, 3 of 4 labelled passed, so 4.5 of 6; of b none of 1
    assert row_of(found, slice="tenant", slice_value="a")["goodput_rps"] * 300 == pytest.approx(4.5)
    assert row_of(found, slice="tenant", slice_value="b")["goodput_rps"] == 0


def test_values_that_are_not_kept_apart_have_their_cells_in_common(tmp_path: Path) -> None:
    """Of b and c together 2 of 8 on a route are labelled, and none of 20 on another: one passed, one did not.

    2 of 28 are 4/7 of the 8 and 10/7 of the 20: chi-square is (10/7)^2 / (8 x 13/196) + (10/7)^2 / (20 x 13/196) = 5.4
    of one degree of freedom. So the route is a stratum of its own, 2 of 8 drawn; of the 20 nothing is known.
    """
    named = [("a", "r", "accepted")] * 60
    named += [(name, "r", "unlabelled") for name in "bc" for _ in range(3)] + [
        ("b", "r", "accepted"),
        ("c", "r", "rejected"),
    ]
    named += [("b", "s", "unlabelled")] * 20
    rows = [
        judged(f"{n}", verdict, n + 1.0, gated=True, tenant=name, route=route)
        for n, (name, route, verdict) in enumerate(named)
    ]
    settings = one_workload(quality={}).model_copy(update={"slices": Slices(by=("tenant",), max_values=1)})
    other = row_of(windows(tmp_path, rows, settings), slice="tenant", slice_value="(other)")
    size, square = 2 * 7 / 6, 1.959963984540054**2
    half = square / (1 + square / size) / size / square**0.5 * (size / 4 + square / 4) ** 0.5
    ends = [other[f"goodput{end}_rps"] * 300 for end in ("_ci_low", "", "_ci_high")]
    assert ends == pytest.approx([max(1, 8 * (0.5 - half)), 14, min(7, 8 * (0.5 + half)) + 20])


def test_a_crowded_window_keeps_the_values_of_most_requests(tmp_path: Path) -> None:
    tenants = ["a"] * 4 + ["b"] * 3 + ["c"] * 3 + ["d"] * 2 + ["e"] + [None] * 2
    rows = [judged(f"r{n}", "accepted", n + 1.0, tenant=name, ttft_s=n / 10) for n, name in enumerate(tenants)]
    rows += [judged(f"s{n}", "accepted", 400.0 + n, start=390.0, tenant=name) for n, name in enumerate("de")]
    rows += [judged("w", "accepted", 500.0, start=10.0, tenant="z")]  # arrives in the crowded window
    found = windows(tmp_path, rows, sliced(Slices(by=("tenant",), max_values=3)), (300, 3600))

    def offered(minute: float, window_s: int) -> dict[str, int]:
        mine = found.filter(slice="tenant", window_s=window_s, window_start=at(60 * minute))
        return dict(mine.select("slice_value", "offered").iter_rows())

    assert offered(0, 300) == {"a": 4, "b": 3, "c": 3, "(other)": 3, "unknown": 2}
    assert offered(5, 300) == {"d": 1, "e": 1, "z": 1}
    assert offered(0, 3600) == {"a": 4, "b": 3, "c": 3, "(other)": 6, "unknown": 2}  # d, e and z
    other = row_of(found, slice="tenant", slice_value="(other)")
    assert (other["arrivals"], other["n_ttft"]) == (4, 3)
    assert other["p50_ttft_s"] == pytest.approx(1.1)  # of 1.0, 1.1, 1.2


def test_a_value_that_telemetry_itself_calls_other_is_never_kept_apart(tmp_path: Path) -> None:
    """Here it has most requests: kept, it would look like what the limit leaves out, and lack its requests."""
    rows = [judged(f"r{n}", "accepted", n + 1.0, tenant=name) for n, name in enumerate([*["(other)"] * 5, *"aaabbc"])]

    def offered(max_values: int) -> dict[str, int]:
        found = windows(tmp_path, rows, sliced(Slices(by=("tenant",), max_values=max_values)), (300,))
        return dict(found.filter(slice="tenant").select("slice_value", "offered").iter_rows())

    assert offered(4) == {"(other)": 5, "a": 3, "b": 2, "c": 1}
    assert offered(2) == {"(other)": 6, "a": 3, "b": 2}


@pytest.mark.parametrize("by", ["model", "attributes.", "team", ["tenant", "tenant"]])
def test_what_is_no_slice_is_refused(by: str | list[str]) -> None:
    with pytest.raises(ValueError, match=r"no slice|listed twice"):
        Slices.model_validate({"by": by})


KEY_USED_AGAIN = """
landing = ["landing"]
windows_s = [3600, 86400]
[alarms]
enabled = false
[slices]
by = ["tenant"]
[workloads.all]
e2e_s = 60.0
[rates.gpu]
usd_per_gpu_hour = 36.0
[sources.log]
format = "csv"
path = "log.csv"
[sources.log.columns]
attempt_id = "id"
request_key = "key"
tenant = "tenant"
started_at = { column = "start", unit = "iso8601" }
ended_at = { column = "end", unit = "iso8601" }
outcome = "outcome"
[sources.log.constants]
replica = "vllm-0"
layer = "engine"
"""


def test_a_key_that_is_used_again_names_two_requests_of_one_hour_and_their_money_counts_once(tmp_path: Path) -> None:
    """The first was never seen to end, and so ended an hour after it began, in the hour in which the second one did."""
    (tmp_path / "landing").mkdir()
    day = "2026-11-20"
    lines = [
        "id,key,tenant,start,end,outcome",
        f"a,k,t1,{day}T08:20:00Z,,unknown",
        f"b,k,t2,{day}T09:40:00Z,{day}T09:40:10Z,ok",
        f"c,,t1,{day}T10:00:00Z,{day}T10:00:01Z,ok",
    ]
    (tmp_path / "landing/log.csv").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "goodput.toml").write_text(KEY_USED_AGAIN)
    workspace = run_at(tmp_path / "goodput.toml")
    requests = "SELECT delivering_attempt_id, verdict FROM requests WHERE request_key = 'k' ORDER BY ALL"
    assert ask(workspace, requests).rows() == [("a", "failed"), ("b", "accepted")]
    offered = "SELECT offered FROM goodput WHERE slice = 'overall' AND window_s = 86400"
    assert ask(workspace, offered).rows() == [(3,)]
    dollars = "SELECT slice, sum(usd) FROM waste WHERE window_s = 86400 GROUP BY slice"
    by_slice = dict(ask(workspace, dollars).rows())
    assert by_slice["tenant"] == pytest.approx(by_slice["overall"])
    assert by_slice["overall"] > 0.1  # ten seconds at a cent a second, at least
