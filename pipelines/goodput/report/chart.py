"""What every chart of a report is made of: a question, SQL, a picture, the sentence that answers, what may be missing.

One chart is one module of `charts`; how rows are gathered is `gather`'s work, and the page is `page`'s.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

import altair as alt

Row = Mapping[str, Any]
Rows = Sequence[Row]
Picture = alt.Chart | alt.LayerChart | alt.FacetChart
Spec = Callable[[], Picture]

DIGITS = 12  # of a number in the page: to the cent of a billion, and rounded to it once; the database has them all
ROWS = "rows"  # the data of a chart, by name: the page gives it the rows of what is chosen


@dataclass(frozen=True)
class ChartColumn:
    """A column of a chart's table of numbers: of which column of its rows, its title, and how a value is written."""

    name: str
    title: str
    form: str = "text"  # text, time, count, share, usd, seconds, number, flag


FEWEST = 100  # answers or requests of a window: of fewer a p99 is the slowest of them, and an extreme share chance


@dataclass(frozen=True)
class Chart:
    """One chart of the report.

    `name` is its SQL relation in sql/report/. `chosen_by` are the columns by which its rows follow the choice of a
    slice: `choice` where they are published for each slice; else dimensions, of which those that the choice names must
    match, `divided_by` (pool, or route where one is chosen) and `scope` (all; workload or route where one is chosen).
    `also` are other charts whose rows it draws too, by their names. `leads_to` is what a row leads to where the
    page is served: requests of a window, of a verdict or that failed a gate, or an alarm. `draws` are the columns of
    which a row needs one to be seen in the picture; without any such row there is none. `missing` is a relation of
    sql/report/ with one row, `is_missing`, and what is said instead of `empty` where it is so. Where `none_is_all`, a
    row without a workload or pool is of all of them, and so of one that is chosen.
    """

    name: str
    place: int
    question: str
    answer: Callable[[Rows], str]
    empty: str
    columns: Sequence[ChartColumn]
    spec: Spec | None = None
    chosen_by: Sequence[str] = ("choice",)
    also: Sequence[str] = field(default=())
    leads_to: Literal["", "window", "verdict", "gate", "alarm"] = ""
    draws: Sequence[str] = ()
    missing: tuple[str, str] | None = None
    none_is_all: bool = False
    is_wide: bool = False
    is_tall: bool = False


def of_many(found: Rows, column: str) -> tuple[Rows, str]:
    """Windows with enough requests to be an extreme, all of them where none has, and what says so."""
    many = [row for row in found if row[column] >= FEWEST]
    if not many:
        return found, f", of windows with fewer than {FEWEST} requests"
    return many, f", of windows with at least {FEWEST} requests" if len(many) < len(found) else ""


def observed_whole(found: Rows) -> Rows:
    """Windows that lie wholly in observed time, of which extremes are reported; all where these are fewer than two."""
    whole = [row for row in found if not row["partial"]]
    return whole if len(whole) > 1 else found


def of_whole(found: Rows, mark: str = ": ringed") -> str:
    """Says so where some windows were observed in part, and extremes are those of the others.

    `mark` says how the picture shows which.
    """
    partly = sum(bool(row["partial"]) for row in found)
    if not partly:
        return ""
    named = f"{counted(partly, 'window')} {'was' if partly == 1 else 'were'}"
    if partly == len(found):
        return ", of windows observed in part"
    if partly == len(found) - 1:
        return f" ({named} observed in part{mark})"
    return f", of windows observed whole ({named} not{mark})"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in words: 0.763 is "76.3 %"."""
    return "an unknown share" if share is None else f"{100 * share:.{digits}f} %"


def within(low: float | None, high: float | None, *, digits: int = 1) -> str:
    """The ends of the 95 % interval of a share, in brackets; nothing where there is none."""
    if low is None or high is None or high - low < 0.5 * 10 ** -(digits + 2):
        return ""
    return f" ({100 * low:.{digits}f} to {100 * high:.{digits}f} %)"


def dollars(usd: float | None) -> str:
    """Dollars in words: to the cent from a dollar on, and with at least two digits that count below."""
    if usd is None:
        return "an unknown amount"
    size = abs(usd)
    digits = 2 if size >= 1 or size == 0 else next((n for n in range(3, 9) if size >= 10.0 ** (2 - n)), 9)
    # half a cent up, as a browser writes the same number: one sum has one writing on a page
    written = Decimal(f"{size:.{DIGITS}g}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{'-' if usd < 0 else ''}${written:,f}"


def dollars_within(low: float | None, high: float | None) -> str:
    """The ends of the 95 % interval of an amount, in brackets; nothing where there is none, or both read alike."""
    if low is None or high is None or dollars(low) == dollars(high):
        return ""
    return f" ({dollars(low)} to {dollars(high)})"


def clock(epoch_ms: float) -> str:
    """An instant in words, UTC."""
    return f"{datetime.fromtimestamp(epoch_ms / 1000, UTC):%d %b %H:%M}"


def sentence(text: str) -> str:
    """Text that begins a sentence."""
    return f"{text[0].upper()}{text[1:]}"


def counted(number: float, one: str, many: str | None = None) -> str:
    """A number of things: "1 request", "12 requests"."""
    return f"{number:,.0f} {one if round(number) == 1 else many or one + 's'}"
