"""Has charts of alarms drawn as PNGs, in a process of its own that has so long and no longer.

What draws (`report.draw_pictures`) is large and somebody else's: it may hang, crash or take half a gigabyte, and
whoever asks goes on. Which alarms are drawn, and where pictures lie, is `plots`' work.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import msgspec

from goodput.errors import NotDrawn
from goodput.notify.chart import AlarmChart

ONE_S = 30.0  # that whoever asks for one picture waits at most for it
_AT_ONCE = Lock()  # each process that draws takes hundreds of megabytes
_STDERR_LINES = 3


def draw(charts: Sequence[AlarmChart], within_s: float) -> tuple[list[bytes | None], str]:
    """The PNGs of charts in their order, None where one is not drawn, and why that is."""
    with _AT_ONCE, TemporaryDirectory(prefix="goodput-plots-") as folder:
        problem = _drawn_into(folder, charts, within_s)
        pictures: list[bytes | None] = [None] * len(charts)
        for number in range(len(charts)):
            with suppress(FileNotFoundError):
                pictures[number] = Path(folder, f"{number}.png").read_bytes()
    return pictures, problem


def draw_one(chart: AlarmChart) -> bytes:
    """The PNG of one chart. Raises NotDrawn."""
    (picture,), problem = draw([chart], ONE_S)
    if picture is None:
        raise NotDrawn(problem)
    return picture


def _drawn_into(folder: str, charts: Sequence[AlarmChart], within_s: float) -> str:
    """Have charts drawn into files `<number>.png` of a folder; what went wrong, else nothing."""
    asked = {"folder": folder, "within_s": ceil(within_s), "charts": [asdict(chart) for chart in charts]}
    # -P: what lies in the folder that this runs in is not what draws
    command = [sys.executable, "-P", "-m", "goodput.report.draw_pictures"]
    try:
        done = subprocess.run(  # noqa: S603  (nothing of it is from outside)
            command, input=msgspec.json.encode(asked), capture_output=True, timeout=within_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"pictures are not drawn within {within_s:g} s"
    except OSError as error:
        return f"what draws pictures does not start: {error}"
    if done.returncode == 0:
        return ""
    problem = "\n".join(done.stderr.decode(errors="replace").strip().splitlines()[-_STDERR_LINES:])
    return problem or f"what draws pictures ended by itself ({done.returncode})"
