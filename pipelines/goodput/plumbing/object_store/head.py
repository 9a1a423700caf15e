"""head.json: who writes to the lake, and which small files it has; the one object that is changed in place.

Every change names the version that it was made from, so that a writer whose time has passed changes nothing any more.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

from goodput.errors import LakeTooNew, StoreFailed
from goodput.plumbing.object_store.bucket import Bucket, Version

KEY = "head.json"
FORMAT = 1


@dataclass(frozen=True)
class LakeHead:
    """`token` rises with each writer; `writer` is who holds the lake, empty where nobody does.

    `is_broken_off`: the last writer failed, and what it left uncommitted may lie about. `files`: by name the key of the
    object that a small file is, and the digest of its bytes. `nonce`: tells whose write it was that is there.
    """

    token: int = 0
    writer: str = ""
    is_broken_off: bool = False
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    nonce: str = ""


class StoredHead(NamedTuple):
    """It, which version of the object it is, and when that was written by the clock of the store."""

    head: LakeHead
    version: Version
    modified: datetime | None = None


class HeadObject:
    """The object."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def read(self) -> StoredHead | None:
        """As it is, None where there is no lake yet. Raises StoreFailed, LakeTooNew."""
        found = self._bucket.read(KEY)
        if found is None:
            return None
        try:
            document = json.loads(found.content)
            known = document.pop("format")
            files = {name: (key, digest) for name, (key, digest) in document.pop("files").items()}
            head = LakeHead(**document, files=files) if known == FORMAT else None
        except (ValueError, KeyError, TypeError) as error:
            raise StoreFailed(f"{self._bucket.url}/{KEY}", f"it is no head of a lake ({error!r})") from error
        if head is None:
            what = f"format {known} of {KEY}; this version of Goodput knows format {FORMAT}"
            raise LakeTooNew(self._bucket.url, what)
        return StoredHead(head, found.version, found.modified)

    def write(self, head: LakeHead, over: StoredHead | None) -> StoredHead | None:
        """Write over the version that was read, or where there was none; None where another came first.

        Raises StoreFailed.
        """
        new = replace(head, nonce=uuid4().hex)
        content = json.dumps({"format": FORMAT, **asdict(new)}).encode()
        made = self._bucket.create(KEY, content) if over is None else self._bucket.swap(KEY, content, over.version)
        if made is not None:
            return StoredHead(new, made)
        there = self.read()  # a request whose answer was lost was tried again, and refused
        return there if there is not None and there.head.nonce == new.nonce else None
