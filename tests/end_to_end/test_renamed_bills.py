"""What the path of a bill or price list says is what it says where the file lies now.

See docs/semantics.md#sources, #bills.
"""

import json
from pathlib import Path

import pytest

from end_to_end.test_compressed_bills import CHARGED, Landed, after, part, put_all, zipped
from published import ask, run_at, table

EARLIER, LATER = part(1.0), part(2.0)  # two exports of one hour: the one with the later date counts
TWO_ZONES = 'landing = ["landing", "archive"]\n'


def price_list(usd: float) -> bytes:
    model = {"litellm_provider": "v", "mode": "chat", "input_cost_per_token": usd, "output_cost_per_token": usd}
    return json.dumps({"m-1": model}).encode()


@pytest.mark.only("cost_records")
@pytest.mark.parametrize(
    ("steps", "usd"),
    [
        ([{"focus-2026-11-25.csv": None, "focus-2026-11-20.csv": LATER}], 1),
        ([{"focus-2026-11-25.csv": None, "focus-2026-11-20.csv": LATER}, {"focus-2026-11-20.csv": None}], 1),
        # the other way round, and back
        ([{"focus-2026-11-21.csv": None, "focus-2026-11-26.csv": EARLIER}], 1),
        (
            [
                {"focus-2026-11-21.csv": None, "focus-2026-11-26.csv": EARLIER},
                {"focus-2026-11-26.csv": None, "focus-2026-11-21.csv": EARLIER},
            ],
            2,
        ),
        # a copy holds at both of its places, and at one of them once the other is gone
        ([{"focus-2026-11-20.csv": LATER}], 2),
        ([{"focus-2026-11-20.csv": LATER}, {"focus-2026-11-25.csv": None}], 1),
        # renamed, then compressed
        (
            [
                {"focus-2026-11-25.csv": None, "focus-2026-11-20.csv": LATER},
                {"focus-2026-11-20.csv": None, "focus-2026-11-20.csv.gz": zipped(LATER)},
            ],
            1,
        ),
        # deleted: it goes on counting as what it was
        ([{"focus-2026-11-25.csv": None}], 2),
    ],
)
def test_a_bill_counts_by_the_date_of_the_path_where_it_lies(tmp_path: Path, steps: list[Landed], usd: float) -> None:
    begun = {"focus-2026-11-21.csv": EARLIER, "focus-2026-11-25.csv": LATER}
    assert ask(after(tmp_path, begun, *steps), CHARGED).item() == usd


def test_a_renamed_bill_gives_the_tables_of_a_lake_that_knew_it_by_no_other_name(tmp_path: Path) -> None:
    begun: Landed = {"focus-2026-11-21.csv": EARLIER, "focus-2026-11-25.csv": LATER}
    to: Landed = {"focus-2026-11-25.csv": None, "focus-2026-11-20.csv": LATER}
    renamed = after(tmp_path / "renamed", begun, to)
    fresh = after(tmp_path / "fresh", {"focus-2026-11-21.csv": EARLIER, "focus-2026-11-20.csv": LATER})
    for name in ("cost_records", "unused_cost_lines", "cost_ledger", "waste", "reconciliation", "requests"):
        assert table(renamed, name).equals(table(fresh, name)), name


@pytest.mark.only("cost_records")
def test_a_landing_zone_that_is_not_there_takes_no_date_with_it(tmp_path: Path) -> None:
    """The later export lies in a zone of its own; a copy with an earlier date lies in the other."""
    begun = {"focus-2026-11-21.csv": EARLIER, "focus-2026-11-20.csv": LATER}
    config, mounted = tmp_path / "goodput.toml", tmp_path / "archive" / "focus-2026-11-25.csv"
    after(tmp_path, begun)
    config.write_text(TWO_ZONES + config.read_text())
    mounted.parent.mkdir()
    mounted.write_bytes(LATER)
    assert ask(run_at(config), CHARGED).item() == 2
    mounted.rename(tmp_path / "away")
    put_all(tmp_path, {"calls-21.csv": b"id,start,end,ttft,in,out,model,replica,pool,session\n"})
    assert ask(run_at(config), CHARGED).item() == 2
    (tmp_path / "away").rename(mounted)
    (mounted.parent / "notes.csv").write_bytes(part(0.5, ChargePeriodStart="2026-11-01T00:00:00Z"))
    mounted.unlink()  # this time the zone is there
    assert ask(run_at(config), "SELECT amount_usd FROM cost_records WHERE amount_usd > 0.5").rows() == [(1.0,)]


@pytest.mark.only("token_prices")
def test_a_price_list_holds_from_the_date_of_the_path_where_it_lies(tmp_path: Path) -> None:
    valid = "SELECT strftime(valid_from, '%d'), input_token_usd FROM token_prices ORDER BY valid_from"
    first, moved = price_list(1e-6), price_list(2e-6)
    begun: Landed = {"2026-11-01/prices.json": first, "2026-11-11/prices.json": moved}
    assert ask(after(tmp_path, begun), valid).rows() == [("01", 1e-6), ("11", 2e-6)]
    to: Landed = {"2026-11-11/prices.json": None, "2026-11-21/prices.json": moved}
    assert ask(after(tmp_path, to), valid).rows() == [("01", 1e-6), ("21", 2e-6)]
    copied: Landed = {"2026-10-01/prices.json": moved}
    assert ask(after(tmp_path, copied), valid).rows() == [("01", 2e-6), ("01", 1e-6), ("21", 2e-6)]
