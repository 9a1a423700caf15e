"""One trace around a run, a step of it, or an interval of a service; then it is sent, else why not is logged."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from goodput.errors import GoodputError, SecretUnusable
from goodput.plumbing import interrupt
from goodput.plumbing.secrets import read_secret
from goodput.plumbing.telemetry import Silent, Telemetry, WorkSpan
from goodput.plumbing.workspace import Workspace
from goodput.settings.model import Settings
from goodput.settings.secret import Secret
from goodput.telemetry.wanted import PROTOCOL, Signal, unspoken, wanted

if TYPE_CHECKING:
    from goodput.telemetry.recorder import Recorder

_INTERRUPTED_S = 1.0  # that a run waits for its telemetry after Ctrl-C
_REST_S = 300.0  # after a failure no other trace of this process waits for the endpoint


class _Pause:
    """Until when, on the monotonic clock, nothing is sent."""

    resting_until = 0.0


@contextmanager
def traced(workspace: Workspace, name: str, trace_id: int | None = None) -> Iterator[WorkSpan]:
    """A trace of what the block does with a workspace, whose telemetry it is meanwhile."""
    with tracing(workspace.settings, name, trace_id) as (telemetry, span):
        workspace.telemetry = telemetry
        try:
            yield span
        finally:
            workspace.telemetry = Silent()


@contextmanager
def tracing(settings: Settings, name: str, trace_id: int | None = None) -> Iterator[tuple[Telemetry, WorkSpan]]:
    """A trace of what the block does, with its span, as the settings want it; nothing where none is wanted.

    Whatever becomes of the telemetry, the block runs and raises what it raises. Blocks of one `trace_id` are one trace.
    """
    recorder = _recorder(settings, trace_id)
    budget_s = settings.telemetry.run_budget_s
    telemetry = recorder or Silent()
    try:
        with telemetry.span(name) as span:
            try:
                yield telemetry, span
            except BaseException as error:
                if interrupt.is_behind(error):
                    budget_s = min(budget_s, _INTERRUPTED_S)
                span.note(exit=_exit_code(error))
                raise
    finally:
        if recorder is not None:
            _close(recorder, budget_s)


def _recorder(settings: Settings, trace_id: int | None) -> "Recorder | None":
    signals = wanted(settings.telemetry, os.environ)
    if not signals or time.monotonic() < _Pause.resting_until:
        return None
    try:
        return _opened(settings, signals, trace_id)
    except SecretUnusable as error:
        _give_up(" ".join(str(error).splitlines()))
    except Exception as error:  # a variable that the SDK cannot use must not end a run
        interrupt.check(error)
        _give_up(type(error).__name__)
    return None


def _opened(settings: Settings, signals: frozenset[Signal], trace_id: int | None) -> "Recorder | None":
    own = settings.telemetry
    protocol = unspoken(own, os.environ, signals)
    if protocol:
        _give_up(f"OTEL_EXPORTER_OTLP_PROTOCOL asks for {protocol}, and only {PROTOCOL} is spoken")
        return None
    from importlib.metadata import version  # noqa: PLC0415  (slow, like the SDK; only where they are wanted)

    from goodput.telemetry.recorder import Recorder  # noqa: PLC0415
    from goodput.telemetry.sending import Sending  # noqa: PLC0415

    identity = {"service.name": "goodput", "service.version": version("goodput")}
    endpoint, token = _secret(settings, "endpoint", own.endpoint), _secret(settings, "bearer_token", own.bearer_token)
    return Recorder(signals, Sending(endpoint, token), identity, trace_id)


def _secret(settings: Settings, key: str, secret: Secret | None) -> str | None:
    return None if secret is None else read_secret(f"telemetry.{key}", secret, settings.base)


def _close(recorder: "Recorder", budget_s: float) -> None:
    problem = recorder.close(budget_s)
    if problem:
        _give_up(problem)


def _give_up(problem: str) -> None:
    _Pause.resting_until = time.monotonic() + _REST_S
    logging.getLogger(__name__).warning("Own telemetry was not sent: %s", problem)


def _exit_code(error: BaseException) -> int:
    """The code with which a command ends that raises this."""
    if interrupt.is_behind(error):
        return interrupt.EXIT_CODE
    return error.exit_code if isinstance(error, GoodputError) else 1
