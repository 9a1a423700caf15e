"""Files that lie in a page as they are: its template, style and scripts."""

from functools import cache
from pathlib import Path

_ASSETS = Path(__file__).parent / "assets"


@cache
def asset(name: str) -> str:
    """The text of a file of assets/."""
    return (_ASSETS / name).read_text(encoding="utf-8")
