"""Computes batches that are too large to be computed at once: cut into shards, each computed by itself, and united.

Each step is a runner's to place. What lies between them is in a folder of the lake, which all who compute can reach and
which is of this node and of the lake's one writer alone: it removes what one before it left.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path

from goodput.plumbing.lake import SHARDS, Lake
from goodput.plumbing.node import APART, Batch, Node, Shards
from goodput.plumbing.runner import Died, Runner
from goodput.plumbing.shard_files import merged
from goodput.plumbing.work import Broken, ComputedBatch, Done, attempt, audited

_CUT = "cut-"


@dataclass(frozen=True)
class _Step:
    """A batch, a portion of it or what one shard of it reads, with the folder of what comes of the step.

    `number`: of the batch; `count`: into how many shards it is cut; `portions`: at most so many are cut by themselves.
    """

    batch: Batch
    folder: Path
    number: int
    count: int = 1
    portions: int = 1


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
    with _folder(batches[0].lake, batches[0].node) as folder:
        each = max(1, runner.width // len(batches))
        steps = [
            _Step(batch, folder / str(number), number, _shards(batch).count(batch), each)
            for number, batch in enumerate(batches)
        ]
        broken: dict[int, Broken] = {}
        portions = _divided(steps, runner, broken)
        for step, done in runner.map(_compute, _cut_apart(portions, runner, broken)):
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


def _divided(steps: Sequence[_Step], runner: Runner, broken: dict[int, Broken]) -> list[_Step]:
    """What is cut by itself: batches, or the portions of those that are divided. Notes what breaks in `broken`."""
    found = [_portion(step, step.batch, 0) for step in steps if _shards(step.batch).divide is None]
    for step, divided in runner.map(_divide, [step for step in steps if _shards(step.batch).divide is not None]):
        if isinstance(divided, list):
            found += [_portion(step, batch, at) for at, batch in enumerate(divided)]
        else:
            broken[step.number] = _broken(divided)
    return found


def _cut_apart(portions: Sequence[_Step], runner: Runner, broken: dict[int, Broken]) -> list[_Step]:
    """The shards, each with its rows of every portion. Notes what breaks in `broken`."""
    cuts: dict[Path, list[Batch]] = {}
    for portion, cut in runner.map(_cut, portions):
        if isinstance(cut, list):
            cuts[portion.folder] = cut
        else:
            broken.setdefault(portion.number, _broken(cut))
    shards = []
    for number, of_batch in groupby(portions, _number):
        if number not in broken:
            folders = [portion.folder for portion in of_batch]
            together = zip(*(cuts[folder] for folder in folders), strict=True)
            shards += [_Step(merged(cut), _made(folders[0].parent, at), number) for at, cut in enumerate(together)]
    return shards


def _number(step: _Step) -> int:
    return step.number


def _portion(step: _Step, batch: Batch, at: int) -> _Step:
    return replace(step, batch=batch, folder=step.folder / f"{_CUT}{at}")


def _made(folder: Path, at: int) -> Path:
    return folder / f"made-{at}"


def _broken(done: Broken | Died) -> Broken:
    return Broken(done.reason, done.reason, time.time_ns()) if isinstance(done, Died) else done


def _divide(step: _Step) -> list[Batch] | Broken:
    divide = _shards(step.batch).divide
    assert divide is not None  # noqa: S101  (asked of what is divided)
    return attempt(lambda _: divide(step.batch, step.portions, _empty(step.folder / "divided")))


def _cut(portion: _Step) -> list[Batch] | Broken:
    return attempt(lambda _: _shards(portion.batch).cut(portion.batch, portion.count, _empty(portion.folder)))


def _compute(shard: _Step) -> Broken | None:
    return attempt(lambda _: _shards(shard.batch).compute(shard.batch, _empty(shard.folder)))


def _unite(step: _Step) -> Done:
    cuts = sorted(step.folder.glob(f"{_CUT}*"))
    made = [_made(step.folder, at) for at in range(step.count)]
    for cut in cuts:
        shutil.rmtree(cut / APART, ignore_errors=True)  # room for what is sorted
    return attempt(lambda began_ns: audited(step.batch, _shards(step.batch).unite(step.batch, cuts, made), began_ns))


def _shards(batch: Batch) -> Shards:
    assert batch.node.shards is not None  # noqa: S101  (asked of what is cut)
    return batch.node.shards


def _empty(folder: Path) -> Path:
    """The folder, without what a worker left that died of the same step."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@contextmanager
def _folder(lake: Lake, node: Node) -> Iterator[Path]:
    folder = _empty(lake.root / SHARDS / node.name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):
            folder.parent.rmdir()  # unless another node is at work in it
