"""Finds where messages go on in a length-prefixed file that was damaged, as by a writer that died amid one.

Bytes count as messages where several follow one another, or all up to the end, each as long as it says and good.
"""

import numpy as np

from goodput.collect.otlp.framing import Framing
from goodput.collect.otlp.limits import Limits
from goodput.collect.otlp.message_check import is_good
from goodput.collect.otlp.message_heads import FIRST_BYTES, HEAD_BYTES, LENGTH, may_begin
from goodput.collect.otlp.nested import Index

_RUN = 3  # good messages one after another are no chance
_FIRST_STEP_BYTES, _MOST_STEP_BYTES = 2**12, 2**22  # the next message is near, as a rule
_CHECKED_BYTES = 2**28  # of messages that may be good, over a whole file: what only looks so costs no more
_LEAST_BYTES = 2**12  # that a check counts as: of a few bytes it takes as long


class FrameSearch:
    """Looks for messages in the bytes of one file."""

    def __init__(self, framing: Framing, limits: Limits) -> None:
        self._framing = framing
        self._limits = limits
        self._first_byte = FIRST_BYTES["zstd" if framing.zstd_messages else framing.encoding]
        self._left_bytes = _CHECKED_BYTES

    def find(self, data: bytes, start: int, *, is_all: bool) -> int | None:
        """Where the first of a run of messages has its length, from `start` on; `is_all`: no bytes follow `data`."""
        content = np.frombuffer(data, np.uint8)
        step = _FIRST_STEP_BYTES
        while start + LENGTH.size < len(data) and self._left_bytes > 0:
            for place in self._candidates(content, start, start + step, is_all).tolist():
                if self._is_run(data, place, is_all):
                    return place  # type: ignore[no-any-return]
            start, step = start + step, min(2 * step, _MOST_STEP_BYTES)
        return None

    def _candidates(self, content: np.ndarray, start: int, stop: int, is_all: bool) -> Index:
        """Places whose length leads to the end or to a first byte behind another length."""
        ahead = LENGTH.size
        places = start + np.flatnonzero(content[start + ahead : stop + ahead] == self._first_byte)
        lengths = sum(content[places + byte].astype(np.int64) << 8 * (ahead - 1 - byte) for byte in range(ahead))
        next_first = places + ahead + lengths + ahead
        is_within = next_first < len(content)
        leads_on = np.full(len(places), is_all)
        leads_on[is_within] = content[next_first[is_within]] == self._first_byte
        fits = (lengths <= self._limits.max_line_bytes) & (next_first - ahead <= len(content))
        return places[leads_on & fits]

    def _is_run(self, data: bytes, place: int, is_all: bool) -> bool:
        for good in range(_RUN):
            begin = place + LENGTH.size
            if begin >= len(data):
                return is_all and good > 0
            (length,) = LENGTH.unpack_from(data, place)
            place = begin + length
            if place > len(data):  # a tail that is still being written
                return is_all and good > 0 and may_begin(data[begin : begin + HEAD_BYTES], length, self._framing)
            self._left_bytes -= max(length, _LEAST_BYTES)
            is_checked = length <= self._limits.max_line_bytes and self._left_bytes > 0
            if not (is_checked and is_good(data[begin:place], self._framing, self._limits)):
                return False
        return True
