"""Dagster's runs as jobs of a Ray cluster, by the `dagster.yaml` of docs/scale.md: a real head, a real job."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import requests

from goodput.plumbing.workspace import Workspace
from goodput.project_files import project_folder
from goodput.run import run
from ports import free_port
from runners.fleet import land, rows

pytest.importorskip("ray", reason="Ray is not installed (pip install 'goodput[cluster]')")
pytest.importorskip("dagster_ray", reason="dagster-ray is not installed (pip install 'goodput[cluster]')")

STARTED_WITHIN_S, ENDED_WITHIN_S = 120.0, 480.0
PROGRAMS = Path(sys.executable).parent


def wait_for_jobs(address: str) -> None:
    """Return when the head takes jobs."""
    until = time.monotonic() + STARTED_WITHIN_S
    while time.monotonic() < until:
        with suppress(requests.RequestException):
            if requests.get(f"{address}/api/jobs/", timeout=5).ok:
                return
        time.sleep(0.5)
    raise TimeoutError(f"{address} takes no jobs")


@pytest.fixture
def server_of_jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a head of one core."""
    port = free_port()
    command = [PROGRAMS / "ray", "start", "--head", "--block", "--port=0", "--num-cpus=1", "--include-dashboard=true"]
    command += [f"--dashboard-port={port}", "--dashboard-host=127.0.0.1", "--node-ip-address=127.0.0.1"]
    command += ["--object-store-memory=83886080", "--disable-usage-stats", "--dashboard-agent-listen-port=0"]
    # Ray kills its jobs where a machine's memory is nearly used up, also when it is other tests that use it.
    # Its jobs find programs where their node does: the suite may be run without its environment activated.
    at_node = {
        **os.environ,
        "RAY_memory_monitor_refresh_ms": "0",
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
    }
    with (tmp_path_factory.mktemp("head") / "log").open("w") as log:
        head = subprocess.Popen([*map(str, command)], env=at_node, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for_jobs(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        head.terminate()
        head.wait(60)


def dagster_yaml(address: str) -> str:
    """The block that docs/scale.md has, with the head's address, and without the queue, which waits for a daemon."""
    text = (project_folder("docs") / "scale.md").read_text()
    (block,) = re.findall(r"```yaml\n(run_launcher:.+?)```", text, re.DOTALL)
    at_once = "run_coordinator: {module: dagster._core.run_coordinator, class: DefaultRunCoordinator}\n"
    return f"telemetry: {{enabled: false}}\n{at_once}{block.replace('http://HEAD:8265', address)}"


def server_at(address: str) -> Any:
    from ray.job_submission import JobSubmissionClient  # noqa: PLC0415  (only where there is a server of jobs)

    return JobSubmissionClient(address)


def jobs_of(address: str) -> list[Any]:
    return server_at(address).list_jobs()


def last_line(address: str) -> str:
    """What the one job wrote last."""
    (job,) = jobs_of(address)
    return f"{job.status}: {server_at(address).get_job_logs(job.submission_id).splitlines()[-1]}"


def launch(job: str, settings: Path, home: Path, address: str) -> dg.DagsterRun:
    """The run of a job that `dagster job launch` has launched, when it has ended."""
    home.mkdir()
    (home / "dagster.yaml").write_text(dagster_yaml(address))
    at_home = {**os.environ, "DAGSTER_HOME": str(home), "GOODPUT_CONFIG": str(settings)}
    command = [str(PROGRAMS / "dagster"), "job", "launch", "-m", "goodput.definitions", "-j", job]
    launched = subprocess.run(command, check=False, env=at_home, capture_output=True, text=True)
    assert launched.returncode == 0, launched.stderr
    until = time.monotonic() + ENDED_WITHIN_S
    with dg.DagsterInstance.from_config(str(home)) as instance:
        while time.monotonic() < until:
            ended = {job.status for job in jobs_of(address)} & {"FAILED", "STOPPED"}
            (found,) = instance.get_runs()
            if found.is_finished:
                return found
            if ended:
                break
            time.sleep(1)
        events = "\n".join(entry.user_message for entry in instance.all_logs(found.run_id))
    raise RuntimeError(f"{found.status}\n{last_line(address)}\n{events}")


def test_a_run_that_dagster_launches_is_a_job_of_the_cluster(server_of_jobs: str, tmp_path: Path) -> None:
    """It reads what `goodput run` reads; who executed it is asked of Ray, not of Dagster."""
    settings = land(tmp_path, hours=0.2, requests=60)
    ended = launch("ingest", settings, tmp_path / "home", server_of_jobs)
    assert ended.status == dg.DagsterRunStatus.SUCCESS
    assert [job.submission_id for job in jobs_of(server_of_jobs)] == [f"dagster-run-{ended.run_id}"]

    (tmp_path / "alone").mkdir()
    alone = tmp_path / "alone" / "goodput.toml"
    shutil.copytree(tmp_path / "landing", alone.parent / "landing")
    alone.write_text(settings.read_text())
    run(Workspace(alone), deliver=False)
    by_ray, by_run = Workspace(settings).lake, Workspace(alone).lake
    by_ray.open()
    for table in ("serving_records", "sample_records", "label_records", "event_records"):
        theirs, ours = rows(by_run, table), rows(by_ray, table)
        assert len(ours) > 0
        assert sorted(map(str, ours.rows())) == sorted(map(str, theirs.rows())), table
