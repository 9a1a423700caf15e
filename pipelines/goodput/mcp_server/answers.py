"""An answer as a client gets it: JSON of a bounded length, that says what was left out of it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from goodput.ask.formats import encoder
from goodput.errors import AnswerTooLong

_NOTE_BYTES = 300  # what `cut` takes at most
_COMMA = 1


def fitted(answer: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """The answer as plain JSON of at most `limit` bytes: its longest lists lose their last items, and `cut` says so.

    Raises AnswerTooLong where that is not enough.
    """
    encoded = encoder().encode({"cut": None, **answer})
    whole: dict[str, Any] = msgspec.json.decode(encoded)
    if len(encoded) <= limit:
        return whole
    sizes = {
        key: [len(encoder().encode(item)) + _COMMA for item in value]
        for key, value in whole.items()
        if isinstance(value, list)
    }
    totals = {key: sum(items) for key, items in sizes.items()}
    rest = len(encoded) - sum(totals.values()) + _NOTE_BYTES
    while rest + sum(totals.values()) > limit:
        longest = max(totals, key=totals.__getitem__, default=None)
        if longest is None or not sizes[longest]:
            raise AnswerTooLong(len(encoded), limit)
        totals[longest] -= sizes[longest].pop()
    left_out = [
        f"{len(whole[key]) - len(kept)} of {len(whole[key])} {key}"
        for key, kept in sizes.items()
        if len(kept) < len(whole[key])
    ]
    note = f"Too long: {', '.join(left_out)} are left out."
    shown = {key: value[: len(sizes[key])] if key in sizes else value for key, value in whole.items()}
    return {**shown, "cut": " ".join(filter(None, [whole["cut"], note]))}


def text(answer: Mapping[str, Any]) -> str:
    """The answer as one line of JSON."""
    return encoder().encode(answer).decode()
