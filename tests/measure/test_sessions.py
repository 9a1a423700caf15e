"""Sessions: all their requests however many hours they span, and what workloads that count them count.

See docs/semantics.md#sessions.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput.contracts import arrow_schema
from goodput.plumbing.sql_files import compute, connect, sql_file
from goodput.settings.model import Quality, Settings, Slices, Workload
from river import START_S, VERDICTS, Parts, Row, Stretch, at, at_ns, judged, measure, row_of, session_hours

HOUR = 3600.0
BY_SESSION = Settings(
    workloads={"qa": Workload(unit="session", ttft_s=1.0), "other": Workload(ttft_s=1.0)}, max_session_s=2 * HOUR
)


def sessions(requests: Sequence[Row]) -> dict[str, Row]:
    """Rows of `sessions` by session_id."""
    with connect() as connection:
        connection.register("session_hours", session_hours(requests))
        connection.register("requests", pa.Table.from_pylist(list(requests), schema=arrow_schema("requests")))
        found = connection.sql(sql_file("sessions").text).to_arrow_table().to_pylist()
    return {row["session_id"]: row for row in found}


def measured(folder: Path, requests: Sequence[Row], settings: Settings = BY_SESSION, hours: int = 24) -> pl.DataFrame:
    """Goodput of the first hours after START_S, hour by hour as the pipeline measures it: each from what lies near."""
    tables = {"requests": pa.Table.from_pylist(list(requests), schema=arrow_schema("requests"))}
    tables["session_hours"] = session_hours(requests)
    reach = 2
    frames = []
    for hour in range(hours):
        first = START_S // 3600 + hour
        near = tables["session_hours"].to_pylist()
        near = [row for row in near if first - reach <= row["epoch_hour"] <= first + reach]
        pq.write_table(tables["requests"], folder / "requests.parquet")
        pq.write_table(
            pa.Table.from_pylist(near, schema=arrow_schema("session_hours")), folder / "session_hours.parquet"
        )
        stretch = Stretch(first * 3600, (first + 1) * 3600, (at_ns(-86400), at_ns(2 * 86400)))
        parts = Parts([str(folder / "requests.parquet")], session_hours=[str(folder / "session_hours.parquet")])
        frames.append(measure(settings, parts, [3600], stretch).goodput)
    return pl.concat(frames)


def of(session: str | None, name: str, verdict: str, end: float, **given: object) -> Row:
    return judged(name, verdict, end, session_id=session, **given)


def test_a_session_is_accepted_when_every_one_of_its_requests_is() -> None:
    found = sessions(
        [
            of("good", "a", "accepted", 10, output_tokens=5, retry_count=1, attempts=2),
            of("good", "b", "accepted", 30 * HOUR, output_tokens=None, route="r2"),
            of("bad", "c", "accepted", 20),
            of("bad", "d", "slow", 30),
            of("bad", "e", "failed", 15 * HOUR),
            of("open", "f", "accepted", 40),
            of("open", "g", "in_flight", 50),
            of(None, "h", "accepted", 60),
        ]
    )
    assert set(found) == {"good", "bad", "open"}
    good = found["good"]
    assert (good["requests"], good["accepted"], good["verdict"]) == (2, True, "accepted")
    assert (good["started_at"], good["ended_at"]) == (at(9), at(30 * HOUR))
    assert (good["output_tokens"], good["attempts"], good["retries"], good["route"]) == (5, 3, 1, "r2")
    assert good["cost_usd"] is None
    assert (found["bad"]["accepted"], found["bad"]["verdict"]) == (False, "failed")
    assert [found["bad"][f"{name}_requests"] for name in ("failed", "slow", "accepted")] == [1, 1, 1]
    assert (found["open"]["accepted"], found["open"]["verdict"]) == (None, "in_flight")


def test_what_a_session_cost_is_the_sum_of_what_is_known() -> None:
    rows = [of("s", "a", "accepted", 10, cost_usd=0.25), of("s", "b", "slow", 2 * HOUR, cost_usd=0.5)]
    rows += [of("s", "c", "failed", 20), of(None, "d", "accepted", 30, cost_usd=9.0)]
    assert sessions(rows)["s"]["cost_usd"] == 0.75


def test_a_workload_that_counts_sessions_counts_each_in_the_window_of_its_end(tmp_path: Path) -> None:
    rows = [
        of("s1", "a", "slow", 3500, ttft_s=2.0),
        of("s1", "b", "accepted", 3700, ttft_s=0.5),
        of("s2", "c", "accepted", 3800, ttft_s=0.25),
        of("s3", "d", "accepted", 3900, ttft_s=0.25, workload="other"),
        of("s3", "e", "accepted", 3950, ttft_s=0.25, workload="other"),
    ]
    frame = measured(tmp_path, rows, hours=2)
    first, second = (row_of(frame, minute, 3600, "workload", workload="qa") for minute in (0, 60))
    # s1 began in the first hour and ended in the second, slow for its first request; its latencies stay where they were
    assert (first["offered"], first["arrivals"], first["n_ttft"]) == (0, 1, 1)
    assert (second["offered"], second["arrivals"], second["accepted"], second["slow"]) == (2, 1, 1, 1)
    assert (second["n_ttft"], second["p50_ttft_s"]) == (2, 0.375)
    assert second["goodput_rps"] == pytest.approx(1 / 3600)
    other = row_of(frame, 60, 3600, "workload", workload="other")
    assert (other["offered"], other["accepted"]) == (2, 2)
    assert row_of(frame, 60, 3600)["offered"] == 4


def test_the_gate_that_alone_keeps_a_session_is_its_binding_gate(tmp_path: Path) -> None:
    rows = [
        of("s1", "a", "slow", 10, sole_failing_gate="ttft"),
        of("s1", "b", "slow", 20, sole_failing_gate="ttft"),
        of("s2", "c", "slow", 30, sole_failing_gate="ttft"),
        of("s2", "d", "slow", 40, sole_failing_gate="e2e"),
        of("s3", "e", "slow", 50, sole_failing_gate="e2e"),
        of("s3", "f", "failed", 60),
    ]
    row = row_of(measured(tmp_path, rows, hours=1), 0, 3600)
    assert (row["binding_gate"], row["binding_gate_requests"]) == ("ttft", 1)


def test_labels_of_sessions_are_estimated_as_labels_of_requests_are(tmp_path: Path) -> None:
    settings = Settings(workloads={"qa": Workload(unit="session", quality=Quality())}, max_session_s=2 * HOUR)
    rows = [
        *(of("s1", f"a{n}", "accepted", 10 + n, gated=True) for n in range(2)),
        of("s2", "b", "accepted", 20, gated=True),
        of("s2", "c", "rejected", 30),
        of("s3", "d", "unlabelled", 40),
        of("s4", "e", "slow", 50),
    ]
    row = row_of(measured(tmp_path, rows, settings, hours=1), 0, 3600)
    assert [row[name] for name in ("accepted", "rejected", "unlabelled", "slow")] == [1, 1, 1, 1]
    assert row["quality_coverage_ratio"] == pytest.approx(2 / 3)
    assert row["goodput_rps"] * 3600 == pytest.approx(3 * 1 / 2)  # three need a label, half of the labelled pass


def test_a_session_that_rests_for_too_long_is_counted_as_two(tmp_path: Path) -> None:
    # Within the reach of two hours the first hours are one session; the fourth hour after a rest of three is another.
    rows = [of("s", f"{hour}", "slow" if hour == 0 else "accepted", hour * HOUR + 10) for hour in (0, 1, 2, 5)]
    frame = measured(tmp_path, rows, hours=6)
    told = {hour: row_of(frame, 60 * hour, 3600, "workload", workload="qa") for hour in (0, 1, 2, 5)}
    assert {hour: (row["offered"], row["slow"]) for hour, row in told.items()} == {
        **dict.fromkeys((0, 1), (0, 0)),
        2: (1, 1),
        5: (1, 0),
    }
    assert [told[hour]["arrivals"] for hour in told] == [1, 0, 0, 1]


def test_a_session_has_the_tenant_and_each_attribute_that_it_reported_last(tmp_path: Path) -> None:
    settings = BY_SESSION.model_copy(update={"slices": Slices(by=("tenant", "attributes.team", "attributes.tier"))})
    rows = [
        of("s", "a", "accepted", 10, tenant="t1", attributes='{"team":"red","tier":"gold"}'),
        of("s", "b", "accepted", 20, tenant="t2", attributes='{"team":"blue"}'),
        of("s", "c", "accepted", HOUR + 10),
    ]
    frame = measured(tmp_path, rows, settings, hours=2).filter(pl.col("slice_value").is_not_null(), offered=1)
    assert set(frame.select("slice", "slice_value").rows()) == {
        ("tenant", "t2"),
        ("attributes.team", "blue"),
        ("attributes.tier", "gold"),
    }


def test_random_sessions_over_a_day_end(tmp_path: Path) -> None:
    # START_S is 09:00: hours 12 to 18 lie around midnight. A plain walk over the requests is the other computation.
    chance = Random(7)
    rows = []
    for n in range(60):
        end = chance.uniform(12, 14) * HOUR
        for m in range(chance.randint(1, 5)):
            verdict = chance.choice(["accepted", "accepted", "accepted", *VERDICTS[:3], "unevaluable"])
            rows.append(of(f"s{n}", f"{n}/{m}", verdict, end, output_tokens=m))
            end += chance.expovariate(1 / HOUR)
    expected: dict[tuple[int, str], int] = defaultdict(int)
    for n in range(60):
        own = sorted((r for r in rows if r["session_id"] == f"s{n}"), key=lambda r: r["ended_at"])
        hours = [int((r["ended_at"] - at(0)).total_seconds()) // 3600 for r in own]
        for place, hour in enumerate(hours):
            if place + 1 == len(own) or hours[place + 1] - hour > 2:
                counted = [r["verdict"] for r, h in zip(own, hours, strict=True) if hour - 2 <= h <= hour]
                expected[hour, min(counted, key=VERDICTS.index)] += 1
    frame = measured(tmp_path, rows, hours=24).filter(slice="overall")
    found = {
        (int((row["window_start"] - at(0)).total_seconds()) // 3600, name): row[name]
        for row in frame.to_dicts()
        for name in VERDICTS
        if row[name]
    }
    assert found == dict(expected)
    assert frame.select((pl.col("offered") == pl.sum_horizontal(*VERDICTS)).all()).item()


def judged_in_part(wholly: int, failed: int, partly: int, unjudged: int) -> list[Row]:
    """Sessions of two requests: judged whole (the first `failed` fail), by one request (it fails), or not at all."""
    rows = []
    for n in range(wholly + partly + unjudged):
        bad = n < failed or wholly <= n < wholly + partly
        known = (True, True) if n < wholly else (True, False) if n < wholly + partly else (False, False)
        for number, is_judged in enumerate(known):
            passes = not (bad and number == 0)
            verdict = "unlabelled" if not is_judged else "accepted" if passes else "rejected"
            given = {"gated": True, "needs_label": True, "pass_quality": passes if is_judged else None}
            rows.append(of(f"s{n}", f"r{n}-{number}", verdict, 60.0 + n, **given))
    return rows


def test_a_session_has_its_label_once_it_was_judged_whole(tmp_path: Path) -> None:
    """Of 60 sessions 40 are judged whole and 10 of them fail, 2 more are known to fail by one request: 60 x 30/40."""
    settings = Settings(workloads={"qa": Workload(unit="session", quality=Quality())}, max_session_s=2 * HOUR)
    row = row_of(measured(tmp_path, judged_in_part(40, 10, 2, 18), settings, hours=1), 0, 3600)
    assert (row["need_label"], row["labelled"], row["definition"]) == (60, 40, "estimated")
    counts = [row[name] * HOUR for name in ("goodput_rps", "goodput_lower_rps", "goodput_upper_rps")]
    assert counts == pytest.approx([45, 30, 48])  # at most all but the 12 that are known to fail


def test_where_single_requests_of_sessions_were_judged_there_are_bounds(tmp_path: Path) -> None:
    """3 in part beside 40 judged whole are more than one in 20; 2 of 40 are not."""
    settings = Settings(workloads={"qa": Workload(unit="session", quality=Quality())}, max_session_s=2 * HOUR)
    row = row_of(measured(tmp_path, judged_in_part(40, 10, 3, 17), settings, hours=1), 0, 3600)
    assert (row["goodput_rps"], row["goodput_ratio"], row["definition"]) == (None, None, "unweighted")
    ends = [row[name] * HOUR for name in ("goodput_ci_low_rps", "goodput_ci_high_rps")]
    assert ends == pytest.approx([30, 47])


def test_where_nothing_is_estimated_one_request_that_fails_is_enough(tmp_path: Path) -> None:
    quality = Quality(unlabelled="pass")
    settings = Settings(workloads={"qa": Workload(unit="session", quality=quality)}, max_session_s=2 * HOUR)
    row = row_of(measured(tmp_path, judged_in_part(40, 10, 3, 17), settings, hours=1), 0, 3600)
    assert (row["labelled"], row["goodput_rps"] * HOUR) == (43, pytest.approx(47))


@pytest.mark.parametrize(
    ("of_records", "above", "named"),
    [([None, "s"], [], 1), ([None], ["s", "t"], 1), (["s"], ["s"], 1), ([None, None], [None], 0), ([], [], 0)],
)
def test_sessions_are_looked_for_where_a_record_or_a_span_above_it_names_one(
    of_records: list[str | None], above: list[str | None], named: int
) -> None:
    with connect() as connection:
        for name, sessions in (("serving_records", of_records), ("reported_above", above)):
            connection.register(name, pa.table({"session_id": pa.array(sessions, pa.string())}))
        assert compute(connection, "any_session") == named
