"""Installation, landing zone, disk and clock."""

import os
import platform
import shutil
from collections.abc import Generator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import polars as pl

from goodput.collect.listing import Listing, list_landing
from goodput.doctor.finding import Finding, attention, broken, ok
from goodput.errors import ExtraMissing, GoodputError, LandingMissing, StoreFailed
from goodput.plumbing.row_table import read_rows
from goodput.plumbing.workspace import lake_of
from goodput.settings.model import Settings

CLOCK_MARGIN = timedelta(seconds=300)  # clocks of machines that write and read may differ by so much
_LEAST_FREE_BYTES = 2**30
_STACK = ("duckdb", "polars", "pyarrow", "deltalake")


def installation() -> Iterator[Finding]:
    """Which versions these are."""
    versions = ", ".join(f"{name} {version(name)}" for name in _STACK)
    yield ok("installation", f"goodput {version('goodput')}, Python {platform.python_version()}, {versions}")


def landing(settings: Settings, now: datetime) -> Generator[Finding, None, pl.DataFrame | None]:
    """Whether the landing zone is there and can be read, and whether its files are of the future; returns them."""
    try:
        listing = _listing(settings)
    except LandingMissing as error:
        missing = ", ".join(map(str, error.paths))
        yield broken("landing", f"not there: {missing}", "create the folder, or name the right one under `landing`")
        return None
    except (ExtraMissing, StoreFailed) as error:
        yield broken("landing", str(error), "see docs/connect.md")
        return None
    files, left_alone = listing.files, listing.about_left_alone()
    also = f"; {left_alone}" if left_alone else ""
    unreadable = [path for path in settings.landing_paths if not os.access(path, os.R_OK)]
    if unreadable:
        named = ", ".join(map(str, unreadable))
        yield broken("landing", f"{named} cannot be read", "let the user that runs goodput read it")
    elif files.is_empty():
        looked = ", ".join(settings.landing_names)
        yield attention(
            "landing", f"no file lies in {looked}{also}", "let telemetry be written there; see docs/connect.md"
        )
    else:
        yield ok("landing", f"{len(files):,} file(s), {int(files['size_bytes'].sum()) / 1e6:,.1f} MB{also}")
        latest = datetime.fromtimestamp(max(files["modified_ns"].to_list()) / 1e9, UTC)
        yield from _clock(latest, now)
    return files


def _listing(settings: Settings) -> Listing:
    """The landing zone; objects that the lake knows are not listed again, where it can be read."""
    known = None
    with suppress(GoodputError):  # what is wrong with the lake is another finding
        known = read_rows(lake_of(settings), "landed_files")
    return list_landing(settings, known)


def _clock(latest: datetime, now: datetime) -> Iterator[Finding]:
    if latest > now + CLOCK_MARGIN:
        found = f"a file in the landing zone was changed {_ago(latest - now)} from now"
        yield broken("clock", found, "set this machine's clock, or that of the machine which writes, by NTP")
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def disk(lake: Path) -> Iterator[Finding]:
    """Whether a run has room: one that computes all again holds every part twice until it is published."""
    folder = next(path for path in (lake, *lake.absolute().parents) if path.exists())
    free_bytes = shutil.disk_usage(folder).free
    held_bytes = sum(file.stat().st_size for file in lake.rglob("*.parquet")) if lake.exists() else 0
    room = f"{free_bytes / 1e9:,.1f} GB free, the lake holds {held_bytes / 1e9:,.2f} GB"
    if not os.access(folder, os.W_OK):
        yield broken("disk", f"{folder} cannot be written to", "let the user that runs goodput write there")
    elif free_bytes < _LEAST_FREE_BYTES:
        yield broken("disk", room, "free some: a run that cannot write publishes nothing new")
    elif free_bytes < held_bytes:
        yield attention("disk", room, "free some: changed settings make a run hold every part twice")
    else:
        yield ok("disk", room)


def _ago(time: timedelta) -> str:
    hours = time.total_seconds() / 3600
    return f"{hours / 24:,.1f} days" if hours >= 48 else f"{hours:,.1f} h"
