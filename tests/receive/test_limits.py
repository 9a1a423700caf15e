"""How much is let in, counted by hand."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from goodput.receive.limits import Reservation, Room, TokenBucket
from goodput.receive.refusal import RequestRefused
from goodput.receive.request import Request


def test_a_bucket_fills_at_its_rate_and_no_further() -> None:
    now = [0.0]
    bucket = TokenBucket(2.0, lambda: now[0])

    def let_in(at: float) -> bool:
        now[0] = at
        with suppress(RequestRefused):
            bucket.take()
            return True
        return False

    assert [let_in(at) for at in (0, 0, 0, 0.25, 0.5, 0.5)] == [True, True, False, False, True, False]
    assert [let_in(at) for at in (60, 60, 60)] == [True, True, False]


def test_a_slow_bucket_says_how_long_to_wait() -> None:
    now = [0.0]
    bucket = TokenBucket(0.1, lambda: now[0])
    bucket.take()
    now[0] = 2.5
    with pytest.raises(RequestRefused) as refused:
        bucket.take()
    assert refused.value.retry_after_s == 8  # 7.5 s are left


def test_room_is_given_back_however_a_request_ends() -> None:
    room = Room(100)
    with Reservation(room) as one:
        one.add(60)
        with suppress(RequestRefused), Reservation(room) as other:
            other.add(40)
            assert room.held_bytes == 100
            other.add(1)
            pytest.fail("there was room for 101 bytes in 100")
        assert room.held_bytes == 60
    assert room.held_bytes == 0


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def first_part_only() -> dict[str, Any]:
        if came:
            await asyncio.sleep(60)
        came.append(True)
        return {"type": "http.request", "body": b"{", "more_body": True}

    came: list[bool] = []
    room = Room(100)
    request = Request({"method": "POST", "path": "/v1/traces", "headers": []}, first_part_only)
    with pytest.raises(RequestRefused, match=r"did not arrive within 0.05 s") as refused, Reservation(room) as held:
        asyncio.run(request.body(100, held, timeout_s=0.05))
    assert (refused.value.status, room.held_bytes) == (503, 0)
