"""Tables and text on standard output: what all commands print for people looks the same and ends quietly."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TextIO, cast

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from goodput.ask.cells import MISSING, is_number, shown

MAX_ROWS = 1000
_GUTTER = 2  # between two columns
_NO_LIMIT = 100_000
_STANDARD_OUTPUT = 1  # file descriptor
_LAST_BLANKS = re.compile(r" +$", re.MULTILINE)


class _Trimmed:
    """A stream whose lines lose the blanks with which a table fills its last column."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_LAST_BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _QuietConsole(Console):
    def on_broken_pipe(self) -> None:
        _leave()


def console(file: TextIO | None = None) -> Console:
    """A console on standard output, or on an open file, where lines are as long as they need to be."""
    stream = file or sys.stdout
    measured = stream.isatty() or "COLUMNS" in os.environ
    target = stream if measured else cast(TextIO, _Trimmed(stream))
    return _QuietConsole(file=target, width=None if measured else _NO_LIMIT, highlight=False, markup=False, emoji=False)


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """Ends the command with exit code 0 when whoever reads standard output has seen enough (`| head`)."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _leave()


def _leave() -> NoReturn:
    # What is still buffered must go somewhere when the interpreter flushes it at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STANDARD_OUTPUT)
    raise typer.Exit


def table(
    names: Sequence[str],
    rows: Sequence[Sequence[object]],
    width: int,
    *,
    total: bool = False,
    fold_at: int = 24,
) -> RenderableType:
    """Rows as a table; where that is wider than `width`, each row as a block with a line per column.

    `total` sets the last row apart; a text column of up to `fold_at` characters is never folded.
    """
    texts = [[shown(value) for value in row] for row in rows]
    natural = [max([cell_len(name), *(cell_len(row[i]) for row in texts)]) for i, name in enumerate(names)]
    numeric = [_is_numeric([row[i] for row in rows]) for i in range(len(names))]
    least = [size if number else min(size, fold_at) for size, number in zip(natural, numeric, strict=True)]
    spare = width - sum(least) - _GUTTER * (len(least) - 1)
    if spare < 0:
        return _blocks(names, texts)
    drawn = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, collapse_padding=True)
    for name, number, size in zip(names, numeric, _widened(least, natural, spare), strict=True):
        drawn.add_column(shown(name), justify="right" if number else "left", overflow="fold", width=size)
    for index, row in enumerate(texts):
        drawn.add_row(*map(_cell, row), end_section=total and index == len(texts) - 2)
    return drawn


def _widened(least: Sequence[int], natural: Sequence[int], spare: int) -> list[int]:
    """Column widths that share `spare` characters among the columns that lack some, the neediest last."""
    widths = list(least)
    needy = sorted(range(len(widths)), key=lambda index: natural[index] - least[index])
    for position, index in enumerate(needy):
        granted = min(natural[index] - least[index], spare // (len(needy) - position))
        widths[index] += granted
        spare -= granted
    return widths


def _blocks(names: Sequence[str], texts: Sequence[Sequence[str]]) -> RenderableType:
    parts: list[RenderableType] = []
    for index, row in enumerate(texts, 1):
        block = Table.grid(padding=(0, 2))
        block.add_column(no_wrap=True, style="bold")
        block.add_column(overflow="fold")
        for name, text in zip(names, row, strict=True):
            block.add_row(shown(name), _cell(text))
        parts += [Text(f"row {index}", style="dim"), block]
    return Group(*parts)


def _cell(text: str) -> Text:
    return Text(text, style="dim" if text == MISSING else "")


def _is_numeric(values: Sequence[object]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(is_number(value) for value in known)
