"""Which attempts are bought by the token, and which take a replica's time."""

import polars as pl
import pytest

from by_seconds import Fleet, Record, Try
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


@pytest.mark.parametrize(
    ("tokens", "tier", "usd"),
    [
        # 199,000 tokens of input at $1 a million, 1,000 that the cache had at 0.1, 500 of output at 2
        ((200_000, 1000, 500), {}, 0.199 + 0.0001 + 0.001),
        # all of the next prompt costs what the tier says: 5, 0.5 and 20
        (
            (200_001, 1000, 500),
            {"tier_cached_input_token_usd": 5e-7, "tier_output_token_usd": 2e-5},
            0.995005 + 0.0005 + 0.01,
        ),
        # and as below the tier where it says nothing
        ((200_001, 1000, 500), {}, 0.995005 + 0.0001 + 0.001),
    ],
)
def test_all_tokens_of_a_long_prompt_have_the_prices_of_its_tier(
    tokens: tuple[int, int, int], tier: dict[str, float], usd: float
) -> None:
    price = {"model": "api", "valid_from": 0, "input_token_usd": 1e-6, "output_token_usd": 2e-6, "tiered": False}
    price |= {"cached_input_token_usd": 1e-7, "tier_above_tokens": 200_000, "tier_input_token_usd": 5e-6, **tier}
    frame = charged(Fleet([Try("long", "accepted", 0, 10, None, None, "api", tokens)]), prices=[price])
    assert frame["usd"].sum() == pytest.approx(usd)
    assert frame["estimated"].to_list() == [False]


@pytest.mark.parametrize("has_price", [True, False])
@pytest.mark.parametrize("billed_usd", [None, 3.0])
def test_an_answer_from_a_gateways_cache_costs_nothing(has_price: bool, billed_usd: float | None) -> None:
    """Whatever its tokens would have cost; who called the model bears all of its bill."""
    called = Try("called", "accepted", 0, 10, None, None, "api", (1000, 0, 100))
    hit = attempt_row(Try("hit", "accepted", 20, 30, None, None, "api", (3000, 0, 100)), answered_from_cache=True)
    bills = [] if billed_usd is None else [Record(billed_usd, 0, 300, model="api")]
    fleet = Fleet([called], records=bills, price=(1e-6, 2e-6) if has_price else None)
    frame = charged(fleet, attempts=[hit]).filter(pl.col("attempt_id").is_not_null()).sort("attempt_id")
    usd = billed_usd if billed_usd is not None else 0.0012 if has_price else None
    assert frame["usd"].to_list() == [usd if usd is None else pytest.approx(usd), 0]
    assert frame["basis"][1] == "reported"
