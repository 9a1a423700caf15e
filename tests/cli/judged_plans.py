"""Requests whose every outcome is known, what a database publishes of them, and what comes of judging a plan's keys."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from goodput.ask.label_plan import Plan, PlanTarget, plan
from goodput.contracts import arrow_schema
from goodput.plumbing.parameters import PARAMETERS
from goodput.plumbing.sql_files import MACROS, sql_file
from goodput.settings.model import Quality, Settings, Workload
from river import Parts, Row, Stretch, at_ns, measure

DAY = datetime(2026, 11, 20, tzinfo=UTC)
DAY_S = 86400


@dataclass(frozen=True)
class Group:
    """Requests of one route that end in each of some hours, and their chance to pass; sessions fare alike."""

    requests: int
    pass_rate: float
    route: str = "r1"
    hours: Sequence[int] = tuple(range(24))
    session: int = 1
    alike: float = 1.0


@dataclass(frozen=True)
class Fleet:
    """Rows of `requests` by column, without any label, and which of them would pass."""

    columns: Mapping[str, np.ndarray]
    passed: np.ndarray
    labelled: np.ndarray
    sampling: str = "random"

    def judge(self, keys: Collection[str]) -> "Fleet":
        """The same with labels of these requests too."""
        return replace(self, labelled=self.labelled | np.isin(self.columns["request_key"], list(keys)))

    def shuffled(self, seed: int) -> "Fleet":
        """The same rows in another order."""
        order = np.random.default_rng(seed).permutation(len(self.passed))
        columns = {name: values[order] for name, values in self.columns.items()}
        return replace(self, columns=columns, passed=self.passed[order], labelled=self.labelled[order])

    def rows(self) -> pa.Table:
        """Rows of `requests`."""
        verdict = np.where(self.labelled, np.where(self.passed, "accepted", "rejected"), "unlabelled")
        given = pl.DataFrame(
            {
                **self.columns,
                "verdict": verdict,
                "pass_quality": pl.Series(self.passed).set(pl.Series(~self.labelled), None),
            }
        ).with_columns(
            arrived_at=pl.col("ended_at"),
            delivering_attempt_id="request_key",
            attempts=1,
            retry_count=0,
            outcome=pl.lit("ok"),
            needs_label=True,
            tpot_na=False,
            pass_success=True,
            output_tokens=10,
            model=pl.lit("m1"),
            pool=pl.lit("p1"),
        )
        schema = arrow_schema("requests")
        empty = [pl.lit(None).alias(name) for name in schema.names if name not in given.columns]
        return given.with_columns(empty).select(schema.names).to_arrow().cast(schema)

    def goodput(self, folder: Path) -> pl.DataFrame:
        """Rows of `goodput` of the day, by workload."""
        pq.write_table(self.rows(), folder / "requests.parquet")
        names = np.unique(self.columns["workload"])
        settings = Settings(workloads={name: Workload(quality=Quality(sampling=self.sampling)) for name in names})  # type: ignore[arg-type]
        begin = int(DAY.timestamp())
        stretch = Stretch(begin, begin + DAY_S, (at_ns(-DAY_S), at_ns(2 * DAY_S)))
        found = measure(settings, Parts([str(folder / "requests.parquet")]), (DAY_S,), stretch).goodput
        return found.filter(slice="workload").sort("workload")

    def truth(self) -> np.ndarray:
        """The share of each workload's requests that pass, by its name."""
        codes = np.unique(self.columns["workload"], return_inverse=True)[1]
        return np.bincount(codes, weights=self.passed) / np.bincount(codes)


def fleet(seed: int, workloads: int, groups: Sequence[Group], labelled: float, sampling: str = "random") -> Fleet:
    """So many workloads of the same groups; of each a share is labelled, by session where that is how it is sampled."""
    random = np.random.default_rng(seed)
    parts = [
        _part(random, f"w{number:03d}", f"{number:03d}/{position}/{hour}", group, hour, labelled, sampling)
        for number in range(workloads)
        for position, group in enumerate(groups)
        for hour in group.hours
    ]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    passed, is_labelled = joined.pop("passed"), joined.pop("labelled")
    return Fleet(joined, passed, is_labelled, sampling)


def _part(  # noqa: PLR0917
    random: np.random.Generator, workload: str, name: str, group: Group, hour: int, labelled: float, sampling: str
) -> dict[str, np.ndarray]:
    number = np.arange(group.requests)
    session = number // group.session
    own, shared = (random.random(size) < group.pass_rate for size in (group.requests, session.max() + 1))
    as_session = random.random(group.requests) < (group.alike if group.session > 1 else 0.0)
    by_session = random.random(session.max() + 1)[session]
    drawn = by_session if sampling == "session" else random.random(group.requests)
    ends_us = (number * 3_500_000_000 // group.requests).astype("timedelta64[us]")
    return {
        "request_key": np.char.add(f"{name}/", number.astype(str)),
        "session_id": np.char.add(f"{name}/s", session.astype(str)),
        "workload": np.full(group.requests, workload),
        "route": np.full(group.requests, group.route),
        "ended_at": np.datetime64(DAY.replace(tzinfo=None), "us") + np.timedelta64(hour, "h") + ends_us,
        "passed": np.where(as_session, shared[session], own),
        "labelled": drawn < labelled,
    }


@contextmanager
def database(
    requests: pa.Table, workloads: Sequence[Row], labels: Sequence[Row] = ()
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with what a plan is made from."""
    tables = {
        "requests": requests,
        "workloads": pa.Table.from_pylist(list(workloads), schema=PARAMETERS["workloads"].schema),
        "quality_labels": pa.Table.from_pylist(list(labels), schema=arrow_schema("quality_labels")),
    }
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(sql_file(MACROS).text)
        for name, table in tables.items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
        yield connection


def gated(workload: str, **given: str) -> Row:
    """The quality gate of a workload as `workloads` has it."""
    policy = {"unit": "request", "unlabelled": "estimate", "sampling": "random"}
    return {"workload": workload, "gate": "quality", **policy, **given}


def asked(width: float, *, seed: int = 0, hours: int = 24, workload: str | None = None) -> PlanTarget:
    """A plan for the first hours of the day."""
    return PlanTarget(width, DAY, DAY + timedelta(hours=hours), seed, workload)


@dataclass(frozen=True)
class Made:
    """A plan and the keys that it draws."""

    plan: Plan
    keys: list[Row]


def planned(made: Fleet, width: float, *, seed: int = 0, labels: Sequence[Row] = ()) -> Made:
    """Plan the labels of a fleet."""
    gates = [gated(name, sampling=made.sampling) for name in np.unique(made.columns["workload"])]
    with database(made.rows(), gates, labels) as connection:
        found = plan(connection, asked(width, seed=seed))
        assert found is not None
        return Made(found, connection.sql("FROM drawn_keys").to_arrow_table().to_pylist())
