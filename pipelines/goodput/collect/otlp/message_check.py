"""Whether one message of a length-prefixed file is good by itself. What it holds is the decoder's work."""

import zstandard

from goodput.collect.otlp.framing import Framing
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.protobuf import is_valid
from goodput.collect.otlp.sniff import is_otlp_json
from goodput.collect.otlp.streams import decompress_message


def is_good(message: bytes, framing: Framing, limits: Limits) -> bool:
    """Whether a message, such as the framing holds, can be read and has a record."""
    whole: bytes | None = message
    if framing.zstd_messages:
        try:
            whole = decompress_message(message, limits.max_line_bytes)
        except zstandard.ZstdError:
            return False
    if whole is None:
        return False
    return is_otlp_json(whole) and whole.endswith(b"}") if framing.encoding == "json" else is_valid(whole)
