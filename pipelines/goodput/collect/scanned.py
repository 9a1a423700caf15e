"""Whether all lies as at a look at the landing zone after which nothing was left to do: then the next one has neither.

It spares reading what is known of each file, which a long history has by the ten thousand. To lose the note costs time.
"""

import json
from collections.abc import Collection

import polars as pl

from goodput.plumbing import source_ledger
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.catalog import ALL
from goodput.plumbing.files import write_atomically
from goodput.plumbing.fingerprint import fingerprint, fingerprint_of_frame
from goodput.plumbing.lake import Lake

INDEX = "landed_files"
_NOTED = "scanned.json"


def listed(files: pl.DataFrame, reading: str) -> str:
    """Fingerprint of the files of a listing and of how they are read; empty where there are none."""
    return fingerprint(fingerprint_of_frame(files), reading) if files.height else ""


def is_noted(lake: Lake, found: str) -> bool:
    """Whether nothing was left to do of the same files, and the landing index and the ledger are as they were then."""
    return bool(found) and read_cache(lake.root / _NOTED, tuple[str, str]) == (found, _known(lake))


def note(lake: Lake, found: str, present: Collection[str]) -> None:
    """Note that nothing is left to do of files, if the ledger has the sources that they are. Raises LakeUnwritable."""
    if present and not source_ledger.ids(lake).issuperset(present):
        return
    text = json.dumps([found, _known(lake)])
    write_atomically(lake.root / _NOTED, lambda path: path.write_text(text))


def _known(lake: Lake) -> str:
    return fingerprint([lake.catalog[table].contents.get(ALL) for table in (INDEX, source_ledger.TABLE)])
