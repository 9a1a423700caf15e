"""What becomes of a batch wherever it is computed: parts that an audit has looked at, or why there are none.

Nothing of it counts yet: to commit parts, and to block partitions, is the plan's work (`plan`).
"""

import time
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from goodput.errors import GoodputError, LakeUnreadable
from goodput.plumbing import interrupt
from goodput.plumbing.audit import audit
from goodput.plumbing.catalog import Part
from goodput.plumbing.node import Batch, Parts

Result = TypeVar("Result")


@dataclass(frozen=True)
class ComputedBatch:
    """The parts of a batch, and by table what the audit found in them; when its computation began, Unix ns."""

    parts: Parts
    failures: Mapping[str, Mapping[str, Sequence[str]]]
    began_ns: int


@dataclass(frozen=True)
class Broken:
    """Why a batch could not be computed, in a sentence and in full, and when its computation began, Unix ns.

    `unreadable`: the file of the lake that is damaged, if that is why.
    """

    reason: str
    traceback: str
    began_ns: int
    unreadable: Path | None = None


@dataclass(frozen=True)
class Divided:
    """Hours of a batch that are to be computed each by itself: what becomes of them would depend on the others."""

    alone: Collection[str]


Done = ComputedBatch | Broken


def work(batch: Batch) -> Done | Divided:
    """Compute and audit a batch, or say how it must be divided before.

    Raises GoodputError where the lake itself cannot be used, and KeyboardInterrupt.
    """
    return attempt(lambda began_ns: _worked(batch, began_ns))


def _worked(batch: Batch, began_ns: int) -> ComputedBatch | Divided:
    alone = batch.node.alone(batch) if batch.node.alone and len(batch.partitions) > 1 else ()
    return Divided(alone) if alone else audited(batch, batch.node.compute(batch), began_ns)


def audited(batch: Batch, parts: Parts, began_ns: int) -> ComputedBatch:
    """The parts of a batch with what an audit finds in them."""
    failures = {table: audit(table, _candidates(parts.get(table, {}))) for table in batch.node.audited}
    return ComputedBatch(parts, failures, began_ns)


def attempt(do: Callable[[int], Result]) -> Result | Broken:
    """What comes of something that takes the time at which it began (Unix ns), or why nothing does.

    A damaged part breaks what is made from it alone. Raises GoodputError where the lake itself cannot be used, and
    KeyboardInterrupt.
    """
    began_ns = time.time_ns()
    try:
        return do(began_ns)
    except LakeUnreadable as error:
        return Broken(str(error).splitlines()[0], traceback.format_exc(), began_ns, error.path)
    except GoodputError:
        raise
    except BaseException as error:  # whatever breaks is reported, a panic in Rust too, which is no Exception
        interrupt.check(error)
        return Broken(_short(error), traceback.format_exc(), began_ns)


def _candidates(parts: Mapping[str, Part]) -> dict[str, list[Path]]:
    """The files to audit: of no rows, none can be wrong."""
    return {partition: [part.path] for partition, part in parts.items() if part.rows}


def _short(error: BaseException) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}"[:300]
