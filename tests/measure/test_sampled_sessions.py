"""What sessions do to the interval of goodput: requests without a session are no session."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from alike_names import alike_names
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


@pytest.mark.parametrize(
    ("sampling", "size", "accepted"), [("random", 10, 40.0), ("session", 10, 40.0), ("random", 1, 30.0)]
)
def test_label_rates_are_compared_by_draws(
    tmp_path: Path, sampling: Literal["random", "session"], size: int, accepted: float
) -> None:
    """Of two routes with 30 requests each, r1 has 20 labels, which pass, and r2 has 10, which fail.

    Drawn one by one, chi-square is 2 x 5^2/(30/4) = 6.67, above 1 + sqrt(2): two strata, 30 x 1 + 30 x 0 pass. Drawn as
    3 of 6 sessions of ten, of which one draw labels ten, it is 0.667: one stratum, 60 x 20/30 pass.
    """
    rows = [
        judged(
            f"{route}/{n}",
            "unlabelled" if n >= labelled else "accepted" if passes else "rejected",
            end=n + 1.0,
            session_id=f"{route}/{n // size}",
            route=route,
            gated=True,
            needs_label=True,
            pass_quality=passes if n < labelled else None,
        )
        for route, labelled, passes in (("r1", 20, True), ("r2", 10, False))
        for n in range(30)
    ]
    settings = Settings(workloads={"qa": Workload(quality=Quality(sampling=sampling))})
    row = row_of(windows(tmp_path, rows, settings))
    assert row["goodput_rps"] * 300 == pytest.approx(accepted)


def test_what_sessions_are_called_changes_nothing(tmp_path: Path) -> None:
    """Twenty sessions of three requests, of which eight were judged whole."""
    found = []
    for names in ([f"s{n}" for n in range(20)], alike_names(20)):
        rows = [
            judged(
                f"r{n}",
                "unlabelled" if n >= 24 else "accepted" if n % 4 else "rejected",
                end=n + 1.0,
                session_id=names[n // 3],
                gated=True,
                needs_label=True,
                pass_quality=n % 4 > 0 if n < 24 else None,
            )
            for n in range(60)
        ]
        settings = Settings(workloads={"qa": Workload(quality=Quality(sampling="session"))})
        found.append(row_of(windows(tmp_path, rows, settings)))
    assert found[0]["goodput_ci_low_rps"] > 0
    assert found[1] == found[0]


@pytest.mark.parametrize(("requests", "passed"), [(25, 7), (35, 29), (22, 15), (23, 13)])
def test_where_all_are_labelled_the_interval_is_the_number_itself(tmp_path: Path, requests: int, passed: int) -> None:
    """25 x (7 / 25) is more than 7 in floating point, and 22 x (15 / 22) less than 15."""
    rows = [
        judged(
            f"r{n}",
            "accepted" if n < passed else "rejected",
            end=n + 1.0,
            gated=True,
            needs_label=True,
            pass_quality=n < passed,
            output_tokens=7,
        )
        for n in range(requests)
    ]
    row = row_of(windows(tmp_path, rows, Settings(workloads={"qa": Workload(quality=Quality())})))
    assert row["goodput_ci_low_rps"] == row["goodput_rps"] == row["goodput_ci_high_rps"] == passed / 300
