"""JSON objects in a file that is one JSON document over several lines: the document itself, or an array's elements."""

from collections.abc import Iterator

import msgspec
import polars as pl

from goodput.collect.held import Readable
from goodput.collect.objects.block import ObjectBlock, objects_in
from goodput.collect.objects.lines import LineObjects, kinds_of
from goodput.collect.stopped import Stopped
from goodput.collect.tabular.content import Content, OnBytes
from goodput.errors import SourceRefused
from goodput.plumbing.sql_files import connect_alone
from goodput.settings.model import FileLimits

_BOM = b"\xef\xbb\xbf"
_TRUNCATED = "Input data was truncated"
_DOCUMENT = msgspec.json.Decoder(msgspec.Raw)


class DocumentObjects:
    """Objects of one document, which has to fit into `limits.max_line_bytes`; of lines where it is none after all."""

    def __init__(self, path: Readable, limits: FileLimits, on_bytes: OnBytes | None = None) -> None:
        self.torn_tail_bytes = 0
        self.stopped: Stopped | None = None
        self._path = path
        self._limits = limits
        self._on_bytes = on_bytes

    def __iter__(self) -> Iterator[ObjectBlock]:
        content = Content(self._path, self._limits)
        document = self._document(content)
        self.stopped = content.stopped
        problem = what_is_wrong(document)
        if problem is None:
            if self._on_bytes:
                self._on_bytes(self._path.stat().st_size)
            yield _block(document)
        elif self.stopped or _TRUNCATED in problem:
            self.torn_tail_bytes = len(document)
        else:
            yield from self._lines()

    def _document(self, content: Content) -> bytes:
        document = bytearray()
        for piece in content:
            document += piece
            if len(document) > self._limits.max_line_bytes:
                most = f"limits.max_line_bytes = {self._limits.max_line_bytes}"
                raise SourceRefused(self._path, f"is one JSON document longer than {most}; write one object a line")
        return bytes(document).removeprefix(_BOM)

    def _lines(self) -> Iterator[ObjectBlock]:
        lines = LineObjects(self._path, (), self._limits, self._on_bytes)
        yield from lines
        self.torn_tail_bytes, self.stopped = lines.torn_tail_bytes, lines.stopped


def what_is_wrong(document: bytes) -> str | None:
    """Why the bytes are no JSON document, None where they are one."""
    try:
        document.decode()
        _DOCUMENT.decode(document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return str(error)
    return None


def is_beginning(text: bytes) -> bool:
    """Whether the text is right as far as it goes, but no whole document yet."""
    return _TRUNCATED in (what_is_wrong(text) or "")


def _block(document: bytes) -> ObjectBlock:
    rows = pl.DataFrame({"line": [1], "text": [document.decode()]}, schema={"line": pl.Int64, "text": pl.String})
    with connect_alone() as connection:
        kinds = kinds_of(rows["text"], connection)
        return objects_in(rows, kinds, connection, [])
