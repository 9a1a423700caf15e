"""The drilled fleet as telemetry files and through the whole pipeline: what `goodput run` makes of it."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.simulate.demo import demo_settings
from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.day import Day
from goodput.simulate.emit.identity import identify
from goodput.simulate.emit.landing import otlp_files, write_files
from goodput.simulate.fleet.fleet import Served
from goodput.simulate.judge import judge
from monitor.fleet import DAY_S, START, Story, fleet


@contextmanager
def run_through(story: Story, served: Served) -> Iterator[Workspace]:
    """A lake made from the telemetry of what was served, in a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="goodput-drill-"))
    try:
        write(story, served, folder / "landing")
        (folder / "goodput.toml").write_text(demo_settings(), encoding="utf-8")
        workspace = Workspace(folder / "goodput.toml")
        run(workspace)
        yield workspace
    finally:
        shutil.rmtree(folder)


def write(story: Story, served: Served, landing: Path) -> None:
    """Write the telemetry of what was served."""
    judge_rng, ids_rng, files_rng = np.random.default_rng(6).spawn(3)
    clock, span_s = Clock.from_start(START), story.days * DAY_S
    day = Day(clock, span_s, fleet(story), served, identify(served, ids_rng), judge(served.exchanges, judge_rng))
    write_files(landing, day, otlp_files(day, files_rng), files_rng, lambda _exports: None)
