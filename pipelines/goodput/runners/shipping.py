"""What goes to a worker and comes back from it, as bytes: a function of a module with its argument, and what it gave.

Nodes go by name and the lake by its place: a worker has the plan, and reads no catalog. Receivers and their secrets
stay behind: it sends nothing. What was parsed and planned before it finds in the lake's folder, if that is there; what
it plans itself comes back.
"""

import pickle
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

from goodput.errors import GoodputError, WorkersUnusable
from goodput.plumbing import graph, shapes
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.lake import Lake
from goodput.plumbing.node import Node
from goodput.project_files import project_folder
from goodput.settings.model import Settings
from goodput.settings.telemetry import Export, OwnTelemetry

_WITHOUT = {"channels": {}, "telemetry": OwnTelemetry(), "export": Export()}
_LIBRARIES = ("duckdb", "polars", "pyarrow", "numpy")  # on which numbers, or the bytes of parts, may depend


def packed(work: Callable[[Any], Any], item: object) -> bytes:
    """What a worker is to do."""
    return pickle.dumps((code(), _dumped((work, item))), pickle.HIGHEST_PROTOCOL)


def done(payload: bytes) -> bytes:
    """Do it, in the worker: what came of it, or the GoodputError that was raised."""
    try:
        theirs, given = pickle.loads(payload)  # noqa: S301  (of the run that began this worker)
        if theirs != code():
            raise WorkersUnusable("they have another version of Goodput, or of a library on which numbers depend")
        work, item = _loaded(given)
        answer = work(item)
    except GoodputError as error:
        answer = error
    return _dumped((answer, shapes.noted()))


def unpacked(answer: bytes) -> object:
    """What came of it. Raises the GoodputError that was raised."""
    found, noted = _loaded(answer)  # of our own worker
    shapes.learn(noted)
    if isinstance(found, GoodputError):
        raise found
    return found


@cache
def code() -> str:
    """A digest of the code, SQL and contracts of this process, and of the libraries that make its numbers."""
    folders = (Path(__file__).parent.parent, project_folder("sql"), project_folder("schemas"))
    kinds = {".py", ".sql", ".yaml"}
    files = sorted(path for folder in folders for path in folder.rglob("*.*") if path.suffix in kinds)
    made_with = [*map(version, _LIBRARIES), *platform.python_version_tuple()[:2]]
    return fingerprint(
        [path.read_text(encoding="utf-8") for path in files], made_with, platform.python_version_tuple()[:2]
    )


def _dumped(given: object) -> bytes:
    into = BytesIO()
    _Pickler(into, pickle.HIGHEST_PROTOCOL).dump(given)
    return into.getvalue()


def _loaded(given: bytes) -> Any:
    return _Unpickler(BytesIO(given)).load()


class _Pickler(pickle.Pickler):
    def persistent_id(self, found: object) -> tuple[str, str] | None:
        if isinstance(found, Node):
            return "node", found.name
        return ("lake", str(found.root)) if isinstance(found, Lake) else None

    def reducer_override(self, found: object) -> Any:
        if isinstance(found, Settings):
            return found.model_copy(update=_WITHOUT).__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, found: tuple[str, str]) -> Node | Lake:
        kind, name = found
        if kind == "node":
            return _nodes()[name]
        _recall(name)
        return Lake(Path(name))


@cache
def _recall(folder: str) -> None:
    graph.recall(Path(folder))
    shapes.recall(Path(folder))


@cache
def _nodes() -> dict[str, Node]:
    from goodput.nodes import NODES  # noqa: PLC0415  (all stages)

    return {node.name: node for node in NODES}
