"""What a fuzzed file is, and files that are odd as files: names, compression, frames that break off, no content."""

import gzip
from dataclasses import dataclass
from random import Random

import zstandard

from fuzz.hostile import text

NAMES = (
    *(b"not\xffutf8", b"new\nline", b"quote'\"", b"glob[*]?", b"{a,b}", b"$HOME", b"-rf", b"per%20cent", b"semi;colon"),
    *(
        b"\xe2\x80\xaegpj",
        b"e\xcc\x81",
        b" space ",
        b"tab\t",
        b"bell\x07",
        b"back\\slash",
        b"n" * 240,
        b"a..b",
        b"#",
        b"'); --",
    ),
)


@dataclass(frozen=True)
class Fuzzed:
    """A file of the landing zone: its path below it, what kind of inputs it has and how many.

    `rows` is how many must be in its account, where that is certain however they are read.
    """

    path: bytes
    content: bytes
    kind: str
    inputs: int
    rows: int | None = None


def compressed(chance: Random, content: bytes) -> tuple[bytes, bytes]:
    """The content as it is or compressed, with the suffix of its name."""
    match chance.randrange(4):
        case 0:
            return gzip.compress(content, 1), b".gz"
        case 1:
            return zstandard.compress(content, 1), b".zst"
    return content, b""


def broken(chance: Random, valid: list[bytes], number: int) -> Fuzzed:
    """A file of valid content that is cut short, has bytes changed, or is no telemetry at all, under an odd name."""
    content, suffix = compressed(chance, chance.choice(valid))
    what = chance.randrange(6)
    if what == 0:
        content = content[: chance.randrange(len(content) + 1)]
    elif what == 1:
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 3, 50))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        content = bytes(changed)
    elif what == 2:
        content = chance.choice(
            (b"", b"\xef\xbb\xbf", b"\n\n\n", b"\x00" * 4096, b"\x1f\x8b", b"(\xb5/\xfd", b"PAR1", b"{", b"[]")
        )
    elif what == 3:
        content = text(chance).encode("utf-8", "surrogatepass") + chance.randbytes(chance.choice((1, 100, 5000)))
    elif what == 4:
        at = chance.randrange(len(content) + 1)
        content = content[:at] + content[at : at + 3000] * 3 + content[at:]
    else:
        content = gzip.compress(chance.choice((b"\x00", b"\n", b"{", b'{"resourceSpans":[]}\n')) * 2**20, 1)
        suffix = b".gz"
    name = chance.choice(NAMES)
    folder = chance.choice((b"", b"", name[:100] + b"/"))
    ending = chance.choice((b".jsonl", b".pb", b".csv", b".json", b".parquet", b".prom", b"", b".tmp.x"))
    return Fuzzed(b"fuzz/odd/%b%b-%d%b%b" % (folder, name, number, ending, suffix), content, "files", 1)
