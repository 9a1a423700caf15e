"""Has damaged parts of a lake made again: what was computed by its plan, what was read from its landing files.

Nothing is made here: the parts are taken out of the catalog, so that the next run finds them due.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from goodput.conform.withdraw import withdraw
from goodput.contracts import contract
from goodput.plumbing import source_ledger
from goodput.plumbing.lake import Lake
from goodput.plumbing.pruned import read_pruned
from goodput.plumbing.row_table import read_rows
from goodput.plumbing.verify import Damage

_LANDING_INDEX = "landed_files"


@dataclass
class Remade:
    """Damages that the next run mends, and those that it cannot, each with why; parts that were replaced."""

    due: list[Damage] = field(default_factory=list)
    lost: list[tuple[Damage, str]] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)


def remake(lake: Lake, damages: Iterable[Damage]) -> Remade:
    """Take damaged parts out of the lake where what they were made from is there.

    The caller holds the lake's lock. Raises LakeUnreadable, LakeUnwritable.
    """
    done = Remade()
    read_anew: list[Damage] = []
    pruned = read_pruned(lake.root)
    for damage in damages:
        layer = contract(damage.table).layer
        if pruned.is_closed(damage.part.partition):
            done.lost.append((damage, "its hours are closed, as older rows were pruned: restore it from a backup"))
        elif layer in {"joined", "measured"} or damage.table == _LANDING_INDEX:
            others = [p for p in lake.catalog[damage.table].parts[damage.part.partition] if p != damage.part]
            done.removed += lake.catalog[damage.table].replace({damage.part.partition: others})
            done.due.append(damage)
        elif layer == "conformed":
            read_anew.append(damage)
        else:
            done.lost.append((damage, "nothing else has its rows: restore it from a backup, or `goodput rebuild`"))
    _read_anew(lake, read_anew, done)
    return done


def _read_anew(lake: Lake, damages: list[Damage], done: Remade) -> None:
    if not damages:
        return
    known = source_ledger.read_frame(lake, ["source_id", "path"])
    paths = dict(known.iter_rows())
    of = source_ledger.partitions_of(lake, paths)
    sources = {damage: of.get(damage.table, {}).get(damage.part.partition, set()) for damage in damages}
    stuck = paths.keys() - set(read_rows(lake, _LANDING_INDEX, ["source_id"])["source_id"])
    while lost := [damage for damage in sources if sources[damage] & stuck]:
        for damage in lost:  # its sources stay in the lake, and so do the other parts that hold rows of them
            missing = min(paths[source_id] for source_id in sources[damage] & stuck)
            done.lost.append((damage, f"{missing}, of which it has rows, cannot be read again"))
            stuck |= sources.pop(damage)
    if sources:
        done.removed += withdraw(lake, set().union(*sources.values()), [damage.part for damage in sources])
        done.due += sources
