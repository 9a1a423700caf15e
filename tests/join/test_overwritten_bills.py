"""A bill that is corrected in place, under the path that it had."""

from pathlib import Path

import pytest

from declared import bills
from published import ask, run_at

SETTINGS = 'landing = ["landing"]\nlake = "lake"\n'
FIRST = [("L1", 9, 100), ("L2", 10, 50)]


def billed(root: Path, mapped: dict[str, str], lines: list[tuple[str, int, float]]) -> tuple[float, int]:
    """Dollars that count after a run over these lines (id, hour of 2026-11-20, amount), and how many lines do not."""
    rows = [f"{name},2026-11-20T{hour:02}:00:00Z,2026-11-20T{hour + 1:02}:00:00Z,{usd}" for name, hour, usd in lines]
    (root / "landing").mkdir(exist_ok=True)
    (root / "landing/gpu.csv").write_text("\n".join(["line,from,until,amount", *rows]) + "\n")
    (root / "goodput.toml").write_text(SETTINGS + bills("gpu", "gpu.csv", amount_usd="amount", **mapped))
    workspace = run_at(root / "goodput.toml")
    total = ask(workspace, "SELECT sum(amount_usd) FROM cost_records").item()
    return total, ask(workspace, "SELECT count(*) FROM unused_cost_lines WHERE reason = 'superseded'").item()


@pytest.mark.parametrize("mapped", [{}, {"cost_id": "line"}])
@pytest.mark.parametrize(
    ("now", "usd", "superseded"),
    [
        ([("L1", 9, 80), ("L2", 10, 50.5)], 130.5, 2),  # less and more
        ([("M1", 9, 80), ("M2", 10, 40)], 120, 2),  # under other names
        ([("M1", 9, 80)], 130, 1),  # what the newer file does not cover stays
        ([("N1", 11, 70), ("N2", 12, 30)], 250, 0),  # the next period under the same path
    ],
)
def test_what_the_newer_file_covers_is_replaced(
    tmp_path: Path, mapped: dict[str, str], now: list[tuple[str, int, float]], usd: float, superseded: int
) -> None:
    assert billed(tmp_path, mapped, FIRST) == (150, 0)
    assert billed(tmp_path, mapped, now) == (usd, superseded)
