"""What is kept of a receiver's answer: its plain words, and nothing that it could have from what it was sent.

Receivers echo addresses, headers and parts of tokens, as they are, masked or encoded. So a word stays only if it looks
like one of a language, and shares no run of characters with a secret.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import unquote, urlsplit

HIDDEN = "***"
_RUN = 4  # as many characters of a secret as receivers show of it: "ends in 4f2a"
_LONGEST_WORD = 20
_PUNCTUATION = re.compile(r"[\"{}\[\](),:;=<>|&?]+")
_WORD = re.compile(r"[^A-Za-z0-9]*(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,3})(?:[-_'/][a-z]+)*[^A-Za-z0-9]*")


def plain_words(text: str, secrets: Iterable[str]) -> str:
    """The text with `***` in the place of each word, or row of words, that is none or may be of a secret."""
    runs = {run for secret in secrets for form in _forms(secret) for run in _runs(form)}
    words = _PUNCTUATION.sub(" ", text).split()
    echoed = _echoed(words, runs)
    shown = [
        word if _is_plain(word) and number not in echoed and not _has_run(unquote(word), runs) else HIDDEN
        for number, word in enumerate(words)
    ]
    once = [word for number, word in enumerate(shown) if word != HIDDEN or shown[number - 1 : number] != [HIDDEN]]
    return " ".join(once)


def secrets_of_url(url: str) -> list[str]:
    """What of an address is secret: all but its scheme, host and port."""
    parts = urlsplit(url)
    return [part for part in (parts.path, parts.query, parts.fragment) if part]


def _is_plain(word: str) -> bool:
    return len(word) <= _LONGEST_WORD and bool(_WORD.fullmatch(word))


def _echoed(words: list[str], runs: set[str]) -> set[int]:
    """Numbers of the words that together hold a run of a secret, however it was cut up."""
    letters = [(letter, number) for number, word in enumerate(words) for letter in _bare(word)]
    echoed: set[int] = set()
    for start in range(len(letters) - _RUN + 1):
        window = letters[start : start + _RUN]
        if "".join(letter for letter, _ in window) in runs:
            echoed |= {number for _, number in window}
    return echoed


def _has_run(text: str, runs: set[str]) -> bool:
    return any(run in runs for run in _runs(text))


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, without percent-encoding, and what it stands for where it is base64."""
    yield secret
    yield unquote(secret)
    yield base64.b64encode(secret.encode()).decode()
    with suppress(binascii.Error, ValueError):
        yield base64.b64decode(secret.removeprefix("whsec_"), validate=True).decode("latin-1")


def _runs(text: str) -> Iterator[str]:
    bare = _bare(text)
    return (bare[start : start + _RUN] for start in range(max(len(bare) - _RUN + 1, 1)) if bare)


def _bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
