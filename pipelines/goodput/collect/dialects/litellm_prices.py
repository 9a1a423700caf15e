"""LiteLLM's price map, model_prices_and_context_window.json: one object of models, in US dollars per single token.

It has no date: when its prices begin is stated by its path or the settings. `sample_spec` explains the keys and is no
model; models that are priced by anything but tokens are ignored.
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
_TIER = r'"(input|output)_cost_per_token_above_|"tiered_pricing"'


def _finish(frame: pl.DataFrame) -> pl.DataFrame:
    priced = frame.with_columns(model="key", tiered=pl.col("text").str.contains(_TIER))
    return priced.with_columns(record_id=row_ids(priced.select("line", "position", *_PRICES, "tiered")))


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
