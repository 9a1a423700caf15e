"""Bills, allocations and price lists: which amount counts, for which time, in which unit."""

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collect.objects.written import Reading, Row, put

NINE_NS = 1_795_165_200_000_000_000  # 2026-11-20T09:00:00Z
HOUR_NS = 3600 * 10**9

CHARGE = {
    "BilledCost": "0.00",
    "BillingAccountId": "123",
    "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-11-01T00:00:00Z",
    "BillingPeriodEnd": "2026-12-01T00:00:00Z",
    "ChargeCategory": "Usage",
    "ChargeClass": "",
    "ChargePeriodStart": "2026-11-20T09:00:00Z",
    "ChargePeriodEnd": "2026-11-20T10:00:00Z",
    "CommitmentDiscountStatus": "Used",
    "ConsumedQuantity": "1",
    "ConsumedUnit": "Hours",
    "EffectiveCost": "12.25",
    "ListCost": "24.00",
    "PricingQuantity": "1",
    "PricingUnit": "Hours",
    "ProviderName": "AWS",
    "ResourceId": "i-0abc",
    "ServiceName": "Amazon Elastic Compute Cloud",
    "SkuPriceDetails": '{"GpuCount": 8, "InstanceType": "p5.48xlarge"}',
    "SubAccountId": "456",
    "Tags": '{"pool": "chat", "team": "llm"}',
}
ALLOCATION = {
    "name": "c1/gpu-1/llm/vllm-0/vllm",
    "properties": {"cluster": "c1", "controller": "vllm", "pod": "vllm-0", "labels": {"app": "vllm", "model": "m1"}},
    "window": {"start": "2026-11-20T00:00:00Z", "end": "2026-11-21T00:00:00Z"},
    "start": "2026-11-20T09:00:00Z",
    "end": "2026-11-20T10:00:00Z",
    "minutes": 60,
    "cpuCost": 0.1,
    "gpuHours": 2,
    "gpuCost": 5.0,
    "totalCost": 5.5,
}
IDLE = {
    **{"name": "__idle__", "properties": {"cluster": "c1"}, "window": ALLOCATION["window"]},
    **{"start": "2026-11-20T00:00:00Z", "end": "2026-11-21T00:00:00Z"},
    **{"minutes": 1440, "cpuCost": 0.5, "gpuHours": 0, "gpuCost": 7, "totalCost": 7.5},
}
PRICES = {
    "sample_spec": {"litellm_provider": "one of https://...", "input_cost_per_token": 0.0, "mode": "one of: chat"},
    "gpt-x": {
        "litellm_provider": "openai",
        "mode": "chat",
        "input_cost_per_token": 2.5e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-06,
        "output_cost_per_reasoning_token": 2e-05,
    },
    "deepseek/chat": {
        "litellm_provider": "deepseek",
        "input_cost_per_token": 2.8e-07,
        "input_cost_per_token_cache_hit": 2.8e-08,
        "input_cost_per_token_above_128k_tokens": 5e-07,
        "output_cost_per_token": 4.2e-07,
    },
    "hosted/llama": {"litellm_provider": "hosted", "input_cost_per_second": 0.0004},
    "free/model": {"litellm_provider": "free", "input_cost_per_token": 0, "output_cost_per_token": 0},
}


def as_csv(*rows: Row) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def lines(path: Path, text: str) -> list[Row]:
    reading = Reading(put(path, text))
    assert not reading.refused
    return reading.tables["cost_lines"]


def charge(path: Path, **given: str) -> Row:
    (found,) = lines(path / "focus.csv", as_csv({**CHARGE, **given}))
    return found


@pytest.mark.parametrize("nothing", ["NULL", "null"])
def test_a_column_of_focus_that_says_null_has_no_value(tmp_path: Path, nothing: str) -> None:
    """As the FinOps Foundation's sample data write it: of credits most columns."""
    columns = (
        *(
            "ChargeClass",
            "CommitmentDiscountStatus",
            "ConsumedQuantity",
            "ConsumedUnit",
            "PricingQuantity",
            "PricingUnit",
        ),
        *("ResourceId", "SkuPriceDetails", "Tags"),
    )
    credit = {"EffectiveCost": "-3.00", "ChargeCategory": "Credit"}
    assert charge(tmp_path, **credit, **dict.fromkeys(columns, nothing)) == charge(
        tmp_path, **credit, **dict.fromkeys(columns, "")
    ) | {"record_id": ANY, "cost_id": ANY}


# Trap 21: the charge period, the effective cost, what is unused


def test_trap_21_a_charge_is_its_effective_cost_in_its_charge_period(tmp_path: Path) -> None:
    found = charge(tmp_path)
    assert (found["basis"], found["amount_usd"], found["billed_usd"]) == ("billing", 12.25, 0.0)
    assert (found["period_start_ns"], found["period_end_ns"]) == (NINE_NS, NINE_NS + HOUR_NS)
    assert found["billing_period_start_ns"] == NINE_NS - 19 * 24 * HOUR_NS - 9 * HOUR_NS
    assert (found["billing_account"], found["sub_account"], found["resource_id"]) == ("AWS/123", "456", "i-0abc")
    assert json.loads(found["tags"]) == {"pool": "chat", "team": "llm"}
    assert found["gpu_s"] == 8 * 3600
    assert charge(tmp_path, SkuPriceDetails="{8 GPUs")["gpu_s"] is None


def test_trap_21_credits_and_what_a_commitment_leaves_unused_are_charges(tmp_path: Path) -> None:
    unused = {**CHARGE, "CommitmentDiscountStatus": "Unused", "ResourceId": "", "EffectiveCost": "3"}
    correction = {**CHARGE, "ChargeClass": "Correction", "EffectiveCost": "-1.5"}
    found = lines(tmp_path / "focus.csv", as_csv(CHARGE, unused, correction, CHARGE))
    assert [row["amount_usd"] for row in found] == [12.25, 3, -1.5, 12.25]
    assert [row["commitment_status"] for row in found] == ["Used", "Unused", "Used", "Used"]
    assert [row["charge_class"] for row in found] == [None, None, "Correction", None]
    assert len({row["record_id"] for row in found}) == 4  # equal lines are charged twice


@pytest.mark.parametrize("empty", ["BillingCurrency", "BillingPeriodStart", "ChargePeriodStart", "EffectiveCost"])
def test_a_charge_with_an_empty_cell_is_a_charge_for_the_contract_to_judge(tmp_path: Path, empty: str) -> None:
    reading = Reading(put(tmp_path / "focus.csv", as_csv({**CHARGE, empty: ""}, CHARGE)))
    assert (reading.rows_read, reading.ignored) == (2, {})
    kept = reading.tables["cost_lines"]
    assert [row["line"] for row in kept] == [2, 3]
    # a month of use is its own billing period
    assert {row["billing_period_start_ns"] for row in kept} == {NINE_NS - 19 * 24 * HOUR_NS - 9 * HOUR_NS}


def test_a_bill_whose_cost_is_the_word_null_is_for_the_contract_to_judge(tmp_path: Path) -> None:
    found = charge(tmp_path, EffectiveCost="NULL", ChargePeriodStart="NULL")
    assert (found["amount_usd"], found["period_start_ns"]) == (None, None)


def test_versions_of_focus_name_the_provider_differently(tmp_path: Path) -> None:
    newer = {**CHARGE, "ServiceProviderName": "AWS", "HostProviderName": "AWS"}
    del newer["ProviderName"]
    (found,) = lines(tmp_path / "focus.csv", as_csv(newer))
    assert found["billing_account"] == "AWS/123"


def test_parquet_says_what_csv_says(tmp_path: Path) -> None:
    begin = datetime(2026, 11, 20, 9, tzinfo=UTC)
    typed = {
        **CHARGE,
        **{"BilledCost": Decimal("0.00"), "EffectiveCost": Decimal("12.25"), "ConsumedQuantity": Decimal(1)},
        **{"ChargePeriodStart": begin, "ChargePeriodEnd": begin.replace(hour=10), "ChargeClass": None},
        **{"BillingPeriodStart": begin.replace(day=1, hour=0), "Tags": [("pool", "chat"), ("team", "llm")]},
    }
    table = pa.Table.from_pylist([typed])
    tags = pa.array([typed["Tags"]], pa.map_(pa.string(), pa.string()))
    table = table.set_column(table.schema.get_field_index("Tags"), "Tags", tags)
    pq.write_table(table, tmp_path / "focus.parquet")
    (found,) = Reading(tmp_path / "focus.parquet").tables["cost_lines"]
    expected = charge(tmp_path)
    for name in ("amount_usd", "period_start_ns", "period_end_ns", "billing_period_start_ns", "gpu_s", "charge_class"):
        assert found[name] == expected[name], name
    assert json.loads(found["tags"]) == json.loads(expected["tags"])


# Trap 22: units of prices


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        ({"ConsumedQuantity": "1500000", "ConsumedUnit": "Tokens"}, 1_500_000),
        ({"ConsumedUnit": "", "PricingQuantity": "1.5", "PricingUnit": "1000000 Tokens"}, 1_500_000),
        ({"ConsumedQuantity": "1500", "ConsumedUnit": "1K tokens"}, 1_500_000),
        ({"ConsumedQuantity": "1.5", "ConsumedUnit": "1M Tokens"}, 1_500_000),
        ({}, None),
    ],
)
def test_trap_22_tokens_are_counted_singly(tmp_path: Path, given: dict[str, str], tokens: float | None) -> None:
    assert charge(tmp_path, **given)["tokens"] == tokens


def test_trap_22_prices_are_per_token_and_an_example_is_no_model(tmp_path: Path) -> None:
    reading = Reading(put(tmp_path / "model_prices_and_context_window.json", json.dumps(PRICES, indent=4)))
    assert reading.ignored == {"model_is_an_example": 1, "model_not_priced_by_token": 1}
    prices = ("input_token_usd", "output_token_usd", "cached_input_token_usd", "reasoning_token_usd", "tiered")
    found = {row["model"]: tuple(row[name] for name in prices) for row in reading.tables["price_lines"]}
    assert found == {
        "gpt-x": (2.5e-06, 1e-05, 1.25e-06, 2e-05, False),
        "deepseek/chat": (2.8e-07, 4.2e-07, 2.8e-08, None, False),
        "free/model": (0, 0, None, None, False),
    }


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, (False, None, None, None, None, None)),
        ({"input_cost_per_token_above_200k_tokens": 5e-06}, (False, 200_000, 5e-06, None, None, None)),
        (
            {
                "cache_read_input_token_cost_above_200k_tokens": 5e-07,
                "input_cost_per_token_above_200k_tokens": 5e-06,
                "input_cost_per_token_above_200k_tokens_priority": 9e-06,
                "cache_creation_input_token_cost_above_1hr": 6e-06,
                "cache_creation_input_token_cost_above_200k_tokens": 7e-06,
                "output_cost_per_token_above_200k_tokens": 0.00002,
            },
            (False, 200_000, 5e-06, 2e-05, 5e-07, 7e-06),
        ),
        (
            {"input_cost_per_token_above_128k_tokens": 4e-06, "input_cost_per_token_above_256k_tokens": 5e-06},
            (True, None, None, None, None, None),
        ),
        ({"tiered_pricing": [{"range": [0, 256000.0], "input_cost_per_token": 5e-08}]}, (True, *[None] * 5)),
    ],
)
def test_prices_of_long_prompts(tmp_path: Path, more: dict[str, Any], expected: tuple[Any, ...]) -> None:
    model = {"litellm_provider": "v", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, **more}
    (row,) = Reading(put(tmp_path / "prices.json", json.dumps({"m": model}))).tables["price_lines"]
    names = ("input_token_usd", "output_token_usd", "cached_input_token_usd", "cache_write_token_usd")
    assert tuple(row[name] for name in ("tiered", "tier_above_tokens", *(f"tier_{name}" for name in names))) == expected


@pytest.mark.parametrize(("gpu_usd", "placeholder"), [(1.9, True), (5.0, False)])
def test_trap_22_a_price_that_nobody_chose_is_marked(tmp_path: Path, gpu_usd: float, placeholder: bool) -> None:
    (found,) = lines(tmp_path / "allocation.jsonl", json.dumps({**ALLOCATION, "gpuCost": gpu_usd}) + "\n")
    assert found["placeholder_rate"] is placeholder


def test_an_answer_of_opencost_with_idle_as_a_row(tmp_path: Path) -> None:
    answer = {"code": 200, "data": [{ALLOCATION["name"]: ALLOCATION, "__idle__": IDLE}, {}]}
    used, idle = lines(tmp_path / "allocation.json", json.dumps(answer, indent=1))
    assert (used["basis"], used["amount_usd"], used["gpu_s"]) == ("allocation", 5.5, 7200)
    assert (used["pool"], used["replica"], used["charge_category"]) == ("vllm", "vllm-0", None)
    assert (used["period_start_ns"], used["period_end_ns"]) == (NINE_NS, NINE_NS + HOUR_NS)
    assert (used["window_start_ns"], used["window_end_ns"]) == (NINE_NS - 9 * HOUR_NS, NINE_NS + 15 * HOUR_NS)
    assert (idle["amount_usd"], idle["charge_category"], idle["pool"], idle["replica"]) == (7.5, "idle", None, None)
    assert [row["position"] for row in (used, idle)] == [0, 1]
