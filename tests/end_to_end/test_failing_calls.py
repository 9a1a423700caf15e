"""Runs of which any write fails leave nothing that the next one does not mend: one trial of `make drill-io`."""

from pathlib import Path

import pytest

from end_to_end.harmed_runs import trial
from end_to_end.io_drill import COMPILER, failing


@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler: the call that fails is in front of the C library's")
def test_after_runs_of_which_a_write_failed_the_next_one_publishes_what_it_would_have(tmp_path: Path) -> None:
    ended = trial(1, tmp_path, failing)
    assert ended.harmed_in.total() >= 3
    assert ended.opened > 0
    assert ended.is_good, ended
