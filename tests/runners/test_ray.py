"""Ray tasks on a cluster of two nodes of one core each: the same tables as without, with a worker and a node killed."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from goodput.conform import reading
from goodput.errors import ClusterUnreachable
from goodput.plumbing import batches
from goodput.plumbing.lake import Lake
from goodput.plumbing.runner import Died
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from runners import work
from runners.fleet import assert_same, land

ray = pytest.importorskip("ray", reason="Ray is not installed (pip install 'goodput[cluster]')")

from ray.cluster_utils import Cluster  # noqa: E402

from goodput.runners.on_ray import OnRay, on_ray  # noqa: E402
from goodput.runners.pool import Pooled  # noqa: E402
from goodput.runners.shipping import packed  # noqa: E402

MEMORY = 80 * 2**20  # of each node's object store, the least that there may be


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a fleet, beside a lake that this process alone has made."""
    file = land(tmp_path_factory.mktemp("fleet"))
    run(Workspace(file), deliver=False)
    return file


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without cores, and two nodes of one."""
    monkeypatch.setattr(batches, "_ROWS_TOGETHER", 1)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # Ray kills tasks where a machine's memory is nearly used up, also when it is other tests that use it.
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "0")
    made = Cluster()
    try:
        made.add_node(num_cpus=0, object_store_memory=MEMORY, include_dashboard=False)
        for _ in range(2):
            made.add_node(num_cpus=1, object_store_memory=MEMORY)
        made.wait_for_nodes()
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def workspace_of(fleet: Path, cluster: Any, lake: Path) -> Workspace:
    file = lake.parent / "goodput.toml"
    landing = f'landing = ["{fleet.parent}/landing"]'
    text = fleet.read_text().replace('landing = ["landing"]', landing)
    # hours are cut, so that shards are among what the dead were at
    file.write_text(f'{text}\n[cluster]\nray = "{cluster.address}"\nshard_records = 1000\n')
    return Workspace(file, lake_path=lake)


def test_a_worker_and_then_a_node_are_killed_and_the_lake_is_the_same(
    fleet: Path, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, wait, given, died = OnRay.start, OnRay.wait, [], []
    place = tmp_path / "place"

    def dangerous(pool: OnRay, number: int, payload: bytes) -> None:
        given.append(number)
        if len(given) == 6:
            payload = packed(work.dies, 2)
        if len(given) == 14:
            payload = packed(work.waits_for_the_end, place)
            threading.Thread(target=lose, daemon=True).start()
        start(pool, number, payload)

    def lose() -> None:
        while not place.exists():
            time.sleep(0.05)
        (node,) = (node for node in cluster.worker_nodes if node.node_id == place.read_text())
        with suppress(Exception):
            cluster.remove_node(node, allow_graceful=False)

    def noted(pool: OnRay) -> tuple[int, bytes | Died]:
        number, answer = wait(pool)
        died.extend([number] if isinstance(answer, Died) else [])
        return number, answer

    monkeypatch.setattr(reading, "_WORTH_IT_BYTES", 1)
    monkeypatch.setattr(OnRay, "start", dangerous)
    monkeypatch.setattr(OnRay, "wait", noted)
    workspace = workspace_of(fleet, cluster, tmp_path / "lake")
    run(workspace, deliver=False)
    assert len(given) > 20
    assert len(died) >= 2  # whatever else was on that node died with it
    assert_same(workspace.lake, Lake(fleet.parent / "lake"), spread=True)
    assert not list(workspace.lake.root.rglob("*.tmp"))


def test_tasks_are_spread_over_the_nodes(cluster: Any) -> None:
    with on_ray(cluster.address, lambda: None) as pool:
        assert pool.width == 2
        nodes = {node for _, node in Pooled(pool).map(work.node_of, range(8))}
    assert len(nodes) == 2
    assert not ray.is_initialized()


def test_no_cluster_at_the_address_is_said() -> None:
    with pytest.raises(ClusterUnreachable, match=r"127\.0\.0\.1:1"), on_ray("127.0.0.1:1", lambda: None):
        pass
