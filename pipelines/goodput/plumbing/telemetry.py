"""What a run tells of itself while it works: spans, quantities and records. Who sends them is not known here.

A span lasts as long as its block. Nothing that is recorded holds text or identities of telemetry that was read.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

INTERVAL_S = 60.0  # of what runs on, each such interval is a trace
Value = str | int | float | bool
Severity = Literal["info", "warning", "error"]


class WorkSpan(Protocol):
    """One piece of work, from the beginning of its block to the end."""

    def note(self, **attributes: Value) -> None:
        """Say more of it."""
        ...

    def fail(self, why: str) -> None:
        """It went wrong: which error or check it was, without its text."""
        ...


class Telemetry(Protocol):
    """Receives what a run tells of itself."""

    @property
    def is_on(self) -> bool:
        """Whether anybody listens; what has to be looked up to be recorded is not looked up otherwise."""
        ...

    def span(self, name: str, **attributes: Value) -> AbstractContextManager[WorkSpan]:
        """A span within the one that is open; an exception that leaves its block fails it."""
        ...

    def part(self, name: str, *, since_ns: int | None = None, **attributes: Value) -> AbstractContextManager[WorkSpan]:
        """A span of which there may be very many: beyond the first of them within one span they are only counted.

        `since_ns`: it began then (Unix nanoseconds), before anybody recorded it.
        """
        ...

    def add(self, quantity: str, amount: float, **attributes: Value) -> None:
        """Add to a quantity of this run (`telemetry.quantities`)."""
        ...

    def put(self, quantity: str, amount: float, **attributes: Value) -> None:
        """Say how large a quantity is now."""
        ...

    def record(self, event: str, text: str, severity: Severity, **attributes: Value) -> None:
        """Log an event within the span that is open; beyond the first of a kind they are only counted."""
        ...


class _Unheard:
    def note(self, **attributes: Value) -> None:
        """Say nothing."""

    def fail(self, why: str) -> None:
        """Say nothing."""


class Silent:
    """Telemetry that nobody listens to."""

    is_on = False

    @contextmanager
    def span(self, name: str, **attributes: Value) -> Iterator[WorkSpan]:
        """No span."""
        yield _Unheard()

    @contextmanager
    def part(self, name: str, *, since_ns: int | None = None, **attributes: Value) -> Iterator[WorkSpan]:
        """No span."""
        yield _Unheard()

    def add(self, quantity: str, amount: float, **attributes: Value) -> None:
        """Say nothing."""

    def put(self, quantity: str, amount: float, **attributes: Value) -> None:
        """Say nothing."""

    def record(self, event: str, text: str, severity: Severity, **attributes: Value) -> None:
        """Say nothing."""
