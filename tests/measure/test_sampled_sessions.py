"""What sessions do to the interval of goodput: requests without a session are no session."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from goodput.settings.model import Quality, Settings, Workload
from river import judged, row_of, windows

NONE_OF = (None,) * 10
EACH_ITS_OWN = tuple(f"own-{n}" for n in range(10))


@pytest.mark.parametrize("others", [NONE_OF, EACH_ITS_OWN])
def test_requests_without_a_session_are_each_on_their_own(tmp_path: Path, others: Sequence[str | None]) -> None:
    """Of 12 that need a label 4 have one and pass, 2 of these of one session.

    k = 1, d = 3 draws, D = 4/3 x (4.302653/3.182446)^2 = 2.43719, n = 4 x 11/8 / D = 2.25670 and
    12 n/(n + 1.959964^2) = 4.44075.
    """
    rows = [
        judged(
            f"r{n}",
            "accepted" if n < 4 else "unlabelled",
            end=n + 1.0,
            session_id=session,
            gated=True,
            needs_label=True,
            pass_quality=True if n < 4 else None,
        )
        for n, session in enumerate(("together", "together", *others))
    ]
    settings = Settings(workloads={"qa": Workload(quality=Quality())})
    row = row_of(windows(tmp_path, rows, settings))
    assert (row["need_label"], row["labelled"]) == (12, 4)
    assert row["goodput_ci_low_rps"] * 300 == pytest.approx(4.44075, abs=1e-5)
