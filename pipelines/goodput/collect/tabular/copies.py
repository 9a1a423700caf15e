"""Numbers equal rows of one file, which are as many facts as there are rows: the same file again gives the same ids."""

import polars as pl


class RepeatedRows:
    """Equal rows of one file, block after block."""

    def __init__(self) -> None:
        self._before: list[pl.Series] = []  # hashes of the ids of earlier blocks

    def numbered(self, ids: pl.Series, identified: pl.Series | None) -> pl.Series:
        """The ids, from the second equal row on with its number; rows that are `identified` keep theirs."""
        rows = pl.DataFrame({"id": ids, "hash": ids.hash()})
        number = pl.int_range(1, pl.len() + 1).over("hash") if rows["hash"].n_unique() < rows.height else pl.lit(1)
        rows = rows.with_columns(number=number.cast(pl.Int64) + self._earlier(rows))
        self._before.append(rows["hash"])
        alone = pl.col("number") == 1
        if identified is not None:
            alone |= identified
        numbered = pl.concat_str("id", pl.lit("-"), "number")
        return rows.select(pl.when(alone).then("id").otherwise(numbered)).to_series()

    def _earlier(self, rows: pl.DataFrame) -> pl.Series:
        """How many equal rows each had in earlier blocks."""
        mine = rows["hash"].unique().implode()
        met = [hashes.filter(hashes.is_in(mine)) for hashes in self._before]
        if not any(hashes.len() for hashes in met):
            return pl.repeat(0, rows.height, dtype=pl.Int64, eager=True)
        counted = pl.concat(met).alias("hash").to_frame().group_by("hash").agg(earlier=pl.len().cast(pl.Int64))
        return rows.join(counted, on="hash", how="left", maintain_order="left")["earlier"].fill_null(0)
