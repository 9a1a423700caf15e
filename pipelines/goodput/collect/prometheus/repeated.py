"""Scrapes of one target repeat their lines: what was worked out of the first one's holds for all that follow.

Of those only the values are read. What the lines mean is `text`'s work.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import polars as pl
import pyarrow as pa

from goodput.collect.prometheus import text
from goodput.collect.prometheus.text import TARGETS, Scrape
from goodput.collect.series import CREATED

# Lines taken as they are: comments, and when a counter began, which changes only where its process begins anew.
_IS_WHOLE = (
    pl.col("text").str.starts_with("#") | pl.col("text").str.contains(CREATED, literal=True) | (pl.col("text") == "")
)
_LAST, _BEFORE_LAST = r"(\S+)$", r"[ \t]+\S+$"  # a sample's value, and what stands behind its name and labels
# Behind a value a timestamp or an exemplar may stand, which each scrape has of its own.
_MORE = r"^[^{ \t]*[ \t]|\}[ \t]|[ \t]#[ \t]"
_VALUE, _TOTAL, _COUNTS = "value", "total", "bucket_counts"


@dataclass(frozen=True)
class _ScrapeLayout:
    """A scrape whose values are the numbers of their lines, from 0."""

    scrape: Scrape
    value_at: pl.Series
    total_at: pl.Series
    counts_at: pl.Series  # of all histograms one behind the other
    counts_from: pa.Array  # where those of each reading begin; NULL: it is no histogram

    def filled(self, values: pl.Series, scraped_ns: int | None) -> Scrape | None:
        """The scrape with these values; None where one of them changes what a reading is."""
        counts = values.gather(self.counts_at)
        if counts.is_nan().any():
            return None
        readings = self.scrape.readings.with_columns(
            values.gather(self.value_at).alias(_VALUE),
            values.gather(self.total_at).alias(_TOTAL),
            pl.Series(_COUNTS, pa.LargeListArray.from_arrays(self.counts_from, counts.to_arrow())),
            time_ns=pl.lit(scraped_ns, pl.Int64),
        )
        return Scrape(readings, self.scrape.bad, self.scrape.unread, self.scrape.folded, self.scrape.samples)


def parse(content: str, names: Collection[str], histograms: Collection[str], scraped_ns: int | None) -> Scrape:
    """Readings of the metrics called by `names`; `time_ns` is the line's own time, else `scraped_ns`.

    `histograms`: those of the names whose lines make one reading.
    """
    line = pl.col("text")
    lines = text.lines_of(content).lazy().with_columns(is_whole=_IS_WHOLE)
    cut = lines.select(
        "is_whole",
        key=pl.when("is_whole").then(line).otherwise(line.str.replace(_BEFORE_LAST, "")),
        value=pl.when(~pl.col("is_whole")).then(text.number(line.str.extract(_LAST))),
    ).collect()
    filled = None
    if (cut["is_whole"] | cut["value"].is_not_null()).all():
        layout = _layout(tuple(cut["key"].to_list()), frozenset(names), frozenset(histograms))
        filled = layout and layout.filled(cut["value"], scraped_ns)
    return filled or text.parse(text.numbered(text.lines_of(content)), names, histograms, scraped_ns)


@lru_cache(TARGETS)
def _layout(keys: tuple[str, ...], names: frozenset[str], histograms: frozenset[str]) -> _ScrapeLayout | None:
    """None where lines say more than names, labels and values."""
    lines = pl.DataFrame({"text": keys}, schema={"text": pl.String}).with_row_index("number")
    if lines.select((~_IS_WHOLE & pl.col("text").str.contains(_MORE)).any()).item():
        return None
    numbered = pl.when(_IS_WHOLE).then("text").otherwise(pl.concat_str("text", "number", separator=" "))
    scrape = text.parse(text.numbered(lines.select(text=numbered)), names, histograms, None)
    if scrape.bad.height:
        return None
    counts = scrape.readings[_COUNTS]
    lengths = counts.list.len().fill_null(0).to_list()
    ends = accumulate(lengths, initial=0)
    has_counts = [*counts.is_not_null(), True]
    return _ScrapeLayout(
        scrape,
        scrape.readings[_VALUE].cast(pl.UInt32),
        scrape.readings[_TOTAL].cast(pl.UInt32),
        counts.drop_nulls().list.explode(empty_as_null=False).cast(pl.UInt32),
        pa.array([end if is_there else None for end, is_there in zip(ends, has_counts, strict=True)], pa.int64()),
    )
