"""How much is let in, counted by hand."""

from contextlib import suppress

import pytest

from goodput.receive.limits import Held, Room, TokenBucket
from goodput.receive.refusal import Refused


def test_a_bucket_fills_at_its_rate_and_no_further() -> None:
    now = [0.0]
    bucket = TokenBucket(2.0, lambda: now[0])

    def let_in(at: float) -> bool:
        now[0] = at
        with suppress(Refused):
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
    with pytest.raises(Refused) as refused:
        bucket.take()
    assert refused.value.retry_after_s == 8  # 7.5 s are left


def test_room_is_given_back_however_a_request_ends() -> None:
    room = Room(100)
    with Held(room) as one:
        one.add(60)
        with suppress(Refused), Held(room) as other:
            other.add(40)
            assert room.held_bytes == 100
            other.add(1)
            pytest.fail("there was room for 101 bytes in 100")
        assert room.held_bytes == 60
    assert room.held_bytes == 0
