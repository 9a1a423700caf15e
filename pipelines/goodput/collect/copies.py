"""Objects of the landing zone on this machine while they are read: copies in a folder of this process, then deleted."""

import hashlib
import shutil
from pathlib import Path
from threading import Lock

from goodput.collect.listing import landed_file
from goodput.collect.received import UNCLAIMED, LandedFile
from goodput.errors import LakeUnwritable
from goodput.plumbing.spill import own_folder
from goodput.plumbing.store import Objects, bucket_of
from goodput.settings.lake_address import url_of

MOST_BYTES = 4 * 2**30  # of objects that are here at once, unless one alone is larger


class ObjectCopies:
    """Copies below TMPDIR; several threads may fetch."""

    def __init__(self) -> None:
        self._buckets: dict[str, Objects] = {}
        self._lock = Lock()

    def landed(self, landing: str, path: str) -> LandedFile:
        """A file or an object by its place; the object's copy is there once it was fetched."""
        if url_of(landing) is None:
            return landed_file(Path(landing), path)
        copy = self._folder() / hashlib.sha256(f"{landing}/{path}".encode()).hexdigest()[:32]
        return LandedFile(copy, copy.parent, UNCLAIMED, place=(landing, path))

    def fetch(self, file: LandedFile) -> bool:
        """Have an object's copy here, as it is now; False where it is gone.

        Raises ExtraMissing, StoreFailed, LakeUnwritable where there is no room.
        """
        if file.place is None:
            return True
        landing, key = file.place
        with self._lock:
            bucket = self._buckets.get(landing) or self._buckets.setdefault(landing, bucket_of(landing))
        try:
            return bucket.download(key, file.path)
        except OSError as error:
            raise LakeUnwritable(file.path, error) from error

    def clear(self) -> None:
        """Delete the copies."""
        if self._buckets:
            shutil.rmtree(self._folder(), ignore_errors=True)

    def _folder(self) -> Path:
        with self._lock:
            folder = own_folder() / "landing"
            folder.mkdir(exist_ok=True)
            return folder
