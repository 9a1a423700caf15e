"""The table that all benchmarks fill, on a terminal and as Markdown."""

from collections.abc import Sequence
from typing import NamedTuple

HEADINGS = ("what", "figure", "baseline", "ratio", "target", "met")


class Row(NamedTuple):
    """One figure with the baseline of the same run, and whether the target was met."""

    what: str
    figure: str
    baseline: str
    ratio: str
    target: str
    met: str


def times_as_fast(what: str, ours_s: float, baseline: str, baseline_s: float, at_least: float) -> Row:
    """A row whose baseline has to take at least so many times as long."""
    ratio = baseline_s / ours_s
    cells = (what, f"{ours_s:.2f} s", f"{baseline} {baseline_s:.2f} s", f"{ratio:.2f} x as fast")
    return Row(*cells, f">= {at_least:g}", _met(ratio >= at_least))


def times_as_long(what: str, ours_s: float, baseline: str, baseline_s: float, at_most: float) -> Row:
    """A row that may take at most so many times as long as its baseline."""
    ratio = ours_s / baseline_s
    cells = (what, f"{ours_s:.2f} s", f"{baseline} {baseline_s:.2f} s", f"{ratio:.2f} x as long")
    return Row(*cells, f"<= {at_most:g}", _met(ratio <= at_most))


def seconds(what: str, ours_s: float, baseline: str, baseline_s: float, at_most_s: float) -> Row:
    """A row that may take at most so many seconds, whatever its baseline takes."""
    ratio = ours_s / baseline_s
    cells = (what, f"{ours_s:.2f} s", f"{baseline} {baseline_s:.2f} s", f"{ratio:.2f} x as long")
    return Row(*cells, f"<= {at_most_s:g} s", _met(ours_s <= at_most_s))


def counted(what: str, ours: int, at_most: int) -> Row:
    """A row of how many there are of something."""
    return Row(what, f"{ours:,}", "", "", f"<= {at_most:,}", _met(ours <= at_most))


def grown(what: str, ours_s: tuple[float, float], baselines_s: tuple[float, float], at_most: float) -> Row:
    """A row of what was timed at one size and at four times that: ours and its baseline, the smaller size first.

    Ours may grow to so many times what it was.
    """
    before, after = (ours / baseline for ours, baseline in zip(ours_s, baselines_s, strict=True))
    growth = ours_s[1] / ours_s[0]
    return Row(
        what,
        f"{ours_s[1]:.2f} s of work, {growth:.1f} x a quarter's",
        f"plain scan of its inputs {baselines_s[1]:.2f} s",
        f"{after:.1f} x as long ({before:.1f} x at a quarter)",
        f"<= {at_most:g} x a quarter's",
        _met(growth <= at_most),
    )


def peak_memory(what: str, peak_bytes: int, below_bytes: int) -> Row:
    """A row that says how much memory a process held at most."""
    return Row(
        what, f"{peak_bytes / 1e9:.2f} GB", "", "", f"< {below_bytes / 1e9:g} GB", _met(peak_bytes < below_bytes)
    )


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _met(met: bool) -> str:
    return "yes" if met else "no"
