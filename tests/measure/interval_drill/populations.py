"""Requests of many windows whose every outcome is known, of which the product is given some as labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from scipy.stats import beta, norm

from goodput.contracts import arrow_schema
from river import START_S


@dataclass(frozen=True)
class Cell:
    """Requests of a window that share a workload, a route, a time and a chance to pass and to be labelled."""

    requests: int
    pass_rate: float
    label_rate: float
    workload: str = "qa"
    route: str = "r1"
    tenant: str | None = None
    ends_s: int = 1  # after the window's start
    session: int = 1  # requests of a session, which pass or fail together
    alike: float = 1.0  # chance that one of them does as its session does, else it has its own
    spread: float = 0.0  # standard deviation of the pass rate from window to window
    by_session: bool = False  # a session is labelled wholly or not at all
    bias: float = 1.0  # failures are labelled so many times as often
    tokens_if_failed: float = 1.0


@dataclass(frozen=True)
class Population:
    """Rows of `requests` without the truth, and the truth by row and window."""

    requests: pa.Table
    window: np.ndarray
    passed: np.ndarray
    tokens: np.ndarray
    labelled: np.ndarray
    cell: np.ndarray

    def truth(self, windows: int) -> np.ndarray:
        """Requests that pass, by window."""
        return np.bincount(self.window, weights=self.passed, minlength=windows)

    def token_truth(self, windows: int) -> np.ndarray:
        """Output tokens of those, by window."""
        return np.bincount(self.window, weights=self.passed * self.tokens, minlength=windows)


def population(
    seed: int, windows: int, window_s: int, cells: Sequence[Cell], fates: np.ndarray | None = None
) -> Population:
    """Draw all windows; each has the same cells. `fates`: how well each fares, a normal variable (None: drawn)."""
    random = np.random.default_rng(seed)
    drawn = [_drawn(random, windows, window_s, number, cell, fates) for number, cell in enumerate(cells)]
    joined = {name: np.concatenate([part[name] for part in drawn]) for name in drawn[0]}
    return Population(
        _requests(joined), joined["window"], joined["passed"], joined["tokens"], joined["labelled"], joined["cell"]
    )


def _drawn(  # noqa: PLR0917  (what a window is drawn from)
    random: np.random.Generator, windows: int, window_s: int, number: int, cell: Cell, fates: np.ndarray | None
) -> dict[str, np.ndarray]:
    shape = (windows, cell.requests)
    session = np.broadcast_to(np.arange(cell.requests) // cell.session, shape)
    sessions = (windows, int(session.max()) + 1)
    rate = _pass_rates(random, windows, cell, fates)
    own, shared = random.random(shape) < rate, random.random(sessions) < rate
    as_session = random.random(shape) < (cell.alike if cell.session > 1 else 0.0)
    passed = np.where(as_session, np.take_along_axis(shared, session, 1), own)
    chance = cell.label_rate * np.where(passed, 1.0, cell.bias)
    drawn = np.take_along_axis(random.random(sessions), session, 1) if cell.by_session else random.random(shape)
    tokens = np.ceil(random.lognormal(5, 0.8, shape) * np.where(passed, 1.0, cell.tokens_if_failed))
    window = np.broadcast_to(np.arange(windows)[:, None], shape)
    columns = {
        "window": window,
        "passed": passed,
        "labelled": drawn < chance,
        "tokens": tokens,
        "session": session + (window * cell.requests + number * windows * cell.requests),
        "ended_s": START_S + window * window_s + cell.ends_s,
    }
    flat = {name: np.ascontiguousarray(values).ravel() for name, values in columns.items()}
    ones = {"workload": cell.workload, "route": cell.route, "tenant": cell.tenant or "", "cell": number}
    return flat | {name: np.full(flat["window"].size, value) for name, value in ones.items()}


def _pass_rates(random: np.random.Generator, windows: int, cell: Cell, fates: np.ndarray | None) -> np.ndarray:
    """Of each window, beta distributed."""
    if not cell.spread:
        return np.full((windows, 1), cell.pass_rate)
    size = cell.pass_rate * (1 - cell.pass_rate) / cell.spread**2 - 1
    shape = cell.pass_rate * size, (1 - cell.pass_rate) * size
    return random.beta(*shape, (windows, 1)) if fates is None else beta.ppf(norm.cdf(fates), *shape)[:, None]


def _requests(drawn: dict[str, np.ndarray]) -> pa.Table:
    passed, labelled = pl.lit(pl.Series(drawn["passed"])), pl.lit(pl.Series(drawn["labelled"]))
    ended = pl.from_epoch(pl.lit(pl.Series(drawn["ended_s"])), "s").dt.cast_time_unit("us").dt.replace_time_zone("UTC")
    key = pl.int_range(pl.len()).cast(pl.String)
    made = pl.DataFrame({name: drawn[name] for name in ("workload", "route", "tenant")}).with_columns(
        request_key=key,
        delivering_attempt_id=key,
        session_id=pl.Series(drawn["session"]).cast(pl.String),
        ended_at=ended,
        arrived_at=ended,
        attempts=pl.lit(1),
        retry_count=pl.lit(0),
        model=pl.lit("m1"),
        pool=pl.lit("p1"),
        outcome=pl.lit("ok"),
        output_tokens=pl.Series(drawn["tokens"]).cast(pl.Int64),
        pass_success=pl.lit(True),
        needs_label=pl.lit(True),
        tpot_na=pl.lit(False),
        pass_quality=pl.when(labelled).then(passed),
        verdict=pl.when(~labelled)
        .then(pl.lit("unlabelled"))
        .when(passed)
        .then(pl.lit("accepted"))
        .otherwise(pl.lit("rejected")),
    )
    return shaped("requests", made)


def shaped(table: str, rows: pl.DataFrame) -> pa.Table:
    """Rows with the columns of a contract, NULL where they have none."""
    given, schema = rows.to_arrow(), arrow_schema(table)
    columns = {
        field.name: given[field.name].cast(field.type)
        if field.name in given.column_names
        else pa.nulls(given.num_rows, field.type)
        for field in schema
    }
    return pa.table(columns)
