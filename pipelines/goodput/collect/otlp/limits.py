"""Bounds on what one input may ask for, and how a row that breaks a rule is reported."""

from dataclasses import dataclass

EXCERPT_CHARACTERS = 300


@dataclass(frozen=True)
class Limits:
    """Longest line or message, most bytes one file may decompress to, and how far it may blow up."""

    max_line_bytes: int = 64 * 2**20
    max_decompressed_bytes: int = 8 * 2**30
    max_ratio: int = 500  # decompressed to compressed, once there is enough of it to tell


@dataclass(frozen=True)
class BadLine:
    """One line or message that cannot be read: its 1-based number, why, and its beginning, fit to print.

    With a position it is one record of a line whose others are read.
    """

    line: int
    reason: str
    excerpt: str
    position: int | None = None


def bad_line(line: int, reason: str, content: bytes, position: int | None = None) -> BadLine:
    """Report a line, or one record of it, with as much of its content as is fit to print."""
    head = content[: 4 * EXCERPT_CHARACTERS].decode("utf-8", errors="replace")
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in head)
    return BadLine(line, reason, printable[:EXCERPT_CHARACTERS], position)


def too_long(line: int, limits: Limits, content: bytes) -> BadLine:
    """Report a line or message that is longer than the limit."""
    return bad_line(line, f"longer than max_line_bytes ({limits.max_line_bytes})", content)
