"""Which attempts are bought by the token, and which take a replica's time."""

import polars as pl
import pytest

from by_seconds import Fleet, Try
from charging import attempt_row, charged

TOKENS = (100, 0, 10)


@pytest.mark.parametrize(("second_is_of", "gpu_s"), [("r", [10.0, 10.0]), ("s", [10.0, None])])
def test_what_a_caller_alone_saw_takes_the_time_of_a_replica_whose_engine_shows_itself(
    second_is_of: str, gpu_s: list[float | None]
) -> None:
    """On one replica without cost both attempts take their 10 s; one on another, which only callers know, is bought."""
    recorded = Try("recorded", "accepted", 0, 10, "r", "p", tokens=TOKENS)
    unrecorded = attempt_row(Try("unrecorded", "accepted", 20, 30, second_is_of, "p", tokens=TOKENS), engine_seen=False)
    frame = charged(Fleet([recorded]), attempts=[unrecorded]).sort("attempt_id")
    assert frame["gpu_s"].to_list() == gpu_s
    assert frame["usd"].to_list() == [None, None]
    assert frame.filter(pl.col("bucket") == "idle").is_empty()
