"""`cost_ledger`: Identity M on random fleets against a second-by-second computation, and cases by hand."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings

from by_seconds import Fleet, Record, Try, ledger
from charging import BEGIN_S, HOUR, HOUR_S, at_us, attempt_row, charged, fleets, sample_rows, wasted, whole_of
from river import Row


def by_bucket(frame: pl.DataFrame) -> dict[tuple[int, str | None, str], float]:
    found: dict[tuple[int, str | None, str], float] = defaultdict(float)
    for row in frame.iter_rows(named=True):
        if row["usd"]:
            found[int(row["window_start"].timestamp()) - BEGIN_S, row["pool"], row["bucket"]] += row["usd"]
    return dict(found)


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
        # of two allocations the one for that time goes, however dear the other
        (
            [
                Record(7.0, 0, 100, "r", "p"),
                Record(10.0, 0, 100, "r", "p", basis="allocation"),
                Record(1.0, 100, 300, "r", "p", basis="allocation"),
            ],
            7.0 + 1.0,
        ),
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


@pytest.mark.parametrize("category", ["Credit", "Tax", "Adjustment", "credit", "TAX "])
def test_what_prices_nothing_is_added_to_what_does(category: str) -> None:
    """A replica is up for 300 s at a cent a second; half a dollar of a bill's, for it or its pool, prices no time."""
    tries, sampled = [Try("a", "accepted", 0, 60, "r", "p")], [("r", "p", 0, 300)]
    allocated, billed = Record(2.0, 0, 300, "r", "p", basis="allocation"), Record(7.0, 0, 300, "r", "p")
    for added in (Record(0.5, 0, 300, "r", "p", category=category), Record(0.5, 0, 300, pool="p", category=category)):
        frame = charged(Fleet(tries, sampled, [added], {"p": 0.01}))
        assert whole_of(frame) == pytest.approx({"accepted": 3.5 * 60 / 300, "idle": 3.5 * 240 / 300})
        assert set(frame["basis"]) == {"rate_card"}
        assert sum(whole_of(charged(Fleet(tries, sampled, [added, allocated], {"p": 0.01}))).values()) == pytest.approx(
            2.5
        )
        # a better basis displaces it as it does any other line
        worse = replace(added, basis="rate_card")
        assert sum(whole_of(charged(Fleet(tries, sampled, [billed, worse]))).values()) == pytest.approx(7.0)


def test_where_nothing_prices_a_replica_or_a_model_credits_are_overhead() -> None:
    """Nobody knows what the replica costs: not minus half a dollar. The calls cost their list price of 30 cents."""
    tries, sampled = [Try("a", "accepted", 0, 60, "r", "p")], [("r", "p", 0, 300)]
    frame = charged(Fleet(tries, sampled, [Record(-0.5, 0, 300, "r", "p", category="Credit")]))
    found = {(row["bucket"], row["pool"]): row["usd"] for row in frame.to_dicts()}
    assert found == {("accepted", "p"): None, ("idle", "p"): None, ("overhead", "p"): pytest.approx(-0.5)}
    calls = [Try("b", "accepted", 0, 60, model="api", tokens=(100, 0, 10))]
    credit = Record(-0.5, 0, 300, model="api", category="Credit")
    frame = charged(Fleet(calls, records=[credit], price=(0.002, 0.01)))
    found = {(row["bucket"], row["model"]): row["usd"] for row in frame.to_dicts()}
    assert found == pytest.approx({("accepted", "api"): 0.3, ("overhead", "api"): -0.5})


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


def test_an_id_that_comes_back_hours_later_is_of_another_request() -> None:
    """A span written twice, with times two hours apart: each of the two is charged once, by its own verdict."""
    tries = [Try("a", "accepted", 0, 100, "r", "p"), Try("a", "slow", 2 * HOUR_S, 2 * HOUR_S + 100, "r", "p")]
    frame = charged(Fleet(tries, rates={"p": 0.01}), (0, 1, 2))
    found = by_bucket(frame.filter(pl.col("attempt_id") == "a"))
    first, second = (
        {at: usd for (at, _, bucket), usd in found.items() if bucket == name} for name in ("accepted", "slow")
    )
    assert all(at < HOUR_S for at in first)
    assert all(at >= 2 * HOUR_S for at in second)
    assert (sum(first.values()), sum(second.values())) == pytest.approx((1.0, 1.0))
    keys = frame.select(
        "attempt_id", "window_start", "bucket", "pool", "replica", "model", "workload", "route", "tenant", "basis"
    )
    assert keys.n_unique() == keys.height


def test_of_a_replica_that_is_billed_while_nothing_shows_it_idle_time_may_have_been_work() -> None:
    """An hour costs $36; samples show it for 1,950 s, of which one attempt took 100."""
    attempt = Try("a", "accepted", 0, 100, "r", "p")
    fleet = Fleet([attempt], sampled=[("r", "p", 0, 1950)], records=[Record(36, 0, 3600, "r")])
    idle = charged(fleet).filter(pl.col("bucket") == "idle").sort("window_start")
    assert idle["usd"].to_list() == pytest.approx([2, *[3] * 11])
    # a reading shows it for the usual time between readings; part of the seventh step and all after it are unseen
    unseen = [0.0] * 6 + [1.0] * 5
    errors = idle["error_usd"].to_list()
    assert [*errors[:6], *errors[7:]] == pytest.approx([3 * part for part in unseen])
    assert 0 < errors[6] < 3
    assert idle["estimated"].to_list() == [False] * 6 + [True] * 6
