"""How one value reads in a table for people: rounded, in UTC, with nothing in it that could steer a terminal.

Answers for machines keep every digit; those are written in `formats`.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

MISSING = "-"
_STEERING = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_STEERING |= {ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}
_REORDERING = (
    0x061C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)  # what reads otherwise than it is
_STEERING |= {code: f"\\u{code:04x}" for code in _REORDERING}


def shown(value: object) -> str:  # noqa: PLR0911  (one line per kind of value)
    """The text of a value: floats to 4 significant digits, times in ISO 8601, `-` for NULL."""
    match value:
        case None:
            return MISSING
        case bool():
            return "true" if value else "false"
        case float():
            return significant(value)
        case datetime():
            return iso(value)
        case bytes():
            return value.hex()
        case list() | tuple():
            return "[" + ", ".join(shown(item) for item in value) + "]"
        case Mapping():
            return "{" + ", ".join(f"{shown(key)}: {shown(item)}" for key, item in value.items()) + "}"
        case _:
            return plain(str(value))


def plain(text: str) -> str:
    """Text of telemetry with its control characters spelled out, so that it cannot steer a terminal."""
    return text.translate(_STEERING)


def plain_lines(text: str) -> str:
    """The same of lines that are to be read as they are: they keep their ends and tabs."""
    return text.translate({code: spelled for code, spelled in _STEERING.items() if chr(code) not in "\n\r\t"})


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters: of a longer one beginning and end, as the end tells paths apart."""
    kept = most - 1
    return text if len(text) <= most else f"{text[: kept // 2]}…{text[-(kept - kept // 2) :]}"


def iso(value: datetime) -> str:
    """A time in ISO 8601, with Z for UTC."""
    return value.isoformat().replace("+00:00", "Z")


def is_number(value: object) -> bool:
    """Whether the value is counted or measured, and so stands at the right of its column."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def significant(value: float, digits: int = 4) -> str:
    """A float to some significant digits; whole digits before the point are never rounded away."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else str(value)
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    if not -5 < magnitude < 15:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(0, digits - 1 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def apart(value: float, bound: float) -> tuple[str, str]:
    """Two different numbers with as many digits as it takes to see that they differ."""
    for digits in range(4, 18):
        pair = significant(value, digits), significant(bound, digits)
        if pair[0] != pair[1]:
            return pair
    return repr(value), repr(bound)
