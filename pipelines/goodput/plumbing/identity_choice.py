"""How identities in a lake are called: noted once all of them are, so that a changed choice of `[privacy]` is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goodput.plumbing.lake import Lake
from goodput.plumbing.noted import read_noted, write_noted
from goodput.plumbing.pseudonyms import Pseudonyms

NOTED = "identities.json"


@dataclass(frozen=True)
class Choice:
    """`reading` is that of `Pseudonyms`, None: not known; `key_check` that of the last key that was in use.

    `towards`: another reading that rows are being renamed to; `written`: parts that are already, by their paths below
    the lake, as a pseudonym does not tell by which key it was made.
    """

    reading: Sequence[Any] | None = None
    key_check: str | None = None
    towards: Sequence[Any] | None = None
    written: Sequence[str] = ()

    def is_of(self, pseudonyms: Pseudonyms) -> bool:
        """Whether all identities are called as by the settings. Raises SecretUnusable."""
        return self.reading == pseudonyms.reading() or (pseudonyms.are_clear and self.reading is None)

    def has_another_key(self, pseudonyms: Pseudonyms) -> bool:
        """Whether pseudonyms in the lake are of another key than that of the settings. Raises SecretUnusable."""
        return self.key_check is not None and pseudonyms.key_check not in {None, self.key_check}

    def begun(self, pseudonyms: Pseudonyms) -> "Choice":
        """The same on the way to what the settings say; what another way had written is not counted."""
        reading = pseudonyms.reading()
        return self if self.towards == reading else replace(self, towards=reading, written=())

    def with_written(self, paths: Sequence[str]) -> "Choice":
        """The same with more parts whose rows are renamed."""
        return replace(self, written=[*self.written, *paths])

    def over(self, pseudonyms: Pseudonyms) -> "Choice":
        """What the settings say, once all identities are called so."""
        return Choice(pseudonyms.reading(), pseudonyms.key_check or self.key_check)


def read_choice(lake_root: Path) -> Choice:
    """How identities in the lake in a folder are called. Raises LakeUnreadable."""
    return read_noted(lake_root / NOTED, Choice)


def write_choice(lake: Lake, choice: Choice) -> None:
    """Note it. Raises LakeUnwritable."""
    write_noted(lake, NOTED, choice)
