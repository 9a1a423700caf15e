"""What a check says: what was looked at, how it is, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How something is, the worst last."""

    ok = "ok"
    attention = "attention"  # numbers are right; somebody should look
    broken = "BROKEN"  # numbers are missing, late or wrong until it is mended


@dataclass(frozen=True)
class Finding:
    """One line of what `goodput doctor` prints."""

    subject: str
    state: State
    found: str
    to_do: str = ""


def ok(subject: str, found: str) -> Finding:
    """All is well."""
    return Finding(subject, State.ok, _line(found))


def attention(subject: str, found: str, to_do: str) -> Finding:
    """Somebody should look."""
    return Finding(subject, State.attention, _line(found), to_do)


def broken(subject: str, found: str, to_do: str) -> Finding:
    """Numbers are missing, late or wrong until it is mended."""
    return Finding(subject, State.broken, _line(found), to_do)


def _line(found: str) -> str:
    """What was found in one line: messages of errors have several."""
    return " ".join(line.strip() for line in found.splitlines())
