"""What tests give workers to do: functions of a module, which a worker imports by its name."""

import os
import signal
import sys
import time
from pathlib import Path

from goodput.errors import LakeUnreadable


def double(number: int) -> int:
    return 2 * number


def dies(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def says(number: int) -> int:
    print("to nobody", number)
    print("last words", file=sys.stderr, flush=True)
    os._exit(3)


def finds_damage(number: int) -> int:
    raise LakeUnreadable(Path("/lake/part"), "no Parquet")


def waits_for_the_end(place: Path) -> None:
    """Says on which node it is, and stays until that ends."""
    new = place.with_suffix(".new")
    new.write_text(node_of(0))
    new.rename(place)
    time.sleep(600)


def node_of(_number: int) -> str:
    import ray  # noqa: PLC0415  (is not there for every worker)

    return ray.get_runtime_context().get_node_id()
