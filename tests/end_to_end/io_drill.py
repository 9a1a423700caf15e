"""`make drill-io`: has one write, sync, rename or the like of a run fail, and looks what the next run publishes.

The call is any by which a run changes something below its lake; it fails as on a disk that is broken (EIO) or full
(ENOSPC), once or from then on. Needs Linux and a C compiler.
"""

import errno
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from end_to_end.harmed_runs import CRASH, Usual, drill, start_command

COMPILER = shutil.which("cc")
_SOURCE = Path(__file__).with_name("failing_calls.c")
_CALLS_A_FILE = 10  # about as many to make, write, sync and rename it, and to sync its folders
_PUBLISHED = "; published "  # of the words of a run that came to its end
_REFUSED = ": cannot write: "  # of those of the error that names the file, and in a second line what to do


class FailingCalls:
    """Has one call of each run fail, any of about as many as a run makes that has all to do."""

    def __init__(self, folder: Path, usual: Usual, rng: random.Random) -> None:
        self._preloaded, self._report, self._rng = folder / "failing_calls.so", folder / "failed.txt", rng
        subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", self._preloaded, _SOURCE, "-ldl"], check=True)
        self._calls = _CALLS_A_FILE * sum(path.is_file() for path in usual.workspace.lake.root.rglob("*"))

    def run(self, config: Path) -> str | None:
        """One run; the call that failed, or how the run crashed at it; None where it made fewer calls."""
        call = round(self._calls ** self._rng.random())  # the first ten as often as the last thousand
        how = {"DRILL_CALL": str(call), "DRILL_ERRNO": str(self._rng.choice([errno.EIO, errno.ENOSPC]))}
        how |= self._rng.choice([{}, {"DRILL_STAYS": "1"}])
        code, said = self._run(config, how)
        failed = self._failed()
        name = failed.partition(" ")[0]
        if name == "calls":
            return None
        return name if _is_plain(code, said) else f"{CRASH} at {failed} {how}: {code} {said}"

    def mend(self) -> None:
        """Nothing stays of it but what the run left."""

    def _run(self, config: Path, how: Mapping[str, str]) -> tuple[int, str]:
        self._report.unlink(missing_ok=True)
        where = {"DRILL_FOLDER": str(config.parent / "lake"), "DRILL_REPORT": str(self._report)}
        process = start_command(config, {**where, **how, "LD_PRELOAD": str(self._preloaded)})
        _, said = process.communicate()
        return process.returncode, said

    def _failed(self) -> str:
        """The first call that failed, with its file; `calls N` where none did."""
        return self._report.read_text().splitlines()[0]


def _is_plain(code: int, said: str) -> bool:
    """Whether a run ended with one line of what is wrong and one of what to do, or could do without the call."""
    if _REFUSED not in said:
        return _PUBLISHED in " ".join(said.splitlines())
    return code == 1 and _REFUSED in said.splitlines()[-2]


@contextmanager
def failing(folder: Path, usual: Usual, rng: random.Random) -> Iterator[FailingCalls]:
    """What has calls of the runs of a trial fail."""
    yield FailingCalls(folder, usual, rng)


if __name__ == "__main__":
    drill("io_drill", __doc__, failing, 1500)
