"""Times the measure stage on a week of requests against queries that a person would write for the same columns.

Both read the same hourly Parquet files and write their rows as Parquet. The query is given one day at a time, as
our stage does it too: its quantiles of a whole week at once are more than 16 GB.
"""

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from goodput.join.staleness import JoinInputs
from goodput.measure.compute import measure_cells
from goodput.measure.staleness import MeasureInputs, stale_cells
from goodput.plumbing.ledger import LedgerEntry
from polars.testing import assert_frame_equal

from benchmarks.child import Ended, in_turn, run_function
from benchmarks.table import Row, peak_memory, times_as_long
from goodput.plumbing.contracts import arrow_schema, contract
from goodput.plumbing.hours import HOUR_NS, hour_label
from goodput.plumbing.lake import Lake, write_parquet
from goodput.settings.model import Quality, Settings, Workload

REQUESTS = 20_000_000
HOURS = 7 * 24
FIRST_HOUR = 498_648  # since the Unix epoch, a midnight
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
_UNKNOWN = {"goodput": ("coverage_ratio", "wasted_ratio"), "load_windows": ("replicas",)}
_RESTATED = ("computed_at", "revision")


def rows(share: float) -> Iterator[Row]:
    """The stage against the query over `share` of the requests; raises AssertionError where their rows differ."""
    requests = round(REQUESTS * share)
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        folder = Path(name)
        make_requests(requests, folder)
        stage: list[Ended] = []

        def goodput() -> float:
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
    lake, text = Lake(folder), (_HERE / "requests_of_an_hour.sql").read_text()
    empty = arrow_schema("requests").empty_table()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for hour in range(FIRST_HOUR, FIRST_HOUR + HOURS):
            count = round(requests / HOURS * (1 - 0.5 * math.cos(hour / 24 * 2 * math.pi)))
            made = connection.sql(text, params={"hour": hour, "requests": count}).to_arrow_table()
            full = pa.concat_tables(
                [empty, made.select([n for n in empty.column_names if n in made.column_names])],
                promote_options="permissive",
            )
            write_parquet(lake.part("joined", "requests", f"hour={hour_label(hour)}"), full.cast(empty.schema))
            for table in ("attempts", "session_hours"):  # the query knows neither replicas nor sessions
                nothing = arrow_schema(table).empty_table()
                write_parquet(lake.part("joined", table, f"hour={hour_label(hour)}"), nothing)


def measure_by_goodput(folder: Path) -> float:
    """Seconds that the stage takes for every cell of the lake in `folder`."""
    begun = time.perf_counter()
    read = LedgerEntry("made", "", "", "", "otlp", "read", None, 0)
    ledger = {
        "made": LedgerEntry(**{**read.__dict__, "first_event_ns": FIRST_HOUR * HOUR_NS, "last_event_ns": _until_ns()})
    }
    inputs = MeasureInputs(JoinInputs(Lake(folder), SETTINGS, ledger))
    for _ in measure_cells(inputs, stale_cells(inputs), datetime.now(UTC)):
        pass
    return time.perf_counter() - begun


def measure_by_hand(folder: Path) -> float:
    """Seconds that the query takes for every day of the lake in `folder`."""
    begun = time.perf_counter()
    parts = Lake(folder).parts("joined", "requests")
    texts = {table: (_HERE / name).read_text() for table, name in _BY_HAND.items()}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET preserve_insertion_order = false")
        # requests arrive in the day before the first hour, and complete in the hour after a day
        for day in range(FIRST_HOUR // 24 - 1, FIRST_HOUR // 24 + HOURS // 24):
            files = [
                str(parts[hour_label(hour)][0]) for hour in range(day * 24, day * 24 + 25) if hour_label(hour) in parts
            ]
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


def _until_ns() -> int:
    return (FIRST_HOUR + HOURS) * HOUR_NS


def _check_equal(folder: Path) -> None:
    for table in _BY_HAND:
        key = contract(table).primary_key
        ours = pl.read_parquet(folder / "candidate" / table / "*" / "part.parquet", hive_partitioning=False)
        theirs = pl.read_parquet(folder / "by_hand" / table / "*.parquet")
        ours, theirs = (frame.drop(_RESTATED, strict=False).sort(key) for frame in (ours, theirs))
        for name in _UNKNOWN[table]:  # no engine and no bill counted these requests, and no attempt names a replica
            column = ours.drop_in_place(name)
            assert column.is_null().all() or column.list.len().sum() == 0, f"{table}.{name} tells what nobody knows"
        assert_frame_equal(ours, theirs.cast(dict(ours.schema)), rel_tol=1e-9)
