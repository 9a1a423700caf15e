"""A small fleet whose hours are computed one by one, so that workers share them, and what all its lakes have alike."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from goodput.plumbing.lake import Lake
from goodput.simulate.demo import demo_settings, write_demo

# What says when something was done, and what is made from it: such parts have another name in another lake.
CLOCKS = ("computed_at", "ingested_ns", "recorded_at", "since", "opened_at")
AFTER_CLOCKS = {
    "source_ledger",  # when each file was read
    "goodput",  # when each window was computed
    "disruptions",
    "disruption_cost",
    "disruption_frequency",
    "frontier",
    "latest_window",
    "warnings",
    "alarms",
    "alarm_events",
    "alarm_power",  # replayed once a day of the clock: over midnight its inputs differ, and its rows do not
}


def land(folder: Path, hours: float = 4.0, requests: int = 1500) -> Path:
    """The settings file of a fleet's telemetry."""
    write_demo(folder / "landing", hours=hours, requests=requests)
    file = folder / "goodput.toml"
    file.write_text(demo_settings())
    return file


def parts(lake: Lake) -> dict[str, set[tuple[str, str, str]]]:
    """Partition, inputs and digest of the bytes of each part that counts, by table."""
    catalog = lake.catalog
    return {
        name: {(part.partition, part.inputs, part.content) for found in catalog[name].parts.values() for part in found}
        for name in tables(lake)
    }


def tables(lake: Lake) -> Iterator[str]:
    """Every table of a lake."""
    return (log.parent.name for log in sorted(lake.root.glob("*/*/_delta_log")))


def rows(lake: Lake, table: str) -> pl.DataFrame:
    """Rows of a table in their order, without what a clock said: heartbeats are of the hour of the run."""
    found = [pl.read_parquet(file, hive_partitioning=False) for file in lake.catalog[table].all_files()]
    if table == "alarm_events":
        found = [part.filter(pl.col("transition") != "heartbeat") for part in found]
    return pl.concat(found).drop(CLOCKS, strict=False) if found else pl.DataFrame()


def assert_same(lake: Lake, expected: Lake, *, spread: bool = False) -> None:
    """The same rows, and the same bytes where no clock has a word in them.

    `spread`: workers have read the sources, so that conformed rows lie in other parts.
    """
    theirs, ours = (
        {name: found for name, found in parts(each).items() if name != "landed_files"}  # none that changed just now
        for each in (expected, lake)
    )
    assert ours.keys() == theirs.keys()
    others = {name for name in theirs if spread and lake.catalog[name].layer == "conformed"}
    for name in theirs.keys() - AFTER_CLOCKS - others:
        assert ours[name] == theirs[name], name
    for name in others:
        assert lake.catalog[name].contents == expected.catalog[name].contents, name
        assert sorted(map(str, rows(lake, name).rows())) == sorted(map(str, rows(expected, name).rows())), name
    for name in theirs.keys() & AFTER_CLOCKS:
        assert rows(lake, name).equals(rows(expected, name)), name
