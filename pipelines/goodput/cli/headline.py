"""What a run ends with: the latest day at a glance, and how to ask for more."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goodput.ask.database import published
from goodput.cli.render import console, table
from goodput.cli.warned import print_warnings
from goodput.plumbing.sql_files import MACROS, sql_file

Row = tuple[Any, ...]
_ALARMS = """
    SELECT
        (SELECT count(*) FROM alarms WHERE state = 'firing') AS firing,
        count(*) FILTER (WHERE armed) AS armed,
        sum(false_alarms_per_week) FILTER (WHERE armed) AS expected,
        count(*) FILTER (WHERE fired > budget) AS over_budget
    FROM alarm_power
    HAVING (SELECT count(*) FROM alarm_events) > 0  -- where alarms are judged at all
"""
_MOST, _ALL, _OFFERED = 30, "all", 2  # rows of the headline, the name of that of all, its column of requests
_SILENT = "SELECT why FROM alarms WHERE rule = 'telemetry_silent' AND state <> 'firing' AND why IS NOT NULL"


def print_headline(config: Path | None, lake: Path | None) -> None:
    """Print goodput of the latest published day, overall and per workload and route, with warnings and firing alarms.

    Where its cost is known, the cost of an accepted request too, the three largest leaks, what was billed and what of
    it is in no window, and what the latest disruption cost.
    """
    out = console()
    with published(config, lake) as connection:
        connection.execute(sql_file(MACROS).text)
        for (line,) in connection.execute(sql_file("headline_window").text).fetchall():
            out.print(line)
        for relation in ("headline", "leaks"):
            found = connection.execute(sql_file(relation).text)
            names = [column[0] for column in found.description]
            rows, left_out = _largest(found.fetchall())
            # a column without any value, as cost where no source reports it, is left out
            shown = [i for i in range(len(names)) if any(row[i] is not None for row in rows)]
            if rows:
                out.print(table([names[i] for i in shown], [tuple(row[i] for i in shown) for row in rows], out.width))
            if left_out:
                out.print(
                    f"and {left_out:,} more with fewer requests; `goodput report` and relation `goodput` have them"
                )
        for relation in ("headline_bills", "without_quality", "latest_disruption"):
            for (line,) in connection.execute(sql_file(relation).text).fetchall():
                out.print(line)
        print_warnings(out, connection)
        alarms, silent = (connection.execute(asked).fetchall() for asked in (_ALARMS, _SILENT))
    for firing, armed, expected, over_budget in alarms:
        wrong = f"{expected:.2g} false alarms a week expected" if armed else "none has learned enough yet"
        out.print(f"{firing} alarm(s) firing, {armed} trend alarm(s) armed, {wrong}; `goodput alarms` lists them")
        if over_budget:
            why = "fired as often in 28 days as page_budget allows; `goodput alarms replay` shows them"
            out.print(f"{over_budget} page(s) not armed: {why}")
    for (why,) in silent:
        out.print(why)


def _largest(rows: Sequence[Row]) -> tuple[Sequence[Row], int]:
    """The slices of a table with most requests, in its order, and how many are left out: a thousand are no headline."""
    if len(rows) <= _MOST:
        return rows, 0
    places = sorted(range(len(rows)), key=lambda place: (rows[place][0] != _ALL, -rows[place][_OFFERED], place))
    return [rows[place] for place in sorted(places[:_MOST])], len(rows) - _MOST


def ask_further(config: Path) -> str:
    """Commands that show more of what was just published."""
    return "\n".join(
        [
            "Ask further:",
            f"  goodput tables --config {config}",
            f"  goodput query --config {config} \"from requests where verdict = 'slow' order by ttft_s desc limit 5\"",
            f"  goodput explain --config {config} REQUEST_KEY",
            f"  goodput sources --config {config}",
        ]
    )
