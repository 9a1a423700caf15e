"""Windows divided among the hours and days of a batch."""

from datetime import UTC, datetime, timedelta
from random import Random

import pyarrow as pa
import pytest

from goodput.plumbing.compute import split_windows

BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
SCHEMA = pa.schema([("window_start", pa.timestamp("us", "UTC")), ("window_s", pa.int32()), ("number", pa.int64())])


@pytest.mark.parametrize("seed", range(5))
def test_each_window_goes_to_the_hour_or_day_that_it_begins_in(seed: int) -> None:
    """Whatever the order of rows and partitions; one of an hour or a day that is not asked for goes nowhere."""
    chance = Random(seed)
    rows = [
        {
            "window_start": BEGIN + timedelta(seconds=chance.randrange(48 * 12) * 300),
            "window_s": chance.choice([300, 3600, 86400]),
            "number": number,
        }
        for number in range(400)
    ]
    hours = [f"2026-11-{20 + h // 24}T{h % 24:02}" for h in chance.sample(range(48), 20)]
    partitions = chance.sample([*hours, "2026-11-21"], 21)
    expected: dict[str, list[int]] = {partition: [] for partition in partitions}
    for row in rows:
        text = "%Y-%m-%d" if row["window_s"] == 86400 else "%Y-%m-%dT%H"
        expected.get(row["window_start"].strftime(text), []).append(row["number"])
    found = split_windows(partitions, pa.Table.from_pylist(rows, schema=SCHEMA))
    assert [(partition, part.column("number").to_pylist()) for partition, part in found] == list(expected.items())


def test_without_windows_all_partitions_are_empty() -> None:
    found = list(split_windows(["2026-11-20T09", "2026-11-20"], SCHEMA.empty_table()))
    assert [(partition, part.num_rows) for partition, part in found] == [("2026-11-20T09", 0), ("2026-11-20", 0)]
