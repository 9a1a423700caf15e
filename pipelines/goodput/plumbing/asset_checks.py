"""What is checked of each asset, by what the lake itself knows: each check says what failed it, and why.

Nothing of Dagster belongs here; `dagster_events` turns these into its checks and their results.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from goodput.errors import BlockedPartition
from goodput.plumbing import source_ledger
from goodput.plumbing.audit import audit
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.database import deliveries_file
from goodput.plumbing.node import Context
from goodput.plumbing.part_rows import read_part
from goodput.plumbing.row_table import read_rows

QUARANTINE = "quarantine"
LANDED = "landed_files"


@dataclass(frozen=True)
class CheckFailure:
    """What fails a check, such as a partition or a file, and a sentence on why."""

    what: str
    reason: str


class CheckLookup:
    """What checks look up in a lake, once for all of them."""

    def __init__(self, context: Context) -> None:
        self.lake, self.settings = context.lake, context.settings

    @cached_property
    def blocked(self) -> Blocked:
        """The blocked partitions."""
        return Blocked(self.lake)

    @cached_property
    def quarantined(self) -> Mapping[str | None, Sequence[CheckFailure]]:
        """Rows in quarantine by the table that they were meant for, by file and rule; None: of no table."""
        rows = read_rows(self.lake, QUARANTINE, ["table_name", "path", "line", "rule", "reason"])
        groups = rows.sort("line").group_by("table_name", "path", "rule", maintain_order=True)
        found: dict[str | None, list[CheckFailure]] = {}
        counted = groups.agg(pl.len().alias("rows"), pl.col("line", "reason").first()).sort("path", "line")
        for table, path, rule, count, line, reason in counted.iter_rows():
            sentence = f"{count} row(s), {rule}: line {line}: {reason}"
            found.setdefault(table, []).append(CheckFailure(path, sentence))
        return found

    @cached_property
    def sources(self) -> frozenset[str]:
        """Ids of all sources in the ledger."""
        return frozenset(source_ledger.read_frame(self.lake, ["source_id"])["source_id"])


@dataclass(frozen=True)
class AssetCheck:
    """A check of an asset: `find` is given its name and says what fails it; a warning where numbers stand all the same.

    Its name is what an orchestrator keeps its history by.
    """

    name: str
    description: str
    find: Callable[[CheckLookup, str], Sequence[CheckFailure]]
    is_warning: bool = False


def _blocked(lookup: CheckLookup, table: str) -> list[CheckFailure]:
    return _of_blocked(lookup.blocked.of_table(table).values())


def _of_blocked(items: Iterable[BlockedPartition]) -> list[CheckFailure]:
    return [CheckFailure(f"{item.table} {item.partition}", item.reason) for item in items]


def _broken_contract(lookup: CheckLookup, table: str) -> list[CheckFailure]:
    home = lookup.lake.catalog[table]
    found = audit(table, {partition: list(map(Path, home.files([partition]))) for partition in home.parts})
    return [CheckFailure(f"{table} {partition}", "; ".join(sentences)) for partition, sentences in found.items()]


def _quarantined(lookup: CheckLookup, table: str) -> Sequence[CheckFailure]:
    return lookup.quarantined.get(None if table == QUARANTINE else table, ())


def _failed_sources(lookup: CheckLookup, _table: str) -> list[CheckFailure]:
    ratio = lookup.settings.limits.quarantined_ratio
    _, failed = source_ledger.quarantined_and_failed(lookup.lake, ratio)
    return [CheckFailure(path, wrong) for path, wrong in failed]


def _unknown_sources(lookup: CheckLookup, table: str) -> list[CheckFailure]:
    place = ["source_id", "landing", "path"]
    rows = read_rows(lookup.lake, table, place)
    if table != LANDED:  # which has the files that lie there now: of others their places are kept for ever
        rows = rows.join(read_rows(lookup.lake, LANDED, place), on=place, how="semi")
    unknown = rows.filter(~pl.col("source_id").is_in(list(lookup.sources))).select("source_id", "path").sort("path")
    return [CheckFailure(path, f"source {source_id} is not in the ledger") for source_id, path in unknown.iter_rows()]


def _failing_channels(lookup: CheckLookup, _table: str) -> list[CheckFailure]:
    path = deliveries_file(lookup.lake)
    if not Path(path).exists():
        return []
    tried = pl.DataFrame(read_part(path, "deliveries", ["channel", "attempted_at", "error"]))
    last = tried.drop_nulls("attempted_at").sort("attempted_at").group_by("channel", maintain_order=True).last()
    failing = last.drop_nulls("error").sort("channel")
    return [
        CheckFailure(channel, f"last tried {at:%Y-%m-%d %H:%M} UTC: {error}") for channel, at, error in failing.rows()
    ]


AUDITED = AssetCheck(
    "contract", "A new partition is audited by its contract before it counts; one that fails is blocked.", _blocked
)
COMPUTED = AssetCheck("computed", "Every partition that is called for could be computed: none is blocked.", _blocked)
COMPLETE = AssetCheck(
    "complete", "No partition of any table is blocked.", lambda lookup, _: _of_blocked(lookup.blocked.all())
)
JUDGED = AssetCheck("contract", "All of its rows keep its contract.", _broken_contract)
UNQUARANTINED = AssetCheck(
    "quarantine",
    "No row that was meant for it is in quarantine, which is in no number; of quarantine itself: every line was read.",
    _quarantined,
    is_warning=True,
)
READ = AssetCheck(
    "read",
    "No file is refused, cut short, or has more of its rows in quarantine than limits.quarantined_ratio allows.",
    _failed_sources,
)
KNOWN = AssetCheck("known", "Every file that it lists and that lies there is in the source ledger.", _unknown_sources)
DELIVERED = AssetCheck("delivered", "The last attempt over each channel succeeded.", _failing_channels)
