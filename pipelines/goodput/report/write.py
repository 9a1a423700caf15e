"""Makes a report of the published database, as a page or as a summary."""

from collections.abc import Mapping
from datetime import datetime

import duckdb

from goodput.report.catalog import all_charts
from goodput.report.gather import gather
from goodput.report.page import Live, html
from goodput.report.shown import periods, slices
from goodput.report.summary import markdown


def write_report(
    connection: duckdb.DuckDBPyConnection,
    bounds: tuple[datetime | None, datetime | None],
    asked: Mapping[str, str | None],
    form: str | Live,
    now: datetime,
) -> str:
    """The report's text: html, md, or html that is served live.

    `asked` are dimensions with the value that they must have, None for any.

    Raises NothingToReport, SliceNotPublished and QueryFailed.
    """
    shown = periods(connection, *bounds)
    chosen, left_out = slices(connection, shown, asked)
    charts = all_charts()
    gathered = gather(connection, charts, shown, chosen, left_out)
    if form == "md":
        return markdown(gathered, charts)
    longest = min(shown, key=lambda one: one.from_at)
    head = {
        "title": "Goodput",
        "about": f"{_day(longest.from_at)} to {_day(longest.until_at)} UTC. Written {_day(now)} UTC.",
        "foot": "Intervals are 95 %, of what these requests were, as far as labels are a sample; whether two sides "
        "differ beyond chance is for `goodput compare` to say. What each number means: docs/semantics.md."
        + (
            f" {left_out} slices with fewest requests are not in this page: name one on the command line."
            if left_out
            else ""
        ),
    }
    return html(gathered, charts, head, form if isinstance(form, Live) else None)


def _day(at: datetime) -> str:
    return f"{at:%d %b %Y %H:%M}"
