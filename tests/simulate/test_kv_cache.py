"""What the prefix cache finds, keeps and lets go."""

import pytest

from goodput.simulate.fleet.arrival import Prefix
from goodput.simulate.fleet.kv_cache import KvCache


def keep(cache: KvCache, prefix: Prefix) -> None:
    _, held = cache.match(prefix, sum(tokens for _, tokens in prefix))
    cache.hold(held)
    cache.fill(prefix, held)
    cache.release(held)


def found(cache: KvCache, prefix: Prefix) -> int:
    return cache.match(prefix, sum(tokens for _, tokens in prefix))[0]


def test_the_last_input_token_is_never_cached() -> None:
    cache = KvCache(16)
    keep(cache, (("s", 64),))
    assert found(cache, (("s", 64),)) == 48


def test_prompts_share_as_far_as_their_runs_agree() -> None:
    cache = KvCache(16)
    keep(cache, (("system", 160), ("a", 320)))
    assert found(cache, (("system", 160), ("b", 320))) == 160
    assert found(cache, (("system", 160), ("a", 480))) == 480 - 160 + 160
    assert found(cache, (("other", 160), ("a", 320))) == 0
    assert cache.idle_tokens == 480


@pytest.mark.parametrize(
    ("room", "left"), [(1000, (400, 320)), (900, (400, 320)), (720, (400, 320)), (500, (176, 320))]
)
def test_the_least_recently_used_goes_first_and_its_tail_before_its_head(room: int, left: tuple[int, int]) -> None:
    cache = KvCache(16)
    for session, tokens in (("a", 400), ("b", 400), ("a", 400), ("c", 320)):
        keep(cache, ((session, tokens),))
        cache.evict(room)
    assert tuple(found(cache, ((session, 10_000),)) for session in "ac") == left
    assert cache.idle_tokens <= room


def test_what_is_held_is_never_evicted() -> None:
    cache = KvCache(16)
    held = []
    cache.fill((("a", 400),), held)
    keep(cache, (("b", 400),))
    cache.evict(0)
    assert (cache.held_tokens, cache.idle_tokens) == (400, 0)
    assert found(cache, (("a", 10_000),)) == 400
    cache.release(held)
    cache.evict(0)
    assert found(cache, (("a", 10_000),)) == 0


def test_an_answer_continues_its_own_prompt_alone() -> None:
    cache, held = KvCache(16), []
    cache.fill((("a", 160),), held)
    cache.append(held[0], 160, 32)
    cache.append(held[0], 160, 320)  # another answer to the same prompt
    assert cache.held_tokens == 192
