"""The head of a report adds windows up: counts exactly, intervals of samples in quadrature, bounds linearly.

Each expectation is worked out from the labels that the windows stand for.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest

from goodput.contracts import arrow_schema
from goodput.plumbing.parameters import as_rows, register
from goodput.plumbing.sql_files import MACROS, sql_file
from goodput.report.gather import INNER
from goodput.report.tiles import tiles
from measure.interval_drill import goodput_windows, period_totals

DAY = datetime(2026, 11, 20, tzinfo=UTC)
DAY_S = 86400


def window(
    day: int, accepted: float | None, low: float, high: float, definition: str = "estimated", **more: Any
) -> dict:
    """A day of workload chat: 1,000 requests, which all need a label, and an estimate of how many were accepted."""
    row = {field.name: 0 if pa.types.is_integer(field.type) else None for field in arrow_schema("goodput")}
    return row | {
        "window_start": DAY + timedelta(days=day),
        "window_s": DAY_S,
        "slice": "workload",
        "workload": "chat",
        "offered": 1000,
        "need_label": 1000,
        "goodput_rps": None if accepted is None else accepted / DAY_S,
        "goodput_ci_low_rps": low / DAY_S,
        "goodput_ci_high_rps": high / DAY_S,
        "goodput_lower_rps": 0.0,
        "goodput_upper_rps": 1000 / DAY_S,
        "definition": definition,
        "partial": False,
        "low_n": False,
        **more,
    }


def judged_by(**policies: str) -> pa.Table:
    """Quality gates of workloads, each with its policy for answers without a label."""
    rows = ({"workload": name, "gate": "quality", "unlabelled": policy} for name, policy in policies.items())
    return as_rows("workloads", *rows)


def total(
    *rows: dict,
    of: str = "workload",
    value: str | None = None,
    waste: Sequence[dict] = (),
    policies: Mapping[str, str] = MappingProxyType({"chat": "estimate", "rag": "estimate"}),
) -> dict[str, Any]:
    """The one row of the period that holds all of these windows."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("goodput", pa.Table.from_pylist(list(rows), schema=arrow_schema("goodput")))
        register(connection, "workloads", judged_by(**policies))
        connection.register("waste", pa.Table.from_pylist(list(waste), schema=arrow_schema("waste")))
        end = DAY + timedelta(days=9)
        period = {"period": "all", "from_at": DAY, "until_at": end, "whole_s": DAY_S, "drawn_s": 3600}
        register(connection, "shown_periods", as_rows("shown_periods", period))
        chosen = {
            "choice": 0,
            "slice": of,
            "slice_value": value,
            "workload": "chat" if of.startswith("workload") else None,
        }
        register(connection, "shown_slices", as_rows("shown_slices", chosen))
        for name in INNER[: INNER.index("period_totals") + 1]:
            connection.execute(f"CREATE TEMP TABLE {name} AS {sql_file(name).text}")
        (found,) = connection.sql("FROM period_totals").to_arrow_table().to_pylist()
    return found


def spent(day: int, usd: float | None, workload: str = "chat") -> dict:
    """What was spent on a day's accepted answers."""
    row = {field.name: None for field in arrow_schema("waste")}
    named = {"window_start": DAY + timedelta(days=day), "window_s": DAY_S, "slice": "workload", "workload": workload}
    return row | named | {"bucket": "accepted", "usd": usd}


@pytest.mark.parametrize(
    ("row", "waste", "value", "said"),
    [
        ({"cost_usd": 7.0}, [spent(0, 7.0)], "$0.0100", "$7.00 spent"),
        # half of the work has no price: what is known is the least
        (
            {"cost_usd": 7.0, "unpriced": 3},
            [spent(0, 7.0)],
            "at least $0.0100",
            "3 parts of the work had no price",
        ),
        # half of one percent of the requests is in no telemetry, and took of the replicas that are paid
        ({"cost_usd": 7.0, "unobserved": 5.0}, [spent(0, 7.0)], "$0.0100", "that no telemetry shows: too high by"),
        ({}, [], "unknown", "`[costs]` in the settings"),
        ({}, [spent(0, 2.0, "rag")], "unknown", "no bill or price covers all of this period"),
        ({"cost_usd": 7.0, "goodput_rps": 0.0}, [spent(0, 7.0)], "unknown", "nothing was accepted"),
        ({"cost_usd": 7.0, "goodput_rps": None}, [spent(0, 7.0)], "unknown", "nobody drew the labels"),
    ],
)
def test_a_price_says_what_it_leaves_out_and_why_there_is_none(
    row: dict, waste: list[dict], value: str, said: str
) -> None:
    definition = "unweighted" if row.get("goodput_rps", 1) is None else "estimated"
    found = total(window(0, 700, 650, 780, definition, **row), waste=waste)
    _, _, price, wasted = tiles(found | {"wasted_ratio": row.get("cost_usd") and 0.25}, None)
    assert price.value == value
    assert said in price.note
    assert ("of what has a price" in wasted.note) == value.startswith("at least")


def wilson(share: float, size: float) -> tuple[float, float]:
    """Wilson's interval of a share (scipy's)."""
    found = binomtest(round(share * size), round(size)).proportion_ci(method="wilson")
    return found.low, found.high


def test_one_window_is_shown_as_it_was_published() -> None:
    found = total(window(0, 700, 650, 780, cost_usd=7.0, cost_per_accepted_ci_low_usd=0.009, wasted_ratio=0.25))
    assert (found["ratio"], found["ratio_low"], found["ratio_high"]) == pytest.approx((0.7, 0.65, 0.78))
    assert (found["price_usd"], found["price_low_usd"], found["wasted_ratio"]) == pytest.approx((0.01, 0.009, 0.25))


@pytest.mark.parametrize("succeeded", [99, 100])
def test_a_period_has_few_requests_where_a_window_would(succeeded: int) -> None:
    """The text that a page shows has the bound in it; all else asks the macro."""
    with duckdb.connect() as connection:
        connection.execute(sql_file(MACROS).text)
        ((is_few,),) = connection.sql(f"SELECT is_low_n({succeeded})").fetchall()
    assert total(window(0, 50, 40, 60, succeeded=succeeded))["low_n"] == is_few == (succeeded < 100)


def test_windows_of_samples_are_worth_their_labels_together() -> None:
    """Two days with 100 labels each, of which 90 passed: as sure as 180 of 200, where that is wider than quadrature."""
    low, high = wilson(0.9, 100)
    found = total(window(0, 900, 1000 * low, 1000 * high), window(1, 900, 1000 * low, 1000 * high))
    together = wilson(0.9, 200)
    square = (1800 - 2**0.5 * (900 - 1000 * low), 1800 + 2**0.5 * (1000 * high - 900))
    assert found["accepted"] == pytest.approx(1800)
    assert found["low"] == pytest.approx(min(2000 * together[0], square[0]))
    assert found["high"] == pytest.approx(max(2000 * together[1], square[1]))
    assert 2000 * together[1] != pytest.approx(square[1])


def test_windows_of_a_tenant_within_a_workload_are_samples_and_those_of_all_its_work_bounds() -> None:
    """A tenant's row may be of a workload with labels and of one without: nobody can tell the bound from the sample."""
    low, high = (1000 * end for end in wilson(0.9, 100))
    of_workload = total(*(window(day, 900, low, high) for day in range(2)))
    named = {"slice": "workload_tenant", "slice_value": "acme"}
    within = total(*(window(day, 900, low, high, **named) for day in range(2)), of="workload_tenant", value="acme")
    assert (within["low"], within["high"]) == (of_workload["low"], of_workload["high"])
    named = {"slice": "tenant", "slice_value": "acme", "workload": None}
    over_all = total(*(window(day, 900, low, high, **named) for day in range(2)), of="tenant", value="acme")
    assert (over_all["low"], over_all["high"]) == pytest.approx((2 * low, 2 * high))


def test_days_on_which_all_labels_passed_leave_doubt_together() -> None:
    """No day says how far its share may be above: all of it may. Together they are 40 labels, of which all passed."""
    low, _ = wilson(1.0, 20)
    found = total(*(window(day, 1000, 1000 * low, 1000) for day in range(2)))
    assert (found["high"], found["low"]) == pytest.approx(
        (2000, min(2000 * wilson(1.0, 40)[0], 2000 - 2**0.5 * (1000 - 1000 * low)))
    )


def test_bounds_add_up_linearly_beside_samples() -> None:
    low, high = wilson(0.7, 100)
    sampled, unjudged = window(0, 700, 1000 * low, 1000 * high), window(1, 1000, 0, 1000, "latency_constrained")
    found = total(sampled, unjudged)
    assert (found["low"], found["high"]) == pytest.approx((1000 * low, 1000 + 1000 * high))
    assert found["definition"] == "estimated"


def unjudged(day: int, failed: int = 0, **more: Any) -> dict:
    """A day without a label: all that may pass counts, which is all but what one of two evaluators failed."""
    upper = 1000 - failed
    tokens = {"output_token_goodput_tps": 10 * upper / DAY_S, "output_token_goodput_ci_low_tps": 0.0}
    tokens["output_token_goodput_ci_high_tps"] = tokens["output_token_goodput_tps"]
    bounds = {"goodput_upper_rps": upper / DAY_S, **tokens}
    return window(day, upper, 0, upper, "latency_constrained", **(bounds | more))


def labelled(day: int, accepted: float, **more: Any) -> dict:
    """A day with a hundred labels, of which a share passed; each answer has ten tokens."""
    low, high = (1000 * end for end in wilson(accepted / 1000, 100))
    tokens = {"output_token_goodput_tps": 10 * accepted / DAY_S}
    return window(day, accepted, low, high, labelled=100, **tokens, **more)


def test_days_without_a_label_pass_at_the_rate_of_the_others() -> None:
    """Of 2,000 on labelled days 1,300 are estimated to pass: 650 of each 1,000 on the days that nobody judged."""
    found = total(labelled(0, 700), labelled(1, 600), unjudged(2), unjudged(3))
    assert (found["accepted"], found["accepted_tokens"]) == pytest.approx((2600, 26_000))
    assert found["ratio"] == pytest.approx(0.65)
    apart = total(labelled(0, 700), labelled(1, 600))
    assert (found["low"], found["high"]) == pytest.approx((apart["low"], apart["high"] + 2000))


def test_what_is_known_to_fail_passes_at_no_rate() -> None:
    found = total(labelled(0, 700), unjudged(1, failed=400))
    assert (found["accepted"], found["accepted_tokens"]) == pytest.approx((1300, 13_000))


@pytest.mark.parametrize("policy", ["pass", "fail"])
def test_a_policy_says_what_days_without_a_label_count(policy: str) -> None:
    counted = unjudged(1) if policy == "pass" else unjudged(1, goodput_rps=0.0, output_token_goodput_tps=0.0)
    found = total(labelled(0, 700), counted, policies={"chat": policy})
    assert found["accepted"] == pytest.approx(1700 if policy == "pass" else 700)


def test_days_without_any_label_beside_them_count_all_that_may_pass() -> None:
    assert total(unjudged(0), unjudged(1))["accepted"] == pytest.approx(2000)


def test_each_workload_passes_at_its_own_rate() -> None:
    rows = [labelled(0, 700), unjudged(1), labelled(0, 100, workload="rag"), unjudged(1, workload="rag")]
    both = {"slice": "overall", "workload": None, "offered": 2000, "need_label": 2000}
    rows += [window(0, 800, 600, 900, **both, labelled=200), window(1, 2000, 0, 2000, "latency_constrained", **both)]
    assert total(*rows, of="overall")["accepted"] == pytest.approx(800 + 700 + 100)


def test_a_workload_without_a_label_is_a_bound_in_the_sum_of_all() -> None:
    """By the row of all workloads nobody could tell the bound from the sample."""
    low, high = (1000 * end for end in wilson(0.7, 100))
    rows = []
    for day in range(2):
        rows += [window(day, 700, low, high), window(day, 1000, 0, 1000, "latency_constrained", workload="rag")]
        both = {"slice": "overall", "workload": None, "offered": 2000, "need_label": 2000}
        rows.append(window(day, 1700, low, 1000 + high, **both, goodput_upper_rps=2000 / DAY_S))
    found = total(*rows, of="overall")
    one = total(rows[0], rows[3])
    assert found["accepted"] == pytest.approx(3400)  # no day says at which rate answers of rag pass
    assert (found["low"], found["high"]) == pytest.approx((one["low"], one["high"] + 2000))


def test_a_window_of_so_few_labels_that_both_its_ends_are_bounds_counts_by_its_labels() -> None:
    """Four requests, one of them judged: 1 x 3 / 3 of a label drawn alone. The other day's labels are not alike."""
    low, high = wilson(0.9, 100)  # what 91 of 1,000 are worth: 91 x 999 / 909
    sure = window(0, 900, 1000 * low, 1000 * high, labelled=91)
    few = {"offered": 4, "need_label": 4, "labelled": 1, "goodput_lower_rps": 1 / DAY_S, "goodput_upper_rps": 4 / DAY_S}
    found = total(sure, window(1, 4, 1, 4, **few))
    size, share, z2 = 1004**2 / (1000**2 / 100 + 4**2 / 1), 904 / 1004, 1.959964**2
    middle, half = share + z2 / size / 2, (z2 / size * share * (1 - share) + (z2 / size) ** 2 / 4) ** 0.5
    together = [1004 * (middle + sign * half) / (1 + z2 / size) for sign in (-1, 1)]
    square = 904 - ((900 - 1000 * low) ** 2 + 3**2) ** 0.5, 904 + 1000 * high - 900
    assert found["accepted"] == pytest.approx(904)
    assert found["low"] == pytest.approx(min(together[0], square[0]), rel=1e-3)
    assert found["high"] == pytest.approx(max(together[1], square[1]), rel=1e-3)


def test_windows_that_all_have_too_few_labels_have_their_bounds_together() -> None:
    few = {"offered": 4, "need_label": 4, "labelled": 1, "goodput_lower_rps": 1 / DAY_S, "goodput_upper_rps": 4 / DAY_S}
    found = total(window(0, 4, 1, 4, **few), window(1, 4, 1, 4, **few))
    assert (found["low"], found["accepted"], found["high"]) == pytest.approx((2, 8, 8))


@pytest.mark.parametrize(("requests", "label_rate"), [(5, 0.3), (14, 0.3), (30, 0.1)])
def test_an_interval_of_thin_windows_has_what_it_is_of(
    requests: int, label_rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(period_totals, "PERIODS", 60)
    found = period_totals.Period(12, goodput_windows.one(requests, 0.9, label_rate)).run(5)
    has_estimate = np.isfinite(found.point)
    assert has_estimate.any()
    assert np.all((found.low <= found.point + 1e-6)[has_estimate])
    assert np.all((found.high >= found.point - 1e-6)[has_estimate])
    assert np.mean((found.low <= found.truth) & (found.truth <= found.high)) >= 0.9


def test_labels_that_nobody_drew_leave_no_estimate_of_the_whole() -> None:
    low, high = wilson(0.7, 100)
    found = total(window(0, 700, 1000 * low, 1000 * high), window(1, None, 100, 400, "unweighted"))
    assert (found["accepted"], found["ratio"], found["definition"]) == (None, None, "unweighted")
    assert (found["low"], found["high"]) == pytest.approx((1000 * low + 100, 1000 * high + 400))


def test_a_price_of_several_days_has_the_ends_of_cost_and_of_what_was_accepted() -> None:
    priced = {"cost_usd": 9.0, "cost_error_usd": 0.5}
    found = total(window(0, 900, 800, 1000, **priced), window(1, 900, 800, 1000, **priced))
    assert found["price_usd"] == pytest.approx(0.01)
    ends = (17 / found["high"], 19 / found["low"])
    assert (found["price_low_usd"], found["price_high_usd"]) == pytest.approx(ends)


def test_a_price_of_several_days_has_no_upper_end_where_work_of_one_has_no_price() -> None:
    priced = {"cost_usd": 9.0, "cost_error_usd": 0.5}
    outside = window(9, 900, 800, 1000, **priced, unpriced=99)
    found = total(window(0, 900, 800, 1000, **priced), window(1, 900, 800, 1000, **priced, unpriced=2), outside)
    assert found["unpriced"] == 2
    assert (found["price_usd"], found["price_low_usd"]) == pytest.approx((0.01, 17 / found["high"]))
    assert found["price_high_usd"] is None


def test_a_day_without_known_cost_leaves_no_price() -> None:
    found = total(window(0, 700, 670, 730, cost_usd=7.0), window(1, 800, 760, 840))
    assert (found["cost_usd"], found["price_usd"]) == (7.0, None)


def test_wasted_shares_weigh_by_what_was_spent() -> None:
    first, second = (
        window(0, 700, 670, 730, cost_usd=30.0, wasted_ratio=0.5),
        window(1, 1, 1, 1, cost_usd=10.0, wasted_ratio=0.1),
    )
    assert total(first, second)["wasted_ratio"] == pytest.approx((15 + 1) / 40)
