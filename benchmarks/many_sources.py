"""What new source files cost among few that are known and among ten times as many: their own number alone.

`python -m benchmarks.many_sources` prints these rows alone. A file holds one gateway span, and an hour holds as many
files however many are known, so that what is computed of the new ones is the same.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.checkout import Checkout
from benchmarks.made_history import END_HOUR, SETTINGS, span_of, write_file
from benchmarks.table import Row, times_as_long

KNOWN = (20_000, 200_000)
NEW = 1_000
FILES_AN_HOUR = 1_000
FIRST_HOUR = END_HOUR - KNOWN[-1] // FILES_AN_HOUR
GROWN_AT_MOST = 1.5
LINEAR_AT_MOST = 2.2  # twice as many new ones, and what a busy machine adds


def rows(share: float) -> Iterator[Row]:
    """New sources among many, beside the same among few."""
    few, many = (round(known * share) for known in KNOWN)
    yield from compare(few, many, round(NEW * share))


def compare(few: int, many: int, new: int) -> Iterator[Row]:
    """`new` source files among `many` known ones beside the same among `few`; then twice as many."""
    nothing_s, new_s, twice_s = _costs(many, new)
    few_nothing_s, few_new_s, _ = _costs(few, new)
    among, baseline = f"among {many:,} known", f"among {few:,}"
    yield times_as_long(f"nothing new {among}", nothing_s, baseline, few_nothing_s, at_most=many / few)
    what = f"{new:,} new sources {among}, beyond nothing new"
    yield times_as_long(what, new_s, baseline, few_new_s, at_most=GROWN_AT_MOST)
    what = f"{2 * new:,} new sources {among}, beyond nothing new"
    yield times_as_long(what, twice_s, f"{new:,} new", new_s, at_most=LINEAR_AT_MOST)


def _costs(known: int, new: int) -> tuple[float, float, float]:
    """Seconds of work with nothing new, and beyond that for `new` files and for twice as many."""
    with TemporaryDirectory(prefix="goodput-bench-") as name:
        folder = Path(name)
        (folder / "goodput.toml").write_text(SETTINGS)
        checkout = Checkout(folder)

        def run() -> float:
            return checkout.goodput("run").cpu_s

        hour = _write(folder, FIRST_HOUR, known)
        run()
        nothing_s = run()
        hour = _write(folder, hour, new)
        new_s = run() - nothing_s
        _write(folder, hour, 2 * new)
        twice_s = run() - nothing_s
        assert checkout.ask("SELECT count(*) FROM sources WHERE rows_kept = 1") == known + 3 * new
    return nothing_s, new_s, twice_s


def _write(folder: Path, first_hour: int, files: int) -> int:
    """Write so many files in the order of their hours; the first hour after them, for the next ones."""
    for file in range(files):
        hour, number = first_hour + file // FILES_AN_HOUR, file % FILES_AN_HOUR
        write_file(folder, f"{hour}/{number}.jsonl", span_of(hour, number))
    return first_hour + -(-files // FILES_AN_HOUR)


def main() -> None:
    """Print the rows of two numbers of known sources."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_sources", description=__doc__)
    parser.add_argument("--known", type=int, nargs=2, default=KNOWN, metavar=("FEW", "MANY"))
    parser.add_argument("--new", type=int, default=NEW)
    asked = parser.parse_args()
    for row in compare(*asked.known, asked.new):
        print(*row, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
