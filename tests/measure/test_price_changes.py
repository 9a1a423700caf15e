"""Operations beside windows of another price: what replicas cost is no operation's doing.

Windows cost $1.08, of which replicas `a` and `b` or their pool are paid $0.80; 90 of 100 requests are accepted, 60 in
the three windows of the disruption.
"""

from typing import Any

import pytest

from measure.test_disruptions import DAY, SEPARATE, costs, disruptions, event, window
from river import Row

OTHER_USD = 0.28


def own(**usd: float) -> list[Row]:
    """Replicas that are paid by records of theirs."""
    return [{"replica": replica, "own_usd": of} for replica, of in usd.items()]


def pooled(usd: float, gpu_s: float = 600.0) -> list[Row]:
    """Two replicas of a pool that is paid as a whole."""
    return [{"replica": replica, "pool_usd": usd / 2, "gpu_s": gpu_s / 2} for replica in ("a", "b")]


def at_prices(before: list[Row], after: list[Row], accepted: int = 60) -> list[Row]:
    """An hour of baseline, and three windows of a disruption, after which all is as before but for the price."""
    windows = []
    for minute in range(0, 120, 5):
        paid = before if minute < 60 else after
        spent = sum(of.get("own_usd", 0) + of.get("pool_usd", 0) for of in paid)
        in_it: dict[str, Any] = {"hit": 100, "p95_ttft_s": 2.0, "accepted": accepted} if 60 <= minute < 75 else {}
        windows.append(window(minute, cost_usd=OTHER_USD + spent, paid=paid, **in_it))
    return windows


@pytest.mark.parametrize(
    ("before", "after", "usual_usd"),
    [
        pytest.param(own(a=0.4, b=0.4), own(a=0.48, b=0.48), 1.24, id="dearer replicas"),
        pytest.param(own(a=0.4, b=0.4), own(a=0.48, b=0.48, c=0.48), 1.24, id="dearer and one more"),
        pytest.param(own(a=0.5, b=0.3), own(a=0.5, b=0.36), 1.14, id="one kind of two is dearer"),
        pytest.param(own(a=0.4, b=0.4), own(c=0.4, d=0.4, e=0.4), 1.08, id="all renamed, and one more"),
        pytest.param(pooled(0.8), pooled(0.8, 300), 1.08, id="a flat bill, one replica down"),
        pytest.param(pooled(0.8), pooled(1.2, 900), 1.08, id="a pool's bill follows its replicas"),
        pytest.param(pooled(0.8), pooled(0.96), 1.24, id="a pool's bill is dearer"),
        pytest.param([], [], 0.28, id="nothing is paid for replicas"),
    ],
)
def test_an_operation_is_set_beside_windows_at_its_price(before: list[Row], after: list[Row], usual_usd: float) -> None:
    windows = at_prices(before, after)
    (row,) = disruptions(windows, [event(62)]).values()
    assert row["no_interval"] is None
    assert row["baseline_cost_per_accepted_usd"] == pytest.approx(usual_usd / 90)
    excess = 3 * windows[12]["cost_usd"] - 180 * usual_usd / 90
    names = ("excess_cost_usd", "excess_cost_ci_low_usd", "excess_cost_ci_high_usd")
    assert [row[name] for name in names] == pytest.approx([excess] * 3)


def test_a_dearer_bill_alone_is_no_excess() -> None:
    (row,) = disruptions(at_prices(own(a=0.4, b=0.4), own(a=0.48, b=0.48), accepted=90), [event(62)]).values()
    assert row["excess_cost_usd"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(pooled(0.8), pooled(0.96, 300), id="a pool's bill is dearer, one replica down"),
        pytest.param(own(a=0.4, b=0.4), own(c=0.48, d=0.48), id="all renamed and dearer"),
        pytest.param(own(a=0.4, b=0.4), [], id="nothing is known of them any more"),
    ],
)
def test_where_price_and_use_changed_together_there_is_no_price(before: list[Row], after: list[Row]) -> None:
    (row,) = disruptions(at_prices(before, after), [event(62)]).values()
    assert [row["no_interval"], row["excess_cost_usd"], row["baseline_cost_per_accepted_usd"]] == [
        "price_unmatched",
        None,
        None,
    ]
    assert row["lost_accepted"] == pytest.approx(90)


def day(paid: list[Row], dearer: list[Row]) -> list[Row]:
    """A day, dearer from the third of three disruptions on, each of which accepts 60."""
    hit = {480, 720, 960}
    of = {minute: dearer if minute >= 960 else paid for minute in range(0, DAY, 5)}
    spent = {minute: sum(one.get("own_usd", 0) + one.get("pool_usd", 0) for one in of[minute]) for minute in of}
    return [
        window(minute, cost_usd=OTHER_USD + spent[minute], paid=of[minute], accepted=60 if minute in hit else 90)
        for minute in of
    ]


def test_disruptions_of_a_kind_are_each_at_their_price() -> None:
    """Each accepts 30 fewer: twice a third of $1.08, and once of $1.24."""
    rows = costs(day(own(a=0.4, b=0.4), own(a=0.48, b=0.48)), SEPARATE)["disruption_cost"]
    for row in rows:
        assert row["no_interval"] is None
        assert row["excess_cost_usd"] == pytest.approx((2 * 1.08 + 1.24) / 3)


def test_a_kind_says_why_its_disruptions_have_no_price() -> None:
    windows = day(own(a=0.4, b=0.4), own(c=0.48, d=0.48))
    for row in windows:  # none but the third disruption is paid so
        if row["window_start"] > SEPARATE[-1]["occurred_at"]:
            row["paid"] = own(a=0.4, b=0.4)
    rows = costs(windows, SEPARATE)["disruption_cost"]
    assert {row["no_interval"] for row in rows} == {"price_unmatched"}
    assert {row["excess_cost_usd"] for row in rows} == {None}
