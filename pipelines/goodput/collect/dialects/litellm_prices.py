"""LiteLLM's price map, model_prices_and_context_window.json: one object of models, in US dollars per single token.

It has no date: when its prices begin is stated by its path or the settings. `sample_spec` explains the keys and is no
model; models that are priced by anything but tokens are ignored. `input_cost_per_token_above_200k_tokens` and the like
are the prices of all tokens of a request whose prompt is longer.
"""

import polars as pl

from goodput.collect.dialect import Dialect, Field, Ignore
from goodput.collect.otlp.attributes import Wanted
from goodput.collect.row_id import row_ids

FIELDS = (
    Field("provider", "string", ("$.litellm_provider",)),
    Field("input_token_usd", "float", ("$.input_cost_per_token",)),
    Field("output_token_usd", "float", ("$.output_cost_per_token",)),
    Field(
        "cached_input_token_usd",
        "float",
        ("$.cache_read_input_token_cost", "$.input_cost_per_token_cache_hit"),
    ),
    Field("cache_write_token_usd", "float", ("$.cache_creation_input_token_cost",)),
    Field("reasoning_token_usd", "float", ("$.output_cost_per_reasoning_token",)),
)
_PRICES = ("model", *(field.canonical for field in FIELDS))
_TIER = r'"(?:input|output)_cost_per_token_above_(\d+)k_tokens"'
_OTHER_TIER = r'"(input|output)_cost_per_token_above_|"tiered_pricing"'
_TIER_PRICES = {
    "tier_input_token_usd": "input_cost_per_token",
    "tier_output_token_usd": "output_cost_per_token",
    "tier_cached_input_token_usd": "cache_read_input_token_cost",
    "tier_cache_write_token_usd": "cache_creation_input_token_cost",
}


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    text = pl.col("text")
    starts = text.str.extract_all(_TIER).list.eval(pl.element().str.extract(_TIER).cast(pl.Int64)).list.unique()
    has_one = (starts.list.len() == 1) & ~text.str.contains('"tiered_pricing"', literal=True)
    priced = frame.with_columns(
        model="key",
        tiered=text.str.contains(_OTHER_TIER) & ~has_one,
        tier_above_tokens=pl.when(has_one).then(1000 * starts.list.first()),
        **{
            name: pl.when(has_one).then(text.str.extract(_tier_price(key)).cast(pl.Float64, strict=False))
            for name, key in _TIER_PRICES.items()
        },
    )
    return priced.with_columns(
        record_id=row_ids(priced.select("line", "position", *_PRICES, "tiered", "tier_above_tokens", *_TIER_PRICES))
    )


def _tier_price(key: str) -> str:
    return rf'"{key}_above_\d+k_tokens"\s*:\s*([0-9.eE+-]+)'


LITELLM_PRICES = Dialect(
    name="litellm_prices",
    table="price_lines",
    matches=pl.col("$.litellm_provider").is_not_null(),
    fields=FIELDS,
    finish=_finish,
    signature=(Wanted("$.litellm_provider", "string"),),
    ignored=(
        Ignore("model_is_an_example", pl.col("key") == "sample_spec"),
        Ignore(
            "model_not_priced_by_token",
            pl.all_horizontal(pl.col("$.input_cost_per_token", "$.output_cost_per_token").is_null()),
        ),
    ),
    rows="$.*",
)
