"""cost_ledger and waste: Identity M on random fleets against a second-by-second computation, and cases by hand."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import t as student

from by_seconds import Fleet, Record, Try, ledger, samples
from goodput.join.workloads import workload_rows
from goodput.measure.cost_ledger import SETTINGS_TABLES, ledger_options
from goodput.measure.known_replicas import absent
from goodput.measure.nodes import COST_LEDGER, KNOWN_REPLICAS, WASTE
from goodput.measure.slices import SETTINGS_TABLES as SLICES
from goodput.plumbing.contracts import arrow_schema
from goodput.plumbing.parameters import as_rows
from goodput.plumbing.sql_files import compute, connect
from goodput.settings.model import Costs, Quality, Rate, Settings, Slices, Workload
from river import Parts, Row, Stretch, judged, measure, one_workload

HOUR = 498_671  # since the Unix epoch: the last of its day
BEGIN_S = HOUR * 3600
HOUR_S = 3600


def at_us(second: float) -> int:
    return round((BEGIN_S + second) * 1e6)


def attempt_row(attempt: Try, **more: Any) -> Row:
    given, cached, output = attempt.tokens or (None, None, None)
    drafted, accepted = attempt.drafts or (None, None)
    verdict = {"retry": None, "abandoned": "failed"}.get(attempt.bucket, attempt.bucket)
    return {
        "attempt_id": attempt.name,
        "request_key": attempt.name,
        "workload": "qa",
        "model": attempt.model,
        "pool": attempt.pool,
        "route": "r",
        "replica": attempt.replica,
        "engine_seen": attempt.replica is not None,
        "delivered": verdict is not None,
        "outcome": {"abandoned": "cancelled", "failed": "error"}.get(attempt.bucket, "ok"),
        "verdict": verdict,
        "started_ns": at_us(attempt.start) * 1000,
        "ended_ns": at_us(attempt.end) * 1000,
        "input_tokens": given,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "recomputed_tokens": attempt.recomputed,
        "draft_tokens": drafted,
        "accepted_draft_tokens": accepted,
        "part_hour": at_us(attempt.end) // 3_600_000_000,
        **more,
    }


def request_row(row: Row) -> Row:
    return {
        **{name: row[name] for name in ("request_key", "workload", "model", "pool", "route", "replica", "outcome")},
        "verdict": row["verdict"],
        "ended_at": row["ended_ns"] // 1000,
        "delivering_attempt_id": row["attempt_id"],
    }


def sample_rows(replica: str, pool: str, start: int, end: int) -> list[Row]:
    moments = samples(start, end)
    return [
        {
            "replica": replica,
            "pool": pool,
            "layer": "engine",
            "metric": "running_requests",
            "kind": "gauge",
            "value": 0.0,
            "sampled_ns": at_us(moment) * 1000,
            "interval_s": float(moment - before) if before is not None else None,
        }
        for before, moment in zip([None, *moments], moments, strict=False)
    ]


def record_row(number: int, record: Record) -> Row:
    return {
        "cost_id": f"c{number}",
        "dialect": f"d{number % 2}",
        "basis": record.basis,
        "replica": record.replica,
        "pool": record.pool,
        "model": record.model,
        "request_key": record.request_key,
        "period_start": at_us(record.start),
        "period_end": at_us(record.end),
        "amount_usd": record.usd,
    }


def charged(
    fleet: Fleet,
    hours: Sequence[int] = (0,),
    attempts: Sequence[Row] = (),
    extra: Sequence[Row] = (),
    step_s: int = 300,
    *,
    relation: str = "cost_ledger",
    names: Sequence[Row] = (),
    declared: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The ledger of the given hours after BEGIN_S; `attempts` and `extra` samples beside those of the fleet.

    `names`: rows of `replica_names`; `declared`: replicas by other names of theirs.
    """
    rows = [attempt_row(attempt) for attempt in fleet.tries] + list(attempts)
    prices = []
    if fleet.price:
        prices = [
            {"model": "api", "valid_from": 0, "input_token_usd": fleet.price[0], "output_token_usd": fleet.price[1]}
        ]
    tables: dict[str, list[Row]] = {
        "attempts": rows,
        "requests": [request_row(row) for row in rows if row["verdict"] is not None],
        "replica_samples": [row for sampled in fleet.sampled for row in sample_rows(*sampled)] + list(extra),
        "cost_records": [record_row(number, record) for number, record in enumerate(fleet.records)],
        "token_prices": prices,
        "replica_names": list(names),
    }
    chosen = Settings(
        windows_s=(step_s,),
        costs=Costs(step_s=step_s),
        rates={pool: Rate(pool=(pool,), usd_per_gpu_hour=usd * 3600) for pool, usd in fleet.rates.items()},
    )
    with connect() as connection:
        for name, given in tables.items():
            schema = arrow_schema(name)
            if name == "attempts":
                schema = schema.append(pa.field("part_hour", pa.int64()))
            connection.register(name, pa.Table.from_pylist(given, schema=schema))
        connection.register("billed_days", as_rows("billed_days", {"from_s": 0, "until_s": 4 * 10**9}))
        for name in SETTINGS_TABLES:
            connection.register(name, SETTINGS_TABLES[name](chosen))
        with_telemetry = range(HOUR - 30, HOUR + 60)
        connection.register("target_hours", as_rows("target_hours", *({"epoch_hour": hour} for hour in with_telemetry)))
        others = ({"name": name, "replica": replica} for name, replica in (declared or {}).items())
        connection.register("declared_names", as_rows("declared_names", *others))
        for name in KNOWN_REPLICAS.relations:
            compute(connection, name)
        connection.register("absent_replicas", as_rows("absent_replicas", *absent(connection)))
        connection.register("target_hours", as_rows("target_hours", *({"epoch_hour": HOUR + hour} for hour in hours)))
        for name in COST_LEDGER.relations:
            compute(connection, name)
        return pl.DataFrame(connection.sql(f"SELECT * FROM {relation}").to_arrow_table())


def by_bucket(frame: pl.DataFrame) -> dict[tuple[int, str | None, str], float]:
    found: dict[tuple[int, str | None, str], float] = defaultdict(float)
    for row in frame.iter_rows(named=True):
        if row["usd"]:
            found[int(row["window_start"].timestamp()) - BEGIN_S, row["pool"], row["bucket"]] += row["usd"]
    return dict(found)


REPLICAS = {"a": "p1", "a#1": "p1", "b": "p1", "c": "p2"}
BUCKETS = (
    *("accepted", "slow", "rejected", "failed", "ungated", "over_budget", "unevaluable", "unlabelled"),
    *("retry", "abandoned"),
)
seconds = st.integers(-600, 7800)


@st.composite
def tries(draw: st.DrawFn) -> Try:
    start, bought = draw(seconds), draw(st.booleans()) and draw(st.booleans())
    replica = None if bought else draw(st.sampled_from(sorted(REPLICAS)))
    given = draw(st.integers(1, 500))
    drafted = draw(st.integers(0, 50))
    return Try(
        name=f"t{draw(st.integers(0, 10**12))}",
        bucket=draw(st.sampled_from(BUCKETS)),
        start=start,
        end=start + draw(st.integers(0, 900)),
        replica=replica,
        pool="bought" if replica is None else REPLICAS[replica],
        model="api" if bought else "m",
        tokens=(given, draw(st.integers(0, given)), draw(st.integers(0, 200))),
        recomputed=draw(st.integers(0, 100)),
        drafts=(drafted, draw(st.integers(0, drafted))),
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    start = draw(seconds)
    target = draw(
        st.sampled_from([("a", "p1"), ("ghost", "p2"), ("ghost", "p1"), (None, "p2"), (None, "p9"), (None, None)])
    )
    usd = draw(st.floats(-1, 100, allow_nan=False).filter(lambda usd: abs(usd) > 1e-3))
    return Record(usd, start, start + draw(st.integers(0, 5000)), *target)


fleets = st.builds(
    Fleet,
    tries=st.lists(tries(), max_size=8, unique_by=lambda t: t.name),
    sampled=st.lists(
        st.builds(
            lambda replica, start, length: (replica, REPLICAS[replica], start, start + length),
            st.sampled_from(sorted(REPLICAS)),
            st.integers(-300, 7000),
            st.integers(60, 1500),
        ),
        max_size=3,
        unique_by=lambda sampled: sampled[0],
    ),
    records=st.lists(records(), max_size=4),
    rates=st.dictionaries(st.sampled_from(["p1", "p2"]), st.floats(1e-4, 0.1), max_size=2),
    price=st.just((1e-6, 4e-6)),
)


@given(fleet=fleets)
@settings(max_examples=10, deadline=None)
def test_identity_m_on_random_fleets(fleet: Fleet) -> None:
    around = [Try(name, "accepted", at, at, "z", "p8") for name, at in (("before", -90_000), ("after", 90_000))]
    fleet = replace(fleet, tries=[*fleet.tries, *around])
    batch = charged(fleet, (0, 1))
    expected, found = ledger(fleet, 2), by_bucket(batch)
    for key in expected.keys() | found.keys():
        assert found.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), rel=1e-9, abs=1e-12), key
    # hours alone or together, whatever lies around them
    alone = pl.concat([charged(fleet, (hour,)) for hour in (0, 1)])
    order = [name for name in batch.columns if name not in {"usd", "gpu_s", "tokens"}]
    assert alone.sort(order).equals(batch.sort(order))


def whole_of(frame: pl.DataFrame) -> dict[str, float]:
    """USD by bucket."""
    return {row["bucket"]: row["usd"] for row in frame.group_by("bucket").agg(pl.col("usd").sum()).to_dicts()}


def wasted(
    frame: pl.DataFrame,
    *grains: int,
    ended: Sequence[Row] = (),
    step_s: int = 300,
    sliced: Slices | None = None,
    workloads: Mapping[str, Workload] | None = None,
) -> pl.DataFrame:
    """Waste of a ledger at the grains; `ended` are the requests that share overhead."""
    names = arrow_schema("cost_ledger").names
    with connect() as connection:
        connection.register("cost_ledger", frame.select(names).to_arrow())
        connection.register("requests", pa.Table.from_pylist(list(ended), schema=arrow_schema("requests")))
        connection.register("ledger_options", ledger_options(Settings(costs=Costs(step_s=step_s))))
        connection.register("grains", as_rows("grains", *({"window_s": grain} for grain in grains)))
        asked = Settings(slices=sliced or Slices(), workloads=dict(workloads or {}))
        connection.register("workload_rules", workload_rows(asked))
        for name, given in SLICES.items():
            connection.register(name, given(asked))
        for relation in WASTE.relations:
            compute(connection, relation)
        return pl.DataFrame(connection.sql("SELECT * FROM waste").to_arrow_table())


@given(fleet=fleets, overheads=st.lists(st.sampled_from([None, "p1", "p9"]), max_size=2), names=st.randoms())
@settings(max_examples=15, deadline=None)
def test_slices_add_up_whatever_windows_are_asked_for(fleet: Fleet, overheads: list[str | None], names: Random) -> None:
    extra = [Record(3.0, 0, 5000, pool=pool, basis="overhead") for pool in overheads]
    fleet = replace(fleet, records=[*fleet.records, *extra])
    rows = [
        attempt_row(attempt, workload=names.choice("xyz"), route=names.choice(["r1", None]), tenant=names.choice("abc"))
        for attempt in fleet.tries
    ]
    spent = charged(replace(fleet, tries=[]), (0, 1), rows)
    grains = (300, 900, 3600, 7200)
    ended = [
        row | {"attributes": names.choice([None, '{"team":"x"}', '{"team":"y"}'])}
        for row in requests_of([row for row in rows if row["verdict"]])
    ]
    sliced = Slices(by=("tenant", "attributes.team"), max_values=2)
    rules = {"x": Workload(quality=Quality()), "y": Workload(quality=Quality(unlabelled="fail"))}
    frame = wasted(spent, *grains, ended=ended, sliced=sliced, workloads=rules)
    # every dollar of the ledger is in every slice of every length, in its window
    money = spent.with_columns(start_s=pl.col("window_start").dt.epoch("s")).filter(pl.col("usd").is_not_null())
    for (window_s, name), rows_of in frame.filter(pl.col("usd").is_not_null()).group_by("window_s", "slice"):
        found = dict(rows_of.group_by("window_start").agg(pl.col("usd").sum()).iter_rows())
        start = pl.from_epoch(pl.col("start_s") // window_s * window_s).dt.replace_time_zone("UTC")
        expected = dict(money.group_by(start.alias("window_start")).agg(pl.col("usd").sum()).iter_rows())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), (window_s, name)
    keys = ["window_s", "window_start", "bucket"]
    values = [pl.col(name).sum() for name in ("usd", "measured_usd", "direct_usd", "gpu_s", "tokens")]
    overall = frame.filter(slice="overall").group_by(keys).agg(values).sort(keys)
    for _, rows_of in frame.group_by("slice"):
        assert_frame_equal(rows_of.group_by(keys).agg(values).sort(keys), overall, abs_tol=1e-9, rel_tol=1e-9)
    # a window is the same whatever others are asked for
    alone = pl.concat([wasted(spent, grain, ended=ended, sliced=sliced, workloads=rules) for grain in grains])
    order = [*keys, "slice", "slice_value", "workload", "model", "pool", "route"]
    assert not frame.select(order).is_duplicated().any()
    assert alone.sort(order).equals(frame.sort(order))


def test_the_published_example_of_two_routes(tmp_path: Path) -> None:
    """100 requests each in 10 s, 58 and 85 pass all gates, $1.10 and $1.45: 5.8 and 8.5 per s, $0.019 and $0.017."""
    routes = {"A": (58, 1.10), "B": (85, 1.45)}
    rows = [
        attempt_row(
            Try(
                f"{route}{n}",
                "accepted" if n < passing else "slow",
                start=n // 20,
                end=n // 20 + 2,
                replica=route,
                pool=route,
            ),
            route=route,
        )
        for route, (passing, _) in routes.items()
        for n in range(100)
    ]
    bills = [Record(usd, 0, 10, replica=route, pool=route) for route, (_, usd) in routes.items()]
    costs = wasted(charged(Fleet(records=bills), attempts=rows, step_s=10), 10, step_s=10)
    requests = [
        judged(
            row["attempt_id"],
            row["verdict"],
            end=2.0,
            pool=row["pool"],
            route=row["route"],
            model="m",
            arrived_at=at_us(0),
            ended_at=row["ended_ns"] // 1000,
        )
        for row in rows
    ]
    paths = {"requests": tmp_path / "requests.parquet", "waste": tmp_path / "waste.parquet"}
    pq.write_table(pa.Table.from_pylist(requests, schema=arrow_schema("requests")), paths["requests"])
    pq.write_table(costs.select(arrow_schema("waste").names).to_arrow().cast(arrow_schema("waste")), paths["waste"])
    stretch = Stretch(BEGIN_S, BEGIN_S + 10, (BEGIN_S * 10**9, (BEGIN_S + 10) * 10**9))
    frame = measure(
        one_workload(), Parts([str(paths["requests"])], waste=[str(paths["waste"])]), (10,), stretch
    ).goodput
    by_route = {row["route"]: row for row in frame.to_dicts() if row["slice"] == "workload_route"}
    for route, goodput_rps, usd, per_accepted in (("A", 5.8, 1.10, 0.019), ("B", 8.5, 1.45, 0.017)):
        assert by_route[route]["goodput_rps"] == pytest.approx(goodput_rps)
        assert by_route[route]["cost_usd"] == pytest.approx(usd, rel=1e-9)
        assert round(by_route[route]["cost_per_accepted_usd"], 3) == per_accepted
    (overall,) = frame.filter(pl.col("slice") == "overall").to_dicts()
    assert overall["cost_usd"] == pytest.approx(2.55, rel=1e-9)
    assert overall["cost_per_accepted_usd"] == pytest.approx(2.55 / 143)


def test_of_eight_tickets_with_twelve_calls_four_calls_are_retry_waste() -> None:
    """Every call asks the same and takes a second of one replica at $0.01 a second; nothing is in flight for 8 s."""
    retried = {1, 4, 6, 7}
    calls = [(ticket, call) for ticket in range(8) for call in range(2 if ticket in retried else 1)]
    tries = [
        Try(f"{ticket}/{call}", "retry" if call == 0 and ticket in retried else "accepted", n, n + 1, "r", "p")
        for n, (ticket, call) in enumerate(calls)
    ]
    frame = charged(Fleet(tries, sampled=[("r", "p", 0, 20)], rates={"p": 0.01}))
    assert frame.filter(pl.col("bucket") == "retry").height == 4
    assert whole_of(frame) == pytest.approx({"retry": 0.04, "accepted": 0.08, "idle": 0.08})


def counter(replica: str, metric: str, increase: float, begin: int, end: int) -> Row:
    (row,) = sample_rows(replica, "p", end, end)
    return {**row, "metric": metric, "kind": "counter", "increase": increase, "interval_s": float(end - begin)}


def test_what_attempts_do_not_report_is_spread_from_counters() -> None:
    """A replica at $0.01 a second, busy for 100 s: works of 1000 and 3000, 500 tokens redone, 400 of 600 drafts vain.

    All of it is 1000 + 3000 + 500 + 0.5 x 600 = 4800: a dollar has 500 / 4800 of recomputing and 200 / 4800 of drafts.
    """
    tries = [
        Try("a", "accepted", 0, 100, "r", "p", tokens=(500, 0, 100), recomputed=None, drafts=None),
        Try("b", "slow", 0, 100, "r", "p", tokens=(1000, 0, 400), recomputed=None, drafts=None),
    ]
    counters = [
        counter("r", "recomputed_tokens", 500, 0, 100),
        counter("r", "draft_tokens", 600, 0, 100),
        counter("r", "accepted_draft_tokens", 200, 0, 100),
    ]
    frame = charged(Fleet(tries, rates={"p": 0.01}), extra=counters)
    found = whole_of(frame)
    assert found["preemption"] == pytest.approx(500 / 4800)
    assert found["speculation"] == pytest.approx(200 / 4800)
    assert sum(found.values()) == pytest.approx(1.0)
    # spread by time in flight, which is the same for both
    assert found["accepted"] == pytest.approx((1000 + 50) / 4800)
    estimated = dict(frame.group_by("bucket").agg(pl.col("estimated").all()).iter_rows())
    assert estimated == {"accepted": False, "slow": False, "preemption": True, "speculation": True}
    tokens = dict(frame.group_by("bucket").agg(pl.col("tokens").sum()).iter_rows())
    assert tokens == pytest.approx({"accepted": 600, "slow": 1400, "preemption": 500, "speculation": 400})


def test_no_more_drafts_are_rejected_than_were_made() -> None:
    """Counters leave b 20 drafts and 270 rejected ones, as they kept fewer than a: 20 of them count.

    Works are 1000 + 0.5 x 500 and 1 + 0.5 x 20: of the dollar a's 50 rejected ones and b's 20 have 25 and 10 of 1261.
    """
    tries = [
        Try("a", "accepted", 0, 100, "r", "p", tokens=(1000, 0, 0), drafts=(500, 450)),
        Try("b", "slow", 0, 100, "r", "p", tokens=(1, 0, 0), drafts=None),
    ]
    counters = [counter("r", "draft_tokens", 520, 0, 100), counter("r", "accepted_draft_tokens", 200, 0, 100)]
    found = whole_of(charged(Fleet(tries, rates={"p": 0.01}), extra=counters))
    assert found == pytest.approx({"accepted": 1225 / 1261, "slow": 1 / 1261, "speculation": 35 / 1261})


def test_preemptions_that_are_only_counted_are_taken_to_lose_half_an_answer() -> None:
    """$1 for works of 800 + 20 + 5 x 100 = 1320 and, of two preemptions, 2 x 50 tokens; at worst 2 x 1100 tokens."""
    tries = [Try("a", "accepted", 0, 100, "r", "p", tokens=(1000, 200, 100), recomputed=None)]
    frame = charged(Fleet(tries, rates={"p": 0.01}), extra=[counter("r", "preemptions", 2, 0, 100)])
    (row,) = frame.filter(pl.col("bucket") == "preemption").to_dicts()
    assert row["usd"] == pytest.approx(100 / 1420)
    assert row["estimated"]
    assert row["usd"] + row["error_usd"] >= 2200 / 1420
    # a counter of the tokens says more than one of the times
    told = [counter("r", "preemptions", 2, 0, 100), counter("r", "recomputed_tokens", 500, 0, 100)]
    (row,) = charged(Fleet(tries, rates={"p": 0.01}), extra=told).filter(pl.col("bucket") == "preemption").to_dicts()
    assert row["usd"] == pytest.approx(500 / 1820)
    assert row["error_usd"] < row["usd"]


def heard(attempt: Try, after: float | None, **more: Any) -> Row:
    """A streamed attempt whose first token came so many seconds after its start."""
    first = None if after is None else at_us(attempt.start + after) * 1000
    return attempt_row(attempt, streamed=True, first_token_ns=first, **more)


@pytest.mark.parametrize(
    ("waits", "wait", "end", "tokens", "work", "error"),
    [
        # its first token came after 4 s: 220 + 2 s x 110; of 20 more for each of 2 s it got as far
        pytest.param((1, 2, 3), 4, 6, {}, 440 + 40, 1.96 * 127.02, id="abandoned"),
        # given up after 1 s, when first tokens take 2 s: half of half a prompt, or the whole of a long one
        pytest.param((1, 2, 3), None, 1, {}, 55, 55 + 0.5 * 1.96 * 127.02, id="no token at all"),
        # times tell less than tokens: 0.55 of work for each, and its own answer
        pytest.param(
            (3, 2, 1), 1, 6, {"input_tokens": 1000, "output_tokens": 7}, 550 + 35, 1.96 * 127.02, id="cached or not"
        ),
        # both tell all: its own tokens it reports itself
        pytest.param(
            (1, 2, 3), 4, 6, {"input_tokens": 1000, "output_tokens": 7}, 550 + 35, 1.96 * 127.02, id="tokens and times"
        ),
        # the same wait for any prompt says nothing of it, however sums are rounded
        pytest.param((0.1, 0.1, 0.1), 4, 8, {}, 220 + 80, 1.96 * 127.02, id="waits alike"),
        # half of its own prompt, or none or all of it
        pytest.param(
            (1, 2, 3), None, 1, {"input_tokens": 1000, "cached_input_tokens": 500}, 275, 275, id="its own prompt"
        ),
    ],
)
def test_what_an_attempt_does_not_tell_is_taken_from_those_alike(  # noqa: PLR0917
    waits: Sequence[float], wait: int | None, end: int, tokens: Row, work: float, error: float
) -> None:
    """Prompts of 200, 400 and 600 tokens, half of them cached, are 110, 220 and 330 of work, and take `waits`.

    Their answers of 20 tokens take 5 s each: 100 of work, 20 a second. The prompts' works have a variance of
    110 ** 2 x 2 / 3, for the next of three draws (3 + 1) / (3 - 1) times that: 127.02 ** 2.
    """
    alike = [
        heard(Try(f"{n}", "accepted", 0, after + 5, "r", "p", tokens=(200 * n, 100 * n, 20)), after)
        for n, after in enumerate(waits, 1)
    ]
    gone = heard(Try("gone", "abandoned", 0, end, "r", "p", tokens=None), wait, **tokens)
    frame = charged(Fleet(rates={"p": 0.01}), attempts=[*alike, gone])
    (row,) = frame.filter(pl.col("attempt_id") == "gone").to_dicts()
    per_work = 0.08 / (110 + 220 + 330 + 3 * 100 + work)
    assert row["usd"] == pytest.approx(work * per_work)
    assert row["error_usd"] == pytest.approx(error * per_work, rel=1e-3)
    # who gave up is no draw of those who got through: all of its kind may be off the same way
    assert row["common_error_usd"] == (row["error_usd"] if wait is None else 0)
    assert row["estimated"]
    # whoever shares the replica with it shares the doubt
    told = frame.filter(pl.col("bucket") == "accepted")
    assert not told["estimated"].any()
    assert told["error_usd"].sum() == pytest.approx(told["usd"].sum() * error / (work + 960), rel=1e-3)


def test_counters_that_say_nothing_of_prompts_leave_one_alike() -> None:
    """Given up after 1 s, when first tokens of prompts of 220 take 2 s: half of half a prompt."""
    alike = [heard(Try(f"{n}", "accepted", 0, 9, "r", "p", tokens=(200 * n, 100 * n, 20)), n) for n in (1, 2, 3)]
    gone = heard(Try("gone", "abandoned", 0, 1, "r", "p", tokens=None), None)
    other = [counter("r", "accepted_draft_tokens", 5, 0, 60)]
    frame = charged(Fleet(rates={"p": 0.01}), attempts=[*alike, gone], extra=other)
    assert whole_of(frame)["abandoned"] == pytest.approx(0.09 * 55 / (660 + 300 + 55))


def test_prompts_that_counters_saw_begun_are_of_those_who_gave_up() -> None:
    """Begun were 2000 tokens, 600 cached: 1460 of work, 660 known. Waits of 1 and 3 s share 800; half of it is done."""
    alike = [heard(Try(f"{n}", "accepted", 0, 9, "r", "p", tokens=(200 * n, 100 * n, 20)), n) for n in (1, 2, 3)]
    gone = [heard(Try(f"gone {s}", "retry", 0, s, "r", "p", tokens=None), None, outcome="timeout") for s in (1, 3)]
    counters = [
        counter("r", "prefix_cache_queried_tokens", 2000, 0, 60),
        counter("r", "prefix_cache_hit_tokens", 600, 0, 60),
    ]
    frame = charged(Fleet(rates={"p": 0.01}), attempts=alike + gone, extra=counters)
    retried = frame.filter(pl.col("bucket") == "retry")
    busy = 0.09 / (660 + 300 + 400)
    found = dict(retried.select("attempt_id", "usd").iter_rows())
    assert found == pytest.approx({"gone 1": 100 * busy, "gone 3": 300 * busy})
    # nothing of it or all of it may have been done, of the one as of the other
    assert retried["common_error_usd"].to_list() == pytest.approx(retried["usd"].to_list())


@pytest.mark.parametrize(
    ("first", "together"),
    [
        pytest.param(2, 2**0.5, id="draws of those alike"),
        pytest.param(None, 2, id="half of a prompt is assumed of all"),
    ],
)
def test_errors_add_up_within_a_replica_and_window_and_where_they_lean_the_same_way(
    first: int | None, together: float
) -> None:
    """Two replicas, each with three attempts that tell all and two alike that tell nothing and are equally in doubt."""
    attempts = [
        heard(Try(f"{replica}{n}", "accepted", 0, n + 5, replica, "p", tokens=(200 * n, 100 * n, 20)), n)
        for replica in "rs"
        for n in (1, 2, 3)
    ]
    attempts += [
        heard(Try(f"{replica} gone {n}", "abandoned", 0, 6, replica, "p", tokens=None), first)
        for replica in "rs"
        for n in range(2)
    ]
    frame = charged(Fleet(rates={"p": 0.01}), attempts=attempts)
    (error,) = set(frame.filter(bucket="abandoned")["error_usd"])
    (row,) = wasted(frame, 300).filter(slice="overall", bucket="abandoned").to_dicts()
    assert row["error_usd"] == pytest.approx(2 * error * together)


def test_attempts_that_count_by_their_time_lean_the_same_way() -> None:
    """Of each replica one attempt of two tells nothing: $0.5 by its time, all in doubt, with it half of all work."""
    tries = [
        Try(f"{replica}/{bucket}", bucket, 0, 100, replica, "p", tokens=tokens)
        for replica in ("r", "s")
        for bucket, tokens in (("slow", (500, 0, 100)), ("abandoned", None))
    ]
    frame = wasted(charged(Fleet(tries, rates={"p": 0.01})), 300).filter(pl.col("slice") == "overall")
    rows = {row["bucket"]: (row["usd"], row["error_usd"]) for row in frame.to_dicts()}
    assert rows["abandoned"] == (pytest.approx(1.0), pytest.approx(2 * 0.5))
    assert rows["slow"] == (pytest.approx(1.0), pytest.approx(2 * 0.5 * 0.5))


def test_an_attempt_without_tokens_is_charged_by_its_time() -> None:
    """Two tries of 100 s; the one that was told works 10 a second, so the other is taken to work as much: half each."""
    tries = [
        Try("told", "accepted", 0, 100, "r", "p", tokens=(500, 0, 100)),
        Try("gone", "abandoned", 50, 150, "r", "p", tokens=None),
    ]
    frame = charged(Fleet(tries, rates={"p": 0.01}))
    assert whole_of(frame) == pytest.approx({"accepted": 0.75, "abandoned": 0.75})
    assert frame.filter(pl.col("bucket") == "abandoned")["estimated"].to_list() == [True]


@pytest.mark.parametrize(
    ("records", "usd"),
    [
        # up for 300 s at a rate of $0.01
        ([], 3.0),
        # a bill wins for the 100 s that it covers
        ([Record(7.0, 0, 100, "r", "p")], 7.0 + 2.0),
        # so does one of its pool; and over an allocation of its time, of which half stays
        ([Record(7.0, 0, 100, pool="p"), Record(4.0, 50, 150, "r", "p", basis="allocation")], 7.0 + 2.0 + 1.5),
        ([Record(5.0, 0, 300, "r", "p", basis="allocation"), Record(9.0, 0, 300, "r", "p", basis="rate_card")], 5.0),
        # corrections count with their sign
        ([Record(7.0, 0, 300, "r", "p"), Record(-2.0, 0, 300, "r", "p")], 5.0),
    ],
)
def test_the_better_basis_wins_for_the_time_that_it_covers(records: list[Record], usd: float) -> None:
    fleet = Fleet([Try("a", "accepted", 0, 60, "r", "p")], [("r", "p", 0, 300)], records, {"p": 0.01})
    frame = charged(fleet)
    assert sum(whole_of(frame).values()) == pytest.approx(usd)
    assert whole_of(frame)["idle"] == pytest.approx(usd * 240 / 300)


def test_what_is_paid_for_a_pool_is_shared_by_those_seen_and_says_how_far_it_may_be_off() -> None:
    """8 USD for an hour; of two replicas without samples one is busy for half of it, the other in its first quarter.

    Both share the first 2 USD, one has the next 2, and none is seen for the other 4. Had both been up throughout, their
    busy time would be 3/8 of 8 USD.
    """
    tries = [Try("a", "accepted", 0, 1800, "r", "p"), Try("b", "accepted", 0, 900, "s", "p")]
    frame = charged(Fleet(tries, records=[Record(8.0, 0, HOUR_S, pool="p")]))
    assert whole_of(frame) == pytest.approx({"accepted": 4.0, "idle": 4.0})
    assert dict(frame.group_by("replica").agg(pl.col("usd").sum()).iter_rows()) == pytest.approx(
        {"r": 3.0, "s": 1.0, None: 4.0}
    )
    rows = {row["bucket"]: row for row in wasted(frame, 3600).filter(slice="overall").to_dicts()}
    assert rows["accepted"]["estimated"]
    assert rows["accepted"]["error_usd"] == pytest.approx(4.0 - 3.0)
    # with samples it is known that nobody else was up
    sampled = Fleet(tries, [("r", "p", 0, 1800), ("s", "p", 0, 900)], [Record(8.0, 0, HOUR_S, pool="p")])
    rows = {row["bucket"]: row for row in wasted(charged(sampled), 3600).filter(slice="overall").to_dicts()}
    assert (rows["accepted"]["usd"], rows["accepted"]["error_usd"]) == (pytest.approx(4.0), 0)
    assert (rows["idle"]["usd"], rows["idle"]["estimated"]) == (pytest.approx(4.0), False)


def test_a_replica_that_is_seen_after_its_pool_was_paid_has_no_known_cost() -> None:
    """The pool is paid for the first 100 s, while a alone is seen; b is seen later in the step, and is not free."""
    tries = [
        Try("early", "accepted", 0, 50, "a", "p", tokens=(100, 0, 10)),
        Try("late", "accepted", 200, 250, "b", "p"),
    ]
    frame = charged(Fleet(tries, records=[Record(1.0, 0, 100, pool="p")]))
    found = {row["attempt_id"]: row["usd"] for row in frame.to_dicts() if row["attempt_id"]}
    assert found == {"early": pytest.approx(0.5), "late": None}


def test_a_better_basis_for_a_pool_displaces_the_record_of_a_replica_while_nobody_is_seen() -> None:
    """Allocated to the pool are seconds 400 to 500 and 650 to 900: $7 of its idle time, and no part of a's rate card.

    That is $12 for the 1200 s of four steps: a cent a second, of which 350 s are displaced.
    """
    seen = [Try("t", "accepted", 0, 10, "a", "p")]
    records = [Record(12.0, 0, 1200, replica="a", pool="p", basis="rate_card")]
    records += [
        Record(usd, begin, end, pool="p", basis="allocation") for usd, begin, end in ((2.0, 400, 500), (5.0, 650, 900))
    ]
    frame = charged(Fleet(seen, records=records)).filter(pl.col("bucket") == "idle")
    paid = {
        (one["replica"], (one["window_start"].timestamp() - BEGIN_S) // 300): one["usd"] for one in frame.to_dicts()
    }
    assert paid == pytest.approx(
        {("a", 0): 2.9, ("a", 1): 2.0, ("a", 2): 0.5, ("a", 3): 3.0, (None, 1): 2.0, (None, 2): 5.0}
    )


def test_a_bill_is_that_replicas_which_telemetry_knows_within_a_day() -> None:
    """x served in the hour before and not in this one, y for ten seconds: what x is billed for is x's idle time."""
    tries = [Try("a", "accepted", -600, -590, "x", "p"), Try("b", "accepted", 0, 10, "y", "p")]
    bill = Record(6.0, 0, HOUR_S, "x", "p")
    frame = charged(Fleet(tries, records=[bill]))
    assert whole_of(frame.filter(replica="x")) == pytest.approx({"idle": 6.0})
    assert frame.filter(pl.col("replica") == "y")["usd"].to_list() == [None]
    beside = charged(Fleet(tries, records=[bill, Record(3.0, 0, HOUR_S, "y", "p")]))
    assert whole_of(beside.filter(replica="x")) == pytest.approx({"idle": 6.0})
    assert whole_of(beside) == pytest.approx({"idle": 9.0 - 3.0 / 360, "accepted": 3.0 / 360})
    # a day and more after it was last seen nobody knows it, nor its pool
    late = Record(6.0, 25 * HOUR_S, 26 * HOUR_S, "x", "p")
    assert whole_of(charged(Fleet(tries[:1], records=[late]), (23,))) == {}
    assert whole_of(charged(Fleet(tries[:1], records=[late]), (25,))) == pytest.approx({"unattributed": 6.0})
    near = Record(6.0, 23 * HOUR_S, 24 * HOUR_S, "x", "p")
    later = Try("c", "accepted", 30 * HOUR_S, 30 * HOUR_S + 10, "z", "q")
    assert whole_of(charged(Fleet([tries[0], later], records=[near]), (23,))) == pytest.approx({"idle": 6.0})


def called(replica: str, *others: str, hours: Sequence[int] = (0,)) -> list[Row]:
    """Rows of `replica_names`: an engine's records name the replica, their resource has these names as well."""
    known = [{"name": replica, "evidence": "record"}, *({"name": name, "evidence": "resource"} for name in others)]
    return [{"epoch_hour": HOUR + hour, "replica": replica, **row} for hour in hours for row in known]


ADDRESS: list[Row] = [{"epoch_hour": HOUR, "name": "10.0.0.7:8000", "evidence": "call", "replica": "x"}]


@pytest.mark.parametrize("named", ["x", "uid-x", "10.0.0.7:8000", "node-1"])
def test_a_bill_is_the_same_replicas_whatever_it_calls_it(named: str) -> None:
    """x is billed 36 USD for an hour of which it is busy for ten seconds, y of the same pool nothing."""
    tries = [Try("a", "accepted", 0, 10, "x", "p"), Try("b", "slow", 0, 10, "y", "p")]
    up = [("x", "p", 0, HOUR_S), ("y", "p", 0, HOUR_S)]
    names = [*called("x", "uid-x"), *called("y", "uid-y"), *ADDRESS]
    fleet = Fleet(tries, up, [Record(36.0, 0, HOUR_S, named, "p")])
    frame = charged(fleet, names=names, declared={"node-1": "x"})
    paid = frame.filter(pl.col("usd") != 0)
    assert set(paid["replica"]) == {"x"}
    assert whole_of(paid) == pytest.approx({"accepted": 0.1, "idle": 35.9})
    if named != "x":  # without what shows whose name it is, the pool's replicas share it
        assert set(charged(fleet).filter(pl.col("usd") != 0)["replica"]) == {"x", "y"}


def test_a_bill_by_one_name_displaces_an_allocation_by_another() -> None:
    tries = [Try("a", "accepted", 0, 10, "x", "p")]
    both = [Record(6.0, 0, HOUR_S, "uid-x", "p"), Record(5.0, 0, HOUR_S, "x", "p", basis="allocation")]
    assert sum(whole_of(charged(Fleet(tries, records=both), names=called("x", "uid-x"))).values()) == pytest.approx(6.0)


def test_a_name_that_two_replicas_have_is_neithers_on_a_bill() -> None:
    tries = [Try("a", "accepted", 0, 10, "x", "p"), Try("b", "slow", 0, 10, "y", "p")]
    names = [*called("x", "host-1"), *called("y", "host-1")]
    found = charged(Fleet(tries, records=[Record(6.0, 0, HOUR_S, "host-1", "p")]), names=names)
    of_pool = charged(Fleet(tries, records=[Record(6.0, 0, HOUR_S, None, "p")]), names=names)
    assert in_order(found).equals(in_order(of_pool))
    alone = charged(Fleet(tries, records=[Record(6.0, 0, HOUR_S, "host-1")]), names=names)
    assert whole_of(alone.filter(pl.col("usd") != 0)) == pytest.approx({"unattributed": 6.0})


def test_a_name_on_a_bill_is_known_from_the_nearest_hour_of_a_day() -> None:
    """x and its uid are known in hour 0; in hour 5 it served under its name alone, in hour 6 not at all."""
    tries = [Try("a", "accepted", 0, 10, "x", "p"), Try("b", "slow", 5 * HOUR_S, 5 * HOUR_S + 36, "x", "p")]
    later = Try("c", "accepted", 40 * HOUR_S, 40 * HOUR_S + 10, "z", "q")
    bills = [Record(6.0, hour * HOUR_S, (hour + 1) * HOUR_S, "uid-x") for hour in (5, 6, 25)]
    frame = charged(Fleet([*tries, later], records=bills), (5, 6, 25), names=called("x", "uid-x"))
    of_hour = {(hour, row["bucket"]): row["usd"] for hour, row in hourly_usd(frame)}
    assert of_hour == pytest.approx({(5, "slow"): 0.06, (5, "idle"): 5.94, (6, "idle"): 6.0, (25, "unattributed"): 6.0})


def hourly_usd(frame: pl.DataFrame) -> list[tuple[int, Row]]:
    """USD by hour after BEGIN_S and bucket."""
    sums = frame.group_by("epoch_hour", "bucket").agg(pl.col("usd").sum())
    return [(row["epoch_hour"] - HOUR, row) for row in sums.to_dicts()]


@given(fleet=fleets)
@settings(max_examples=5, deadline=None)
def test_bills_by_other_names_give_the_same_ledger_of_random_fleets(fleet: Fleet) -> None:
    names = [row for name in ("a", "b", "c") for row in called(name, f"uid-{name}", hours=range(-2, 4))]
    renamed = [replace(row, replica=f"uid-{row.replica}") if row.replica == "a" else row for row in fleet.records]
    found = charged(replace(fleet, records=renamed), (0, 1), names=names)
    by_own_name = found.with_columns(
        pl.col("replica").replace("uid-a", "a")
    )  # what telemetry never shows keeps its name
    assert in_order(by_own_name).equals(in_order(charged(fleet, (0, 1), names=names)))


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a ledger in an order that does not depend on how they were computed."""
    return frame.sort([name for name in frame.columns if name not in {"usd", "gpu_s", "tokens"}])


@pytest.mark.parametrize(("named", "pool"), [("x", "p"), (None, "p")])
def test_money_of_hours_before_and_after_all_telemetry_is_nobodys(named: str | None, pool: str) -> None:
    """Telemetry of two hours of a day whose bill covers all of it: what stood idle in the rest nobody saw."""
    tries = [
        Try("a", "accepted", 10 * HOUR_S, 10 * HOUR_S + 10, "x", "p"),
        Try("b", "slow", 12 * HOUR_S - 10, 12 * HOUR_S, "x", "p"),
    ]
    frame = charged(Fleet(tries, records=[Record(48.0, 0, 24 * HOUR_S, named, pool)]), tuple(range(24)))
    found = whole_of(frame)
    assert found["unattributed"] == pytest.approx(44.0)
    assert sum(found.values()) == pytest.approx(48.0)
    assert found["accepted"] + found["slow"] == pytest.approx(2 * 20 / 3600)


@pytest.mark.parametrize("pool", ["q", None])
def test_of_a_replica_that_telemetry_does_not_know_the_best_basis_counts(pool: str | None) -> None:
    """Its bill and its allocation are the same money, whichever names a pool; two bills without a resource are not."""
    known = Try("a", "accepted", 0, 10, "x", "p")
    twice = [
        Record(6.0, 0, HOUR_S, "ghost", pool, basis="billing"),
        Record(5.0, 0, HOUR_S, "ghost", "q", basis="allocation"),
    ]
    loose = [Record(1.0, 0, HOUR_S, basis="billing"), Record(2.0, 0, HOUR_S, basis="allocation")]
    found = whole_of(charged(Fleet([known], records=[*twice, *loose])))
    assert found["unattributed"] == pytest.approx(6.0 + 1.0 + 2.0)


def test_a_pool_is_paid_while_none_of_its_replicas_is_seen() -> None:
    tries = [Try("a", "accepted", -600, -590, "x", "p"), Try("b", "accepted", 2 * HOUR_S, 2 * HOUR_S, "z", "r")]
    frame = charged(Fleet(tries, records=[Record(6.0, 0, HOUR_S, pool="p"), Record(1.0, 0, HOUR_S, pool="q")]))
    assert whole_of(frame) == pytest.approx({"idle": 6.0, "unattributed": 1.0})
    assert set(frame.filter(bucket="idle").select("pool", "replica").iter_rows()) == {("p", None)}


def test_what_an_engine_did_before_its_first_reading_is_not_up() -> None:
    """Its counters began 250 s before the first reading; what it served 20 s before that shows that it was up then."""
    first = {**counter("r", "preemptions", 1, 50, 300), "series_id": "c"}
    readings = [row | {"interval_s": None} for row in sample_rows("r", "p", 300, 600)]
    frame = charged(Fleet(rates={"p": 0.01}), extra=[first, *readings])
    assert frame["usd"].sum() == pytest.approx(3.0)
    served = charged(Fleet([Try("a", "accepted", 280, 290, "r", "p")], rates={"p": 0.01}), extra=[first, *readings])
    assert whole_of(served) == pytest.approx({"accepted": 0.1, "idle": 3.1})


def test_idle_time_is_in_doubt_while_requests_of_the_pool_are_on_no_known_replica() -> None:
    rows = [attempt_row(Try("a", "accepted", 0, 60, None, "p"))]
    frame = charged(Fleet(sampled=[("r", "p", 0, 600)], rates={"p": 0.01}), attempts=rows).filter(bucket="idle")
    found = [(row["usd"], row["estimated"], row["error_usd"]) for row in frame.sort("window_start").to_dicts()]
    assert found == [(pytest.approx(3.0), True, pytest.approx(0.6)), (pytest.approx(3.0), False, 0)]


def test_without_bill_and_rate_there_is_no_cost_and_a_count_says_so() -> None:
    fleet = Fleet([Try("a", "accepted", 0, 60, "r", "p")], [("r", "p", 0, 300)])
    frame = wasted(charged(fleet), 300).filter(pl.col("slice") == "overall")
    rows = {row["bucket"]: (row["usd"], row["gpu_s"], row["unpriced"]) for row in frame.to_dicts()}
    assert rows == {"accepted": (None, 60.0, 1), "idle": (None, 240.0, 1)}


def test_bought_tokens_cost_the_price_of_their_time_or_their_bill_or_what_the_gateway_says() -> None:
    def bought(name: str, model: str, **more: Any) -> Row:
        return attempt_row(Try(name, "accepted", 10, 20, None, "api", model, (1000, 0, 200)), **more)

    rows = [
        bought("listed", "api", reported_cost_usd=9.0),
        bought("billed", "big"),
        bought("told", "other", reported_cost_usd=0.5),
        bought("free", "other", reported_cost_usd=0.0),
        bought("later", "api", started_ns=at_us(400) * 1000, ended_ns=at_us(400) * 1000),
        # what tells no tokens has no listed price: it is not free
        bought("wordless", "api", input_tokens=None, cached_input_tokens=None, reported_cost_usd=0.25),
        bought("silent", "api", input_tokens=None, cached_input_tokens=None, output_tokens=None),
    ]
    fleet = Fleet(records=[Record(3.0, 0, 300, model="big"), Record(2.0, 0, 300, model="nobody")], price=(1e-3, 2e-3))
    found = {row["attempt_id"]: (row["usd"], row["basis"]) for row in charged(fleet, attempts=rows).to_dicts()}
    assert found == {
        "listed": (pytest.approx(1.4), "token_price"),
        "billed": (pytest.approx(3.0), "billing"),
        "told": (0.5, "reported"),
        "free": (None, None),
        "later": (pytest.approx(1.4), "token_price"),
        "wordless": (0.25, "reported"),
        "silent": (None, None),
        None: (2.0, "billing"),
    }


def test_bills_that_find_nothing_for_whatever_they_name_are_one_entry() -> None:
    """One names a request that nobody knows, one nothing; one a model that was called, and one the request that did."""
    row = attempt_row(Try("billed", "accepted", 10, 20, None, "api", "big", (1000, 0, 200)))
    named = [Record(1.0, 0, 300, request_key="nobody's"), Record(0.25, 0, 300, request_key="billed")]
    records = [Record(3.0, 0, 300, model="big"), Record(2.0, 0, 300), *named]
    frame = charged(Fleet(records=records), attempts=[row])
    found = {(one["attempt_id"], one["bucket"], one["basis"]): one["usd"] for one in frame.to_dicts()}
    assert frame.height == len(found) == 2
    assert found == {("billed", "accepted", "billing"): 3.25, (None, "unattributed", "billing"): 3.0}


def day_of_one_replica() -> tuple[Fleet, list[Row]]:
    """One replica at 2 USD an hour up for a UTC day; 2,000 accepted in 10 of its hours, 24 USD of review."""
    rows = [
        attempt_row(Try(f"{hour}/{n}", "accepted", hour * HOUR_S + 18 * n, hour * HOUR_S + 18 * n + 9, "r", "p"))
        for hour in range(9, 19)
        for n in range(200)
    ]
    fleet = Fleet(
        sampled=[("r", "p", HOUR_S, 25 * HOUR_S)],
        rates={"p": 2 / HOUR_S},
        records=[Record(24.0, HOUR_S, 25 * HOUR_S, basis="overhead")],
    )
    return fleet, rows


def requests_of(rows: Sequence[Row]) -> list[Row]:
    return [
        judged(
            row["attempt_id"],
            row["verdict"],
            end=2.0,
            **{name: row.get(name) for name in ("workload", "pool", "route", "model", "outcome", "tenant")},
            arrived_at=row["started_ns"] // 1000,
            ended_at=row["ended_ns"] // 1000,
        )
        for row in rows
    ]


def test_a_day_carries_its_night_and_its_overhead() -> None:
    """48 USD of replica and 24 of review over 2,000 accepted: 0.036 each, of which half of ten hours is their own."""
    fleet, rows = day_of_one_replica()
    frame = wasted(charged(fleet, range(1, 25), rows), 300, 3600, 86400, ended=requests_of(rows))
    of_workload = frame.filter(slice="workload", workload="qa")
    (accepted, idle) = of_workload.filter(window_s=86400).sort("bucket").to_dicts()
    assert (accepted["bucket"], idle["bucket"]) == ("accepted", "idle")
    assert accepted["usd"] + idle["usd"] == pytest.approx(72.0, rel=1e-9)
    assert (accepted["usd"] + idle["usd"]) / 2000 == pytest.approx(0.036, rel=1e-9)
    assert accepted["direct_usd"] == pytest.approx(10.0, rel=1e-9)
    assert idle["direct_usd"] == 0
    # an hour carries what that hour held: 2 of its replica and 1 of review; the night is nobody's
    hourly = of_workload.filter(window_s=3600).group_by("window_start").agg(pl.col("usd").sum())
    assert hourly["usd"].to_list() == pytest.approx([3.0] * 10)
    night = frame.filter(slice="workload", workload="unknown", window_s=3600)
    spent = {row["bucket"]: row["usd"] for row in night.group_by("bucket").agg(pl.col("usd").sum()).to_dicts()}
    assert spent == pytest.approx({"idle": 28.0, "unattributed": 14.0})


LABELLED = ["accepted"] * 3 + ["rejected"] + ["unlabelled"] * 6


def judged_by(quality: Quality, verdicts: Sequence[str] = LABELLED) -> dict[str, tuple[float, ...]]:
    """Of each bucket usd, measured_usd and the interval, where each verdict is of an attempt that costs a dollar."""
    return divided(quality, [Try(f"{n}", verdict, 0, 100, f"r{n}", "p") for n, verdict in enumerate(verdicts)])


def divided(quality: Quality, tries: Sequence[Try], **columns: Sequence[Any]) -> dict[str, tuple[float, ...]]:
    """The same of attempts at a cent a second; `columns` are theirs (route) or of their requests (session_id)."""
    rows = [
        attempt_row(given, **({"route": columns["route"][n]} if "route" in columns else {}))
        for n, given in enumerate(tries)
    ]
    ended = [
        row
        | {"needs_label": True, "pass_quality": {"accepted": True, "rejected": False}.get(row["verdict"])}
        | ({"session_id": columns["session_id"][n]} if "session_id" in columns else {})
        for n, row in enumerate(requests_of(rows))
    ]
    frame = charged(Fleet(rates={"p": 0.01}), attempts=rows)
    found = wasted(frame, 300, ended=ended, workloads={"qa": Workload(quality=quality)}).filter(slice="workload")
    columns = ("usd", "measured_usd", "ci_low_usd", "ci_high_usd")
    return {row["bucket"]: tuple(row[name] for name in columns) for row in found.to_dicts()}


def test_unlabelled_cost_is_divided_as_the_labelled_was() -> None:
    """Of 10 USD 3 were accepted, 1 was rejected and 6 have no label: 4.5 and 1.5 of these.

    Four labels of ten, drawn without replacement, are worth 4 x 9 / 6 = 6: Wilson's interval of 3/4 of 6.
    """
    z, p, n = 1.959963984540054, 0.75, 6
    middle, half = p + z**2 / (2 * n), z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
    low, high = (10 * (middle + sign * half) / (1 + z**2 / n) for sign in (-1, 1))
    high = min(high, 9)  # a dollar was rejected
    assert judged_by(Quality()) == {
        "accepted": pytest.approx((7.5, 3.0, low, high)),
        "rejected": pytest.approx((2.5, 1.0, 10 - high, 10 - low)),
        "unlabelled": pytest.approx((0.0, 6.0, 0.0, 0.0)),
    }


@pytest.mark.parametrize(
    ("quality", "verdicts", "usd"),
    [
        (Quality(unlabelled="fail"), LABELLED, {"accepted": 3.0, "rejected": 7.0, "unlabelled": 0.0}),
        (Quality(unlabelled="pass"), LABELLED, {"accepted": 9.0, "rejected": 1.0, "unlabelled": 0.0}),
        # labels that nobody drew, or none at all, show nothing of the others
        (Quality(sampling="none"), LABELLED, {"accepted": 3.0, "rejected": 1.0, "unlabelled": 6.0}),
        (Quality(), ["unlabelled"] * 6, {"accepted": 0.0, "rejected": 0.0, "unlabelled": 6.0}),
        (Quality(), LABELLED[:4], {"accepted": 3.0, "rejected": 1.0}),
    ],
)
def test_unlabelled_cost_by_policy(quality: Quality, verdicts: Sequence[str], usd: dict[str, float]) -> None:
    found = judged_by(quality, verdicts)
    assert {bucket: row[0] for bucket, row in found.items()} == pytest.approx(usd)
    assert sum(row[1] for row in found.values()) == pytest.approx(sum(usd.values()))


def test_what_no_label_shows_may_be_all_of_it() -> None:
    undrawn = judged_by(Quality(sampling="none"))
    assert undrawn == {
        "accepted": pytest.approx((3.0, 3.0, 3.0, 9.0)),
        "rejected": pytest.approx((1.0, 1.0, 1.0, 7.0)),
        "unlabelled": pytest.approx((6.0, 6.0, 6.0, 6.0)),
    }
    assert judged_by(Quality(), ["unlabelled"] * 6)["rejected"] == pytest.approx((0.0, 0.0, 0.0, 6.0))


def wilson(share: float, drawn: float, errors: float = 1.959963984540054) -> tuple[float, float]:
    """Where a share lies 1.96 of its own standard errors from the one that was seen."""
    per_draw = errors**2 / drawn
    middle, half = share + per_draw / 2, (per_draw * share * (1 - share) + per_draw**2 / 4) ** 0.5
    return (middle - half) / (1 + per_draw), (middle + half) / (1 + per_draw)


def test_unlabelled_cost_is_divided_route_by_route_where_routes_are_judged_at_rates_of_their_own() -> None:
    """A dollar each: of route x 3 of 6 labelled passed, 4 have no label; of y 2 of 2, 8 have none: 2 + 8 of 12."""
    verdicts = ["accepted"] * 3 + ["rejected"] * 3 + ["unlabelled"] * 4 + ["accepted"] * 2 + ["unlabelled"] * 8
    tries = [Try(f"{n}", verdict, 0, 100, f"r{n}", "p") for n, verdict in enumerate(verdicts)]
    found = divided(Quality(), tries, route=["x"] * 10 + ["y"] * 10)
    of_x, of_y = wilson(0.5, 6 * 9 / 4), wilson(1, 2 * 9 / 8)
    # squares 1.5 in x and none in y over 5 + 1 labels, and a quarter more in each; nearly 2 degrees of freedom
    of_each = ((10 / 6) ** 2 * 0.4 * 1.75, (10 / 2) ** 2 * 0.8 * 0.25)
    freedom = sum(of_each) ** 2 / (of_each[0] ** 2 / 5 + of_each[1] ** 2)
    # the wider of distances in quadrature and of 15 of 20 at the variance of both, within the bounds: 5 and 17
    together = wilson(0.75, 15 * 5 / sum(of_each), student.ppf(0.975, freedom))
    least = (max(3, 10 * of_x[0]), max(2, 10 * of_y[0]))
    low = max(5, min(15 - math.hypot(5 - least[0], 10 - least[1]), 20 * together[0]))
    high = min(17, max(15 + 10 * of_x[1] - 5, 20 * together[1]))
    # Student's t of fractions is true to 1.5 %
    assert found["accepted"] == pytest.approx((15.0, 5.0, low, high), rel=0.02)
    assert found["accepted"][:2] == pytest.approx((15.0, 5.0))
    assert found["rejected"] == pytest.approx((5.0, 3.0, 20 - found["accepted"][3], 20 - found["accepted"][2]))


def test_labels_of_dear_requests_and_of_one_session_are_worth_fewer() -> None:
    """Of 4 labelled requests one cost $2, two of the rest are of one session; all others cost $0.50.

    Weights 4, 1, 1, 1 are worth 49 / 19 labels; 5 of 7 parts were accepted; $3 have no label.
    """
    verdicts = ["accepted", "accepted", "rejected", "rejected", *["unlabelled"] * 6]
    tries = [Try(f"{n}", verdict, 0, 200 if n == 0 else 50, f"r{n}", "p") for n, verdict in enumerate(verdicts)]
    alone = divided(Quality(), tries)
    p, worth = 5 / 7, 49 / 19
    worth = min(worth, p * (1 - p) * 49 / (17 * (1 - 2 * p) + p**2 * 19))
    low, high = wilson(p, worth * 9 / 6)
    assert alone["accepted"] == pytest.approx((2.5 + 3 * p, 2.5, max(2.5, 6.5 * low), min(5.5, 6.5 * high)))
    together = divided(Quality(sampling="session"), tries, session_id=["a", "b", "c", "c", *"defghi"])
    assert together["accepted"][0] == alone["accepted"][0]
    # residuals of c: (-0.5)^2 twice beside 4 x 0.25: 1.5; three draws: t(2) = 4.303 for t(3) = 3.182
    low, high = wilson(p, worth * 9 / 6 / (1.5 * (4.302653 / 3.182446) ** 2))
    assert together["accepted"][2:] == pytest.approx((max(2.5, 6.5 * low), min(5.5, 6.5 * high)))


def test_overhead_is_shared_by_the_requests_that_its_record_is_for() -> None:
    rows = [attempt_row(Try(name, bucket, 10, 20, None, "p")) for name, bucket in (("a", "accepted"), ("b", "failed"))]
    rows.append(attempt_row(Try("c", "abandoned", 10, 20, None, "q")))
    rows[0]["tenant"] = "acme"
    fleet = Fleet(
        records=[
            Record(1.5, 0, 300, basis="overhead"),
            Record(3.0, 0, 300, pool="p", basis="overhead"),
            Record(5.0, 0, 300, pool="other", basis="overhead"),
        ]
    )
    spent = charged(fleet, attempts=rows)
    assert whole_of(spent.filter(basis="overhead")) == pytest.approx({"overhead": 9.5})
    frame = wasted(spent, 300, ended=requests_of(rows)).filter(slice="overall")
    assert whole_of(frame) == pytest.approx({"accepted": 2.0, "failed": 2.0, "abandoned": 0.5, "unattributed": 5.0})
    scoped = spent.filter(basis="overhead").with_columns(tenant=pl.lit("acme"), workload=pl.lit("qa"), pool=None)
    frame = wasted(scoped, 300, ended=requests_of(rows)).filter(slice="overall")
    assert whole_of(frame) == pytest.approx({"accepted": 9.5})


def test_idle_time_is_carried_by_those_whom_the_pool_served() -> None:
    rows = [
        attempt_row(Try("x", "accepted", 0, 30, "r", "p"), route="x"),
        attempt_row(Try("y", "accepted", 30, 120, "r", "p"), route="y"),
    ]
    fleet = Fleet(sampled=[("r", "p", 0, 300), ("s", "p", 0, 300), ("t", "q", 0, 300)], rates={"p": 0.01, "q": 0.01})
    spent = charged(fleet, attempts=rows)
    idle = spent.filter(bucket="idle")
    assert idle.select("workload", "model", "route").null_count().row(0) == (3, 3, 3)
    assert dict(idle.select("replica", "usd").iter_rows()) == pytest.approx({"r": 1.8, "s": 3.0, "t": 3.0})
    frame = wasted(spent, 300).filter(slice="finest", bucket="idle")
    usd = {(row["pool"], row["route"]): row["usd"] for row in frame.to_dicts()}
    # attempts of equal work, but y's replica time is as much as x's by work, so both carry half
    assert usd == pytest.approx({("p", "x"): 2.4, ("p", "y"): 2.4, ("q", "unknown"): 3.0})


def test_tenants_carry_idle_time_and_overhead_as_workloads_do() -> None:
    rows = [
        attempt_row(Try("x", "accepted", 0, 30, "r", "p"), tenant="a"),
        attempt_row(Try("y", "accepted", 30, 120, "r", "p"), tenant="b"),
        attempt_row(Try("z", "accepted", 30, 120), tenant="b"),
    ]
    rows[0]["tenant"] = None  # its request knows, by another try
    ended = requests_of(rows)
    ended[0]["tenant"] = "a"
    fleet = Fleet(
        sampled=[("r", "p", 0, 300), ("t", "q", 0, 300)],
        rates={"p": 0.01, "q": 0.01},
        records=[Record(3.0, 0, 300, basis="overhead")],
    )
    frame = wasted(charged(fleet, attempts=rows), 300, ended=ended, sliced=Slices(by=("tenant",))).filter(
        slice="tenant"
    )
    usd = {(row["slice_value"], row["bucket"]): row["usd"] for row in frame.to_dicts() if row["usd"]}
    # x and y each work 60 s and carry half of 180 s idle; of overhead each of three requests has 1 USD
    assert usd == pytest.approx(
        {
            ("a", "accepted"): 0.6 + 1.0,
            ("a", "idle"): 0.9,
            ("b", "accepted"): 0.6 + 2.0,
            ("b", "idle"): 0.9,
            ("unknown", "idle"): 3.0,
        }
    )


def test_overhead_of_a_tenant_whom_nobody_served_is_still_the_tenants() -> None:
    rows = [attempt_row(Try("x", "accepted", 0, 30), tenant="a")]
    spent = charged(Fleet(records=[Record(3.0, 0, 300, basis="overhead")]), attempts=rows)
    spent = spent.with_columns(tenant=pl.when(pl.col("bucket") == "overhead").then(pl.lit("b")).otherwise("tenant"))
    frame = wasted(spent, 300, ended=requests_of(rows), sliced=Slices(by=("tenant",))).filter(slice="tenant")
    usd = {(row["slice_value"], row["bucket"]): row["usd"] for row in frame.to_dicts() if row["usd"]}
    assert usd == pytest.approx({("b", "unattributed"): 3.0})
