"""The plan: every node in the order of its inputs, its stale partitions computed, audited and committed.

One way for `goodput run`, Dagster and tests. What a node computes is declared in its stage; a partition that fails
blocks itself and what depends on it, and nothing else.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goodput.contracts import contract
from goodput.errors import BlockedPartition
from goodput.plumbing.assembly import assemble
from goodput.plumbing.batches import batches
from goodput.plumbing.blocked import Blocked
from goodput.plumbing.catalog import ALL
from goodput.plumbing.final import is_final
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.graph import relation
from goodput.plumbing.node import Batch, Context, Node, hours_in, partitions_of
from goodput.plumbing.runner import Died, InProcess, Runner
from goodput.plumbing.sharded import in_shards, is_cut
from goodput.plumbing.work import Broken, ComputedBatch, Divided, Done, work

HERE = InProcess()


@dataclass
class Outcome:
    """What became of one node in a run."""

    node: Node
    computed: dict[str, str] = field(default_factory=dict)  # partition -> fingerprint
    rows: dict[str, int] = field(default_factory=dict)  # of the parts written now, by table
    blocked: list[BlockedPartition] = field(default_factory=list)
    replaced: list[Path] = field(default_factory=list)
    unreadable: set[Path] = field(default_factory=set)  # files of the lake that are damaged, as was met


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """The nodes such that each comes after those that make its inputs; ties as given."""
    makers = {table: node for node in nodes for table in node.tables}
    done: dict[str, Node] = {}

    def visit(node: Node) -> None:
        if node.name in done:
            return
        for table in (*node.inputs, *node.consults):
            if table in makers and makers[table] is not node:
                visit(makers[table])
        done[node.name] = node

    for node in nodes:
        visit(node)
    return list(done.values())


def needs(nodes: Sequence[Node]) -> dict[str, set[str]]:
    """By the name of each node, in order, the others whose tables it reads."""
    makers = {table: node.name for node in nodes for table in node.tables}
    read = {node.name: (*node.inputs, *node.consults, *node.aside) for node in in_order(nodes)}
    return {name: {makers[table] for table in tables if table in makers} - {name} for name, tables in read.items()}


def meaning(node: Node) -> str:
    """Fingerprint of what the SQL and the contracts of a node mean."""
    meanings = [relation(name).meaning for name in node.relations]
    return fingerprint(node.name, meanings, [contract(table).meaning for table in node.tables])


def rules(node: Node, context: Context) -> str:
    """Fingerprint of the SQL, contracts and settings that a node obeys."""
    given = {
        name: table(context.settings).to_pylist()
        for name, table in sorted(node.from_settings.items())
        if name in node.parameters
    }
    around = {table: vars(look) for table, look in sorted(node.lookaround(context).items())}
    return fingerprint(meaning(node), given, around)


def fingerprints(node: Node, context: Context, obeyed: str) -> Callable[[str], str]:
    """What gives the fingerprint of all that the parts of a partition must be made from, until the next commit."""
    catalog = context.lake.catalog
    tables = [table for table in node.inputs if table not in node.apart]
    inputs = [(node.reading(context, table), catalog[table].contents) for table in tables]
    has_windows = node.partition == "windows"

    def of(partition: str) -> str:
        made_from = [
            [(name, contents[name]) for name in sorted(reading(partition)) if name in contents]
            for reading, contents in inputs
        ]
        grains = context.grains(partition) if has_windows else ()
        return fingerprint(obeyed, grains, made_from, node.beside(context, partition))

    return of


def due(node: Node, context: Context, *, obeyed: str | None = None, force: bool = False) -> dict[str, str]:
    """Partitions whose parts were made from something else, or are missing, with the fingerprint of what they must be
    made from; all that there are with `force`. None of them is final. `obeyed` are the node's rules, where known."""
    fingerprint_of = fingerprints(node, context, obeyed or rules(node, context))
    there = [p for p in sorted(partitions_of(node, context)) if not is_final(node, context, p)]
    wanted = {p: fingerprint_of(p) for p in there}
    made = [context.lake.catalog[table] for table in node.tables if table not in node.appended]
    return {p: inputs for p, inputs in wanted.items() if force or any(table.inputs(p) != inputs for table in made)}


def execute(
    node: Node,
    context: Context,
    *,
    among: Collection[str] | None = None,
    obeyed: str | None = None,
    force: bool = False,
) -> Outcome:
    """Compute, audit and commit what is due of a node: of the hours `among`, or of all.

    Partitions are computed by the context's runner; tables without partitions too, if those that work for it are there.

    Raises GoodputError where the lake itself cannot be used; whatever else fails blocks its partition.
    """
    outcome, blocked = Outcome(node), Blocked(context.lake)
    asked = {p: inputs for p, inputs in due(node, context, obeyed=obeyed, force=force).items() if _is_asked(p, among)}
    ready = _without_blocked(node, context, asked, blocked, outcome)
    _remove_uncalled(node, context, outcome)
    runner = context.runner or HERE
    by = runner if node.partition != "none" or runner.has_begun else HERE
    groups = list(batches(node, context, ready, by.width))
    asked_for = [{partition: ready[partition] for partition in group} for group in groups]
    for batch, done in context.progress.track(_computed(node, context, asked_for, by), node.name, len(groups)):
        _settle_told(context, batch, done, outcome, blocked)
    listed = [*outcome.blocked, *_made_with(node, outcome.blocked)]
    blocked.settle(node.tables, lambda partition: _is_asked(partition, among), listed)
    return outcome


def _made_with(node: Node, blocked: Sequence[BlockedPartition]) -> Iterator[BlockedPartition]:
    """The same partitions of the other tables of a node: they are not published either, and what reads them waits."""
    listed = {(item.table, item.partition) for item in blocked}
    first = {item.partition: item for item in reversed(blocked)}
    for partition, item in first.items():
        for table in node.tables:
            if (table, partition) not in listed and table not in node.appended and not _is_account(table):
                cause = f"{item.table} {partition}"
                yield BlockedPartition(table, partition, f"is made with {cause}", cause)


def _is_account(table: str) -> bool:
    return contract(table).published == "inside"


def _is_asked(partition: str, among: Collection[str] | None) -> bool:
    return among is None or partition == ALL or any(hour in among for hour in hours_in(partition))


def _without_blocked(
    node: Node, context: Context, asked: Mapping[str, str], blocked: Blocked, outcome: Outcome
) -> dict[str, str]:
    """What can be computed now: what an audit blocked for the same inputs stays blocked, and so does what reads it."""
    ready = {}
    for partition, inputs in asked.items():
        standing = blocked.standing(node.tables, partition, inputs)
        waits_for = None if partition == ALL else _blocked_input(node, context, partition, blocked)
        if standing:
            outcome.blocked.extend(standing)
        elif waits_for:
            reason = f"waits for {waits_for.table} {waits_for.partition}"
            outcome.blocked.append(
                BlockedPartition(node.tables[0], partition, reason, f"{waits_for.table} {waits_for.partition}")
            )
        else:
            ready[partition] = inputs
    return ready


def _blocked_input(node: Node, context: Context, partition: str, blocked: Blocked) -> BlockedPartition | None:
    for table in node.inputs:
        of_table = blocked.of_table(table)
        if of_table:
            for name in node.input_partitions(context, table, partition):
                if name in of_table:
                    return of_table[name]
    return None


def _remove_uncalled(node: Node, context: Context, outcome: Outcome) -> None:
    """Windows that the settings no longer ask for are no longer published, but those of closed hours."""
    if node.partition != "windows":
        return
    for name in node.tables:
        table = context.lake.catalog[name]
        uncalled = [partition for partition in table.parts if not context.grains(partition)]
        gone = [partition for partition in uncalled if not context.pruned.is_closed(partition)]
        if gone:
            outcome.replaced += table.replace(dict.fromkeys(gone, ()))


def _computed(
    node: Node, context: Context, groups: Iterable[Mapping[str, str]], runner: Runner
) -> Iterator[tuple[Batch, Done]]:
    """What became of each group of partitions; where it broke, of each half, until those that break are alone."""
    again: list[Mapping[str, str]] = []
    for batch, done in _mapped(node, context, groups, runner):
        if isinstance(done, Divided):
            again += _divided(batch.partitions, done.alone)
        elif isinstance(done, Broken) and len(batch.partitions) > 1:
            again += _halves(batch.partitions)
        else:
            yield batch, done
    if again:
        yield from _computed(node, context, again, runner)


def _divided(partitions: Mapping[str, str], alone: Collection[str]) -> Iterator[Mapping[str, str]]:
    yield from ({partition: partitions[partition]} for partition in sorted(alone))
    rest = {partition: inputs for partition, inputs in partitions.items() if partition not in alone}
    if rest:
        yield rest


def _halves(partitions: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    ordered = sorted(partitions.items())
    for half in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]):
        yield dict(half)


def _mapped(
    node: Node, context: Context, groups: Iterable[Mapping[str, str]], runner: Runner
) -> Iterator[tuple[Batch, Done | Divided]]:
    large: list[Batch] = []
    for batch, done in runner.map(work, _not_large(node, context, groups, large)):
        yield batch, Broken(done.reason, done.reason, time.time_ns()) if isinstance(done, Died) else done
    yield from in_shards(large, runner)


def _not_large(
    node: Node, context: Context, groups: Iterable[Mapping[str, str]], large: list[Batch]
) -> Iterator[Batch]:
    """Batches that are computed at once; partitions that are cut, and so take all who compute, come after them."""
    for group in groups:
        batch = assemble(context, node, group)
        if not is_cut(batch):
            yield batch
        elif len(group) == 1:
            large.append(batch)
        else:  # ids may link them, and cut together they would see more than alone
            yield from _not_large(node, context, _divided(group, group), large)


def _settle_told(context: Context, batch: Batch, done: Done, outcome: Outcome, blocked: Blocked) -> None:
    """Settle what became of a batch, within a span of its own that began with its computation."""
    first, last = min(batch.partitions), max(batch.partitions)
    attributes = {"node": batch.node.name, "tables": ", ".join(batch.node.tables), "first": first, "last": last}
    since_ns, partitions = done.began_ns, len(batch.partitions)
    with context.telemetry.part("partitions", since_ns=since_ns, partitions=partitions, **attributes) as span:
        rows, failed = sum(outcome.rows.values()), len(outcome.blocked)
        _settle(context, batch, done, outcome, blocked)
        span.note(rows=sum(outcome.rows.values()) - rows, blocked=len(outcome.blocked) - failed)
        if len(outcome.blocked) > failed:
            span.fail(outcome.blocked[failed].kind)


def _settle(context: Context, batch: Batch, done: Done, outcome: Outcome, blocked: Blocked) -> None:
    if isinstance(done, ComputedBatch):
        _commit(context, batch, done, outcome)
        return
    (partition,) = batch.partitions
    blocked.keep_traceback(batch.node.name, partition, done.traceback)
    outcome.blocked.append(BlockedPartition(batch.node.tables[0], partition, done.reason))
    if done.unreadable is not None:
        outcome.unreadable.add(done.unreadable)


def _commit(context: Context, batch: Batch, made: ComputedBatch, outcome: Outcome) -> None:
    """Make good parts count. A partition that breaks one table's contract is blocked for all tables of its node, so
    that they never disagree; the account of its rows counts all the same."""
    node, catalog = batch.node, context.lake.catalog
    bad = {p: (table, found) for table, by in made.failures.items() for p, found in by.items()}
    for partition, (table, sentences) in sorted(bad.items()):
        inputs = batch.partitions[partition]
        outcome.blocked.append(BlockedPartition(table, partition, "; ".join(sentences), inputs=inputs))
    for name, parts in made.parts.items():
        good = {p: (part,) for p, part in parts.items() if _is_account(name) or p not in bad}
        if name in node.appended:
            outcome.replaced += catalog[name].change([part for (part,) in good.values()])
        else:
            outcome.replaced += catalog[name].replace(good)
        outcome.replaced += [part.path for p, part in parts.items() if p not in good]  # these count nowhere
        outcome.rows[name] = outcome.rows.get(name, 0) + sum(part.rows for (part,) in good.values())
    outcome.computed |= {p: inputs for p, inputs in batch.partitions.items() if p not in bad}
