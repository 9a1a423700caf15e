"""A bill and its compressed copies are one, whatever their names, and whichever is read first.

See docs/semantics.md#bills, #sources.
"""

import gzip
import random
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path

import pytest
import zstandard

from collect.test_cost_dialects import CHARGE, as_csv
from end_to_end.test_bills_in_any_order import SETTINGS, calls
from goodput.plumbing.workspace import Workspace
from published import ask, computed, run_at

pytestmark = pytest.mark.only("cost_records")

Landed = Mapping[str, bytes | None]  # what a path holds; None where its file is deleted
CHARGED = "SELECT sum(amount_usd) FROM cost_records"


def part(*usd: float, **given: str) -> bytes:
    """A part of an export: a line of no resource for each amount."""
    return as_csv(*({**CHARGE, "ResourceId": "", "EffectiveCost": str(one), **given} for one in usd)).encode()


def zipped(data: bytes, name: str = "") -> bytes:
    """As gzip compresses a file of that name: the bytes of two names differ."""
    head, rest = gzip.compress(data, mtime=0)[:10], gzip.compress(data, mtime=0)[10:]
    return head[:3] + b"\x08" + head[4:] + name.encode() + b"\0" + rest if name else head + rest


def put_all(folder: Path, landed: Landed) -> None:
    for name, data in landed.items():
        path = folder / "landing" / name
        if data is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def after(folder: Path, *steps: Landed) -> Workspace:
    """A lake after a run for each step of what lands or goes."""
    put_all(folder, {"calls-20.csv": calls(random.Random(1), 20).encode()})
    (folder / "goodput.toml").write_text(SETTINGS)
    for step in steps:
        put_all(folder, step)
        at = run_at(folder / "goodput.toml")
    return at


FIRST, SECOND = part(3.7, 3.7, 3.7), part(5.0)


@pytest.mark.parametrize("compress", [zipped, zstandard.compress], ids=["gz", "zst"])
@pytest.mark.parametrize("name", ["focus-00001.csv", "2026-11-24/part-1.csv", "focus.csv"])
def test_a_bill_that_is_compressed_in_place_counts_once(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    """Three equal lines of 3.70 USD are 11.10; a second part of 5 USD, where there is one, stays beside it."""
    ending = "gz" if compress is zipped else "zst"
    other = {name.replace("1.csv", "2.csv"): SECOND} if "1.csv" in name else {}
    total = pytest.approx(11.1 + 5.0 * len(other))
    at = after(tmp_path, {name: FIRST, **other})
    assert ask(at, CHARGED).item() == total
    packed = {f"{name}.{ending}": compress(FIRST)}
    for step in (packed, {name: None}, {f"archive/{name}.{ending}": compress(FIRST), f"{name}.{ending}": None}):
        at = after(tmp_path, step)
        assert ask(at, CHARGED).item() == total
    assert ask(at, "SELECT count(*) FROM unused_cost_lines").item() == 0
    sources = "SELECT sum(rows_kept), sum(rows_duplicate), sum(rows_ignored) FROM sources WHERE path NOT LIKE 'calls%'"
    assert ask(at, sources).rows() == [(3 + len(other), 3, 0)]
    for kind in ("bill_displaced", "bill_undated", "bill_shrunk", "cost_repeated"):
        assert computed(at, kind).rows() == []


def test_a_part_its_copy_and_a_renamed_copy_count_once_in_any_order(tmp_path: Path) -> None:
    """A part of 11.10 USD, compressed beside itself and under another number, and a second part of 5 USD."""
    forms = {"part-1.csv": FIRST, "part-1.csv.gz": zipped(FIRST), "part-00001.csv.zst": zstandard.compress(FIRST)}
    second = {"part-2.csv": SECOND}
    at_once = after(tmp_path / "once", {**forms, **second})
    assert ask(at_once, CHARGED).item() == pytest.approx(16.1)
    for number, names in enumerate(permutations(forms)):
        steps = [second, *({name: forms[name]} for name in names)]
        assert ask(after(tmp_path / str(number), *steps), CHARGED).item() == pytest.approx(16.1)


def test_a_part_that_is_corrected_as_it_is_compressed_is_overwritten(tmp_path: Path) -> None:
    """3 USD become 2, compressed; then a third content of 4 under the first name; the second part stays at 5."""
    second = {"part-2.csv": SECOND}
    steps: list[tuple[Landed, float]] = [
        ({"part-1.csv": part(3.0), **second}, 8),
        ({"part-1.csv.gz": zipped(part(2.0)), "part-1.csv": None}, 7),
        ({"part-1.csv": part(4.0), "part-1.csv.gz": None}, 9),
        # the content before, compressed anew, is the last that was given
        ({"part-1.csv.gz": zipped(part(3.0)), "part-1.csv": None}, 8),
    ]
    for step, usd in steps:
        at = after(tmp_path, step)
        assert ask(at, CHARGED).item() == usd
    assert computed(at, "bill_displaced").rows() == []
    assert computed(at, "bill_shrunk").rows() == []


def test_days_that_a_compressed_correction_leaves_out_are_named(tmp_path: Path) -> None:
    """Of 24 USD on each of two days the compressed file keeps 30 on the second: the first day's stay."""
    first, second = (
        {"ChargePeriodStart": f"2026-11-{day}T00:00:00Z", "ChargePeriodEnd": f"2026-11-{day + 1}T00:00:00Z"}
        for day in (19, 20)
    )
    both = as_csv(*({**CHARGE, **day, "EffectiveCost": "24"} for day in (first, second))).encode()
    at = after(tmp_path, {"part-1.csv": both}, {"part-1.csv": None, "part-1.csv.gz": zipped(part(30.0, **second))})
    assert ask(at, CHARGED).item() == 54
    assert computed(at, "bill_shrunk").select("subject", "affected", "amount_usd").rows() == [("part-1.csv", 1, 24.0)]


@pytest.mark.parametrize("compressed", [False, True])
def test_equal_lines_in_parts_of_other_bytes_are_all_charged_and_equal_parts_once(
    tmp_path: Path, compressed: bool
) -> None:
    """What nobody reads of a line, such as its list price, tells two parts of 2 USD apart; equal bytes are one file."""

    def landed(first: bytes, second: bytes) -> dict[str, bytes]:
        plain = {"focus-part-1.csv": first, "focus-part-2.csv": second}
        return {f"{name}.gz": zipped(data, name) for name, data in plain.items()} if compressed else plain

    apart = after(tmp_path / "apart", landed(part(2.0), part(2.0, ListCost="9")))
    assert ask(apart, CHARGED).item() == 4
    equal = after(tmp_path / "equal", landed(part(2.0), part(2.0)))
    assert ask(equal, CHARGED).item() == 2
    assert ask(after(tmp_path / "equal", {"focus-part-2.csv.zst": zstandard.compress(part(2.0))}), CHARGED).item() == 2


def test_an_export_with_a_part_that_was_compressed_since_the_one_before_has_that_part(tmp_path: Path) -> None:
    """Exports of 11.10 USD and 5, then 11.10 and 6: the first part is the same file, compressed."""
    at = after(
        tmp_path,
        {"2026-11-24/part-1.csv": FIRST, "2026-11-24/part-2.csv": SECOND},
        {"2026-11-25/part-1.csv.gz": zipped(FIRST), "2026-11-25/part-2.csv.gz": zipped(part(6.0))},
    )
    assert ask(at, CHARGED).item() == pytest.approx(17.1)
    at = after(tmp_path, {"2026-11-25/part-1.csv.gz": None})
    assert ask(at, CHARGED).item() == pytest.approx(17.1)


def test_a_compressed_copy_that_breaks_off_takes_nothing_away(tmp_path: Path) -> None:
    """While it is written, a compressed copy holds the first lines of the bill alone; the others still count."""
    usd = [round(1 + number / 7, 6) for number in range(3000)]
    bill = part(*usd)
    packed = zipped(bill)
    at = after(tmp_path, {"part-1.csv": bill, "part-1.csv.gz": packed[: len(packed) // 2]})
    assert ask(at, CHARGED).item() == pytest.approx(sum(usd))
    at = after(tmp_path, {"part-1.csv.gz": packed})
    assert ask(at, CHARGED).item() == pytest.approx(sum(usd))
