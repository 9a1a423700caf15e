"""Has damaged parts of a lake made again: what was computed by its plan, what was read from its landing files.

But for what only the published database remembers, nothing is made here: parts are taken out of the catalog, so that
the next run finds them due.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from goodput.conform.withdraw import withdraw
from goodput.contracts import contract
from goodput.nodes import APPENDED
from goodput.plumbing import source_ledger
from goodput.plumbing.lake import Lake
from goodput.plumbing.pinned import REMEMBERED
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.published_copy import published_copy, put_back
from goodput.plumbing.row_table import read_rows
from goodput.plumbing.verify import Damage

_LANDING_INDEX = "landed_files"
_COMPUTED = frozenset({"joined", "measured"})
_JUDGED_ANEW = frozenset(
    {"alarms", "alarm_series", "alarm_power"}
)  # from what is published, and what alarm_events keeps


@dataclass
class Remaking:
    """Damages that the next run mends, with the sources that it reads again for it, and those that none can mend.

    `copies` has the rows of those of which the published database has the very same.
    """

    due: list[Damage] = field(default_factory=list)
    copies: dict[Damage, pa.Table] = field(default_factory=dict)
    lost: list[tuple[Damage, str]] = field(default_factory=list)  # each with why
    sources: set[str] = field(default_factory=set)


def remaking(lake: Lake, damages: Iterable[Damage]) -> Remaking:
    """What can be made again of damaged parts, as what they were made from is there; changes nothing.

    The caller holds the lake's lock. Raises LakeUnreadable.
    """
    found = Remaking()
    read_anew: list[Damage] = []
    pruned = read_pruned(lake.root)
    for damage in damages:
        layer = contract(damage.table).layer
        if (copy := _copy(lake, damage)) is not None:
            found.copies[damage] = copy
            found.due.append(damage)
        elif pruned.is_closed(damage.part.partition):
            found.lost.append((damage, "its hours are closed, as older rows were pruned: restore it from a backup"))
        elif layer == "conformed":
            read_anew.append(damage)
        elif _is_computed(damage):
            found.due.append(damage)
        else:
            found.lost.append((damage, "nothing else has its rows: restore it from a backup, or `goodput rebuild`"))
    if read_anew:
        _read_anew(lake, read_anew, found)
    return found


def take_out(lake: Lake, found: Remaking) -> list[Path]:
    """Take damaged parts out of the catalog, so that the next run finds them due; the parts that this replaced.

    The caller holds the lake's lock. Raises LakeUnreadable, LakeUnwritable.
    """
    removed: list[Path] = []
    for damage, rows in found.copies.items():
        put_back(lake, damage.table, damage.part, rows)
    for damage in found.due:
        if damage in found.copies or not _is_computed(damage):
            continue
        catalog = lake.catalog[damage.table]
        others = [part for part in catalog.parts[damage.part.partition] if part != damage.part]
        removed += catalog.replace({damage.part.partition: others})
    if found.sources:
        conformed = [damage.part for damage in found.due if contract(damage.table).layer == "conformed"]
        removed += withdraw(lake, found.sources, conformed)
    return removed


def _is_computed(damage: Damage) -> bool:
    """Whether its partition is computed again where it is not there."""
    table = damage.table
    layer = contract(table).layer
    return (layer in _COMPUTED and table not in APPENDED) or table in _JUDGED_ANEW or table == _LANDING_INDEX


def _copy(lake: Lake, damage: Damage) -> pa.Table | None:
    """What was published, where a computation would give other rows: revisions, what was restated, what alarms did."""
    return published_copy(lake, damage.table, damage.part) if damage.table in REMEMBERED else None


def _read_anew(lake: Lake, damages: list[Damage], found: Remaking) -> None:
    known = source_ledger.read_frame(lake, ["source_id", "path"])
    paths = dict(known.iter_rows())
    of = source_ledger.partitions_of(lake, paths)
    sources = {damage: of.get(damage.table, {}).get(damage.part.partition, set()) for damage in damages}
    stuck = paths.keys() - set(read_rows(lake, _LANDING_INDEX, ["source_id"])["source_id"])
    while lost := [damage for damage in sources if sources[damage] & stuck]:
        for damage in lost:  # its sources stay in the lake, and so do the other parts that hold rows of them
            missing = min(paths[source_id] for source_id in sources[damage] & stuck)
            found.lost.append((damage, f"{missing}, of which it has rows, cannot be read again"))
            stuck |= sources.pop(damage)
    found.sources |= set().union(*sources.values())
    found.due += sources
