"""`python -m benchmarks`: runs every benchmark and prints one table of what was measured."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    alarms,
    growth,
    history,
    large_zone,
    many_sources,
    measure,
    object_decode,
    otlp_decode,
    relations,
    sample_decode,
    whole_run,
)
from benchmarks.table import HEADINGS, Row, markdown, times_as_fast

QUICK = 1 / 20
DECODED_SPANS = 200_000
DECODED_ROWS = 200_000


def main() -> None:
    """Print the table, and write it to a file if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the sizes: shows that it runs, no more")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table as Markdown as well")
    asked = parser.parse_args()
    console = Console()
    shown = Table(*HEADINGS)
    measured: list[Row] = []
    for row in _rows(QUICK if asked.quick else 1.0):
        console.print(f"{row.what}: {row.figure} {row.ratio}", style="dim")
        measured.append(row)
        shown.add_row(*row)
    console.print(shown)
    if asked.output:
        asked.output.write_text(markdown(measured), encoding="utf-8")


def _rows(share: float) -> Iterator[Row]:
    for pair in otlp_decode.run(round(DECODED_SPANS * share)):
        what = f"decode, {pair.ours.removeprefix('goodput, ')} spans"
        yield times_as_fast(what, pair.ours_s, pair.other, pair.other_s, at_least=pair.target_ratio)
    for pair in object_decode.run(round(DECODED_ROWS * share)):
        what = f"decode, {pair.ours.removeprefix('goodput, ')}"
        yield times_as_fast(what, pair.ours_s, pair.other, pair.other_s, at_least=pair.target_ratio)
    for pair in sample_decode.run(round(DECODED_ROWS * share)):
        what = f"decode, {pair.ours.removeprefix('goodput, ')}"
        yield times_as_fast(what, pair.ours_s, pair.other, pair.other_s, at_least=pair.target_ratio)
    yield from whole_run.rows(share)
    yield from large_zone.rows(share)
    yield from history.rows(share)
    yield from many_sources.rows(share)
    yield from growth.rows(share)
    yield from measure.rows(share)
    yield from relations.rows(share)
    yield from alarms.rows(share)


if __name__ == "__main__":
    main()
