"""The report of the newest generation, made once for all who read it."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

import duckdb

from goodput.report.page import Live
from goodput.report.write import write_report
from goodput.serve.generations import Generations
from goodput.serve.pages import ASK_EVERY_S
from goodput.serve.question_threads import QuestionThreads


@dataclass(frozen=True)
class Page:
    """A page, the generation that it shows, and its name for caches."""

    generation: str
    content: bytes
    etag: str


class ReportPage:
    """The page of charts; whoever asks while it is made waits for it."""

    def __init__(self, generations: Generations, work: QuestionThreads) -> None:
        self._generations = generations
        self._work = work
        self._newest: Page | None = None
        self._making = asyncio.Lock()

    async def newest(self) -> Page:
        """The page of the newest generation. Raises NotPublished, NothingToReport, QueryFailed and TookTooLong."""
        async with self._making:
            if self._newest is None or self._newest.generation != self._generations.name():
                self._newest = await self._work.done(self._made)
            return self._newest

    def _made(self) -> Page:
        return self._generations.ask(self._of)

    def _of(self, connection: duckdb.DuckDBPyConnection, generation: str) -> Page:
        live = Live(generation, ASK_EVERY_S)
        content = write_report(connection, (None, None), {}, live, datetime.now(UTC)).encode()
        return Page(generation, content, f'"{sha256(content).hexdigest()[:32]}"')
