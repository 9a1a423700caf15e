"""What every row reader of a table file yields, mapped cells as text whatever the format; and what all check.

How text becomes a value is the work of `units`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

import polars as pl

from goodput.collect.received import RefusedRow
from goodput.collect.stopped import Stopped
from goodput.errors import SourceRefused
from goodput.settings.sources import TableSource

EXCERPT_CHARACTERS = 200


@dataclass
class TextBlock:
    """Rows of a table file as text; every frame and series has one entry per usable row.

    `cells`: one String column per mapped emitted column, and per kept one that the file has, NULL where empty.
    `line`: Int64, where it stands.
    `emitted`: all that the row says, mapped or not, of types that print the same everywhere, in the order of
    `emitted_names`: two rows are one record where both are the same. `received`: the row for a person.
    `units`: the unit of columns to which the file itself gives one.
    """

    cells: pl.DataFrame
    line: pl.Series
    emitted: pl.DataFrame
    emitted_names: list[str]
    received: pl.Series
    units: dict[str, str] = field(default_factory=dict)
    refused: list[RefusedRow] = field(default_factory=list)

    @property
    def rows_read(self) -> int:
        """Rows of the block, the refused ones included."""
        return self.cells.height + len(self.refused)


class RowReader(Protocol):
    """One open table file: iterate over its blocks, then look at how it ended."""

    @property
    def torn_tail_bytes(self) -> int:
        """Bytes of an unfinished last row."""

    @property
    def stopped(self) -> Stopped | None:
        """Why reading stopped short of the end, if it did."""

    def __iter__(self) -> Iterator[TextBlock]: ...


def refused_row(line: int, rule: str, reason: str, received: bytes | str | None) -> RefusedRow:
    """A row that could not be read as a row at all."""
    if isinstance(received, bytes):
        received = received[: 4 * EXCERPT_CHARACTERS].decode(errors="replace")
    excerpt = None if received is None else received[:EXCERPT_CHARACTERS].rstrip("\r\n")
    return RefusedRow(line, 0, None, rule, reason, excerpt)


def mapped_columns(source: TableSource) -> list[str]:
    """Emitted columns that the source maps, each once."""
    return list(dict.fromkeys(mapped.column for mapped in source.columns.values()))


def also_kept(kept: Iterable[str], mapped: Iterable[str], present: Iterable[str]) -> list[str]:
    """Emitted columns that are kept as attributes beside those that are mapped, as far as the file has them."""
    others = set(present) - set(mapped)
    return [name for name in dict.fromkeys(kept) if name in others]


def require_columns(path: Path, wanted: Iterable[str], present: list[str]) -> None:
    """Refuse the file where a mapped column is not among its columns, with the names it does have."""
    wrong = []
    for name in wanted:
        if present.count(name) > 1:
            wrong.append(f"column {name!r} occurs {present.count(name)} times")
        elif name not in present:
            near = get_close_matches(name, present, 1)
            wrong.append(f"column {name!r} is not in it" + (f" (did you mean {near[0]!r}?)" if near else ""))
    if wrong:
        raise SourceRefused(path, f"{'; '.join(wrong)}; its columns are: {', '.join(present)}")
