"""Has damaged parts of a lake made again: what was computed by its plan, what was read from its landing files.

But for what alarms did, nothing is made here: parts are taken out of the catalog, so that the next run finds them due.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from goodput.conform.withdraw import withdraw
from goodput.contracts import contract
from goodput.plumbing import source_ledger
from goodput.plumbing.lake import Lake
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.published_copy import published_copy
from goodput.plumbing.row_table import read_rows
from goodput.plumbing.verify import Damage

_LANDING_INDEX = "landed_files"
_KEPT = "alarm_events"  # what alarms did, which nothing can judge again: the published database has a copy
_JUDGED_ANEW = {"alarms", "alarm_series", "alarm_power"}  # from what is published, and what alarm_events keeps


@dataclass
class Remaking:
    """Damages that the next run mends, with the sources that it reads again for it, and those that none can mend."""

    due: list[Damage] = field(default_factory=list)
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
        if pruned.is_closed(damage.part.partition):
            found.lost.append((damage, "its hours are closed, as older rows were pruned: restore it from a backup"))
        elif layer == "conformed":
            read_anew.append(damage)
        elif _is_computed(damage) or (_is_kept(damage) and published_copy(lake, damage.table, damage.part)):
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
    for damage in filter(_is_kept, found.due):
        rows = published_copy(lake, damage.table, damage.part)
        if rows is not None:
            lake.write_part(damage.table, damage.part.partition, rows, damage.part.inputs)  # takes its place
    for damage in filter(_is_computed, found.due):
        catalog = lake.catalog[damage.table]
        others = [part for part in catalog.parts[damage.part.partition] if part != damage.part]
        removed += catalog.replace({damage.part.partition: others})
    if found.sources:
        conformed = [damage.part for damage in found.due if contract(damage.table).layer == "conformed"]
        removed += withdraw(lake, found.sources, conformed)
    return removed


def _is_computed(damage: Damage) -> bool:
    layer = contract(damage.table).layer
    return layer in {"joined", "measured"} or damage.table in _JUDGED_ANEW or damage.table == _LANDING_INDEX


def _is_kept(damage: Damage) -> bool:
    return damage.table == _KEPT


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
