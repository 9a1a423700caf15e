"""A sample's labels as one text: a JSON object with its names in order, so that equal sets are equal texts."""

import polars as pl


def label_texts(labels: pl.DataFrame, rows: int) -> pl.Series:
    """The label set of each of `rows` rows; `labels` has row (UInt32), name, value: of equal names the last counts."""
    pair = pl.concat_str(_quoted("name"), pl.lit(":"), _quoted("value"))
    sets = (
        labels.unique(["row", "name"], keep="last", maintain_order=True)
        .sort("row", "name")
        .group_by("row", maintain_order=True)
        .agg(pair.str.join(",").alias("labels"))
    )
    every = pl.DataFrame({"row": pl.int_range(rows, dtype=pl.UInt32, eager=True)})
    whole = pl.concat_str(pl.lit("{"), pl.col("labels").fill_null(""), pl.lit("}"))
    return every.join(sets, on="row", how="left", maintain_order="left").select(whole.alias("labels")).to_series()


def label(name: str) -> pl.Expr:
    """One label's value of the column `labels`, NULL where it is absent or empty."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return pl.col("labels").str.json_path_match(f'$["{quoted}"]').replace("", None)


def _quoted(column: str) -> pl.Expr:
    whole = pl.struct(pl.col(column).alias("_")).struct.json_encode()
    return whole.str.strip_prefix('{"_":').str.head(-1)
