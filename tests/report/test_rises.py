"""Where p99 rose and what moved with it, by windows of five minutes whose truth is plain."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from goodput.contracts import arrow_schema
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import sql_file
from goodput.report.catalog import all_charts

BEGIN = datetime(2026, 11, 20, 9, tzinfo=UTC)
WINDOW = timedelta(seconds=300)
CHART = next(chart for chart in all_charts() if chart.name == "rise_facts")
LEVEL = (1.0, 1.2, 0.9, 1.1, 1.0)  # p99 of the first token, in seconds: median 1.0, highest 1.2
Rows = list[dict[str, Any]]


def at(nth: float) -> datetime:
    return BEGIN + nth * WINDOW


def row(relation: str, **given: Any) -> dict[str, Any]:
    return {field.name: given.get(field.name) for field in arrow_schema(relation)}


def served(p99: Sequence[float], workload: str = "chat", pool: str = "chat", **more: Sequence[Any]) -> Rows:
    """Windows of a workload in a pool of its own, and as the finest slice has them; 200 answers each."""
    usual = {"p99_queue_s": 0.1, "n_ttft": 200, "n_queue": 200, "arrivals": 200, "offered": 200, "failed": 2}
    usual |= {"retry_ratio": 0.01, "partial": False, "window_s": 300, "workload": workload, "pool": pool}
    found = []
    for nth, seconds in enumerate(p99):
        own = {name: values[nth] for name, values in more.items()}
        told = {**usual, "window_start": at(nth), "p99_ttft_s": seconds, **own}
        found.append(row("goodput", **told, slice="workload_pool"))
        found.append(row("goodput", **told, slice="finest", model="m", route="r"))
    return found


def replicas(windows: int, pool: str = "chat", **more: Sequence[Any]) -> Rows:
    usual = {"window_s": 300, "pool": pool, "up_s": 300.0, "n_input": 100, "input_tokens": 50_000}
    usual |= {"attempts": 150, "long_input_tokens": 0, "mean_kv_usage_ratio": 0.4, "preemptions": 0, "restarts": 0}
    return [
        row(
            "replica_windows",
            **{**usual, "window_start": at(nth), "replica": name, **{key: v[nth] for key, v in more.items()}},
        )
        for nth in range(windows)
        for name in ("a", "b")
    ]


def caches(hits: Sequence[float]) -> Rows:
    named = {"window_s": 300, "pool": "chat", "replica": "a", "looked_up_tokens": 1000}
    return [row("cache_by_replica", **named, window_start=at(nth), hit_ratio=hit) for nth, hit in enumerate(hits)]


def operation(kind: str, nth: float, pool: str | None) -> dict[str, Any]:
    return row("disruptions", event_id=f"{kind} {nth} {pool}", kind=kind, occurred_at=at(nth), pool=pool)


def facts(goodput: Rows, choice: Mapping[str, Any] | None = None, **others: Rows) -> pl.DataFrame:
    """The rows of the chart for one choice, all requests without one."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        tables = {
            "goodput": goodput,
            **{name: [] for name in ("replica_windows", "cache_by_replica", "disruptions")},
            **others,
        }
        for name, rows in tables.items():
            connection.register(name, pa.Table.from_pylist(rows, schema=arrow_schema(name)))
        period = {"period": "all", "from_at": BEGIN, "until_at": at(99), "whole_s": 3600, "drawn_s": 300}
        register(connection, "shown_periods", as_rows("shown_periods", period))
        chosen = {"choice": 0, **(choice or {"slice": "overall"})}
        register(connection, "shown_slices", as_rows("shown_slices", chosen))
        connection.execute(f"CREATE TEMP TABLE p99_rises AS {sql_file('p99_rises').text}")
        return pl.DataFrame(connection.sql(sql_file(CHART.name).text).to_arrow_table())


def answer(found: pl.DataFrame) -> str:
    return CHART.answer(found.with_columns(pl.selectors.datetime().dt.epoch("ms")).to_dicts())


RISEN = (*LEVEL, 1.8, 3.0, 2.5, 1.1)  # from the sixth window to the eighth


def test_a_rise_is_told_with_what_moved_in_its_window() -> None:
    goodput = served(
        RISEN,
        p99_queue_s=[0.1] * 6 + [1.5] + [0.1] * 2,
        arrivals=[200] * 6 + [220] + [200] * 2,  # a tenth more is much as before
        failed=[2] * 6 + [20] + [2] * 2,
    )
    found = facts(
        [*goodput, *served([0.5] * 9, "rag", "rag")],
        replica_windows=replicas(9, input_tokens=[50_000] * 6 + [80_000] + [50_000] * 2),
        cache_by_replica=caches([0.5] * 6 + [0.2] + [0.5] * 2),
        disruptions=[
            operation("deployment", 5.2, "chat"),
            operation("scale_out", 6.9, None),  # of the fleet
            operation("restart", 6.5, "rag"),  # of another pool
            operation("salt_rotation", 3.9, "chat"),  # before the window before it began
        ],
    )
    assert answer(found) == (
        "The p99 of the first token of workload chat, pool chat rose most, at 20 Nov 09:30 UTC: 3 s, beside 1 s as the "
        "median of the 3 windows before (half above usual or more from 20 Nov 09:25 to 20 Nov 09:40).\n"
        "What came: deployment of chat at 09:26 (4 min before); scale out of the fleet at 09:34 (in the window); input "
        "tokens an attempt 500 to 800.\nWhat the fleet showed: p99 of the queue 0.1 s to 1.5 s; input found in "
        "cache 50.0 % to 20.0 %; requests that failed 1.0 % to 10.0 %.\nMoved: beyond each of the windows before, "
        "to 1.25 times their median or as little, and by at least 2 points of a share, 10 of a count, 0.05 s, half a "
        "replica or one restart. Not moved: requests that arrived 200 to 220, share of other workloads, share of long "
        "contexts, "
        "KV cache in use, preemptions, replicas up, restarts of replicas, requests tried again. What moves "
        "together need not be cause and effect."
    )


@pytest.mark.parametrize(
    "p99",
    [
        (*LEVEL, 1.49),  # not half as much again as 1.0
        (1.0, 1.6, 1.0, 1.0, 1.0, 1.6),  # once before it was as high
        tuple(0.1 * level for level in (*LEVEL, 1.9)),  # by less than a tenth of a second
    ],
)
def test_little_is_no_rise(p99: Sequence[float]) -> None:
    found = facts(served(p99), disruptions=[operation("deployment", 5.2, "chat")])
    assert answer(found).startswith("No p99 rose: ")
    assert found["name"].to_list() == ["p99 of the first token"]
    assert found["times"].to_list() == [None]


def test_a_choice_is_told_of_its_own_windows_alone() -> None:
    goodput = [*served(RISEN), *served([2.0] * 9, "rag", "rag")]
    chosen = {"slice": "workload", "workload": "rag"}
    assert answer(facts(goodput, chosen)).startswith("No p99 rose: ")
    assert facts(goodput, {"slice": "pool", "pool": "chat"})["is_rise"].all()
    tenants = [
        {**one, "slice": "tenant", "slice_value": name, "workload": None, "pool": None, "p99_ttft_s": level}
        for name, levels in (("acme", RISEN), ("globex", LEVEL))
        for one, level in zip(served(levels)[::2], levels, strict=True)
    ]
    found = facts([*goodput, *tenants], {"slice": "tenant", "slice_value": "acme"}, replica_windows=replicas(9))
    assert answer(found).startswith("The p99 of the first token of tenant acme rose most, at 20 Nov 09:30 UTC: 3 s")
    assert "replicas up" not in found["name"].to_list()  # nobody knows whose replicas a tenant was on
    assert answer(facts([*goodput, *tenants], {"slice": "tenant", "slice_value": "globex"})).startswith("No p99 rose")


def test_a_route_is_told_of_the_replicas_of_its_only_pool() -> None:
    routed = [{**one, "slice": "workload_route", "route": "r", "pool": None} for one in served(RISEN)[::2]]
    chosen = {"slice": "workload_route", "workload": "chat", "route": "r"}
    found = facts(
        [*served(RISEN), *routed], chosen, replica_windows=replicas(9, up_s=[300.0] * 6 + [150.0] + [300.0] * 2)
    )
    assert "replicas up 2.0 to 1.0" in answer(found)


def test_windows_that_say_little_are_left_out() -> None:
    """Of 99 answers, or observed in part: neither the rise nor what was usual before it is of these."""
    few = served((*LEVEL, 9.0), n_ttft=[200] * 5 + [99])
    partly = served((*LEVEL, 9.0), partial=[False] * 5 + [True])
    for goodput in (few, partly):
        assert answer(facts(goodput)).startswith("No p99 rose: ")
    assert facts(served((1.0, 1.0, 9.0))).is_empty()  # two windows before it are too few to say what is usual


def test_what_is_long_ago_is_not_usual() -> None:
    """Twelve windows before are an hour: of a step an hour later only the new level is known."""
    found = facts(served((*[1.0] * 4, *[3.0] * 14)))
    assert found["began_at"][0] == at(4)
    assert (found["windows_before"][0], found["over_at"][0]) == (3, None)
    assert "half above usual or more from 20 Nov 09:20 on" in answer(found)


def test_attempts_that_report_no_input_are_no_shorter_prompts() -> None:
    """Attempts that time out report none: of 100 that do, 500 tokens each, half as many report 500 each."""
    halved = {"input_tokens": [50_000] * 6 + [25_000] + [50_000] * 2, "n_input": [100] * 6 + [50] + [100] * 2}
    found = facts(served(RISEN), replica_windows=replicas(9, **halved))
    (row,) = found.filter(name="input tokens an attempt").to_dicts()
    assert (row["before_says"], row["now_says"], row["is_moved"]) == ("500", "500", False)


def test_what_one_of_the_windows_before_had_did_not_come_with_the_rise() -> None:
    """Hits fell to 0.28 after 0.5, 0.5 and 0.25: 1.25 times less than their median, and more than just before."""
    (row,) = (
        facts(served(RISEN), cache_by_replica=caches([0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.28]))
        .filter(name="input found in cache")
        .to_dicts()
    )
    assert (row["before_says"], row["now_says"], row["is_moved"]) == ("50.0 %", "28.0 %", False)


def test_a_restart_is_told_though_as_many_replicas_are_up() -> None:
    found = facts(served(RISEN), replica_windows=replicas(9, restarts=[0] * 6 + [1] + [0] * 2))
    assert "restarts of replicas 0 to 2" in answer(found)


@pytest.mark.parametrize(("now", "is_said"), [(0.24, True), (0.0, False), (0.1, False)])
def test_a_p99_of_requests_tried_again_has_the_tries_before(now: float, is_said: bool) -> None:
    found = facts(served(RISEN, retry_ratio=[0.1] * 6 + [now] + [0.1] * 2))
    assert ("The times of requests tried again include their earlier tries." in answer(found)) is is_said


@pytest.mark.parametrize(("up_s", "is_moved"), [(675.0, True), (690.0, False), (825.0, True)])
def test_half_a_replica_of_many_is_told(up_s: float, is_moved: bool) -> None:
    """Of five (two rows of 2.5) 0.5 less or more, and 0.4 less: one in ten gone is not 1.25 times less."""
    found = facts(served(RISEN), replica_windows=replicas(9, up_s=[750.0] * 6 + [up_s] + [750.0] * 2))
    (row,) = found.filter(name="replicas up").to_dicts()
    assert row["is_moved"] is is_moved


def test_what_grew_for_long_is_compared_with_what_it_was_just_before() -> None:
    """Of 100, 200, 300, 400 and 500 arrivals a step to 550 is one of 1.4 times 400, not of 1.8 times 300."""
    found = facts(served((*LEVEL, 9.0), arrivals=[100, 200, 300, 400, 500, 550]))
    (arrived,) = [row for row in found.to_dicts() if row["name"] == "requests that arrived"]
    assert (arrived["before_says"], arrived["now_says"]) == ("400", "550")


def test_the_mix_of_a_pool_is_told() -> None:
    batch = served([1.0] * 9, "batch", "chat", arrivals=[0] * 6 + [200] + [0] * 2, n_ttft=[0] * 9)
    assert "share of other workloads 0.0 % to 50.0 %" in answer(facts([*served(RISEN), *batch]))


@pytest.mark.parametrize(
    ("hit", "is_moved"),
    [
        (0.4, True),  # 1.25 times as little
        (0.41, False),
        (0.625, True),  # 1.25 times as much
        (0.62, False),
        (0.1, True),
    ],
)
def test_what_moved_is_of_one_size_up_or_down(hit: float, is_moved: bool) -> None:
    found = facts(served(RISEN), cache_by_replica=caches([0.5] * 6 + [hit] + [0.5] * 2))
    (row,) = found.filter(name="input found in cache").to_dicts()
    assert row["is_moved"] is is_moved
    small = facts(served(RISEN, retry_ratio=[0.01] * 6 + [0.025] + [0.01] * 2))  # 2.5 times, but not by 2 points
    assert not small.filter(name="requests tried again")["is_moved"].any()


def test_what_fell_before_the_rise_was_on_its_way() -> None:
    """Of 46, 36 and 25 % a rise at 28 % moved nothing, and yet hits are 1.25 times less than they were."""
    found = facts(served(RISEN), cache_by_replica=caches([0.46, 0.46, 0.46, 0.36, 0.25, 0.27, 0.28]))
    (row,) = found.filter(name="input found in cache").to_dicts()
    assert (row["is_moved"], row["earliest_says"], row["earliest_at"]) == (False, "46.0 %", at(2))
    assert row["times"] == pytest.approx(0.28 / 0.46)  # as it is told, and not beside the median of 0.27
    assert "Already moving since 09:10: input found in cache 46.0 % to 28.0 %." in answer(found)
    assert "input found in cache" not in answer(found).split("Not moved: ")[1]
    steady = facts(served(RISEN), cache_by_replica=caches([0.46, 0.46, 0.3, 0.36, 0.25, 0.27, 0.28]))
    assert "On its way" not in answer(steady)


def test_rises_at_other_times_and_places_are_named() -> None:
    """Twice as high at 09:30 and at 10:00, most at 09:45, in which a rise of two windows ends."""
    chat = [*LEVEL, 1.0, 2.0, 1.1, 2.5, 3.0, 1.0, 1.0, 1.0, 9.0]
    found = facts([*served(chat), *served([1.0] * 12 + [2.0], "rag", "rag")])
    assert answer(found).startswith("The p99 of the first token of workload chat, pool chat rose most, at 20 Nov 10:05")
    assert answer(found).endswith(
        "Other rises: first token of workload chat, pool chat at 20 Nov 09:45: 3 s beside 1.1 s; first token of "
        "workload chat, pool chat at 20 Nov 09:30: 2 s beside 1 s; first token of workload rag, pool rag at "
        "20 Nov 10:00: 2 s beside 1 s."
    )
    assert "Other rises" not in answer(facts(served(RISEN)))


def test_every_fact_that_is_told_has_its_place_in_the_picture() -> None:
    """From nothing to something there is no multiple: a mark stands where nothing changed, as of an operation."""
    found = facts(
        served(RISEN),
        replica_windows=replicas(9, preemptions=[0] * 6 + [16] + [0] * 2),
        disruptions=[operation("deployment", 5.0, "chat")],
    )
    times = dict(zip(found["name"], found["times"], strict=True))
    assert times["preemptions"] == 1
    assert found.filter("is_of_nothing")["name"].to_list() == ["preemptions"]
    assert times["deployment of chat at 09:25"] == 1
    assert found["times"].null_count() == 0
    assert "deployment of chat at 09:25 (5 min before)" in answer(found)


@pytest.mark.parametrize("seed", range(4))
def test_of_latencies_that_rose_alike_the_first_token_is_told_in_any_order(seed: int) -> None:
    # answers that are not streamed have their first token at their end
    rag = (*(level / 2 for level in LEVEL), 1.0, 1.0, 0.5, 0.5)
    whole = served(rag, "rag", "rag", p99_e2e_s=rag, n_e2e=[200] * 9)
    found = facts(Random(seed).sample([*served(RISEN), *whole], 36))
    assert set(found["other_rises"]) == {"first token of workload rag, pool rag at 20 Nov 09:25: 1 s beside 0.5 s"}
