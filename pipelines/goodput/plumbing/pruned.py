"""What was pruned of a lake: the day before which its hours are closed, and how far back each table still has rows.

A closed hour is as it was last published: nothing computes it again, and no row that comes for it is taken. Its parts
may be gone. Only these facts belong here; what is to go is decided in `goodput.prune`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goodput.plumbing.catalog import ALL
from goodput.plumbing.hours import HOUR_S, day_of, epoch_hour
from goodput.plumbing.lake import Lake
from goodput.plumbing.noted import read_noted, write_noted

_NOTED = "pruned.json"


@dataclass(frozen=True)
class Pruned:
    """`closed_before`: a UTC day, empty where no hour is closed. `gone_before`: by table the first partition kept."""

    closed_before: str = ""
    gone_before: Mapping[str, str] = field(default_factory=dict)

    def is_closed(self, partition: str) -> bool:
        """Whether an hour or a day is closed; what has no hours never is."""
        return partition != ALL and day_of(partition) < self.closed_before

    def is_gone(self, table: str, partition: str) -> bool:
        """Whether a partition is one of those that were pruned, if it ever was."""
        return partition != ALL and partition < self.gone_before.get(table, "")

    @property
    def closed_until_s(self) -> int:
        """The first instant that is not closed, in Unix seconds; 0 where none is."""
        return epoch_hour(f"{self.closed_before}T00") * HOUR_S if self.closed_before else 0


def read_pruned(lake_root: Path) -> Pruned:
    """What was pruned of the lake in a folder. Raises LakeUnreadable."""
    return read_noted(lake_root / _NOTED, Pruned)


def write_pruned(lake: Lake, pruned: Pruned) -> None:
    """Note it, before the first part goes. Raises LakeUnwritable."""
    write_noted(lake, _NOTED, pruned)
