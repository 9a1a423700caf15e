"""Runs that are killed at any instant leave nothing that the next one does not mend: one trial of `make drill-kill`."""

from pathlib import Path

from end_to_end.harmed_runs import trial
from end_to_end.kill_drill import killing


def test_after_runs_that_were_killed_the_next_one_publishes_what_it_would_have(tmp_path: Path) -> None:
    ended = trial(2, tmp_path, killing)
    assert ended.harmed_in.total() >= 3
    assert ended.opened > 0
    assert ended.is_good, ended
