"""Group commit: requests that arrive while the disk is busy are written together and wait for one fsync."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from goodput.receive.encoding import Kind
from goodput.receive.files import LandingFiles


@dataclass(frozen=True)
class _Waiting:
    kind: Kind
    content: bytes
    done: asyncio.Future[None]


class GroupCommit:
    """Stores messages through one thread, which alone touches the files."""

    def __init__(self, files: LandingFiles) -> None:
        self._files = files
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="write")
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def store(self, kind: Kind, content: bytes) -> None:
        """Return when the message is on disk. Raises OSError."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(kind, content, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await done

    async def close(self) -> None:
        """Write what still waits and leave the files."""
        if self._writing:
            await self._writing
        self._thread.submit(self._files.close)
        self._thread.shutdown()

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            failed = await loop.run_in_executor(self._thread, self._append, batch)
            for waiting in batch:
                if waiting.done.done():  # its client has gone
                    continue
                if error := failed.get(waiting.kind):
                    waiting.done.set_exception(error)
                else:
                    waiting.done.set_result(None)
        self._writing = None

    def _append(self, batch: Sequence[_Waiting]) -> dict[Kind, Exception]:
        failed: dict[Kind, Exception] = {}
        for kind in dict.fromkeys(waiting.kind for waiting in batch):
            try:
                self._files.append(kind, [waiting.content for waiting in batch if waiting.kind == kind])
            except Exception as error:
                failed[kind] = error
        return failed
