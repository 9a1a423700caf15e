"""Values that nobody expects, and JSON trees with some of them in: what every kind of fuzzed input is made with."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

SECOND_NS = 10**9
DEPTHS = (3, 70, 200)
DEEPEST = 3000
INTEGERS = (
    0,
    -1,
    1,
    999,
    10**6,
    10**9 - 1,
    10**9,
    2**31 - 1,
    2**31,
    2**53 + 1,
    10**15,
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64 - 1,
    2**64,
)
HUGE = 10**40
FLOATS = (
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-300,
    1e-9,
    0.1,
    1e6,
    1e9,
    1e12,
    -1e12,
    1e15,
    1e18,
    1e300,
    1.7976931348623157e308,
)
NOT_FINITE = (float("nan"), float("inf"), float("-inf"))
TIMES_NS = (
    *(0, 1, -1, -(2**63), 2**63 - 1, 2**64 - 1, 10**30),
    *(SECOND_NS * 86400, 946_684_800 * SECOND_NS),  # 1970-01-02, 2000-01-01
    *(1_577_836_799_999_999_999, 1_577_836_800_000_000_000, 1_577_836_805_000_000_000),  # beside 2020-01-01
    *(4_102_444_799_999_999_999, 4_102_444_800_000_000_000, 4_102_444_800_000_000_001),  # beside 2100-01-01
    *(9_214_646_400 * SECOND_NS, 253_402_300_799 * SECOND_NS),  # 2262-01-01, the end of 9999
)
BELIEVED_NS = tuple(at for at in TIMES_NS if 1_577_836_800 * SECOND_NS <= at <= 4_102_444_800 * SECOND_NS)
TEXTS = (
    *("", " ", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\u202egnp.exe", "e\u0301" * 40, "\U0001f9e8", "\ufeff"),
    *("'", '"', "'; DROP TABLE requests; --", '"" ""', "`", "\\", "\\u0000", "%s%n", "{0}", "${HOME}", "$.a[0]"),
    *("*", "?", "[!a]", "**/*", "../../etc/passwd", "/dev/zero", "a/b", "NULL", "null", "NaN", "inf", "true", "-"),
    *("\n", "\r\n", "\t", "line\nbreak", "a,b;c", "=1+1", "\x1b[31mred", "\x7f", "0x10", "1e400", "-0", "01", "1_000"),
    *("0" * 32, "f" * 32, "0" * 16, "F" * 16, "unassigned", "(other)", "(dropped)", "id:", "all", "overall", "none"),
    *("2026-11-15T00:00:00", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60Z", "2026-02-30", "1e9", "now"),
    *("x" * 5000, "{" * 300, "[" * 300, '{"a":' * 100, "é" * 3000),
)
LARGE = "y" * 2**20


def text(chance: Random) -> str:
    """An odd string; one in thousands is a megabyte."""
    if chance.random() < 0.0005:
        return LARGE
    if chance.random() < 0.2:
        return "".join(chr(chance.choice((*range(1, 40), 0x2028, 0x202E, 0xFFFF))) for _ in range(chance.randint(1, 9)))
    return chance.choice(TEXTS)


def number(chance: Random) -> int | float:
    """A number at some edge, finite or not."""
    return chance.choice(chance.choice((INTEGERS, INTEGERS, FLOATS, FLOATS, NOT_FINITE, (HUGE,))))


def anything(chance: Random) -> Any:
    """A JSON value of any type."""
    makes: Sequence[Callable[[], Any]] = (
        lambda: None,
        lambda: chance.random() < 0.5,
        lambda: number(chance),
        lambda: str(number(chance)),
        lambda: text(chance),
        list,
        dict,
        lambda: [anything(chance) for _ in range(chance.randint(1, 4))],
        lambda: {text(chance): anything(chance) for _ in range(chance.randint(1, 3))},
        lambda: nested(chance.choice(DEPTHS)),
    )
    return chance.choices(makes, (3, 2, 4, 4, 8, 2, 2, 1, 1, 0.05))[0]()


def nested(depth: int) -> Any:
    """A value that many lists are around."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def like(chance: Random, key: str, value: Any) -> Any:
    """An extreme value of the same type: what is most likely to be believed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return number(chance)
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        if "time" in key.lower() or len(value) > 15:
            return str(chance.choice(BELIEVED_NS if chance.random() < 0.3 else TIMES_NS))
        return str(chance.choice(INTEGERS))
    return text(chance) if isinstance(value, str) else anything(chance)


def mutate(chance: Random, tree: Any, times: int = 1) -> None:
    """Change a tree somewhere, in place: values, types, keys missing, keys too many."""
    for _ in range(times):
        holder, key = _place(chance, tree)
        if holder is None:
            return
        value = holder[key]
        name = key if isinstance(key, str) else ""
        what = chance.random()
        if what < 0.6:
            holder[key] = like(chance, name, value)
        elif what < 0.85:
            holder[key] = anything(chance)
        elif what < 0.95:
            del holder[key]
        elif isinstance(holder, dict):
            holder[text(chance)] = value
        else:
            holder.append(value)


def _place(chance: Random, tree: Any) -> tuple[Any, Any]:
    """Somewhere in a tree: what holds the value, and its key there."""
    holder, key, at = None, None, tree
    while isinstance(at, dict | list) and at:
        holder = at
        key = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
        at = holder[key]
        if chance.random() < 0.1:
            break
    return holder, key


def as_json(chance: Random, tree: Any) -> str:
    """The tree as text, at times with a key twice, cut short or otherwise no JSON; always one line."""
    written = json.dumps(tree, ensure_ascii=chance.random() < 0.9 or not _is_encodable(tree))
    what = chance.random()
    if what < 0.005:
        return written[: chance.randrange(len(written) + 1)] or "{"
    if what < 0.01:
        at = written.find('":')
        begin = written.rfind('"', 0, at)
        return written[:begin] + written[begin : at + 2] + '"twice", ' + written[begin:] if begin >= 0 else written
    if what < 0.015:
        at = chance.randrange(len(written) + 1)
        return written[:at] + chance.choice(("\x00", '"', "}", "\\u12", "\\", "\t", "1", "\ufffe")) + written[at:]
    if what < 0.0155:  # deeper than Python itself can write
        return written[:-1] + ', "deep": ' + "[" * DEEPEST + "]" * DEEPEST + "}"
    return written


def _is_encodable(tree: Any) -> bool:
    try:
        json.dumps(tree, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
