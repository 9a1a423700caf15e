"""Computes a batch that is too large to be computed at once: it is cut, each shard computed by itself, all united.

Each step is a runner's to place. What lies between them is in a folder of the lake, which all who compute can reach and
which the lake's one writer alone uses: it removes what one before it left.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from goodput.plumbing.lake import SHARDS, Lake
from goodput.plumbing.node import Batch, Shards
from goodput.plumbing.runner import Died, Runner
from goodput.plumbing.work import Broken, Done, Made, attempt, audited

Result = TypeVar("Result")


@dataclass(frozen=True)
class _Step:
    """A batch, or what one shard of it reads, and the folder of what comes of the step."""

    batch: Batch
    folder: Path
    count: int = 1


def is_cut(batch: Batch) -> bool:
    """Whether a batch is too large to be computed at once."""
    return batch.node.shards is not None and batch.node.shards.count(batch) > 1


def in_shards(batch: Batch, runner: Runner) -> Done:
    """What becomes of a batch that is cut. Raises GoodputError where the lake itself cannot be used."""
    began_ns = time.time_ns()
    with _folder(batch.lake) as folder:
        cut = _result(runner, _Step(batch, folder / "cut", _shards(batch).count(batch)))
        if isinstance(cut, Broken):
            return cut
        steps = [_Step(shard, folder / f"made-{number}") for number, shard in enumerate(cut)]
        for _, done in runner.map(_compute, steps):
            if done is not None:
                return _broken(done)
        shutil.rmtree(folder / "cut")
        ((_, united),) = runner.map(_unite, [_Step(batch, folder, len(steps))])
        return replace(united, began_ns=began_ns) if isinstance(united, Made) else _broken(united)


def _result(runner: Runner, step: _Step) -> list[Batch] | Broken:
    ((_, done),) = runner.map(_cut, [step])
    return done if isinstance(done, list) else _broken(done)


def _broken(done: Broken | Died) -> Broken:
    return Broken(done.reason, done.reason, time.time_ns()) if isinstance(done, Died) else done


def _cut(step: _Step) -> list[Batch] | Broken:
    return attempt(lambda _: _shards(step.batch).cut(step.batch, step.count, _empty(step.folder)))


def _compute(step: _Step) -> Broken | None:
    return attempt(lambda _: _shards(step.batch).compute(step.batch, _empty(step.folder)))


def _unite(step: _Step) -> Done:
    made = [step.folder / f"made-{number}" for number in range(step.count)]
    return attempt(lambda began_ns: audited(step.batch, _shards(step.batch).unite(step.batch, made), began_ns))


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
