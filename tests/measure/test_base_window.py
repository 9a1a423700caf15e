"""Load windows are of the shortest length alone, whichever lengths were asked for before."""

from pathlib import Path

import polars as pl
import pytest

from declared import source
from published import ask, run_at

pytestmark = pytest.mark.only("frontier")

ASKED = ("[3600, 7200, 86400]", "[7200, 86400]")
SETTINGS = """
landing = ["landing"]
lake = "{lake}"
windows_s = {windows}
alarms.enabled = false
[workloads.chat]
e2e_s = 10.0
"""
CALLS = source(
    "calls",
    "calls.csv",
    "attempts",
    units={"started_at": "iso8601", "ended_at": "iso8601"},
    constants='outcome = "ok", model = "m", pool = "p", route = "r", replica = "pod-0"',
    attempt_id="id",
    started_at="start",
    ended_at="end",
)


def loads(folder: Path, lake: str, windows: str) -> pl.DataFrame:
    """The frontier after a run with windows of these lengths."""
    config = folder / f"{lake}.toml"
    config.write_text(SETTINGS.format(lake=lake, windows=windows) + CALLS)
    return ask(run_at(config), "FROM frontier ORDER BY ALL")


@pytest.mark.parametrize(("before", "after"), [ASKED, ASKED[::-1]])
def test_another_shortest_length_gives_the_frontier_of_a_fresh_lake(tmp_path: Path, before: str, after: str) -> None:
    times = [
        f"2026-11-20T{hour:02}:{7 * n % 60:02}:0{end}Z"
        for hour in range(4, 16)
        for n in range(2 + hour)
        for end in (0, 1)
    ]
    rows = [f"a{n},{start},{end}\n" for n, (start, end) in enumerate(zip(times[::2], times[1::2], strict=True))]
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/calls.csv").write_text("id,start,end\n" + "".join(rows))
    loads(tmp_path, "lake", before)
    changed, fresh = loads(tmp_path, "lake", after), loads(tmp_path, "fresh", after)
    assert fresh.height
    assert changed.equals(fresh)
