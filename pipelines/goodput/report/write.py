"""Makes a report of the published database, as a page or as a summary."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from goodput.ask.database import published
from goodput.ask.kept import kept_from
from goodput.ask.older import is_published_by_older
from goodput.errors import PublishedByOlder
from goodput.plumbing.files import write_atomically
from goodput.report.catalog import all_charts
from goodput.report.gather import gather, observed
from goodput.report.page import Live, html
from goodput.report.shown import DEFAULT_DAYS, Period, periods, slices
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

    Raises NothingToReport, SliceNotPublished, PublishedByOlder and QueryFailed.
    """
    shown = periods(connection, *bounds)
    if form == "md":
        shown = shown[:1]  # it has no choice of periods, and what it says of telemetry is of its own
    chosen, left_out = slices(connection, shown, asked)
    charts = all_charts()
    try:
        gathered = gather(connection, charts, shown, chosen, left_out)
    except (duckdb.BinderException, duckdb.CatalogException) as error:
        if is_published_by_older(connection):
            raise PublishedByOlder from error
        raise
    if form == "md":
        narrowed = (_narrowed(shown[0], bounds) + _without_pruned(connection, shown[0], bounds[0])).strip()
        return "\n\n".join(filter(None, [markdown(gathered, charts), narrowed]))
    longest = min(shown, key=lambda one: one.from_at)
    head = {
        "title": "Goodput",
        "about": f"{_day(longest.from_at)} to {_day(longest.until_at)} UTC.{_narrowed(longest, bounds)}"
        f"{_without_pruned(connection, longest, bounds[0])} {observed(gathered)} "
        f"Written {_day(now)} UTC.",
        "foot": "Intervals are 95 %, of what these requests were, as far as labels are a sample; whether two sides "
        "differ beyond chance is for `goodput compare` to say. One that ends at its number cannot lie beyond it: no "
        "answer that was judged failed, say. What each number means: docs/semantics.md."
        + (
            f" {left_out} slices with fewest requests are not in this page: name one on the command line."
            if left_out
            else ""
        ),
    }
    return html(gathered, charts, head, form if isinstance(form, Live) else None)


def _narrowed(shown: Period, bounds: tuple[datetime | None, datetime | None]) -> str:
    """Says so where less than what was asked for is shown: windows are added up whole, and some time may have none."""
    asked_from, asked_until = bounds
    begins = [f"from {_day(asked_from)}"] if asked_from is not None and asked_from < shown.from_at else []
    ends = [f"until {_day(asked_until)}"] if asked_until is not None and asked_until > shown.until_at else []
    asked = " ".join([*begins, *ends])
    return f" Asked for {asked}; whole windows within that are shown." if asked else ""


def _without_pruned(connection: duckdb.DuckDBPyConnection, shown: Period, asked_from: datetime | None) -> str:
    """Says which windows of the time that is asked for were pruned: that none is shown then says nothing of traffic."""
    wanted = asked_from or shown.until_at - DEFAULT_DAYS * timedelta(seconds=shown.whole_s)
    gone = [f"{name} before {_day(at)}" for name, at in kept_from(connection, "windows").items() if at > wanted]
    return f" Windows were pruned, whatever traffic they had: {', '.join(gone)}." if gone else ""


def _day(at: datetime) -> str:
    return f"{at:%d %b %Y %H:%M}"


def write_page(config: Path | None, lake: Path | None, path: Path) -> None:
    """Write the page of what is published now. Raises NothingToReport, NotPublished and QueryFailed."""
    with published(config, lake) as connection:
        replace_page(path, write_report(connection, (None, None), {}, "html", datetime.now(UTC)))


def replace_page(path: Path, text: str) -> None:
    """Write a page in the place of an older one, whole: who reads that keeps it."""
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
