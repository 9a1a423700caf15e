"""Counters become increases by the rules for resets, gaps and staleness, in whatever order they come.

See docs/semantics.md#cache-and-replicas.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodput.join.nodes import SAMPLES
from goodput.plumbing.assembly import assemble
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Context
from goodput.plumbing.plan import due, execute
from goodput.settings.model import Settings
from lakes import by_hour, put_sources, rows_in
from river import START_S, Row, at_ns

HOUR = START_S // 3600


def reading(at: float, value: float, series: str = "s", **given: Any) -> Row:
    """A reading of a cumulative counter `at` seconds after START_S; `start` is when the counter began, likewise."""
    start = given.pop("start", None)
    sampled_ns = at_ns(at)
    return {
        "record_id": f"{series}:{sampled_ns}",
        "series_id": series,
        "source_id": "a",
        "line": 1,
        "position": 0,
        "dialect": "vllm",
        "layer": "engine",
        "replica": "r",
        "metric": "finished_requests",
        "kind": "counter",
        "temporality": "cumulative",
        "emitted": "vllm:request_success",
        "labels": "{}",
        "preference": 0,
        "start_ns": None if start is None else at_ns(start),
        "sampled_ns": sampled_ns,
        "value": float(value),
        **given,
    }


def landed(lake: Lake, rows: Iterable[Row], chosen: Settings | None = None) -> Context:
    """The conformed parts of these rows, a part of each source."""
    put_sources(lake, "sample_records", by_hour(rows, "sampled_ns"))
    return Context(lake, chosen or Settings())


def sampled(rows: Sequence[Row], hours: Sequence[Sequence[int]] = ((0,),), **given: object) -> list[Row]:
    """Rows of replica_samples by series and time, the hours after START_S computed batch by batch."""
    with TemporaryDirectory() as folder:
        context = landed(Lake(Path(folder)), rows, Settings.model_validate(given))
        found: list[Row] = []
        for batch in hours:
            partitions = {hour_label(HOUR + hour): fingerprint(batch) for hour in batch}
            made = SAMPLES.compute(assemble(context, SAMPLES, partitions))
            found += rows_in(made["replica_samples"].values())
    return sorted(found, key=lambda row: (row["series_id"], row["sampled_ns"]))


def increases(rows: Sequence[Row], **given: Any) -> list[float | None]:
    return [row["increase"] for row in sampled(rows, **given)]


def test_a_gauge_covers_no_interval() -> None:
    rows = [
        reading(0, 5, kind="gauge"),
        reading(10, 6, kind="gauge"),
        reading(0, 5, series="t"),
        reading(10, 8, series="t"),
    ]
    assert [row["interval_s"] for row in sampled(rows)] == [None, None, None, 10.0]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        pytest.param([reading(0, 5), reading(10, 8), reading(20, 8)], [None, 3, 0], id="growth"),
        pytest.param([reading(0, 5), reading(10, 8), reading(20, 2), reading(30, 4)], [None, 3, 2, 2], id="a drop"),
        pytest.param(
            [reading(0, 5, start=-50), reading(10, 8, start=-50), reading(20, 9, start=12), reading(30, 11, start=12)],
            [None, 3, 9, 2],
            id="a new start that has already overtaken",
        ),
        pytest.param(
            [reading(0, 5, start=-50), reading(10, 8, start=-40), reading(20, 9, start=-50)],
            [None, 3, 1],
            id="starts that two writers disagree on are no reset",
        ),
        pytest.param(
            [reading(0, 5, start=-50, from_zero=True), reading(10, 8, start=-50, from_zero=True)],
            [5, 3],
            id="a first reading of what is known to have begun at 0",
        ),
        pytest.param(
            [reading(at, value, start=0, from_zero=True) for at, value in ((0, 1), (10, 1), (20, 4))],
            [1, 0, 3],
            id="begun in the second of its first reading",
        ),
        pytest.param(
            [reading(0, 5, start=-301, from_zero=True), reading(400, 8, start=310, from_zero=True)],
            [None, 8],
            id="begun too long ago, and begun anew in a gap",
        ),
        pytest.param(
            [reading(0, 500, start=-400), reading(10, 510, start=10), reading(20, 512, start=10)],
            [None, 10, 2],
            id="a collector that began anew gives the time of its first reading as the start",
        ),
        pytest.param([reading(0, 5), reading(301, 8), reading(311, 9)], [None, None, 1], id="a gap"),
        pytest.param([reading(0, 5), reading(300, 8)], [None, 3], id="as long as may be"),
        pytest.param([reading(0, 9), reading(400, 2)], [None, None], id="a reset within a gap"),
        pytest.param(
            [reading(at, value, temporality="delta", start=at - 10) for at, value in ((10, 4), (900, 1), (910, 0))],
            [4, 1, 0],
            id="deltas",
        ),
        pytest.param([reading(0, 5), reading(10, 5, kind="gauge", series="t")], [None, None], id="a gauge"),
        pytest.param([reading(20, 9), reading(0, 5), reading(10, 8)], [None, 3, 1], id="out of order"),
        pytest.param(
            [reading(0, 5), reading(10, 8), reading(10, 8, source_id="b"), reading(20, 9, source_id="b")],
            [None, 3, 1],
            id="two sources that overlap",
        ),
        pytest.param(
            [reading(0, 5), reading(10, 7, source_id="b"), reading(10, 8), reading(20, 9)],
            [None, 3, 1],
            id="copies that disagree",
        ),
        pytest.param(
            [reading(0, 5), reading(1, 50, "t", labels='{"engine":"1"}'), reading(10, 8), reading(11, 51, "t")],
            [None, 3, None, 1],
            id="two engines of one process",
        ),
    ],
)
def test_trap_23_counters_become_increases(rows: list[Row], told: list[float | None]) -> None:
    assert increases(rows) == told


def histogram(at: float, *counts: float, **given: Any) -> Row:
    """A reading of a histogram with bounds 1 and 2, of all that were observed the last of the counts."""
    buckets = {"bucket_bounds": [1.0, 2.0], "bucket_counts": [float(count) for count in counts[:2]]}
    return reading(at, counts[2], metric="itl_s", kind="histogram", **buckets, **given)


def test_a_histogram_is_reset_where_any_of_its_buckets_falls() -> None:
    """After the restart more was observed than ever before, but less of it was fast."""
    found = sampled([histogram(0, 5, 6, 7), histogram(10, 6, 8, 9), histogram(20, 2, 9, 12), histogram(30, 2, 9, 13)])
    assert [(row["increase"], row["reset"]) for row in found] == [(None, False), (2, False), (12, True), (1, False)]
    assert found[2]["bucket_counts"] == [2, 9]


@pytest.mark.parametrize(
    ("start", "last", "increase"),
    [
        pytest.param(90.0, 60.0, 80.0, id="it began after the last reading of the version before"),
        pytest.param(90.0, 100.0, None, id="both run at once"),
        pytest.param(90.0, None, None, id="nothing was read before"),
        pytest.param(None, 60.0, None, id="nothing says when it began"),
        pytest.param(120.0, 60.0, None, id="its start may be when it was first read"),
    ],
)
def test_an_upgrade_in_place_is_a_reset(start: float | None, last: float | None, increase: float | None) -> None:
    """A pod that returns as another version has counted 80 by its first reading, whatever its series is called."""
    before = [reading(0, 900, "old", version="1"), reading(last, 950, "old", version="1")] if last else []
    after = [reading(120, 80, "new", version="2", start=start), reading(180, 90, "new", version="2", start=start)]
    found = {row["sampled_ns"]: row["increase"] for row in sampled([*before, *after]) if row["series_id"] == "new"}
    assert found == {at_ns(120): increase, at_ns(180): 10.0}


def test_what_a_row_tells() -> None:
    first, second, third = sampled([reading(0, 5), reading(10, 8), reading(25, 1)])
    assert [row["interval_s"] for row in (first, second, third)] == [None, 10.0, 15.0]
    assert [row["reset"] for row in (first, second, third)] == [False, False, True]


def test_trap_23_twins_and_feeds_count_once() -> None:
    """A metric under its old name beside the new, or scraped and exported too, is one metric."""
    new = [reading(at, 100 + at, "new") for at in (0, 10, 20)]
    old = [reading(at, 100 + at, "old", preference=100) for at in (5, 15)]
    other_metric = [reading(at, at, "other", preference=100, metric="input_tokens") for at in (0, 10)]
    found = sampled([*old, *new, *other_metric])
    assert {(row["series_id"], row["increase"]) for row in found} == {
        *(("new", None), ("new", 10.0)),
        *(("other", None), ("other", 10.0)),
    }


def scraped(labels: dict[str, str], at: Sequence[float], grown: Sequence[float]) -> list[Row]:
    """Readings of one counter that carry what their scraper adds."""
    text = json.dumps({"engine": "0", **labels}, sort_keys=True, separators=(",", ":"))
    return [reading(moment, value, text, labels=text) for moment, value in zip(at, grown, strict=True)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"prometheus_replica": "a", "instance": "i:1"}, {"prometheus_replica": "b", "instance": "i:1"}),
        ({}, {"instance": "i:1", "job": "vllm"}),
        ({"instance": "i:1", "job": "old"}, {"instance": "i:1", "job": "new", "namespace": "prod", "pod": "r"}),
        ({"job": "vllm", "cluster": "west"}, {"job": "vllm"}),
    ],
    ids=["a pair", "one without", "two jobs", "one with a cluster"],
)
def test_trap_23_what_two_scrapers_read_of_one_series_counts_once(one: dict[str, str], other: dict[str, str]) -> None:
    """Their clocks may differ: readings of both in one row would show a counter that falls."""
    rows = [*scraped(one, [0, 30, 60], [5, 7, 9]), *scraped(other, [1, 29.9, 61], [5, 7.5, 9])]
    assert sum(filter(None, increases(rows))) == 9 - 5


def test_a_counter_that_began_between_two_scrapers_counts_once() -> None:
    first = scraped({"prometheus": "a"}, [20, 50], [6, 9])
    second = scraped({"prometheus": "b"}, [10, 40], [4, 8])
    began = [{**row, "start_ns": at_ns(0), "from_zero": True} for row in [*first, *second]]
    assert sum(filter(None, increases(began))) == 9


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"instance": "i:1"}, {"instance": "i:2"}),
        ({"job": "prefill"}, {"job": "decode"}),
        ({"instance": "i:1", "cluster": "west"}, {"instance": "i:1", "cluster": "east"}),
        ({"engine": "0"}, {"engine": "1"}),
        ({"instance": "i:1", "tp_rank": "0"}, {"instance": "i:1", "tp_rank": "1"}),
    ],
    ids=["instances", "jobs", "clusters", "engines", "ranks"],
)
def test_series_of_two_processes_count_each(one: dict[str, str], other: dict[str, str]) -> None:
    rows = [*scraped(one, [0, 30, 60], [5, 7, 9]), *scraped(other, [1, 31, 61], [100, 110, 120])]
    assert sum(filter(None, increases(rows))) == (9 - 5) + (120 - 100)


def test_where_one_scraper_is_silent_the_other_counts() -> None:
    first = scraped({"prometheus": "a"}, [0, 30, 2000, 2030], [0, 1, 60, 61])
    second = scraped({"prometheus": "b"}, [*range(0, 2100, 30)], [*range(70)])
    assert sum(filter(None, increases([*first, *second]))) == 69 - 1  # the time that both report in part


@pytest.mark.parametrize("back_at", [1920, 3400], ids=["soon", "much later"])
def test_where_a_scraper_is_silent_and_the_counter_begins_anew_the_other_counts(back_at: int) -> None:
    """It reports the time since the new start, and nothing of the silence before; the other none of that time again."""
    ended_at = 1800
    first = scraped({"prometheus": "a"}, [0, 30, back_at], [0, 1, 2])
    second = scraped({"prometheus": "b"}, [*range(10, ended_at, 30), back_at + 10], [*range(60), 2])
    begun = [
        {**row, "start_ns": at_ns(-600 if row["sampled_ns"] < at_ns(ended_at) else back_at - 60)}
        for row in [*first, *second]
    ]
    assert sum(filter(None, increases(begun))) == (59 - 0) + 2


def test_an_old_name_counts_where_the_new_is_not_yet() -> None:
    """An engine renamed by an upgrade: each name counts in its own time, and nothing is spliced across."""
    old = [reading(at, at, "old", preference=100) for at in range(0, 1000, 100)]
    new = [reading(at, at - 1500, "new") for at in range(1500, 2500, 100)]
    found = sampled([*old, *new])
    assert sum(row["increase"] or 0 for row in found) == 900 + 900


def test_a_gateway_takes_nothing_from_an_engine() -> None:
    engine = [reading(at, at, "e", preference=5) for at in (0, 10)]
    gateway = [reading(at, at, "g", layer="gateway") for at in (0, 10)]
    assert len(sampled([*engine, *gateway])) == 4


def test_staleness_can_be_set() -> None:
    rows = [reading(0, 5), reading(60, 8)]
    assert (increases(rows, staleness_s=59.0), increases(rows, staleness_s=60.0)) == ([None, None], [None, 3])


@pytest.mark.parametrize("version", ["1", "2"], ids=["the same version", "an upgrade"])
@pytest.mark.parametrize(("back_at", "increase"), [(2 * 3600 - 60, 7.0), (2 * 3600 + 60, None)])
def test_a_counter_that_is_back_counts_alike_whichever_hours_are_computed_together(
    version: str, back_at: int, increase: float | None
) -> None:
    """It stops in the first hour, and begins 30 s before it is read in the next hour, or in the one after that."""
    before = [reading(at, at, "old", version="1") for at in (0, 60)]
    series = "old" if version == "1" else "new"
    back = [reading(back_at, 7, series, version=version, start=back_at - 30)]
    alone, together = (sampled([*before, *back], hours) for hours in ([[0], [1], [2]], [[0, 1, 2]]))
    assert alone == together
    assert [row["increase"] for row in together if row["value"] == 7] == [increase]


growths = st.lists(st.integers(0, 50), min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(growths, st.integers(0, 20), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_increases_add_up_to_the_true_growth(
    growth: list[int], restart: int, delta: bool, starts: bool, chance: Random
) -> None:
    """Any order, any copies, any split over sources and batches of hours: the sum is what the engine did.

    The reference is the engine itself: what it counted after the first reading. A restart loses nothing here, as the
    engine is read just before it.
    """
    rows, counted, began, truth = [], 0, -60.0, 0
    for number, drawn in enumerate(growth):
        at, grown = number * 290.0, drawn
        if number == restart and number and not delta:
            # without a start time only a fall tells of a restart
            grown, counted, began = drawn if starts else min(grown, max(counted - 1, 0)), 0, at - 10
        counted = grown if delta else counted + grown
        truth += grown if number or delta else 0
        start = at - 290 if delta else began if starts else None
        rows.append(reading(at, counted, temporality="delta" if delta else "cumulative", start=start))
    copies = [{**row, "source_id": chance.choice("abc")} for row in rows for _ in range(chance.choice((1, 1, 2)))]
    kept = list({(row["record_id"], row["source_id"]): row for row in copies}.values())
    chance.shuffle(kept)
    hours = list(range(-1, 4))
    batches = [hours] if chance.random() < 0.5 else [[hour] for hour in hours]
    found = sampled(kept, batches)
    assert sum(row["increase"] or 0 for row in found) == truth
    assert len(found) == len(growth)


def test_only_hours_whose_readings_changed_are_due(tmp_path: Path) -> None:
    rows = [reading(at, at) for at in (100, 3700, 7300, 10900, 14500)]
    context = landed(Lake(tmp_path), rows)
    labels = [hour_label(HOUR + hour) for hour in range(5)]
    assert list(due(SAMPLES, context)) == labels
    assert list(execute(SAMPLES, context).computed) == labels
    assert due(SAMPLES, context) == {}
    late = landed(context.lake, [*rows, reading(200, 150, source_id="b")])
    assert list(due(SAMPLES, late)) == labels[:2]
