"""A few trials of the drill: receivers that fail in every way, processes that die, and a day's outage."""

from pathlib import Path

import pytest

from notify.delivery_drill import FAILURES, KINDS, Ended, trial
from notify.receiver import Script


@pytest.mark.parametrize("kind", KINDS)
def test_every_message_is_delivered_under_one_id_with_one_body_in_order(tmp_path: Path, kind: str) -> None:
    total = Ended()
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        total += trial(seed, 3, folder, **KINDS[kind])  # type: ignore[arg-type]
    assert (total.messages, total.broken) == (27, 0)
    assert total.attempts > total.messages, "nothing failed"
    assert total.deaths > 0, "nobody died"


def test_a_message_that_is_never_taken_is_told_of_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drill can fail: of a receiver that takes nothing for twenty days all is lost."""
    monkeypatch.setattr(Script, "next", lambda self: 500)
    ended = trial(0, 1, tmp_path)
    assert ended.lost == ended.messages == 3


def test_the_drill_plays_at_least_ten_kinds_of_failure() -> None:
    assert len(FAILURES) >= 10
