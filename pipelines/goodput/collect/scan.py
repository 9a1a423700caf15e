"""Compares the landing zone with the source ledger: which files are new, and what grown or re-read files supersede.

Only sizes, times, inodes and hashes are looked at; a file in which none of these differs is not even opened.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from goodput.collect import scanned
from goodput.collect.copies import MOST_BYTES, ObjectCopies
from goodput.collect.held import settled_ns
from goodput.collect.landing import Beginnings, FileIdentity, claimed, identify, reading_of_all, source_id_of
from goodput.collect.listing import STAMP, Listing, list_landing
from goodput.collect.received import LandedFile
from goodput.contracts import polars_schema
from goodput.errors import SourceRefused
from goodput.plumbing import source_ledger, source_places
from goodput.plumbing.lake import Lake
from goodput.plumbing.row_table import change_rows, read_rows
from goodput.settings.lake_address import SCHEMES
from goodput.settings.model import Settings

_KEY = ["landing", "path"]
_AS_BEFORE = [*_KEY, *STAMP]  # of rows of an older version, which kept fewer, none is: NULL equals nothing
_HASHERS = 2  # hashing keeps no more than one core busy
_FETCHERS = 8  # waiting for a store keeps none
_Row = tuple[str, str, int, int, int, int]  # landing, path and STAMP
_Key = tuple[str, str]


@dataclass
class Scan:
    """What a look at the landing zone found.

    `superseded_by` has what each new source supersedes; `returned` are known ones that lie at the path of one that was
    read after them; `mended` are sources that were refused and lie nowhere as they were read then; `removed`
    are parts that the landing index no longer has. `looked`: how many files it looked into; `left`: how many objects
    another look has to, as no more are on this machine at once; `copies` are those that are. `settled` names the files
    where a look that finds the same has nothing to do once the ledger has all sources that are `present`; empty where
    files have to be looked at once more.
    """

    new: list[tuple[LandedFile, FileIdentity]] = field(default_factory=list)
    refused: list[tuple[LandedFile, str]] = field(default_factory=list)
    superseded_by: dict[str, set[str]] = field(default_factory=dict)
    returned: set[str] = field(default_factory=set)
    mended: set[str] = field(default_factory=set)
    unchanged: int = 0
    removed: list[Path] = field(default_factory=list)
    looked: int = 0
    left: int = 0
    copies: ObjectCopies = field(default_factory=ObjectCopies)
    settled: str = ""
    present: set[str] = field(default_factory=set)

    @property
    def superseded(self) -> set[str]:
        """Every source that some new one supersedes."""
        return {old for superseded in self.superseded_by.values() for old in superseded}


def unseen(lake: Lake, settings: Settings, files: pl.DataFrame) -> pl.DataFrame:
    """Those of the listed files that a scan would look into because they have changed or are new.

    What was listed as it was written the next scan looks at for certainty alone: no reason for one.
    """
    index = read_rows(lake, scanned.INDEX).filter(pl.col("reading") == reading_of_all(settings))
    as_before = [name for name in _AS_BEFORE if name != "modified_ns"]
    unsettled = index.filter(pl.col("modified_ns") == 0).select(as_before)
    return files.join(index, on=_AS_BEFORE, how="anti").join(unsettled, on=as_before, how="anti")


class _Look(NamedTuple):
    """A file that may be new: which source it is, and its identity if it had to be opened for that."""

    file: LandedFile
    source_id: str
    content_hash: str
    identity: FileIdentity | None


def scan(lake: Lake, settings: Settings) -> Scan:
    """Find what is new and remember what is there. Raises LandingMissing, LakeUnreadable, LakeUnwritable.

    A file that begins with all of a vanished source's bytes has grown from it and supersedes it; so does the same
    content at another place, or read by other settings (docs/semantics.md#sources).
    """
    listed_ns = time.time_ns()
    listing, reading = listing_of(lake, settings), reading_of_all(settings)
    listed = scanned.listed(listing.files, reading)
    if scanned.is_noted(lake, listed):
        return Scan(refused=listing.refused, unchanged=listing.files.height)
    index = read_rows(lake, scanned.INDEX).with_row_index("row")
    ids = _sources(lake, ["source_id"])
    lying = index.join(listing.files, on=_AS_BEFORE, how="semi").join(ids, on="source_id", how="semi")
    known = lying.filter(pl.col("reading") == reading)
    found = Scan(refused=listing.refused, unchanged=known.height)
    if known.height == index.height == listing.files.height:
        found.settled = listed
        return found

    sources = _sources(lake, ["source_id", "content_hash", "head_hash", *_KEY, "size_bytes", "status", "ingested_ns"])
    reread = {(landing, path): rest for landing, path, *rest in _of_other_readings(lying, reading)}
    fresh, found.left = _at_once(listing.files.join(known, on=_KEY, how="anti").sort("path", "landing"))
    looks: list[_Look] = []
    kept_rows: list[_Row] = []
    beginnings = _beginnings(sources, lying)
    look_at = partial(_look_at, settings=settings, reread=reread, beginnings=beginnings, copies=found.copies)
    hashers = _FETCHERS if settings.bucket_zones else _HASHERS
    with ThreadPoolExecutor(hashers, thread_name_prefix="hash") as pool:
        for row, look in zip(fresh.iter_rows(), pool.map(look_at, fresh.iter_rows()), strict=True):
            if isinstance(look, _Look):
                looks.append(look)
                kept_rows.append(row)
            elif look:
                found.refused.append(look)
    found.refused.sort(key=lambda item: (item[0].relative_path, item[0].landing_name))

    looked = _index_rows(kept_rows, looks, reading, listed_ns)
    found.looked = looked.height
    _take_new(found, looks, set(looked.join(ids, on="source_id", how="semi")["source_id"]))
    places = source_places.read(lake)
    found.returned = _returned(sources, places, looked)
    present = pl.concat([known.select("source_id"), looked.select("source_id")])
    if present.height == listing.files.height and looked.filter(modified_ns=0).is_empty():
        found.settled, found.present = listed, set(present["source_id"])
    absent = sources.join(present, on="source_id", how="anti")
    found.mended = set(absent.filter(pl.col("status") == "refused")["source_id"])
    found.superseded_by = _superseded(found.new, absent.filter(pl.col("status") == "read"), reread)
    homes = [(identity.source_id, file.landing_name, file.relative_path) for file, identity in found.new]
    home = sources.select(source_places.KEY)
    home = pl.concat([home, pl.DataFrame(homes, schema=home.schema, orient="row")])
    lie = pl.concat([rows.select(source_places.KEY) for rows in (known, looked)])
    found.removed = source_places.remember(lake, _places(home, places, lie))
    others = index.filter(~pl.col("row").is_in(known["row"].implode())).drop("row")
    found.removed += _remember(lake, others, looked)
    return found


def listing_of(lake: Lake, settings: Settings) -> Listing:
    """The landing zone, without listing again the objects that the lake knows from folders of the past.

    Raises LandingMissing, ExtraMissing, StoreFailed, LakeUnreadable.
    """
    is_by_time = any(zone.partition for zone in settings.bucket_zones)
    return list_landing(settings, read_rows(lake, scanned.INDEX) if is_by_time else None)


def _at_once(files: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The files that one look takes, and how many objects it leaves: their copies have to have room."""
    is_object = pl.any_horizontal(pl.col("landing").str.starts_with(f"{scheme}://") for scheme in SCHEMES)
    copied = pl.when(is_object).then(pl.col("size_bytes")).otherwise(0)
    taken = files.filter((copied.cum_sum() <= MOST_BYTES) | (copied.cum_sum() == copied) | ~is_object)
    return taken, files.height - taken.height


def _sources(lake: Lake, columns: list[str]) -> pl.DataFrame:
    """The sources of the ledger; a file that was never read is none."""
    known = source_ledger.read_frame(lake, [*dict.fromkeys([*columns, "content_hash"])])
    return known.filter(source_ledger.WAS_READ).select(columns)


def _of_other_readings(lying: pl.DataFrame, reading: str) -> Iterable[tuple[str, ...]]:
    rows = lying.filter(pl.col("reading") != reading)
    return rows.select(*_KEY, "source_id", "content_hash").iter_rows()


def _look_at(
    row: _Row, settings: Settings, reread: dict[_Key, list[str]], beginnings: Beginnings, copies: ObjectCopies
) -> _Look | tuple[LandedFile, str] | None:
    """Which source a file is, or why it is refused; None where it is gone since it was listed.

    Settings that read it as before leave it unopened.
    """
    landing, path, *_ = row
    file, reason = claimed(copies.landed(landing, path), settings)
    if reason:
        return file, reason
    if (landing, path) in reread:
        source_id, content_hash = reread[landing, path]
        if source_id == source_id_of(content_hash, file, settings):
            return _Look(file, source_id, content_hash, None)
    if not copies.fetch(file):
        return None
    try:
        identity = identify(file, settings, beginnings)
    except SourceRefused as error:
        is_gone = isinstance(error.__cause__, FileNotFoundError)
        return None if is_gone else (file, error.reason)
    return _Look(file, identity.source_id, identity.content_hash, identity)


def _beginnings(sources: pl.DataFrame, lying: pl.DataFrame) -> Beginnings:
    """Of sources that no longer lie where they were read, or not as they were: what a grown file began as."""
    # A run that died may have remembered a grown file before the ledger knew it: then the source is another.
    moved = sources.filter(pl.col("size_bytes") > 0).join(lying, on=["source_id", *_KEY], how="anti")
    return Beginnings.of(moved.select("head_hash", "size_bytes").unique().iter_rows())


def _take_new(found: Scan, looks: list[_Look], in_ledger: set[str]) -> None:
    taken = set(in_ledger)
    for look in looks:
        if look.identity is None or look.source_id in taken:
            found.unchanged += 1
        else:
            found.new.append((look.file, look.identity))
            taken.add(look.source_id)


def _returned(sources: pl.DataFrame, places: pl.DataFrame, looked: pl.DataFrame) -> set[str]:
    """Known sources found at a path where another one was read, or found again, after them."""
    read = sources.select("source_id", "ingested_ns")
    lain = pl.concat([rows.select(source_places.KEY) for rows in (sources, places)]).join(read, on="source_id")
    last = lain.group_by(_KEY).agg(last_ns=pl.col("ingested_ns").max())
    known = looked.select("source_id", *_KEY).join(read, on="source_id")
    return set(known.join(last, on=_KEY).filter(pl.col("ingested_ns") < pl.col("last_ns"))["source_id"])


def _places(home: pl.DataFrame, places: pl.DataFrame, lie: pl.DataFrame) -> pl.DataFrame:
    """Where sources lie beside their home, and the places that they were moved from.

    A source that lies nowhere was deleted, and one of a landing zone without files may only not be mounted: where it
    lay goes on saying what it is.
    """
    lain = pl.concat([home, places.select(source_places.KEY)]).unique()
    elsewhere = lain.join(lie, on=source_places.KEY, how="anti").join(lie, on="source_id", how="semi")
    past = elsewhere.join(lie, on="landing", how="semi")
    back = lie.join(places.filter("is_past"), on=source_places.KEY, how="semi")
    beside = pl.concat([lie.join(home, on=source_places.KEY, how="anti"), back]).unique()
    return pl.concat([past.with_columns(is_past=pl.lit(value=True)), beside.with_columns(is_past=pl.lit(value=False))])


def _superseded(
    new: list[tuple[LandedFile, FileIdentity]], absent: pl.DataFrame, reread: Mapping[_Key, Sequence[str]]
) -> dict[str, set[str]]:
    """Which of the sources that lie nowhere each new one begins with, is the same content as, or was read as before."""
    begun = [
        (identity.source_id, size_bytes, content_hash)
        for _, identity in new
        for size_bytes, content_hash in {(identity.size_bytes, identity.content_hash), *identity.prefix_hashes.items()}
    ]
    schema = {"successor": pl.String, "size_bytes": pl.Int64, "content_hash": pl.String}
    beginnings = pl.DataFrame(begun, schema=schema, orient="row").filter(pl.col("size_bytes") > 0)
    found: dict[str, set[str]] = {}
    same = beginnings.join(absent, on=["size_bytes", "content_hash"], how="inner")
    before = (
        (identity.source_id, *reread.get((file.landing_name, file.relative_path), ())[:1]) for file, identity in new
    )
    known = set(absent["source_id"])
    pairs = [*same.select("successor", "source_id").iter_rows(), *(pair for pair in before if known & {*pair[1:]})]
    for successor, source_id in pairs:
        found.setdefault(successor, set()).add(source_id)
    return found


def _index_rows(rows: list[_Row], looks: list[_Look], reading: str, listed_ns: int) -> pl.DataFrame:
    """Rows of the landing index; a file that may change again without another time is looked at by the next scan."""
    found = [
        (landing, path, reading, look.source_id, look.content_hash, size, settled_ns(modified_ns, listed_ns), *rest)
        for (landing, path, size, modified_ns, *rest), look in zip(rows, looks, strict=True)
    ]
    return pl.DataFrame(found, schema=polars_schema(scanned.INDEX), orient="row")


def _remember(lake: Lake, before: pl.DataFrame, now: pl.DataFrame) -> list[Path]:
    """Bring the landing index up to date, where anything differs."""
    add = now.join(before, on=now.columns, how="anti")
    remove = before.join(now, on=now.columns, how="anti")
    return change_rows(lake, scanned.INDEX, add, remove.select(_KEY))
