"""Writes a report as a few lines of Markdown, for chat and pull requests."""

import re
from collections.abc import Sequence

from goodput.report.chart import Chart
from goodput.report.gather import Gathered, observed
from goodput.report.shown import Slice
from goodput.report.tiles import tiles
from goodput.settings.slice_names import cut_by


def markdown(gathered: Gathered, charts: Sequence[Chart]) -> str:
    """The first period and slice of a report: its numbers as a table, then each question with its answer."""
    period, one = gathered.periods[0], gathered.slices[0]
    named = ", ".join(f"{name} {value}" for name, value in one.named().items()) or "all requests"
    lines = [
        f"### Goodput of {_plain(named)}, {period.from_at:%Y-%m-%d %H:%M} to {period.until_at:%Y-%m-%d %H:%M} UTC",
        "",
        *((seen, "") if (seen := observed(gathered)) else ()),
    ]
    total = next(
        (row for row in gathered.totals.to_dicts() if (row["period"], row["choice"]) == (period.period, one.choice)),
        None,
    )
    if total is not None:
        found = tiles(total, None)
        lines += [
            "| | | |",
            "|---|---|---|",
            *(f"| {tile.name} | **{tile.value}** | {_plain(tile.note)} |" for tile in found),
            "",
        ]
    for chart in charts:
        answer = gathered.answers[chart.name][period.period, one.choice]
        if answer is not None:
            lines.append(f"- **{chart.question}** {_plain(answer)}{_undivided(chart, one)}")
        elif chart.missing is not None:
            lines.append(f"- **{chart.question}** {_plain(gathered.empties[chart.name])}")
    return "\n".join(lines)


def _undivided(chart: Chart, one: Slice) -> str:
    """Says of which names of a slice the rows of a chart are not; the page says so above the chart."""
    if "choice" in chart.chosen_by:
        return ""
    # where slices are set side by side, a tenant or another attribute that is chosen is one of them
    followed = [
        *chart.chosen_by,
        *([cut_by(one.slice)] if "scope" in chart.chosen_by and one.slice_value is not None else []),
    ]
    names = [name for name in one.named() if name not in followed]
    if names and one.pools is not None and "pool" in chart.chosen_by:
        return f" *Of pools that serve it, whatever else they serve: {_plain(', '.join(one.pools))}.*"
    kept = ", ".join(f"{name} {value}" for name, value in one.named().items() if name in chart.chosen_by)
    of = f" of {_plain(kept)}" if kept else ""
    return f" *Not divided by {_plain(', '.join(names))}: of all{of}.*" if names else ""


def _plain(text: str) -> str:
    """Text that Markdown and a terminal take as it is, whatever telemetry's names hold; commands stay to be copied."""
    printable = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text.replace("\n", " ")
    )
    parts = re.split("`(goodput [^`]+)`", printable)
    return "".join(f"`{part}`" if nth % 2 else _escaped(part) for nth, part in enumerate(parts))


def _escaped(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in text)
