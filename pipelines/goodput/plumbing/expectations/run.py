"""The audit by its earlier name: which hours of computed tables break their contract."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from goodput.errors import HeldHour
from goodput.plumbing.audit import audit


def check_hours(table: str, parts: Mapping[str, Sequence[Path]]) -> list[HeldHour]:
    """Hours of `parts` that break the contract of `table`, each with its failures."""
    return [HeldHour(table, partition, failures) for partition, failures in audit(table, parts).items()]
