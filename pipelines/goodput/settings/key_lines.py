"""On which line of a TOML file each of its keys stands, as its parser does not tell."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PART = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]\]?\s*(?:#.*)?")
_VALUE = re.compile(rf"\s*({_KEY})\s*=.*")
_PARTS = re.compile(_PART)
_QUOTES = ('"""', "'''")  # of texts of several lines


def key_lines(text: str, document: Mapping[str, Any]) -> dict[str, int]:
    """Lines of dotted keys, from 1; entries of a list of tables by their place in it, as in `rules.0.metric`.

    `document` is what the text says: what looks like a key within a text of several lines is none of its keys.
    """
    found: dict[str, int] = {}
    for number, path in _keys(text):
        if _is_in(document, path):
            found.setdefault(".".join(path), number)
    return found


def _keys(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    table: tuple[str, ...] = ()
    entries: dict[tuple[str, ...], int] = {}
    for number, line in _outside_texts(text):
        if begun := _TABLE.fullmatch(line):
            table = _within(_path(begun[2]), entries)
            yield number, table
            if begun[1] == "[[":
                entries[table] = entries.get(table, -1) + 1
                table = (*table, str(entries[table]))
                yield number, table
        elif given := _VALUE.fullmatch(line):
            yield number, (*table, *_path(given[1]))


def _outside_texts(text: str) -> Iterator[tuple[int, str]]:
    """Lines that do not begin within a text of several lines."""
    within = ""
    for number, line in enumerate(text.split("\n"), 1):
        if within:
            within = "" if within in line else within
            continue
        yield number, line
        within = next((quotes for quotes in _QUOTES if line.count(quotes) % 2), "")


def _within(path: tuple[str, ...], entries: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """A path with the places of the lists of tables that it leads through: a table after one is of its last entry."""
    placed: tuple[str, ...] = ()
    for part in path[:-1]:
        placed = (*placed, part)
        if placed in entries:
            placed = (*placed, str(entries[placed]))
    return (*placed, path[-1])


def _path(key: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PARTS.findall(key))


def _is_in(document: Any, path: tuple[str, ...]) -> bool:
    for part in path:
        if isinstance(document, list) and part.isdecimal() and int(part) < len(document):
            document = document[int(part)]
        elif isinstance(document, dict) and part in document:
            document = document[part]
        else:
            return False
    return True
