"""[retention] of goodput.toml: for how many days the lake keeps rows, by kind or by table, and what is wrong with that.

Which tables can be pruned at all follows from who reads them, which is `goodput.prunable`'s to know.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated

from pydantic import Field

from goodput.contracts import contract, stored_tables
from goodput.errors import Mistake
from goodput.settings.settings_model import SettingsModel

Days = Annotated[int, Field(ge=1, strict=True)]

KINDS = {
    "records_days": ("serving_records", "span_links", "label_records"),
    "samples_days": ("sample_records", "replica_samples"),
    "requests_days": (
        *("attempts", "requests", "session_hours", "quality_labels", "session_label_records", "cost_ledger"),
        "id_hours",
    ),
}
ROWS = frozenset(
    table for tables in KINDS.values() for table in tables
)  # of single requests; the others are of windows
# what would be there without what it is of: the first of each is kept no longer than the second
_PARTS_OF = (
    ("serving_records", "attempts"),
    ("span_links", "attempts"),
    ("label_records", "requests"),
    ("attempts", "requests"),
)


class Retention(SettingsModel):
    """Days by kind of row, and by table; without a number all are kept. `goodput prune` deletes, nothing else does.

    `records_days`: what was received; `samples_days`: readings of replicas; `requests_days`: what was joined of both.
    `tables`: days by name of table, in the place of its kind (docs/operations.md#what-is-kept-and-for-how-long).
    """

    records_days: Days | None = None
    samples_days: Days | None = None
    requests_days: Days | None = None
    tables: dict[str, Days] = Field(default_factory=dict)

    @property
    def days(self) -> dict[str, int]:
        """Days of each table that is not kept for ever."""
        by_kind = {table: getattr(self, kind) for kind, tables in KINDS.items() for table in tables}
        return {table: days for table, days in (by_kind | self.tables).items() if days is not None}


def retention_mistakes(retention: Retention) -> Iterator[Mistake]:
    """Every name that is no table with hours or days, and every table that would outlive what its rows are of."""
    # contracts are slow to read, and hardly any settings name a table
    can_be = [name for name in stored_tables() if contract(name).partition != "none"] if retention.tables else []
    for name in retention.tables:
        key = f"retention.tables.{name}"
        if name not in stored_tables():
            yield Mistake(key, "no such table", ", ".join(get_close_matches(name, can_be, 3) or can_be))
        elif name not in can_be:
            yield Mistake(key, "this table has no hours or days: all of it is kept", "no number of days for it")
    for part, whole in _PARTS_OF:
        days, most = retention.days.get(part), retention.days.get(whole)
        if most is not None and (days is None or days > most):
            kept = "for ever" if days is None else f"for {days} days"
            wrong = f"{part}, kept {kept}, would outlive {whole}, which have {most}"
            yield Mistake(_key(retention, whole), wrong, f"{_key(retention, part)}, of at most as many days")


def _key(retention: Retention, table: str) -> str:
    """Where the days of a table stand, or are to stand."""
    kind = next(kind for kind, tables in KINDS.items() if table in tables)
    return f"retention.tables.{table}" if table in retention.tables else f"retention.{kind}"
