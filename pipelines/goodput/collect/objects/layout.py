"""Tells by the first bytes of a file, never by its name, how JSON objects may lie in it.

Whether they speak any known dialect is for the reader to find out.
"""

import csv
import re
from typing import Literal

from goodput.collect.objects.document import is_beginning
from goodput.collect.otlp.sniff import Head

Layout = Literal["parquet", "csv", "document", "lines"]
_BOM = b"\xef\xbb\xbf"
_PARQUET = b"PAR1"
_COLUMN = re.compile(r"[A-Za-z_][\w .\-/()]*")


def layout_of(head: Head) -> Layout:
    """How the file holds objects, should it hold any."""
    if head.content.startswith(_PARQUET) and head.compression == "none":
        return "parquet"
    lines = head.content.removeprefix(_BOM).lstrip().splitlines()
    if not lines:
        return "lines"
    if lines[0].startswith((b"{", b"[")):
        return "document" if len(lines) > 1 and is_beginning(lines[0]) else "lines"
    return "csv" if _is_header(lines[0]) else "lines"


def _is_header(line: bytes) -> bool:
    try:
        names = next(csv.reader([line.decode(errors="replace")]), [])
    except csv.Error:  # a field longer than any name: no text
        return False
    return len(names) > 1 and all(_COLUMN.fullmatch(name.strip()) for name in names)
