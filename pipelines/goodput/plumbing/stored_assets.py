"""What an orchestrator shows of the lake: each table, and the database, with its inputs and what it holds now.

Nothing of Dagster belongs here; `dagster_assets` and `dagster_report` turn these into its assets and events.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from goodput.contracts import contract
from goodput.plumbing.asset_checks import AUDITED, COMPUTED, AssetCheck
from goodput.plumbing.catalog import Part, digest_sum
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import day_of, is_hour
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import STORED, Context, Node, partitions_of
from goodput.plumbing.plan import meaning

IN_LAKE = ("deltalake", "parquet", "duckdb")
DATABASE = "goodput_database"
STAGES = {
    "collected": "collect",
    "conformed": "conform",
    "joined": "join",
    "measured": "measure",
    "monitored": "monitor",
}


@dataclass(frozen=True)
class AssetContent:
    """What an asset holds of an hour, or in all: a digest of it, its rows, its size and what to say of it in short.

    `facts` are numbers by name that are worth a line over time.
    """

    version: str
    rows: int
    size_bytes: int = 0
    headline: str = ""
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredAsset:
    """A table of the lake or something published from it, as one step makes it.

    `look` says what is held where that is not a table of the catalog; nothing is checked of what is not ours.
    """

    name: str
    step: str
    stage: str
    deps: tuple[str, ...]
    description: str
    check: AssetCheck | None
    kinds: tuple[str, ...] = IN_LAKE
    node: Node | None = None
    look: Callable[[Lake], AssetContent | None] | None = None

    @property
    def is_hourly(self) -> bool:
        """Whether it has a partition for each hour; a day of disruptions is too seldom worth one."""
        return self.look is None and contract(self.name).partition in ("hour", "windows")

    @cached_property
    def code_version(self) -> str:
        """What its SQL and its contract mean, whatever their comments and descriptions say."""
        if self.node is not None:
            return meaning(self.node)[:12]
        return fingerprint(contract(self.name).meaning)[:12] if self.look is None else ""

    def held(self, lake: Lake, hour: str | None) -> AssetContent | None:
        """What it holds of an hour, or of all with None; None where there is nothing.

        Windows longer than an hour belong to their day: such a day counts as each of its hours where the table has no
        window of an hour.
        """
        if self.look is not None:
            return self.look(lake)
        table = lake.catalog[self.name]
        if hour is None:
            parts = [part for found in table.parts.values() for part in found]
            if not parts and self.node is not None and not self._is_appended:
                return None
            return _held(digest_sum(table.contents.values()), parts)
        partition = hour if hour in table.parts or self._is_appended else day_of(hour)
        if partition not in table.parts:
            return None
        return _held(table.contents[partition], table.parts[partition])

    @property
    def _is_appended(self) -> bool:
        return self.node is not None and self.name in self.node.appended

    def called(self, context: Context) -> set[str]:
        """Hours for which it must have a part, and days for which it must have windows."""
        if self.look is not None:
            return set()
        if self.node is None or self._is_appended:
            return set(context.lake.catalog[self.name].parts)
        return partitions_of(self.node, context)


def assets_of(node: Node) -> list[StoredAsset]:
    """The tables that a node makes, as assets."""
    deps = tuple(table for table in node.inputs if table not in node.tables)
    checks = {table: AUDITED if table in node.audited else COMPUTED for table in node.tables}
    return [
        StoredAsset(table, node.name, node.stage, deps, node.description, check, node=node)
        for table, check in checks.items()
    ]


def assets_of_layers(
    step: str, layers: Collection[str], deps: Sequence[str], description: str, check: Callable[[str], AssetCheck]
) -> list[StoredAsset]:
    """The tables of some layers, which one step makes without a node, as assets; `check` says what is checked."""
    tables = {table: STAGES[contract(table).layer] for table in sorted(STORED) if contract(table).layer in layers}
    return [StoredAsset(table, step, stage, tuple(deps), description, check(table)) for table, stage in tables.items()]


def hours_of(assets: Sequence[StoredAsset], context: Context) -> list[str]:
    """Every hour of which one of the assets holds rows, or has to be computed, in order.

    Hours around these that were computed and are empty are left out: the newest hour is one with data.
    """
    hourly = [asset for asset in assets if asset.is_hourly]
    called = {asset.name: asset.called(context) for asset in hourly}

    def counts(hour: str) -> bool:
        return any(
            any(part.rows for part in context.lake.catalog[asset.name].parts.get(hour, ()))
            or (hour in called[asset.name] and asset.held(context.lake, hour) is None)
            for asset in hourly
        )

    hours = {partition for partitions in called.values() for partition in partitions if is_hour(partition)}
    return sorted(hour for hour in hours if counts(hour))


def _held(version: str, parts: Sequence[Part]) -> AssetContent:
    return AssetContent(version, sum(part.rows for part in parts), sum(part.size_bytes for part in parts))
