"""What a report shows: its periods and the lengths of their windows, and the slices that a reader can choose.

Only what is published can be chosen, so that every number of a page is a row of the database or a sum of such rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import duckdb

from goodput.ask.database import rows
from goodput.ask.kept import kept_from
from goodput.errors import NothingToReport, SliceNotPublished
from goodput.settings.slice_names import cut_by

DIMENSIONS = ("workload", "model", "pool", "route", "tenant")
DEFAULT_DAYS = 28
MAX_SLICES = 200  # a page with more is slow to open; those with most requests stay
UNKNOWN = "unknown"  # the pool of requests that nothing places in one
MAX_POINTS = 320  # of a line, in the finest windows that give no more

_SLICES = """
    SELECT slice, slice_value, workload, model, pool, route, sum(offered) AS offered
    FROM goodput
    WHERE window_s = $whole_s AND window_start >= $from_at AND window_start < $until_at AND slice <> 'finest'
    GROUP BY slice, slice_value, workload, model, pool, route
    HAVING sum(offered) > 0 OR sum(cost_usd) > 0
    ORDER BY slice = 'overall' DESC, offered DESC, slice, slice_value, workload, model, pool, route
"""

# A record whose clock is ahead makes windows that are not the latest: whoever wants them names their time.
_PUBLISHED = """
    WITH found AS (
        SELECT
            g.window_s, g.window_start,
            $until IS NULL AND coalesce(g.window_start >= l.window_start + to_seconds(l.window_s), false) AS is_ahead
        FROM goodput AS g
        LEFT JOIN latest_window AS l ON true
        WHERE g.slice = 'overall' AND ($since IS NULL OR g.window_start >= $since)
            AND ($until IS NULL OR g.window_start + to_seconds(g.window_s) <= $until)
    )
    SELECT window_s, min(window_start) AS first, max(window_start) AS last
    FROM found
    WHERE NOT is_ahead OR NOT EXISTS (FROM found WHERE NOT is_ahead)
    GROUP BY window_s
    ORDER BY window_s DESC
"""

_COUNTS = """
    SELECT window_s, count(*) AS windows
    FROM goodput
    WHERE slice = 'overall' AND window_start >= $from_at AND window_start < $until_at
    GROUP BY window_s
"""

_SERVING = """
    SELECT DISTINCT workload, model, coalesce(pool, 'unknown') AS pool, route
    FROM goodput
    WHERE slice = 'finest' AND offered > 0
        AND window_s = $whole_s AND window_start >= $from_at AND window_start < $until_at
"""


@dataclass(frozen=True)
class Period:
    """A period of the page: `whole_s` long windows add up to it, `drawn_s` long ones are drawn."""

    period: str
    from_at: datetime
    until_at: datetime
    whole_s: int
    drawn_s: int


@dataclass(frozen=True)
class Slice:
    """A slice that can be chosen, as relation `goodput` names it.

    `pools` are those that serve it where these are known, and not all of the fleet's or the one that it is cut by.
    """

    choice: int
    slice: str
    slice_value: str | None
    workload: str | None
    model: str | None
    pool: str | None
    route: str | None
    pools: tuple[str, ...] | None = None

    def named(self) -> dict[str, str]:
        """What it is cut by: each dimension with its value."""
        cut = {
            name: value for name in ("workload", "model", "pool", "route") if (value := getattr(self, name)) is not None
        }
        return cut | ({cut_by(self.slice): self.slice_value} if self.slice_value is not None else {})


def periods(
    connection: duckdb.DuckDBPyConnection, since: datetime | None, until: datetime | None
) -> tuple[Period, ...]:
    """The asked period, and within it the last windows of the longest length and the last seven of them, each once.

    Without bounds the last 28 of the longest published windows, days as a rule, up to the one of the headline. With
    bounds the longest length of which whole windows fill the period is added up. Raises NothingToReport where nothing
    is published in it.
    """
    published = rows(connection, _PUBLISHED, {"since": since, "until": until})
    if not published:
        raise NothingToReport(since, until, kept_from(connection, "windows").get("goodput"))
    # a day's window is not the whole of a period that begins or ends within a day
    fitting = next((row for row in published if _fits(row["window_s"], since, until)), published[-1])
    whole_s = int(fitting["window_s"])
    until_at = fitting["last"] + timedelta(seconds=whole_s)
    first = max(fitting["first"], since or until_at - DEFAULT_DAYS * timedelta(seconds=whole_s))
    asked = {"all": first}
    if since is None and until is None:
        asked = {"latest": fitting["last"], "week": until_at - 7 * timedelta(seconds=whole_s), "all": first}
    found: dict[datetime, Period] = {}
    for name, from_at in asked.items():
        begin = max(from_at, first)
        drawn_s = _drawn(connection, begin, until_at)
        found.setdefault(begin, Period(name, begin, until_at, whole_s, drawn_s))
    return tuple(found.values())


def _fits(window_s: int, *ends: datetime | None) -> bool:
    return all(end is None or end.timestamp() % window_s == 0 for end in ends)


def _drawn(connection: duckdb.DuckDBPyConnection, from_at: datetime, until_at: datetime) -> int:
    """The shortest length of windows of which a period has no more than a line can show."""
    counts = rows(connection, _COUNTS, {"from_at": from_at, "until_at": until_at})
    few = (row["window_s"] for row in counts if row["windows"] <= MAX_POINTS)
    return int(min(few, default=max(row["window_s"] for row in counts)))


def slices(
    connection: duckdb.DuckDBPyConnection, shown: Sequence[Period], asked: Mapping[str, str | None]
) -> tuple[tuple[Slice, ...], int]:
    """Slices that the page can show, the first chosen at first, and how many are left out.

    `asked` are the dimensions that the command names: slices beyond them are left out. Raises SliceNotPublished
    where no slice is cut by exactly these.
    """
    longest = max(shown, key=lambda one: one.until_at - one.from_at)
    bounds = {"whole_s": longest.whole_s, "from_at": longest.from_at, "until_at": longest.until_at}
    wanted = {name: value for name, value in asked.items() if value is not None}
    every = [_slice(number, row) for number, row in enumerate(rows(connection, _SLICES, bounds))]
    found = [one for one in every if wanted.items() <= one.named().items()]
    first = next((one for one in found if one.named().keys() == wanted.keys()), None)
    if first is None:
        values = ((name, value) for one in every for name, value in one.named().items() if name in wanted)
        known: dict[str, dict[str, None]] = {}
        for name, value in values:
            known.setdefault(name, {})[value] = None  # those with most requests first
        raise SliceNotPublished(wanted, {name: list(of) for name, of in known.items()})
    others = [one for one in found if one is not first]
    kept, serving = (first, *others[: MAX_SLICES - 1]), rows(connection, _SERVING, bounds)
    return tuple(replace(one, pools=_pools(one, serving)) for one in kept), max(0, len(others) - MAX_SLICES + 1)


def _pools(one: Slice, serving: Sequence[Mapping[str, object]]) -> tuple[str, ...] | None:
    """The pools that serve a slice (of a tenant its workload); None where some requests are placed in none."""
    cut = {name: value for name in ("workload", "model", "route") if (value := getattr(one, name)) is not None}
    if one.pool is not None or (one.slice_value is not None and not cut):
        return None
    found = {row["pool"] for row in serving if all(row[name] == value for name, value in cut.items())}
    if UNKNOWN in found or found == {row["pool"] for row in serving}:
        return None
    return tuple(sorted(map(str, found))) or None


def _slice(number: int, row: Mapping[str, object]) -> Slice:
    names = ("slice", "slice_value", "workload", "model", "pool", "route")
    return Slice(number, **{name: row[name] for name in names})  # type: ignore[arg-type]  # texts of a database
