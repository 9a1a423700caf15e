"""Computes batches that are too large to be computed at once: cut into shards, each computed by itself, and united.

Each step is a runner's to place. What lies between them is in a folder of the lake, which all who compute can reach and
which the lake's one writer alone uses: it removes what one before it left.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from goodput.plumbing.lake import SHARDS, Lake
from goodput.plumbing.node import APART, Batch, Shards
from goodput.plumbing.runner import Died, Runner
from goodput.plumbing.work import Broken, ComputedBatch, Done, attempt, audited

_CUT = "cut"


@dataclass(frozen=True)
class _Step:
    """A batch, or what one shard of it reads, with the folder of what comes of the step; `number`: of the batch."""

    batch: Batch
    folder: Path
    number: int
    count: int = 1


def is_cut(batch: Batch) -> bool:
    """Whether a batch is too large to be computed at once."""
    return batch.node.shards is not None and batch.node.shards.count(batch) > 1


def in_shards(batches: Sequence[Batch], runner: Runner) -> Iterator[tuple[Batch, Done]]:
    """Each of some batches that are cut, and what becomes of it, as many together as the runner works on at once.

    Raises GoodputError where the lake itself cannot be used.
    """
    left = iter(batches)
    while together := list(islice(left, runner.width)):  # a cluster gains and loses nodes meanwhile
        yield from _together(together, runner)


def _together(batches: Sequence[Batch], runner: Runner) -> Iterator[tuple[Batch, Done]]:
    began_ns = time.time_ns()
    with _folder(batches[0].lake) as folder:
        steps = [
            _Step(batch, folder / str(number), number, _shards(batch).count(batch))
            for number, batch in enumerate(batches)
        ]
        broken: dict[int, Broken] = {}
        shards: list[_Step] = []
        for step, cut in runner.map(_cut, steps):
            if isinstance(cut, list):
                shards += [_Step(shard, _made(step, at), step.number) for at, shard in enumerate(cut)]
            else:
                broken[step.number] = _broken(cut)
        for step, done in runner.map(_compute, shards):
            if done is not None:
                broken.setdefault(step.number, _broken(done))
        for step in steps:
            if step.number in broken:
                yield step.batch, broken[step.number]
        for step, united in runner.map(_unite, [step for step in steps if step.number not in broken]):
            yield (
                step.batch,
                replace(united, began_ns=began_ns) if isinstance(united, ComputedBatch) else _broken(united),
            )


def _made(step: _Step, at: int) -> Path:
    return step.folder / f"made-{at}"


def _broken(done: Broken | Died) -> Broken:
    return Broken(done.reason, done.reason, time.time_ns()) if isinstance(done, Died) else done


def _cut(step: _Step) -> list[Batch] | Broken:
    return attempt(lambda _: _shards(step.batch).cut(step.batch, step.count, _empty(step.folder / _CUT)))


def _compute(step: _Step) -> Broken | None:
    return attempt(lambda _: _shards(step.batch).compute(step.batch, _empty(step.folder)))


def _unite(step: _Step) -> Done:
    cut, made = step.folder / _CUT, [_made(step, at) for at in range(step.count)]
    shutil.rmtree(cut / APART, ignore_errors=True)  # room for what is sorted
    return attempt(lambda began_ns: audited(step.batch, _shards(step.batch).unite(step.batch, cut, made), began_ns))


def _shards(batch: Batch) -> Shards:
    assert batch.node.shards is not None  # noqa: S101  (asked of what is cut)
    return batch.node.shards


def _empty(folder: Path) -> Path:
    """The folder, without what a worker left that died of the same step."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@contextmanager
def _folder(lake: Lake) -> Iterator[Path]:
    folder = _empty(lake.root / SHARDS)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
