"""The token that a server asks for: where it is kept, how a request gives it, and whether it is the same."""

import base64
import binascii
import hmac
import os
import re
from contextlib import suppress
from pathlib import Path

from goodput.errors import TokenUnusable

# Variables of the environment that hold a token where no file is named.
RECEIVE_TOKEN = "GOODPUT_RECEIVE_TOKEN"  # noqa: S105  (names, no tokens)
SERVE_TOKEN = "GOODPUT_SERVE_TOKEN"  # noqa: S105
_LEAST_LETTERS = 16


def read_token(file: Path | None, variable: str) -> str | None:
    """The token of the file, else of the environment, None where there is neither. Raises TokenUnusable."""
    token = os.environ.get(variable)
    if file is not None:
        try:
            token = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TokenUnusable(str(file), f"cannot be read: {error}") from error
    if token is None:
        return None
    where, token = str(file or variable), token.strip()
    if not re.fullmatch(r"[!-~]+", token):
        raise TokenUnusable(where, "no token: one line of printable ASCII without spaces")
    if len(token) < _LEAST_LETTERS:
        raise TokenUnusable(where, f"a token of {len(token)} characters can be guessed: it needs {_LEAST_LETTERS}")
    return token


def given_token(authorization: str) -> bytes:
    """The token of a header: that of `Bearer`, or the password of `Basic`, which browsers and some SDKs send."""
    scheme, _, given = authorization.partition(" ")
    if scheme == "Bearer":
        return given.encode("latin-1")
    if scheme == "Basic":
        with suppress(binascii.Error):
            return base64.b64decode(given, validate=True).partition(b":")[2]
    return b""


def is_let_in(token: bytes, wanted: bytes | None) -> bool:
    """Whether a token is the one that is asked for, or none is; it takes as long whatever they share."""
    return wanted is None or hmac.compare_digest(token, wanted)
