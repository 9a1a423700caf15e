"""Workers that are tasks of a Ray cluster, spread over its nodes; each takes one of the cluster's CPUs.

Ray tries nothing again by itself: a task that dies is the plan's to give out once more.
"""

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from goodput.errors import ClusterUnreachable, ExtraMissing, WorkersUnusable
from goodput.plumbing import interrupt
from goodput.plumbing.runner import Died
from goodput.plumbing.spill import own_folder
from goodput.runners.shipping import done
from goodput.runners.worker import bound

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as error:
    raise ExtraMissing("cluster.ray", "cluster") from error

_MEMORY_PERCENT = 80  # of a node's, for all tasks on it
_CPU = "CPU"
_NEAREST = "auto"
_PATIENCE_S = 10.0


@contextmanager
def on_ray(address: str, on_death: Callable[[], None]) -> Iterator["OnRay"]:
    """The tasks of the cluster at an address, or of the one that this process is of. Raises ClusterUnreachable."""
    is_ours = not ray.is_initialized()
    if is_ours:
        try:
            _knock(address)
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RuntimeError) as error:
            raise ClusterUnreachable(address, str(error)) from error
    pool = OnRay(on_death)
    try:
        yield pool
    finally:
        pool.abandon()
        if is_ours:
            ray.shutdown()


def _knock(address: str) -> None:
    """Ray itself asks for minutes where nobody answers. Raises OSError."""
    if address != _NEAREST:
        host, _, port = address.rpartition(":")
        socket.create_connection((host, int(port)), _PATIENCE_S).close()


class OnRay:
    """A pool of tasks; docs/scale.md."""

    def __init__(self, on_death: Callable[[], None]) -> None:
        self._on_death = on_death
        self._under_way: dict[ray.ObjectRef[bytes], int] = {}

    @property
    def width(self) -> int:
        """CPUs of the cluster as it is now."""
        return max(1, int(ray.cluster_resources().get(_CPU, 1)))  # type: ignore[no-untyped-call]

    @property
    def has_begun(self) -> bool:
        """They are there, but what reads all of history is nearer to where all of it has been read already."""
        return False

    def start(self, number: int, payload: bytes) -> None:
        """Begin a task."""
        self._under_way[_task.remote(payload)] = number

    def wait(self) -> tuple[int, bytes | Died]:
        """The next task that is done. Raises WorkersUnusable where Goodput is not there to be run."""
        (ready,), _ = ray.wait(list(self._under_way), num_returns=1)
        number = self._under_way.pop(ready)
        try:
            answer: bytes = ray.get(ready)
        except RayTaskError as error:
            raise WorkersUnusable(str(error.cause or error)) from error
        except RayError as error:
            interrupt.check(error)
            self._on_death()
            return number, Died(f"the Ray task ended by {type(error).__name__}: {' '.join(str(error).split())[:200]}")
        return number, answer

    def abandon(self) -> None:
        """End all tasks."""
        for task in self._under_way:
            ray.cancel(task, force=True)
        if self._under_way:
            self._on_death()
        self._under_way.clear()


@ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")
def _task(payload: bytes) -> bytes:
    _bound_once()
    return done(payload)


@cache
def _bound_once() -> None:
    here = ray.get_runtime_context().get_node_id()
    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    cpus = next((node["Resources"].get(_CPU, 1) for node in nodes if node["NodeID"] == here), 1)
    bound(1, f"{max(1, int(_MEMORY_PERCENT // cpus))}%", own_folder())
