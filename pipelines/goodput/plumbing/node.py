"""What a step of the plan declares: the tables it makes together, how far around a partition it looks, its parameters.

What it reads and in which order follows from its SQL; how it is executed is `plan`'s work.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from goodput.contracts import arrow_schema, contract, stored_tables
from goodput.errors import NothingCalled
from goodput.plumbing import source_ledger
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.catalog import ALL, Part
from goodput.plumbing.graph import closure, inputs_of
from goodput.plumbing.hours import HOUR_S, day_of, epoch_hour, hour_label, hours_of_day, is_hour, neighbours
from goodput.plumbing.lake import Lake
from goodput.plumbing.part_writer import PartWriter
from goodput.plumbing.pruned import Pruned, read_pruned
from goodput.plumbing.sql_files import sql_names
from goodput.plumbing.telemetry import Silent, Telemetry
from goodput.plumbing.workspace import Progress, Silence
from goodput.settings.model import Settings

if TYPE_CHECKING:
    from goodput.plumbing.runner import Runner

STORED = frozenset(stored_tables())
APART = "apart"  # in the folder of a batch that is cut: what each shard reads of its own


@dataclass(frozen=True)
class Lookaround:
    """How many hours of an input before and after its own a partition reads.

    `calls`: an hour of this input calls for the partitions from so many hours before it to so many after it; None: for
    none, as where another input calls for all that it can change.
    """

    before: int = 0
    after: int = 0
    calls: tuple[int, int] | None = None


OWN_HOURS = Lookaround(calls=(0, 0))  # an hour of this input calls for the same hour, which reads nothing beyond it


@dataclass(frozen=True)
class Context:
    """What a run of the plan works on: the lake as it is now, the settings, who hears of it or helps, the time."""

    lake: Lake
    settings: Settings
    progress: Progress = field(default_factory=Silence)
    telemetry: Telemetry = field(default_factory=Silent)
    runner: "Runner | None" = None  # what computes partitions; None: this process
    now_ns: int = field(default_factory=time.time_ns)

    @property
    def request_reach_h(self) -> int:
        """How many hours away another attempt of the same request may lie."""
        return request_reach_h(self.settings)

    @cached_property
    def observed_ns(self) -> tuple[int, int]:
        """First and last instant of observed telemetry in Unix nanoseconds, none further ahead than clocks disagree."""
        return source_ledger.observed(self.lake, self.now_ns) or (0, 0)

    @cached_property
    def pruned(self) -> Pruned:
        """Which hours of the lake are closed, and what is gone."""
        return read_pruned(self.lake.root)

    def grains(self, partition: str) -> tuple[int, ...]:
        """Lengths in seconds of the windows that a partition of windows holds."""
        of_day, of_hour = self._grains
        return of_hour if is_hour(partition) else of_day

    @cached_property
    def _grains(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        day, hour = "2000-01-01", "2000-01-01T00"  # of whichever: they all hold the same
        return grains_of(self.settings, day), grains_of(self.settings, hour)


def request_reach_h(settings: Settings) -> int:
    """How many hours away another attempt of the same request may lie."""
    return math.ceil(settings.max_request_lifetime_s / HOUR_S)


def grains_of(settings: Settings, partition: str) -> tuple[int, ...]:
    """Lengths in seconds of the windows that a partition of windows holds."""
    return tuple(w for w in settings.windows_s if (w <= HOUR_S) is is_hour(partition))


@dataclass(frozen=True)
class Batch:
    """Partitions of a node that are computed together, with all that they are made from.

    A value: whoever computes it needs neither catalog nor ledger, and may be another process (`assembly` makes it).
    `partitions`: with the fingerprint of what each is made from. `inputs`: of each table that is read the files of its
    partitions. `alike`: those of these tables whose files all have the columns of their contract. `relations`: what
    `from_batch` of the node says. `sizes`: of each partition the rows of what sizes the node, if anything does;
    `by_hour`: of a large day the batches of its hours, measured as the day is.
    """

    node: "Node"
    lake: Lake
    settings: Settings
    partitions: Mapping[str, str]
    inputs: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    alike: Collection[str] = ()
    relations: Mapping[str, pa.Table] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    by_hour: Sequence["Batch"] = ()

    @cached_property
    def hours(self) -> list[str]:
        """Every hour that the partitions cover, in order."""
        return sorted({hour for partition in self.partitions for hour in hours_in(partition)})

    @property
    def large(self) -> list[str]:
        """The partitions that have more rows than are held at once."""
        return [name for name, rows in self.sizes.items() if rows > self.settings.max_exact_requests]

    @property
    def from_s(self) -> int:
        """Start of the first partition in Unix seconds."""
        return epoch_hour(self.hours[0]) * HOUR_S

    @property
    def until_s(self) -> int:
        """End of the last partition in Unix seconds."""
        return (epoch_hour(self.hours[-1]) + 1) * HOUR_S

    @property
    def grains(self) -> list[int]:
        """Lengths in seconds of the windows of the partitions."""
        return sorted({grain for partition in self.partitions for grain in grains_of(self.settings, partition)})

    def files(self, table: str, partitions: Collection[str] | None = None) -> list[str]:
        """Files with rows of a table that the partitions are made from: all, or those of some of its partitions."""
        found = self.inputs[table]
        return [file for name, files in found.items() if partitions is None or name in partitions for file in files]

    def write(self, table: str, partition: str, rows: pa.Table) -> Part:
        """Write the part of a partition."""
        return self.lake.write_part(table, partition, rows, self.partitions[partition])

    def writer(self, table: str, partition: str) -> AbstractContextManager[PartWriter]:
        """A writer of the part of a partition, for rows that come bit by bit."""
        return self.lake.part_writer(table, partition, self.partitions[partition], arrow_schema(table))


Parts = dict[str, dict[str, Part]]  # by table, by partition
SettingsTable = Callable[[Settings], pa.Table]
BatchTable = Callable[[Context, Batch], pa.Table]
Span = Callable[[Context, str], Collection[str]]  # the partitions of an input that a partition is made from


def _nothing(_context: Context, _partition: str) -> object:
    return None


def _no_lookaround(_context: Context) -> Mapping[str, Lookaround]:
    return {}


@dataclass(frozen=True)
class Shards:
    """How batches of a node are cut where they are too large to be computed at once (`sharded`).

    `count` says in how many shards. `divide`, if anything, writes what takes all rows to know into a folder, and gives
    the same batch with portions of its rows, no more than asked for, each to be cut by itself. `cut` writes the inputs
    of shards into a folder, in APART what is for one of them alone, and gives the same batch with those for each.
    `compute` writes what one makes into a folder of its own. `unite` makes the parts of all of these and of the folders
    of `cut`, of which APART is removed before. Each is the work of whoever has room for it: they share nothing but the
    folders.
    """

    count: Callable[[Batch], int]
    cut: Callable[[Batch, int, Path], list[Batch]]
    compute: Callable[[Batch, Path], None]
    unite: Callable[[Batch, Sequence[Path], Sequence[Path]], Parts]
    divide: Callable[[Batch, int, Path], list[Batch]] | None = None  # None: a batch is cut at once


@dataclass(frozen=True)
class Node:
    """One step of the plan.

    `from_settings` are the relations that Python registers for its SQL and that the settings decide: partitions are
    stale where one of them changes. `from_batch` say which partitions are asked for. `beside` gives what else a
    partition is made from, such as the bills that overlap it; `apart` names the inputs whose parts are left out of the
    fingerprint for that reason, and `consults` the tables that its Python reads all of and the SQL does not. `span`
    chooses the partitions of an input where lookaround in hours does not, and `aside` those of tables that its Python
    reads and its SQL does not, whose changes make nothing stale. `sized_by` is the input whose rows say how large a
    partition is.
    `what_is_left` names the inputs of which a node without partitions is right over whichever rows there are: pruned
    ones are missed by nobody.
    """

    name: str
    stage: str
    tables: tuple[str, ...]
    description: str
    compute: Callable[[Batch], Parts]
    lookaround: Callable[[Context], Mapping[str, Lookaround]] = _no_lookaround
    from_settings: Mapping[str, SettingsTable] = field(default_factory=dict)
    from_batch: Mapping[str, BatchTable] = field(default_factory=dict)
    beside: Callable[[Context, str], object] = _nothing
    apart: frozenset[str] = frozenset()
    consults: tuple[str, ...] = ()
    span: Mapping[str, Span] = field(default_factory=dict)
    aside: Mapping[str, Span] = field(default_factory=dict)
    also: Callable[[Context], Collection[str]] | None = None  # partitions that are called for beside those of inputs
    what_is_left: frozenset[str] = frozenset()
    appended: tuple[str, ...] = ()  # tables that only ever gain parts
    together_h: int = 24
    alone: Callable[[Batch], Collection[str]] | None = None  # which of a batch must be computed each by itself
    shards: Shards | None = None  # None: its batches are never cut
    sized_by: str | None = None  # None: none of its partitions is large
    is_never_final: bool = False  # computed for closed days too: it reads nothing that is pruned

    @property
    def partition(self) -> str:
        """How its tables are partitioned: none, hour, day or windows."""
        return contract(self.tables[0]).partition

    @cached_property
    def relations(self) -> tuple[str, ...]:
        """The relations to compute, in order; the tables among them."""
        return closure(self._asked, STORED)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The lake tables that its SQL reads, sorted."""
        return tuple(sorted(inputs_of(self._asked, STORED) & STORED))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The relations that Python registers for its SQL, sorted."""
        return tuple(sorted(inputs_of(self._asked, STORED) - STORED))

    @property
    def _asked(self) -> tuple[str, ...]:
        """The tables that SQL makes; others are by-products of the Python that computes them."""
        return tuple(table for table in self.tables if table in sql_names())

    @property
    def audited(self) -> tuple[str, ...]:
        """The tables whose contract is checked before they count: those that users see."""
        return tuple(table for table in self.tables if contract(table).published not in ("no", "inside"))

    def input_partitions(self, context: Context, table: str, partition: str) -> Collection[str]:
        """Partitions of an input that a partition is made from; they need not exist."""
        return self.reading(context, table)(partition)

    def reading(self, context: Context, table: str) -> Callable[[str], Collection[str]]:
        """The same for any partition: a history is asked for each of its hours what that reads."""
        if table in self.span:
            return partial(self.span[table], context)
        kind = contract(table).partition
        if kind == "none":
            return lambda _partition: (ALL,)
        home, around = context.lake.catalog[table], self.lookaround(context).get(table, Lookaround())
        if kind == "windows":
            return lambda partition: home.parts.keys() if partition == ALL else (partition,)
        return lambda partition: home.parts.keys() if partition == ALL else _hours_around(partition, around)


def _hours_around(partition: str, around: Lookaround) -> Sequence[str]:
    hours = hours_in(partition)
    if not around.before and not around.after:
        return hours
    first, last = epoch_hour(hours[0]) - around.before, epoch_hour(hours[-1]) + around.after
    return [hour_label(hour) for hour in range(first, last + 1)]


def hours_in(partition: str) -> Sequence[str]:
    """The hours that an hour or a day covers."""
    return (partition,) if is_hour(partition) else hours_of_day(partition)


def partitions_of(node: Node, context: Context) -> set[str]:
    """Every partition that the inputs of a node call for, and those that it has made before.

    Raises NothingCalled where no input can call for any: its tables would be empty for ever.
    """
    made = set(context.lake.catalog[node.tables[0]].parts)
    if node.partition == "none":
        return {ALL}
    if not node.also and all(around.calls is None for around in node.lookaround(context).values()):
        raise NothingCalled(node.name, node.inputs)
    called = set(node.also(context)) if node.also else set()
    if node.partition == "day":
        return called | made
    called |= _called_hours(node, context)
    if node.partition == "hour":
        return called | made
    cells = {*called, *(day_of(hour) for hour in called)} | made
    return {cell for cell in cells if context.grains(cell)}


def _called_hours(node: Node, context: Context) -> set[str]:
    called: set[str] = set()
    blocked = Blocked(context.lake)
    for table, around in node.lookaround(context).items():
        if around.calls is not None:
            # one that is blocked before it had a part is waited for like one that has been published
            known = context.lake.catalog[table].parts.keys() | blocked.of_table(table).keys()
            hours = {p for p in known if is_hour(p)}
            called |= neighbours(hours, *around.calls) if any(around.calls) else hours
    return called
