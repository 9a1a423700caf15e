"""A price list that is replaced under its path, as a cron job that fetches the vendor's newest does."""

import json
from pathlib import Path

import pytest

from published import ask, run_at

LIST = "model_prices_and_context_window.json"


def priced(root: Path, name: str, **usd: float) -> dict[str, float]:
    """The newest price of each model after a run over a list of these prices of an input token, in millionths."""
    listed = {
        model: {"litellm_provider": "v", "input_cost_per_token": of / 1e6, "output_cost_per_token": 0}
        for model, of in usd.items()
    }
    path = root / "landing" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(listed))
    (root / "goodput.toml").write_text('landing = ["landing"]\nlake = "lake"\n')
    newest = "SELECT model, arg_max(input_token_usd, valid_from) AS usd FROM token_prices GROUP BY model"
    found = ask(run_at(root / "goodput.toml"), newest).rows_by_key("model", named=True, unique=True)
    return {model: round(row["usd"] * 1e6, 6) for model, row in found.items()}


@pytest.mark.parametrize("name", [LIST, f"2026-11-01-{LIST}"])
def test_the_last_version_of_a_list_counts_whatever_its_bytes(tmp_path: Path, name: str) -> None:
    for usd in (1, 2, 3, 0.5, 1, 5):  # the fifth is the first again
        assert priced(tmp_path, name, m=usd) == {"m": usd}


def test_a_model_that_a_list_no_longer_has_keeps_its_price(tmp_path: Path) -> None:
    assert priced(tmp_path, LIST, old=1, m=2) == {"old": 1, "m": 2}
    assert priced(tmp_path, LIST, m=7) == {"old": 1, "m": 7}


def test_of_two_lists_of_one_date_the_last_by_name_counts(tmp_path: Path) -> None:
    assert priced(tmp_path, "b.json", m=1) == {"m": 1}
    assert priced(tmp_path, "a.json", m=2) == {"m": 1}
    assert priced(tmp_path, "c.json", m=3) == {"m": 3}
