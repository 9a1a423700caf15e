"""Every sign of success and failure and what it makes of an attempt: a missing error is not success.

See docs/semantics.md#success.
"""

import polars as pl
import pytest

from goodput.conform.outcome import outcome

SCHEMA = {
    "outcome": pl.String,
    "error_type": pl.String,
    "http_status": pl.Int64,
    "finish_reason": pl.String,
    "output_tokens": pl.Int64,
    "ended_ns": pl.Int64,
}
ENDED = {"ended_ns": 5}
TABLE: list[tuple[dict[str, object], str]] = [
    # nothing is told
    ({}, "unknown"),
    (ENDED, "unknown"),
    # success by one of three signs
    ({"finish_reason": "stop"}, "ok"),
    ({"finish_reason": "length"}, "ok"),
    ({"finish_reason": "tool_calls"}, "ok"),
    ({"finish_reason": "stop", "output_tokens": 0}, "ok"),
    ({"http_status": 200}, "ok"),
    ({"http_status": 204}, "ok"),
    ({"http_status": 299}, "ok"),
    ({"output_tokens": 1, **ENDED}, "ok"),
    ({"output_tokens": 1}, "unknown"),
    ({"output_tokens": 0, **ENDED}, "unknown"),
    ({"http_status": 0, **ENDED}, "unknown"),
    ({"http_status": 101}, "unknown"),
    ({"http_status": 302}, "unknown"),
    # failure by status
    ({"http_status": 400}, "error"),
    ({"http_status": 429}, "error"),
    ({"http_status": 500}, "error"),
    ({"http_status": 503, "output_tokens": 5, **ENDED}, "error"),
    ({"http_status": 408}, "timeout"),
    ({"http_status": 504}, "timeout"),
    ({"http_status": 499}, "cancelled"),
    # failure by error type
    ({"error_type": "timeout"}, "timeout"),
    ({"error_type": "APITimeoutError"}, "timeout"),
    ({"error_type": "DEADLINE_EXCEEDED"}, "timeout"),
    ({"error_type": "cancelled"}, "cancelled"),
    ({"error_type": "asyncio.CancelledError"}, "cancelled"),
    ({"error_type": "aborted"}, "cancelled"),
    ({"error_type": "ClientDisconnected"}, "cancelled"),
    ({"error_type": "_OTHER"}, "error"),
    ({"error_type": "429"}, "error"),
    ({"error_type": "RateLimitError", "http_status": 200}, "error"),
    ({"error_type": "ConnectionError", "finish_reason": "stop", "output_tokens": 9, **ENDED}, "error"),
    ({"error_type": "timeout", "http_status": 499}, "timeout"),
    ({"error_type": "", "finish_reason": "stop"}, "ok"),  # empty is as good as absent
    ({"error_type": "", **ENDED}, "unknown"),
    # failure by finish reason, whatever the status line said before the stream broke
    ({"finish_reason": "error", "http_status": 200}, "error"),
    ({"finish_reason": "abort", "output_tokens": 7, **ENDED}, "cancelled"),
    ({"finish_reason": "aborted"}, "cancelled"),
    ({"finish_reason": "cancelled"}, "cancelled"),
    # what the emitter says itself stays, right or wrong: the contract judges it
    ({"outcome": "ok", "http_status": 500, "error_type": "timeout"}, "ok"),
    ({"outcome": "error", "finish_reason": "stop", "http_status": 200}, "error"),
    ({"outcome": "splendid"}, "splendid"),
]


@pytest.mark.parametrize(("said", "expected"), TABLE, ids=lambda value: str(value).replace("'", ""))
def test_trap_6_a_missing_error_is_no_success(said: dict[str, object], expected: str) -> None:
    assert pl.DataFrame([said], schema=SCHEMA).select(outcome()).item() == expected


def test_a_row_is_judged_by_itself_alone() -> None:
    found = pl.DataFrame([said for said, _ in TABLE], schema=SCHEMA).select(outcome())["outcome"].to_list()
    assert found == [expected for _, expected in TABLE]
