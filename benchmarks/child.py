"""Runs what is measured in a process of its own, so that neither side inherits the other's memory or imports."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Ended:
    """What a process took, and the last line that it printed as JSON where it is that."""

    wall_s: float
    cpu_s: float  # user and system, its children's as well
    peak_bytes: int
    said: Any = None


def run(arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Ended:
    """Run a program in `folder` to its end, `environment` over this process's own.

    Raises CalledProcessError where it fails.
    """
    begun = time.perf_counter()
    with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as errors:
        process = subprocess.Popen(
            arguments, cwd=folder, stdout=out, stderr=errors, env=_environment() | dict(environment or {})
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [stream.seek(0) or stream.read().decode() for stream in (out, errors)]
    if process.returncode:
        print(texts[1], file=sys.stderr)
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return Ended(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, _json(texts[0]))


def run_function(module: str, function: str, folder: Path) -> Ended:
    """Call `module.function(folder)` in a fresh interpreter; what it returns is said."""
    call = f"import json, {module}; from pathlib import Path; print(json.dumps({module}.{function}(Path.cwd())))"
    return run([sys.executable, "-c", call], folder)


def in_turn(sides: Mapping[str, Callable[[], float]], rounds: int, budget_s: float) -> dict[str, float]:
    """Median seconds of each side, measured in turn for so many rounds as begin within the budget, at least one."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    begun = time.monotonic()
    for _ in range(rounds):
        for name, side in sides.items():
            taken[name].append(side())
        if time.monotonic() - begun > budget_s:
            break
    return {name: median(values) for name, values in taken.items()}


def _environment() -> dict[str, str]:
    checkout = str(Path(__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([checkout, *filter(None, [os.environ.get("PYTHONPATH")])])}


def _json(text: str) -> Any:
    try:
        return json.loads(text.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return None
