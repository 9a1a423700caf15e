"""The published database of a lake in an object store, for who has no copy of that lake and wants none."""

from pathlib import Path

from goodput.errors import StoreFailed
from goodput.plumbing.object_store.bucket import Bucket
from goodput.plumbing.object_store.head import HeadObject
from goodput.plumbing.object_store.mirror import digest_of

_TRIES = 3  # at a database that a run replaces meanwhile


def download_published(url: str, name: str, to: Path) -> bool:
    """Write a small file of a lake, as its head names it now, to a file; False where there is none.

    Raises StoreFailed, LakeTooNew, OSError of the file.
    """
    bucket = Bucket(url)
    key = ""
    for _ in range(_TRIES):
        found = HeadObject(bucket).read()
        if found is None or name not in found.head.files:
            return False
        key, digest = found.head.files[name]
        if bucket.download(key, to):
            if digest_of(to) != digest:
                raise StoreFailed(f"{url}/{key}", "it holds other bytes than were written")
            return True
    raise StoreFailed(f"{url}/{key}", "it went while it was read: try again")
