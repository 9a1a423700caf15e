"""FOCUS cost and usage, versions 1.0 to 1.3 (FOCUS_Spec, datasets/cost_and_usage): CSV, Parquet or JSON rows.

The cost is EffectiveCost, which spreads a commitment over what it covers, and belongs to its charge period: a
correction of a closed billing period comes in a later one. What of a commitment stays unused costs too. A value that is
not there is NULL (specification/attributes/null_handling): of CSV files an empty cell, or the word.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field
from goodput.collect.dialects.instants import iso_ns
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

FIELDS = (
    Field("amount_usd", "float", ("$.EffectiveCost",)),
    Field("billed_usd", "float", ("$.BilledCost",)),
    Field("currency", "string", ("$.BillingCurrency",)),
    Field("provider", "string", ("$.ServiceProviderName", "$.ProviderName", "$.Provider")),  # before 1.3, before 1.0
    Field("account", "string", ("$.BillingAccountId",)),
    Field("sub_account", "string", ("$.SubAccountId",)),
    Field("billed_from", "string", ("$.BillingPeriodStart",)),
    Field("used_from", "string", ("$.ChargePeriodStart",)),
    Field("used_until", "string", ("$.ChargePeriodEnd",)),
    Field("charge_category", "string", ("$.ChargeCategory",)),
    Field("charge_class", "string", ("$.ChargeClass",)),
    Field("commitment_status", "string", ("$.CommitmentDiscountStatus",)),
    Field("service", "string", ("$.ServiceName",)),
    Field("resource_id", "string", ("$.AllocatedResourceId", "$.ResourceId")),
    Field("tags", "string", ("$.AllocatedTags", "$.Tags")),
    Field("consumed", "float", ("$.ConsumedQuantity",)),
    Field("consumed_unit", "string", ("$.ConsumedUnit",)),
    Field("priced", "float", ("$.PricingQuantity",)),
    Field("priced_unit", "string", ("$.PricingUnit",)),
    Field("details", "string", ("$.SkuPriceDetails",)),
)
_MULTIPLES = {"k": 1e3, "m": 1e6, "b": 1e9}


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    hours = pl.when(pl.col("consumed_unit").str.to_lowercase().is_in(["hours", "hour", "hrs"])).then("consumed")
    gpus = pl.col("details").str.json_path_match("$.GpuCount").cast(pl.Float64, strict=False)
    charged = frame.with_columns(
        basis=pl.lit("billing"),
        billing_account=pl.concat_str("provider", "account", separator="/", ignore_nulls=True),
        billing_period_start_ns=iso_ns("billed_from").fill_null(_month_ns(iso_ns("used_from"))),
        period_start_ns=iso_ns("used_from"),
        period_end_ns=iso_ns("used_until"),
        tokens=pl.coalesce(_tokens("consumed", "consumed_unit"), _tokens("priced", "priced_unit")),
        gpu_s=pl.when(pl.col("charge_category") == "Usage").then(hours * gpus * 3600),
    )
    # Two equal lines of a bill are two charges: the place distinguishes them.
    identity = ("line", "position", "amount_usd", "billing_account", "used_from", "used_until", "resource_id", "tags")
    return charged.with_columns(record_id=row_ids(charged.select(identity))).with_columns(cost_id="record_id")


def _month_ns(at_ns: pl.Expr) -> pl.Expr:
    """Start of the calendar month: the billing period of a line that names none."""
    return pl.from_epoch(at_ns, time_unit="ns").dt.truncate("1mo").dt.epoch("ns")


def _tokens(quantity: str, unit: str) -> pl.Expr:
    """Single tokens of a quantity in Tokens, 1K Tokens, 1M Tokens or 1000000 Tokens; NULL in any other unit."""
    parts = pl.col(unit).str.to_lowercase().str.extract_groups(r"^(?<number>[0-9]*)(?<multiple>[kmb]?)\s*tokens?$")
    number = parts.struct.field("number").replace("", "1").cast(pl.Float64, strict=False)
    multiple = parts.struct.field("multiple").replace_strict(_MULTIPLES, default=1.0, return_dtype=pl.Float64)
    return pl.col(quantity) * number * multiple


_SHOWN = ("$.EffectiveCost", "$.ChargePeriodStart", "$.BillingPeriodStart", "$.BillingCurrency")
FOCUS = Dialect(
    name="focus",
    table="cost_lines",
    # A line with an empty cell is a line of a bill all the same: it counts, or stands in quarantine.
    matches=pl.sum_horizontal(pl.col(_SHOWN).is_not_null()) >= 2,
    fields=FIELDS,
    finish=_finish,
    signature=tuple(Wanted(path, "string") for path in _SHOWN),
    unset=("", "NULL", "null"),  # the specification's own samples write a column without a value so
)
