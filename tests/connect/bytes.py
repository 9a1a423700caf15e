"""Telemetry written by hand for `goodput connect`, and its command line."""

import io
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from collect.telemetry import START_NS, Row, attributes, put, span
from goodput.cli.main import main

EMITTERS = Path(__file__).parent.parent.parent.parent / "shared/data/captures/emitters"
ACME = {"acme.usage.prompt_tokens": 7, "acme.usage.completion_tokens": 3, "llm.vendor": "secret-vendor"}


@dataclass(frozen=True)
class Ended:
    returncode: int
    stdout: str
    stderr: str


def runner(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs the command line from its entry point in a folder, without a terminal."""
    monkeypatch.chdir(folder)
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["goodput", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        code: Any = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        printed = capsys.readouterr()
        return Ended(int(code or 0), printed.out, printed.err)

    return run


def scoped(scope: str, version: str, *spans: Row, resource: Mapping[str, object] | None = None) -> str:
    """One export of the spans of one instrumentation scope."""
    held = {"scope": {"name": scope, "version": version}, "spans": list(spans)}
    whole = {"resource": {"attributes": attributes(resource or {})}, "scopeSpans": [held]}
    return json.dumps({"resourceSpans": [whole]})


def call(number: int, attributes: Mapping[str, object], name: str = "chat m", **given: object) -> Row:
    """A span of its own trace, a second after the one before."""
    begin = START_NS + number * 10**9
    return span(
        name,
        attributes,
        **{
            "traceId": f"{number + 1:032x}",
            "spanId": f"{number + 1:016x}",
            "parentSpanId": "",
            "startTimeUnixNano": str(begin),
            "endTimeUnixNano": str(begin + 5 * 10**8),
            **given,
        },
    )


def write(path: Path, *lines: str) -> Path:
    return put(path, *lines)
