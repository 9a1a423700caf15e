"""What lies in the joined hours that a table of this stage is computed from.

Which hours near its own a table needs is the table's to say.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from goodput.join.staleness import JoinInputs, files_of
from goodput.plumbing.lake import Lake


@dataclass(frozen=True)
class JoinedHours(ABC):
    """Parts of the joined tables `reads`, and what each was made from."""

    reads: ClassVar[tuple[str, ...]]
    join: JoinInputs

    @property
    def lake(self) -> Lake:
        """The lake."""
        return self.join.lake

    @cached_property
    def parts(self) -> dict[str, dict[str, list[Path]]]:
        """Joined parts by table and hour."""
        return {table: self.lake.parts("joined", table) for table in self.reads}

    @cached_property
    def _made_from(self) -> dict[str, dict[str, str]]:
        return {table: self.lake.made_from("joined", table) for table in self.reads}

    @abstractmethod
    def near(self, hours: Collection[str]) -> dict[str, set[str]]:
        """Hours of each table that `hours` are computed from."""

    def used(self, hours: Collection[str]) -> list[list[str]]:
        """What the parts that `hours` are computed from were made from."""
        near = self.near(hours)
        return [[self._made_from[table].get(hour, "") for hour in sorted(near[table])] for table in self.reads]

    def files(self, table: str, hours: Iterable[str]) -> list[str]:
        """Parts of a table that `hours` are computed from."""
        return files_of(self.parts[table], self.near(set(hours))[table])
