"""Facts that follow from facts: instants from durations and durations from instants, exact to the nanosecond."""

import math

import polars as pl
import pytest

from goodput.conform.derive import derive
from goodput.conform.enforce import in_contract_shape

START = 1_795_165_200_123_456_789


def derived(**given: object) -> dict[str, object]:
    row = in_contract_shape("serving_records", pl.DataFrame([{"started_ns": START, **given}]))
    return derive("serving_records", row).row(0, named=True)


def test_the_end_follows_from_e2e() -> None:
    assert derived(e2e_s=0.2536)["ended_ns"] == START + 253_600_000


def test_the_first_token_follows_from_ttft() -> None:
    assert derived(ttft_s=0.11555)["first_token_ns"] == START + 115_550_000


def test_durations_follow_from_instants_before_anything_is_cut() -> None:
    row = derived(ended_ns=START + 1, first_token_ns=START + 999)
    assert (row["e2e_s"], row["ttft_s"]) == (1e-9, 999e-9)


def test_what_was_received_stays_also_where_it_does_not_agree() -> None:
    given = {"ended_ns": START + 5_000_000_000, "e2e_s": 1.0, "first_token_ns": START + 7, "ttft_s": 0.5}
    row = derived(**given)
    assert {name: row[name] for name in given} == given


def test_no_duration_follows_from_an_instant_before_the_start() -> None:
    row = derived(ended_ns=START - 1, first_token_ns=START - 5)
    assert (row["e2e_s"], row["ttft_s"]) == (None, None)


def test_nothing_follows_from_nothing() -> None:
    row = derived()
    assert {row[name] for name in ("ended_ns", "e2e_s", "first_token_ns", "ttft_s")} == {None}
    assert row["outcome"] == "unknown"


@pytest.mark.parametrize("seconds", [0.000_000_001, 0.123_456_789, 3599.999_999_999, 86_400.5])
def test_a_duration_in_seconds_is_exact_to_the_nanosecond(seconds: float) -> None:
    ended = derived(e2e_s=seconds)["ended_ns"]
    assert isinstance(ended, int)
    assert ended - START == round(seconds * 10**9)


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, 1e300])
def test_a_duration_that_is_no_time_makes_no_instant(seconds: float) -> None:
    row = derived(e2e_s=seconds, ttft_s=seconds)
    assert (row["ended_ns"], row["first_token_ns"]) == (None, None)


def test_an_attempt_that_ends_as_its_e2e_says_and_has_tokens_is_ok() -> None:
    assert derived(e2e_s=1.0, output_tokens=3)["outcome"] == "ok"
    assert derived(output_tokens=3)["outcome"] == "unknown"


def test_labels_are_left_as_they_are() -> None:
    labels = pl.DataFrame({"score": [1.0]})
    assert derive("label_records", labels).equals(labels)


@pytest.mark.parametrize(
    ("error_type", "known", "outcome"),
    [
        (None, None, None),
        ("ValueError", None, "error"),
        ("httpx.ReadTimeout", None, "timeout"),
        ("CancelledError", None, "cancelled"),
        ("ModelAPIError", "timeout", "timeout"),  # its message said so
    ],
)
def test_how_a_span_that_is_no_call_failed_follows_from_its_error(
    error_type: str | None, known: str | None, outcome: str | None
) -> None:
    link = in_contract_shape("span_links", pl.DataFrame([{"error_type": error_type, "outcome": known}]))
    assert derive("span_links", link)["outcome"].item() == outcome
