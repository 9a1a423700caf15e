"""Runs one capture: the mock, the receiver, every planned call one after another, and the files that come of it."""

import gzip
import importlib.metadata
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

from . import truth
from .mock_model import MockModel
from .plan import Call, planned
from .receiver import Receiver
from .scrub import cleaned, scrubbed
from .truth import Seen

DATA = Path(__file__).parents[2] / "data"
_BETWEEN_CALLS_S = 0.2
_TIMEOUTS = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT)
_REQUIREMENT = re.compile(r'^# +"([\w.-]+)(\[[\w,-]+\])?==', re.MULTILINE)


@dataclass(frozen=True)
class Where:
    """Where the mock model and the receiver of OTLP listen; `traces` are for what comes by another way."""

    model: str
    otlp: str
    traces: list[bytes]


Emit = Callable[[Call, Seen], None]
Flush = Callable[[], object]
Setup = Callable[[Where], tuple[Emit, Flush]]


def capture(
    script: str,
    setup: Setup,
    *,
    without: Iterable[str] = (),
    streams: bool = True,
    by_model: bool = False,
    is_gateway: bool = False,
    signals: Iterable[str] = ("traces", "logs"),
    files: Mapping[str, Path] = MappingProxyType({}),
    settings: str = "",
) -> None:
    """Drive an emitter through the plan and write its capture.

    `setup` gives what makes a call and what flushes the emitter. `without` are kinds of calls that it cannot make;
    `by_model` takes times and calls from the mock, for frameworks that call the model on their own; of `is_gateway` the
    host that it called is in the truth, which no client knows. `settings` is shown in the table: how the emitter is set
    up beyond its defaults. `files` are texts that it wrote by itself, by the name that they get in the capture.
    """
    name = name_of(script)
    calls = planned(name, frozenset(without), streams)
    mock, receiver = MockModel(calls), Receiver()
    emit, flush = setup(Where(mock.url, receiver.url, receiver.bodies["traces"]))
    seen = [_made(emit, call) for call in calls]
    flush()
    time.sleep(1)
    lines = (truth.of_model if by_model else truth.of_client)(seen, mock.served)
    if is_gateway:
        lines = [{**line, "replica": f"127.0.0.1:{mock.port}"} for line in lines]
    write(name, {signal: receiver.bodies[signal] for signal in signals}, lines, _versions(script), settings)
    for file, written in files.items():
        text = cleaned(written.read_text()).encode()
        (DATA / name / f"{file}.gz").write_bytes(gzip.compress(text, 9, mtime=0))
    sys.stdout.flush()
    os._exit(0)  # frameworks leave threads behind


def name_of(script: str) -> str:
    """The emitter's name: that of its script."""
    return Path(script).stem.removeprefix("emit_").replace("_", "-")


def _made(emit: Emit, call: Call) -> Seen:
    time.sleep(_BETWEEN_CALLS_S)
    seen = Seen(call, time.time_ns())
    try:
        emit(call, seen)
    except Exception as error:
        names = [type(found).__name__ for found in _chain(error)]
        is_timeout = getattr(error, "status_code", None) in _TIMEOUTS or any("Timeout" in name for name in names)
        seen.outcome = "timeout" if is_timeout else "error"
        seen.error = names[0]
        print(call.rid, call.kind, names[0], str(error)[:150].replace("\n", " "), file=sys.stderr)
    seen.end_ns = time.time_ns()
    return seen


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _versions(script: str) -> dict[str, str]:
    names = [name for name, _ in _REQUIREMENT.findall(Path(script).read_text())]
    return {name: importlib.metadata.version(name) for name in names if not name.startswith("opentelemetry-proto")}


def write(
    name: str, bodies: dict[str, list[bytes]], lines: list[dict[str, Any]], versions: dict[str, str], settings: str
) -> None:
    """Write a capture: OTLP requests behind their lengths (4 bytes, big-endian), the truth, and the versions."""
    folder = DATA / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("telemetry.*"):
        old.unlink()
    for signal, requests in bodies.items():
        if requests:
            framed = b"".join(_framed(scrubbed(signal, body)) for body in requests)
            (folder / f"telemetry.{signal}.pb.gz").write_bytes(gzip.compress(framed, 9, mtime=0))
    (folder / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    about = {"versions": versions, "settings": settings}
    (folder / "emitter.json").write_text(json.dumps(about, indent=1) + "\n")
    sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
    print(name, len(lines), "calls", sizes)


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body
