"""Lists a landing zone in an object store: every object with its size, time and version, as files are listed.

Where its folders are by time, only those of the last day and later are listed once older ones are known.
"""

import hashlib
from datetime import UTC, datetime, timedelta

import polars as pl

from goodput.collect.names import is_left_alone
from goodput.plumbing.store import bucket_of
from goodput.settings.bucket_zones import BucketZone

# A writer that waited for the store, and whose clock or zone is another, writes into no older folder.
LOOKBACK = timedelta(days=1)
_AHEAD = timedelta(days=1)
_Row = tuple[str, int, int, int, int]  # path and STAMP


def list_objects(
    zone: BucketZone, known: pl.DataFrame, schema: dict[str, type[pl.DataType]]
) -> tuple[pl.DataFrame, int]:
    """Rows of the objects that are there, and how many are left alone. Raises ExtraMissing, StoreFailed.

    `known`: rows of the landing index. Those in folders that are not listed again stand as they are.
    """
    of_zone = known.filter(pl.col("landing") == zone.url).select(*schema)
    folders = _folders(zone, of_zone)
    rows: list[_Row] = []
    left_alone = 0
    for found in bucket_of(zone.url).listed(folders or [""]):
        if is_left_alone(found.key):
            left_alone += 1
        else:
            rows.append((found.key, found.size_bytes, found.modified_ns, found.modified_ns, _number(found.tag)))
    columns = {name: kind for name, kind in schema.items() if name != "landing"}
    listed = pl.DataFrame(rows, schema=columns, orient="row").select(pl.lit(zone.url).alias("landing"), pl.all())
    return pl.concat([listed, _not_in(folders, of_zone)]) if folders else listed, left_alone


def _folders(zone: BucketZone, known: pl.DataFrame) -> list[str]:
    """The folders that may hold what is new; none where nothing is known, or folders show no time."""
    if zone.partition is None or known.is_empty():
        return []
    newest = datetime.fromtimestamp(int(known["changed_ns"].to_numpy().max()) / 1e9, UTC)
    return zone.folders(min(newest, datetime.now(UTC)) - LOOKBACK, datetime.now(UTC) + _AHEAD)


def _not_in(folders: list[str], rows: pl.DataFrame) -> pl.DataFrame:
    depth = folders[0].count("/") + 1
    folder = pl.col("path").str.split("/").list.head(depth).list.join("/")
    return rows.filter(~folder.is_in(folders))


def _number(tag: str) -> int:
    """What stands for a version of an object as the inode does for a file."""
    return int.from_bytes(hashlib.sha256(tag.encode()).digest()[:8], signed=True)
