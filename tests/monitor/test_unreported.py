"""Alarms that fire and were never reported say why: made of rows by hand."""

from typing import Any

import pytest

from goodput.monitor.unreported import with_unreported
from notify.alarms import NOON, event

FIRING = {
    "alarm_id": "trend-ttft-chat",
    "state": "firing",
    "starts_at": NOON,
    "suppressed": None,
    "suppressed_by": None,
}


def shown(*events: dict[str, Any], **alarm: Any) -> tuple[Any, Any]:
    """What the alarm says of why nobody is notified of it, given these events."""
    (row,) = with_unreported([FIRING | alarm], [{"suppressed_by": None, **one} for one in events])
    return row["suppressed"], row["suppressed_by"]


@pytest.mark.parametrize("why", ["backfill", "method"])
def test_what_was_recorded_and_not_reported_says_why(why: str) -> None:
    assert shown(event("a", suppressed=why)) == (why, None)


def test_what_was_reported_in_the_end_says_nothing() -> None:
    assert shown(event("a", suppressed="backfill"), event("b", after_h=2)) == (None, None)
    assert shown(event("b", after_h=2), event("a", suppressed="backfill")) == (None, None)


def test_a_report_that_no_longer_holds_is_none() -> None:
    no_longer = event("c", "corrected", corrects="a", after_h=1)
    assert shown(event("a"), no_longer, event("b", after_h=2, suppressed="backfill")) == ("backfill", None)


def test_what_suppresses_it_now_comes_first_and_what_does_not_fire_has_no_reason() -> None:
    held = {"suppressed": "inhibited", "suppressed_by": "a_page"}
    assert shown(event("a", suppressed="backfill"), **held) == ("inhibited", "a_page")
    assert shown(event("a", suppressed="backfill"), state="resolved") == (None, None)
    assert shown() == (None, None)
