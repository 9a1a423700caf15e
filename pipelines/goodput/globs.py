"""Globs for names, in settings and commands: * stands for any text, ? for any character, and all else for itself.

`matches_any` of sql/macros.sql reads them the same way. Globs of paths are the shell's, and none of these.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

WILD = frozenset("*?")


def matches_any(text: str, globs: Iterable[str]) -> bool:
    """Whether a text matches one of some globs, letters of either case told apart."""
    return any(_pattern(glob).fullmatch(text) for glob in globs)


def regular(globs: Iterable[str]) -> str:
    """The regular expression of some globs, as Python, Polars and DuckDB read it."""
    return f"(?s)^(?:{'|'.join(map(_regular, globs))})$"


def literal(text: str) -> str:
    """A glob that matches a text. There is no way to quote, so what a glob would read stands for any character."""
    return text.replace("*", "?")


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(_regular(glob), re.DOTALL)


def _regular(glob: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(letter) or re.escape(letter) for letter in glob)
