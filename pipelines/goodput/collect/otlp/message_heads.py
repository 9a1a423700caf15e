"""Where messages of a length-prefixed file may begin, by their first bytes. Whether they are good is the decoder's."""

import struct

from goodput.collect.otlp.framing import Framing
from goodput.collect.otlp.streams import ZSTD_MAGIC

LENGTH = struct.Struct(">I")
HEAD_BYTES = 16  # of a message: more than it takes to tell

_FIRST_FIELD = 0x0A  # field 1 by its length, which is all that a message of any signal holds
FIRST_BYTES = {"protobuf": _FIRST_FIELD, "json": ord("{"), "zstd": ZSTD_MAGIC[0]}
_BLANKS = b" \t\r\n"


def may_begin(head: bytes, length: int, framing: Framing) -> bool:
    """Whether a message of so many bytes may begin so; `head` may be cut anywhere."""
    if not length or not head:
        return True
    if framing.zstd_messages:
        return head.startswith(ZSTD_MAGIC) or ZSTD_MAGIC.startswith(head)
    if framing.encoding == "json":
        return head.lstrip(_BLANKS)[:1] in (b"", b"{")
    return head[0] == _FIRST_FIELD and _field_fits(head, length)


def _field_fits(head: bytes, length: int) -> bool:
    """Whether the first field ends within the message."""
    size = 0
    for place, byte in enumerate(head[1:11]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return place + 2 + size <= length
    return len(head) < 11  # a length of more than ten bytes is none
