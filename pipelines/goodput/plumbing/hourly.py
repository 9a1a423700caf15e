"""Tables that are computed hour by hour: which hours there are, and which of them are stale.

What the parts of an hour are made from is for each stage to say.
"""

from collections.abc import Collection
from typing import Protocol

from goodput.plumbing.lake import Lake


class Hourly(Protocol):
    """Everything that the hours of some tables are computed from, as it lies in the lake now."""

    @property
    def lake(self) -> Lake:
        """The lake."""

    @property
    def made(self) -> tuple[str, Collection[str]]:
        """The layer of the lake and the tables of which the parts of an hour are written together."""

    def hours(self) -> set[str]:
        """Hours that the inputs call for."""

    def of_hour(self, hour: str) -> str:
        """Fingerprint of what the parts of `hour` must be made from."""


def all_hours(inputs: Hourly) -> list[str]:
    """Hours that the inputs call for, and those that have a part, in order."""
    layer, tables = inputs.made
    return sorted(inputs.hours().union(*(inputs.lake.parts(layer, table) for table in tables)))


def stale_hours(inputs: Hourly) -> list[str]:
    """Hours whose parts were made from something else, or are not there, in order."""
    layer, tables = inputs.made
    return [
        hour
        for hour in all_hours(inputs)
        if not inputs.lake.is_made_from(layer, tables, f"hour={hour}", inputs.of_hour(hour))
    ]
