"""Who computes for a run: this process, others of this machine, or a Ray cluster, as settings and command line say."""

from collections.abc import Iterator
from contextlib import contextmanager

from goodput.plumbing.runner import Runner
from goodput.plumbing.workspace import Workspace


@contextmanager
def running(workspace: Workspace) -> Iterator[None]:
    """Let a workspace have its runner while the block runs; none where this process is all that is wanted.

    Raises ClusterUnreachable, ExtraMissing.
    """
    wanted = workspace.settings.cluster
    workers = workspace.workers or wanted.workers

    def on_death() -> None:
        workspace.lake.write_lock.is_broken_off = True  # unfinished files lie about, which the run's end clears away

    if workers > 1:
        from goodput.runners.pool import Pooled  # noqa: PLC0415  (only where there are workers)
        from goodput.runners.processes import processes  # noqa: PLC0415

        with processes(workers, on_death) as pool:
            yield from _with(workspace, Pooled(pool))
    elif wanted.ray is not None and workspace.workers is None:
        from goodput.runners.on_ray import on_ray  # noqa: PLC0415  (an extra, and slow to import)
        from goodput.runners.pool import Pooled  # noqa: PLC0415

        with on_ray(wanted.ray, on_death) as tasks:
            yield from _with(workspace, Pooled(tasks))
    else:
        yield


def _with(workspace: Workspace, runner: Runner) -> Iterator[None]:
    workspace.runner = runner
    try:
        yield
    finally:
        workspace.runner = None
