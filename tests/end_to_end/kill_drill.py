"""`make drill-kill`: kills runs at random instants, and looks whether the next publishes what a lake unharmed does."""

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from end_to_end.harmed_runs import Usual, drill, start_command


class Kills:
    """Kills each run with SIGKILL, at any instant of what a run usually takes."""

    def __init__(self, usual_s: float, rng: random.Random) -> None:
        self._usual_s = usual_s
        self._rng = rng

    def run(self, config: Path) -> str | None:
        """One run; what it was at when it was killed, None where it had ended."""
        process = start_command(config)
        try:
            process.communicate(timeout=self._rng.uniform(0, self._usual_s))
        except subprocess.TimeoutExpired:
            at = _at(config.parent / "lake")
            process.kill()
            process.communicate()
            return at
        return None

    def mend(self) -> None:
        """Nothing stays of a kill but what the run left."""


def _at(lake: Path) -> str:
    """What a run is at, by what lies in its lake."""
    if (lake / "ingesting.json").exists():
        return "commit of sources"
    if any(lake.glob(".goodput.duckdb*")):
        return "publication"
    return "computation" if any(lake.glob("conformed/*/*")) else "start"


@contextmanager
def killing(_folder: Path, usual: Usual, rng: random.Random) -> Iterator[Kills]:
    """What kills the runs of a trial."""
    yield Kills(usual.took_s, rng)


if __name__ == "__main__":
    drill("kill_drill", __doc__, killing, 500)
