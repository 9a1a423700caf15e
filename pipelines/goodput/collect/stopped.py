"""How reading of a file ends before its content does. What was read until then is the readers'."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stopped:
    """Why reading stopped short, and at most how many bytes that are there were not read.

    Bytes are counted as they lie in the file, those that had been decompressed already as they were then. There are
    none where a file ends too early: its writer may still be at work, and what it adds is read by the next run.
    """

    reason: str
    unread_bytes: int
