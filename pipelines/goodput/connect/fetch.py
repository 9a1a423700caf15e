"""What an address serves, read once within limits of time and size, as a file like those that land.

Which addresses may be reached is judged as for channels (`notify.address`); redirects are not followed.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from goodput.errors import TargetUnreadable
from goodput.notify.address import Resolver, look_up, target
from goodput.notify.deadline import Deadline
from goodput.notify.http import get

MAX_BYTES = 64 * 2**20
CONNECT_S, TOTAL_S = 5.0, 30.0
_OWN = "--allow-private for an address of your own"


def is_url(text: str) -> bool:
    """Whether a text is an address rather than a path."""
    return text.startswith(("http://", "https://"))


@contextmanager
def fetched(url: str, *, allow_private: bool, resolver: Resolver = look_up) -> Iterator[Path]:
    """The answer as a file that is gone afterwards: `<host>/<unix time>.prom` of Prometheus text.

    Raises TargetRefused for an address that may not be reached, TargetUnreadable for one that does not answer.
    """
    try:
        deadline = Deadline(TOTAL_S)
        where = deadline.within(lambda: target(url, allow_private=allow_private, resolver=resolver, own=_OWN))
        body = get(where, deadline, MAX_BYTES, connect_s=CONNECT_S)
    except (OSError, HTTPException, ValueError) as error:
        problem = type(error).__name__ if isinstance(error, HTTPException) else str(error) or type(error).__name__
        raise TargetUnreadable(_without_secrets(url), problem) from error
    with TemporaryDirectory(prefix="goodput-") as folder:
        host = re.sub(r"[^A-Za-z0-9.-]", "_", f"{where.host}-{where.port}")
        home = Path(folder) / host
        home.mkdir()
        file = home / (f"{int(time.time())}.prom" if _is_prometheus(body) else _name(url))
        file.write_bytes(body)
        yield file


def _without_secrets(url: str) -> str:
    """An address as messages name it: a query may hold a token."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def _is_prometheus(body: bytes) -> bool:
    """Whether text begins as an exposition does; JSON, protobuf and compressed bytes do not."""
    for line in body[:4096].split(b"\n"):
        if line.strip():
            return bool(re.match(rb"# (HELP|TYPE|UNIT) |[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? +[-+0-9.eENnIi]", line))
    return False


def _name(url: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "_", urlsplit(url).path.rpartition("/")[2]).lstrip(".")
    return name or "answer"
