"""One writer of a lake on all machines: a lease in its head, renewed while it is held, and over some time after.

Whether a lease is over is told by the clock of the store alone. A holder that was not there for so long finds that it
lost it before it can change the head; the commits of tables are fenced by `fence`.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple
from uuid import uuid4

from goodput.errors import GoodputError, LakeBusy, LeaseLost
from goodput.plumbing.object_store.bucket import Bucket
from goodput.plumbing.object_store.head import HeadObject, LakeHead, StoredHead

LEASE_S = 60.0  # without a renewal it is over
_RETRY_S = 1.0


class Taken(NamedTuple):
    """What became of the writer before: it failed (`is_broken_off`), or never said that it had ended (`is_silent`)."""

    head: LakeHead
    is_broken_off: bool
    is_silent: bool


class Lease:
    """The lease of a lake for one writer, `writer` being who it is."""

    def __init__(self, bucket: Bucket, writer: str) -> None:
        self._bucket = bucket
        self._object = HeadObject(bucket)
        self._writer = writer
        self._held: StoredHead | None = None
        self._confirmed_s = 0.0
        self._changing = threading.RLock()
        self._ended = threading.Event()

    def read(self) -> LakeHead | None:
        """The head as it is. Raises StoreFailed."""
        found = self._object.read()
        return None if found is None else found.head

    def take(self, wait_s: float) -> Taken:
        """Take it, waiting up to `wait_s` for another to end. Raises LakeBusy, StoreFailed."""
        until = time.monotonic() + wait_s
        while True:
            found, asked_s = self._object.read(), time.monotonic()
            before = found.head if found else LakeHead()
            # whoever took it as this writer is dead: the lock of the folder is held by this process
            is_free = before.writer in ("", self._writer) or (found is not None and self._is_over(found))
            new = replace(before, token=before.token + 1, writer=self._writer, is_broken_off=False)
            held = self._object.write(new, found) if is_free else None
            if held is not None:
                self._held, self._confirmed_s = held, asked_s
                self._renew_meanwhile()
                return Taken(held.head, before.is_broken_off or before.writer != "", before.writer != "")
            if not is_free and time.monotonic() >= until:
                raise LakeBusy(self._bucket.url, before.writer)
            if not is_free:
                time.sleep(_RETRY_S)

    def give_back(self, *, is_broken_off: bool) -> LakeHead:
        """End it. Raises LeaseLost, StoreFailed."""
        self._ended.set()
        try:
            return self.change(lambda head: replace(head, writer="", is_broken_off=is_broken_off))
        finally:
            self._held = None

    def check(self) -> None:
        """Make sure that it is still held. Raises LeaseLost, StoreFailed."""
        if time.monotonic() - self._confirmed_s > LEASE_S / 2:
            self.confirm()

    def confirm(self) -> None:
        """The same, by asking the store in any case. Raises LeaseLost, StoreFailed."""
        if self._held is None:
            raise LeaseLost(self._bucket.url)
        self.change(lambda head: head)

    def change(self, edit: Callable[[LakeHead], LakeHead]) -> LakeHead:
        """Change the head, as the holder or, without the lease, as anybody who adds a file. Raises LeaseLost."""
        with self._changing:
            is_holder, found = self._held is not None, self._held or self._object.read()
            while True:
                asked_s = time.monotonic()
                new = self._object.write(edit(found.head if found else LakeHead()), found)
                if new is not None:
                    if is_holder:
                        self._held, self._confirmed_s = new, asked_s
                    return new.head
                there = self._object.read()
                if is_holder and (there is None or found is None or there.head.token != found.head.token):
                    raise LeaseLost(self._bucket.url)
                found = there

    def _renew_meanwhile(self) -> None:
        self._ended = threading.Event()
        threading.Thread(target=self._renew, args=(self._ended,), name="lease", daemon=True).start()

    def _renew(self, ended: threading.Event) -> None:
        while not ended.wait(LEASE_S / 3):
            try:
                with self._changing:
                    if ended.is_set():
                        return
                    self.confirm()
            except LeaseLost:
                return  # the holder finds that out where it writes
            except GoodputError:
                continue  # the store may answer again in time

    def _is_over(self, found: StoredHead) -> bool:
        key = f"clock-{uuid4().hex}"
        self._bucket.write(key, b"")
        now = self._bucket.read(key)
        self._bucket.delete([key])
        return bool(now and found.modified and now.modified - found.modified > timedelta(seconds=LEASE_S + 2))
