"""A time as a user types it on the command line."""

from datetime import UTC, datetime

from goodput.errors import UsageError


def instant(option: str, text: str) -> datetime:
    """The time that `text` names, in UTC where it names no zone; raises UsageError."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: no time. Right would be 2026-11-20T09:00 (UTC).") from error
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
