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
WITHIN = Slices(by=("workload_tenant", "tenant", "workload_attributes.acme.team"))
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


@pytest.fixture(scope="module")
def within(busy: list[Row], tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return windows(tmp_path_factory.mktemp("within"), busy, sliced(WITHIN), (300, 3600))


def test_a_slice_within_workloads_counts_the_requests_of_each_value_and_workload(
    busy: list[Row], within: pl.DataFrame
) -> None:
    for name in ("workload_tenant", "workload_attributes.acme.team"):
        rows, cut = within.filter(slice=name).to_dicts(), name.removeprefix("workload_")
        assert {(row["workload"], row["slice_value"]) for row in rows} == {
            (r["workload"], value_of(r, cut)) for r in busy
        }
        for row in rows:
            start, whose = row["window_start"].timestamp(), (row["workload"], row["slice_value"])
            mine = [r for r in busy if (r["workload"], value_of(r, cut)) == whose]
            ended = [r for r in mine if start <= r["ended_at"].timestamp() < start + row["window_s"]]
            verdicts = Counter(r["verdict"] for r in ended)
            assert {v: row[v] for v in VERDICTS} == {v: verdicts[v] for v in VERDICTS}
            arrived = [r for r in mine if start <= r["arrived_at"].timestamp() < start + row["window_s"]]
            assert (row["offered"], row["arrivals"]) == (len(ended), len(arrived))
            times = [r["ttft_s"] for r in ended if r["pass_success"] and r["ttft_s"] is not None]
            found = [row[f"p{percent}_ttft_s"] for percent in (50, 95, 99)]
            assert found == (pytest.approx(list(np.percentile(times, [50, 95, 99]))) if times else [None] * 3)
            assert (row["model"], row["pool"], row["route"]) == (None, None, None)


def test_workloads_of_a_value_add_up_to_it_and_it_is_the_same_beside_them(
    within: pl.DataFrame, measured: pl.DataFrame
) -> None:
    keys = ["window_s", "window_start", "slice_value"]
    added = within.filter(slice="workload_tenant").group_by(keys).agg(pl.sum(*COUNTS)).sort(keys)
    assert added.equals(within.filter(slice="tenant").select(*keys, *COUNTS).sort(keys))
    assert within.filter(slice="tenant").equals(measured.filter(slice="tenant"))


def test_where_all_are_of_one_tenant_its_workloads_are_the_workloads(tmp_path: Path) -> None:
    """Labels, their estimates and intervals too."""
    chance = random.Random(7)
    rows = [
        judged(
            f"r{n}",
            chance.choice(["accepted", "rejected", "unlabelled"]),
            1.0 + n,
            gated=True,
            tenant="t",
            workload=name,
        )
        for n, name in enumerate(["a", "b"] * 90)
    ]
    workload = one_workload(quality={}).workloads["qa"]
    settings = sliced(WITHIN).model_copy(update={"workloads": {"a": workload, "b": workload}})
    found = windows(tmp_path, rows, settings)
    shown = found.filter(pl.col("goodput_ci_low_rps") < pl.col("goodput_ci_high_rps"))
    one, other = (shown.filter(slice=name).drop("slice", "slice_value") for name in ("workload", "workload_tenant"))
    assert one.height == 2
    assert other.equals(one)


def test_values_are_kept_apart_within_workloads_by_all_of_their_requests(tmp_path: Path) -> None:
    """b has most of x, and is one of the others there as everywhere: the values that are kept are a window's."""
    named = [("x", "b")] * 3 + [("x", "a")] * 2 + [("y", "a")] * 2
    rows = [
        judged(f"r{n}", "accepted", n + 1.0, tenant=tenant, workload=workload)
        for n, (workload, tenant) in enumerate(named)
    ]
    found = windows(tmp_path, rows, sliced(Slices(by=("workload_tenant",), max_values=1)))
    counted = found.filter(slice="workload_tenant").select("workload", "slice_value", "offered")
    assert set(counted.iter_rows()) == {("x", "(other)", 3), ("x", "a", 2), ("y", "a", 2)}


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


NO_SLICE = ("model", "attributes.", "team", "workload_model", "workload_attributes.", "workload_workload_tenant")


@pytest.mark.parametrize("by", [*NO_SLICE, ["tenant", "tenant"], ["workload_tenant", "workload_tenant"]])
def test_what_is_no_slice_is_refused(by: str | list[str]) -> None:
    with pytest.raises(ValueError, match=r"no slice|listed twice"):
        Slices.model_validate({"by": by})


def test_an_attribute_that_a_slice_is_cut_by_is_kept_whatever_the_slice() -> None:
    assert sliced(WITHIN).kept_attributes == ("acme.team",)


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


MONEY_ALONE = """
landing = ["landing"]
windows_s = [300, 3600]
[alarms]
enabled = false
[slices]
by = [{by}]
[workloads.qa]
match = {{ tenant = "t1" }}
[workloads.qa.quality]
[workloads.other]
match = {{ tenant = "t2" }}
[rates.gpu]
usd_per_gpu_hour = 36.0
[sources.log]
format = "csv"
path = "log.csv"
[sources.log.columns]
attempt_id = "id"
tenant = "tenant"
started_at = {{ column = "start", unit = "iso8601" }}
ended_at = {{ column = "end", unit = "iso8601" }}
[sources.log.constants]
replica = "vllm-0"
pool = "p"
layer = "engine"
outcome = "ok"
[sources.bill]
format = "csv"
path = "bill.csv"
table = "cost_records"
[sources.bill.columns]
period_start = {{ column = "start", unit = "iso8601" }}
period_end = {{ column = "end", unit = "iso8601" }}
amount_usd = "usd"
workload = "workload"
tenant = "tenant"
"""


def test_windows_of_money_alone_are_told_apart_as_slices_are(tmp_path: Path) -> None:
    """An hour's bill for t1's qa, and one for all of t1: windows in which nobody asks have neither to share them."""
    day = "2026-11-20"
    (tmp_path / "landing").mkdir()
    log = [f"a,t1,{day}T08:20:00Z,{day}T08:20:10Z", f"b,t2,{day}T08:50:00Z,{day}T08:50:10Z"]
    (tmp_path / "landing/log.csv").write_text("id,tenant,start,end\n" + "".join(f"{line}\n" for line in log))
    bill = [f"{day}T08:00:00Z,{day}T09:00:00Z,12,qa,t1", f"{day}T08:00:00Z,{day}T09:00:00Z,24,,t1"]
    (tmp_path / "landing/bill.csv").write_text("start,end,usd,workload,tenant\n" + "".join(f"{one}\n" for one in bill))

    def published(by: str) -> pl.DataFrame:
        (tmp_path / "goodput.toml").write_text(MONEY_ALONE.format(by=by))
        asked = "SELECT * EXCLUDE (computed_at, revision) FROM goodput WHERE slice LIKE '%tenant' ORDER BY ALL"
        return ask(run_at(tmp_path / "goodput.toml"), asked)

    both, alone = published('"tenant", "workload_tenant"'), published('"tenant"')
    assert both.filter(slice="tenant").equals(alone)
    rows = both.filter(slice="workload_tenant")
    assert published('"workload_tenant"').equals(rows)
    assert rows["workload"].null_count() == 0
    silent = (
        rows.filter(window_s=300, offered=0).select("workload", "slice_value", "cost_usd").unique().sort("workload")
    )
    assert silent.rows() == [("qa", "t1", pytest.approx(1.0)), ("unknown", "t1", pytest.approx(2.0))]
    keys = ["window_s", "window_start", "slice_value"]
    added = rows.group_by(keys).agg(pl.sum("offered", "cost_usd")).sort(keys)
    for column in ("offered", "cost_usd"):
        whole = alone.select(*keys, column).sort(keys)[column].to_list()
        assert added[column].to_list() == pytest.approx(whole)
