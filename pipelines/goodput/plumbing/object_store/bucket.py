"""A bucket of an object store below one prefix: objects by key, and errors in the words of this project.

Which credentials are used is the client's to find: environment, web identity, container or machine.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import from_url

from goodput.errors import StoreFailed, StoreRefused

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult, UpdateVersion
    from obstore.store import ObjectStore, RetryConfig

AT_ONCE = 8  # requests
Item = TypeVar("Item")
Result = TypeVar("Result")
_PATIENCE: "RetryConfig" = {"max_retries": 5, "retry_timeout": timedelta(seconds=60)}


class Version(NamedTuple):
    """A version of an object, as the store names it: S3 and Azure by a tag, Google by a number."""

    tag: str
    number: str | None = None


class Object(NamedTuple):
    """An object that was read: its bytes, which version of it they are, and when the store wrote it by its clock."""

    content: bytes
    version: Version
    modified: datetime


class Listed(NamedTuple):
    """An object as a listing has it: `modified_ns` in Unix nanoseconds, as far as the store tells."""

    key: str
    size_bytes: int
    modified_ns: int
    tag: str


_NO_VERSION = Version('"00000000000000000000000000000000"', "1")


class Bucket:
    """Objects below the prefix of an address such as s3://bucket/prefix."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._store: ObjectStore = from_url(url, retry_config=_PATIENCE)
        except (BaseError, ValueError) as error:
            raise StoreFailed(url, str(error)) from error

    def read(self, key: str) -> Object | None:
        """An object, None where there is none. Raises StoreFailed."""
        try:
            found = obstore.get(self._store, key)
            return Object(bytes(found.bytes()), _version(found.meta), found.meta["last_modified"])
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise self._failed(key, error) from error

    def download(self, key: str, to: Path) -> bool:
        """Write an object to a file, bit by bit; False where there is none. Raises StoreFailed, OSError of the file."""
        try:
            found = obstore.get(self._store, key)
        except FileNotFoundError:
            return False
        except (BaseError, OSError) as error:
            raise self._failed(key, error) from error
        with to.open("wb") as file:
            chunks = iter(found.stream())
            while True:
                try:
                    chunk = next(chunks, None)
                except (BaseError, OSError) as error:
                    raise self._failed(key, error) from error
                if chunk is None:
                    return True
                file.write(chunk)

    def write(self, key: str, content: bytes | Path) -> Version:
        """Write an object, or over it; this version of it. Raises StoreFailed."""
        try:
            return _version(obstore.put(self._store, key, content))
        except (BaseError, OSError) as error:
            raise self._failed(key, error) from error

    def create(self, key: str, content: bytes) -> Version | None:
        """Write an object that is not there yet; this version of it, None where one is. Raises StoreFailed."""
        try:
            return _version(obstore.put(self._store, key, content, mode="create"))
        except AlreadyExistsError:
            return None
        except (BaseError, OSError) as error:
            raise self._failed(key, error) from error

    def swap(self, key: str, content: bytes, over: Version) -> Version | None:
        """Write over one version of an object; the new one, None where another is there. Raises StoreFailed."""
        mode: UpdateVersion = {"e_tag": over.tag}
        if over.number is not None:
            mode["version"] = over.number
        try:
            return _version(obstore.put(self._store, key, content, mode=mode))
        except (PreconditionError, AlreadyExistsError, FileNotFoundError):
            return None
        except (BaseError, OSError) as error:
            raise self._failed(key, error) from error

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects that may be gone already. Raises StoreFailed."""
        found = list(keys)
        try:
            if found:
                obstore.delete(self._store, found)
        except FileNotFoundError:
            pass
        except (BaseError, OSError) as error:
            raise self._failed(found[0], error) from error

    def tags(self, prefix: str) -> Mapping[str, str]:
        """Keys below a prefix, with the tags of the versions that are there. Raises StoreFailed."""
        return {one.key: one.tag for one in self.listed([prefix])}

    def has(self, key: str) -> bool:
        """Whether an object is there. Raises StoreFailed."""
        try:
            obstore.head(self._store, key)
        except FileNotFoundError:
            return False
        except (BaseError, OSError) as error:
            raise self._failed(key, error) from error
        return True

    def listed(self, prefixes: Iterable[str]) -> list[Listed]:
        """The objects in each of some folders, some of which are listed at once. Raises StoreFailed."""
        return [one for found in each(self._listed, prefixes) for one in found]

    def _listed(self, prefix: str) -> list[Listed]:
        try:
            return [
                Listed(meta["path"], meta["size"], round(meta["last_modified"].timestamp() * 1e9), meta["e_tag"] or "")
                for chunk in obstore.list(self._store, prefix)
                for meta in chunk
            ]
        except (BaseError, OSError) as error:
            raise self._failed(prefix, error) from error

    def probe(self) -> None:
        """Check that the store refuses what must not be written: a lake has one history only there.

        Raises StoreRefused, StoreFailed.
        """
        key = f"probe-{uuid4().hex}"
        first = self.create(key, b"1")
        try:
            if self.create(key, b"2") is not None:
                raise StoreRefused(self.url, "If-None-Match", "it wrote over an object that was to be created")
            if first is None or self.swap(key, b"3", _NO_VERSION) is not None:
                raise StoreRefused(self.url, "If-Match", "it wrote over a version other than the one that was named")
        finally:
            with suppress(StoreFailed):  # what was found is what matters
                self.delete([key])

    def _failed(self, key: str, error: Exception) -> StoreFailed:
        return StoreFailed(f"{self.url}/{key}", str(error))


def _version(found: "PutResult | ObjectMeta") -> Version:
    return Version(found["e_tag"] or "", found["version"])


def each(call: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Call for each item, some at a time: what takes long is to wait for the store."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="store") as pool:
        return list(pool.map(call, items))
