"""Lists the landing zone: every file with its size, times and inode, and what must not be opened with the reason.

One `stat` a file, and nothing kept of a file but its row: a landing zone may hold hundreds of thousands.
"""

import os
import stat
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from goodput.collect.bucket_listing import list_objects
from goodput.collect.names import UNFINISHED
from goodput.collect.received import UNCLAIMED, LandedFile
from goodput.errors import LandingMissing
from goodput.settings.model import Settings

RECEIVER_LOCK = ".receive.lock"  # the only hidden file that lies there by Goodput's own doing
STAMP = ("size_bytes", "modified_ns", "changed_ns", "inode")  # differs where a file is another or was written to
_SCHEMA = {"landing": pl.String, "path": pl.String, **dict.fromkeys(STAMP, pl.Int64)}
# Folder below the landing path, name, and status, reason for refusal, or None of what is left alone.
_Found = tuple[str, str, os.stat_result | str | None]


@dataclass
class Listing:
    """Files to look at (columns landing, path and STAMP), those refused with the reason, and how many are left alone.

    `modified_ns` is set by whoever copies a file or edits it in place, `changed_ns` by the file system alone: at any
    change of content, name, rights or links. An inode beyond 2^63 is shown as the negative number of the same bits.
    """

    files: pl.DataFrame
    refused: list[tuple[LandedFile, str]] = field(default_factory=list)
    left_alone: int = 0

    def about_left_alone(self) -> str | None:
        """What there is to report of files and folders that are left alone, None where there are none."""
        if not self.left_alone:
            return None
        return (
            f"{self.left_alone:,} hidden or unfinished file(s) or folder(s) are not read: "
            "writers' temporary files have such names (.NAME, NAME.tmp, NAME.partial, NAME~)"
        )


def list_landing(settings: Settings, known: pl.DataFrame | None = None) -> Listing:
    """Every file below the landing paths and every object in a bucket; hidden and unfinished ones are only counted.

    `known` is the landing index, for objects that need not be listed again. Raises LandingMissing with all paths that
    are not there; ExtraMissing, StoreFailed.
    """
    listing = list_folders(settings)
    before = pl.DataFrame(schema=_SCHEMA) if known is None else known
    for zone in settings.bucket_zones:
        files, left_alone = list_objects(zone, before, _SCHEMA)
        listing.files.extend(files)
        listing.left_alone += left_alone
    return listing


def list_folders(settings: Settings) -> Listing:
    """Every file below the landing paths, each once; hidden and unfinished files are only counted.

    Raises LandingMissing with all paths that are not there.
    """
    landing_paths = settings.landing_paths
    missing = [path for path in landing_paths if not path.exists()]
    if missing:
        raise LandingMissing(missing)
    lake = os.path.realpath(settings.lake_path)
    resolved = cache(os.path.realpath)
    seen: set[tuple[str, str]] = set()
    listing = Listing(pl.DataFrame(schema=_SCHEMA))
    for landing in landing_paths:
        home = landing if landing.is_dir() else landing.parent
        paths, sizes, modified, changed, inodes = [], array("q"), array("q"), array("q"), array("Q")
        for folder, name, status in _walk(landing, lake):
            if len(landing_paths) > 1:  # they may overlap
                place = (resolved(home / folder), name)
                if place in seen:
                    continue
                seen.add(place)
            if status is None:
                listing.left_alone += 1
            elif not _is_utf8(folder + name):
                escaped = os.fsencode(folder + name).decode("utf-8", "backslashreplace")
                listing.refused.append((landed_file(landing, escaped), "has a name that is not UTF-8: rename it"))
            elif isinstance(status, str):
                listing.refused.append((landed_file(landing, folder + name), status))
            else:
                paths.append(folder + name)
                sizes.append(status.st_size)
                modified.append(status.st_mtime_ns)
                changed.append(status.st_ctime_ns)
                inodes.append(status.st_ino)
        stamps = (*map(np.asarray, (sizes, modified, changed)), np.asarray(inodes).view(np.int64))
        columns = {"path": paths, **dict(zip(STAMP, stamps, strict=True))}
        files = pl.DataFrame(columns, schema_overrides=_SCHEMA).select(pl.lit(str(landing)).alias("landing"), pl.all())
        listing.files.extend(files)
    return listing


def _is_utf8(name: str) -> bool:
    """Whether a name, as the operating system gave it, is text: other bytes stand in it as lone surrogates."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def landed_file(landing: Path, relative_path: str) -> LandedFile:
    """A file by its landing path, which may be the file itself, and its path below that."""
    path = landing / relative_path if landing.is_dir() else landing
    return LandedFile(path, landing, UNCLAIMED)


def _walk(landing: Path, lake: str) -> Iterator[_Found]:
    """What lies below a landing path but not in the lake."""
    if not landing.is_dir():
        if status := _status(landing):
            yield "", landing.name, status
        return
    root, pending = landing.resolve(), [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(landing / folder) as entries:
                found = list(entries)[::-1]
        except OSError as error:
            yield "", folder.rstrip("/"), f"cannot be listed: {error.strerror}"
            continue
        while found:
            entry = found.pop()  # it keeps its status, and a folder may have them by the ten thousand
            is_folder = entry.is_dir(follow_symlinks=False)
            is_lake = (is_folder or entry.is_symlink()) and os.path.realpath(entry.path) == lake
            if entry.name == RECEIVER_LOCK or is_lake:
                continue
            if entry.name.startswith(".") or (not is_folder and entry.name.endswith(UNFINISHED)):
                yield folder, entry.name, None
            elif is_folder:
                pending.append(f"{folder}{entry.name}/")
            else:
                status = (entry.is_symlink() and _escape(entry, root)) or _status(entry)
                if status:
                    yield folder, entry.name, status


def _escape(link: os.DirEntry[str], root: Path) -> str | None:
    try:
        target = Path(link.path).resolve(strict=True)
    except (OSError, RuntimeError):  # Python 3.11 and 3.12 raise RuntimeError on a loop
        return "is a link that leads nowhere"
    return None if target.is_relative_to(root) else f"is a link out of the landing path, to {target}"


def _status(file: os.DirEntry[str] | Path) -> os.stat_result | str | None:
    """Status of a file, or why it cannot be one; None of a link to a folder, which is found where it lies."""
    try:
        status = file.stat()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(status.st_mode):
        return None
    return status if stat.S_ISREG(status.st_mode) else "is no regular file but a pipe, socket or device"
