"""Times the measure stage on a week of requests against queries that a person would write for the same columns.

Both read the same hourly Parquet files and write their rows as Parquet. The query is given one day at a time, as
our stage does it too: its quantiles of a whole week at once are more than 16 GB.
"""

import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl
import pyarrow.parquet as pq
from polars.testing import assert_frame_equal

from benchmarks.child import Ended, in_turn, run_function
from benchmarks.made_lake import FIRST_HOUR, HOURS, Parts
from benchmarks.table import Row, peak_memory, times_as_long
from goodput.contracts import arrow_schema, contract
from goodput.measure.nodes import WINDOWS
from goodput.plumbing.hours import hour_label
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Context
from goodput.plumbing.plan import execute
from goodput.settings.model import Quality, Settings, Workload

REQUESTS = 20_000_000
ROUNDS = 5
BUDGET_S = 480.0
SETTINGS = Settings(
    workloads={  # the bounds that requests_of_an_hour.sql judges by
        "chat": Workload(ttft_s=0.8, tpot_s=0.05, retry_budget=1, quality=Quality()),
        "rag": Workload(ttft_s=1.0, tpot_s=0.05, retry_budget=1, quality=Quality()),
        "batch": Workload(),
    }
)
_HERE = Path(__file__).parent
_BY_HAND = {"goodput": "measure_by_hand.sql", "load_windows": "load_by_hand.sql"}
# The query is older than some of what the stage gives: it knows fewer slices and columns, and these otherwise.
_OTHERWISE = {
    "goodput": (
        *("goodput_rps", "goodput_ci_low_rps", "goodput_ci_high_rps", "goodput_ratio"),
        *("definition", "output_token_goodput_tps"),
    ),
    "load_windows": ("tpot_buckets", "tpot_counts"),
}


def rows(share: float) -> Iterator[Row]:
    """The stage against the query over `share` of the requests; raises AssertionError where their rows differ."""
    requests = round(REQUESTS * share)
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        folder = Path(name)
        make_requests(requests, folder)
        stage: list[Ended] = []

        def goodput() -> float:
            shutil.rmtree(folder / "measured", ignore_errors=True)
            stage.append(run_function(__name__, "measure_by_goodput", folder))
            return float(stage[-1].said)

        def by_hand() -> float:
            return float(run_function(__name__, "measure_by_hand", folder).said)

        taken_s = in_turn({"goodput": goodput, "by hand": by_hand}, ROUNDS, BUDGET_S * share)
        _check_equal(folder)
    what = f"measure, {requests / 1e6:g}M requests"
    yield times_as_long(what, taken_s["goodput"], "queries by hand", taken_s["by hand"], at_most=1.3)
    yield peak_memory(f"{what}, peak memory", max(ended.peak_bytes for ended in stage), below_bytes=3 * 10**9)


def make_requests(requests: int, folder: Path) -> None:
    """Write the joined parts of a week of `requests`, busier by day than by night, as the join stage would."""
    parts, text = Parts(Lake(folder)), (_HERE / "requests_of_an_hour.sql").read_text()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for hour in range(FIRST_HOUR, FIRST_HOUR + HOURS):
            count = round(requests / HOURS * (1 - 0.5 * math.cos(hour / 24 * 2 * math.pi)))
            made = connection.sql(text, params={"hour": hour, "requests": count}).to_arrow_table()
            parts.write("requests", hour_label(hour), made)
            for table in ("attempts", "session_hours"):  # the query knows neither replicas nor sessions
                parts.write(table, hour_label(hour), arrow_schema(table).empty_table())
    parts.commit()


def measure_by_goodput(folder: Path) -> float:
    """Seconds that the stage takes for every partition of the lake in `folder`, its audit and commits included."""
    begun = time.perf_counter()
    blocked = execute(WINDOWS, Context(Lake(folder), SETTINGS)).blocked
    assert not blocked, blocked
    return time.perf_counter() - begun


def measure_by_hand(folder: Path) -> float:
    """Seconds that the query takes for every day of the lake in `folder`."""
    begun = time.perf_counter()
    requests = Lake(folder).catalog["requests"]
    texts = {table: (_HERE / name).read_text() for table, name in _BY_HAND.items()}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET preserve_insertion_order = false")
        # requests arrive in the day before the first hour, and complete in the hour after a day
        for day in range(FIRST_HOUR // 24 - 1, FIRST_HOUR // 24 + HOURS // 24):
            files = requests.files(hour_label(hour) for hour in range(day * 24, day * 24 + 25))
            values = {
                "files": files,
                "from_s": day * 86400,
                "until_s": (day + 1) * 86400,
                "observed_from_s": FIRST_HOUR * 3600,
                "observed_until_s": (FIRST_HOUR + HOURS) * 3600,
            }
            for table, text in texts.items():
                path = folder / "by_hand" / table / f"{day}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(connection.sql(text, params=values).to_arrow_table(), path)
    return time.perf_counter() - begun


def _check_equal(folder: Path) -> None:
    """Raise AssertionError where what both give differs."""
    for table in _BY_HAND:
        theirs = pl.read_parquet(folder / "by_hand" / table / "*.parquet").drop(_OTHERWISE[table])
        key = [name for name in contract(table).primary_key if name in theirs.columns]
        ours = pl.read_parquet(Lake(folder).catalog[table].all_files(), hive_partitioning=False)
        if "slice" in key:
            ours = ours.filter(pl.col("slice").is_in(theirs["slice"].unique().implode()))
        ours = ours.select(theirs.columns)
        assert_frame_equal(ours.sort(key), theirs.cast(dict(ours.schema)).sort(key), rel_tol=1e-9)
