"""What users see now, in short: the files of the landing zone, the headline of goodput.duckdb, deliveries beside it."""

import hashlib
from collections.abc import Sequence

import duckdb
import pyarrow.parquet as pq

from goodput.plumbing.catalog import digest_sum
from goodput.plumbing.database import deliveries_file, published, published_digests, row_counts
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake
from goodput.plumbing.row_table import read_rows
from goodput.plumbing.sql_files import sql_file
from goodput.plumbing.stored_assets import AssetContent

_SHOWN = ("slice", "offered", "goodput", "binding", "per_accepted")  # a cell of metadata is narrow


def held_in_landing(lake: Lake) -> AssetContent | None:
    """The files that were found when the landing zone was last looked at; None before the first run."""
    files = lake.catalog["landed_files"]
    if files.version < 0:
        return None
    sizes_bytes = read_rows(lake, "landed_files", ["size_bytes"])["size_bytes"]
    version = digest_sum(files.contents.values())
    return AssetContent(version, len(sizes_bytes), int(sizes_bytes.sum()), f"**{len(sizes_bytes):,}** files")


def held_in_database(lake: Lake) -> AssetContent | None:
    """What goodput.duckdb holds, with the latest day as its headline; None before the first run."""
    digests = published_digests(lake)
    if not digests:
        return None
    rows = sum(row_counts(lake).values())
    return AssetContent(fingerprint(digests), rows, lake.database.stat().st_size, _headline(lake), _facts(lake))


def held_in_deliveries(lake: Lake) -> AssetContent | None:
    """What became of the alarms that were to be sent to channels; None before the first run."""
    path = deliveries_file(lake)
    if not path.exists():
        return None
    content = path.read_bytes()
    return AssetContent(hashlib.sha256(content).hexdigest()[:32], pq.read_metadata(path).num_rows, len(content))


def _headline(lake: Lake) -> str:
    try:
        with published(lake) as connection:
            connection.execute(sql_file("macros").text)
            lines = [line for (line,) in connection.execute(sql_file("headline_window").text).fetchall()]
            found = connection.execute(sql_file("headline").text)
            names = [column[0] for column in found.description]
            return "\n".join([*lines, "", *_markdown(names, found.fetchall())])
    except duckdb.Error:  # the headline is an ornament: a database that cannot be read shows elsewhere
        return ""


def _facts(lake: Lake) -> dict[str, float]:
    try:
        with published(lake) as connection:
            found = connection.execute(sql_file("published_facts").text)
            names = [column[0] for column in found.description]
            values = found.fetchone() or ()
    except duckdb.Error:  # as of the headline
        return {}
    return {name: value for name, value in zip(names, values, strict=False) if value is not None}


def _markdown(names: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    shown = [i for i, name in enumerate(names) if name in _SHOWN and any(row[i] is not None for row in rows)]
    cells = [[names[i] for i in shown], ["---"] * len(shown), *([_text(row[i]) for i in shown] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in cells] if rows else []


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")
