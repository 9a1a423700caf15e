"""Who looks on while OTLP is read: sees every span by the dialect that reads it, and the name of every metric."""

from collections.abc import Collection
from typing import Protocol

import polars as pl


class Witness(Protocol):
    """Is shown rows as they are read; what it does with them changes nothing for the reader."""

    def spans(self, dialect: str | None, rows: pl.DataFrame) -> None:
        """Spans of one dialect, None: of none, with `every_attribute` and `scope_version` beside what is decoded."""

    def logs(self, dialect: str | None, rows: pl.DataFrame) -> None:
        """Log records of one dialect, None: of none."""

    def metrics(self, names: Collection[str]) -> None:
        """Names of metrics, known or not; of a histogram those of its readings."""
