"""What several lakes come to together: which of their windows add up, the sums, and what makes sums wrong.

The rows of the lakes are in the database already; how they came there is `federation`'s.
"""

import duckdb

from goodput.errors import FederationApart, FederationUnlike
from goodput.plumbing.several_lakes import TOTALS
from goodput.plumbing.sql_files import compute, quoted, sql_file

_ALL_PERIODS = """CREATE TEMP TABLE shown_periods AS
SELECT DISTINCT
    format('{} {}', window_s, epoch_us(window_start)) AS period, window_start AS from_at,
    window_start + to_seconds(window_s) AS until_at, window_s AS whole_s, window_s AS drawn_s
FROM goodput
WHERE window_s::VARCHAR IN (SELECT value FROM common_groupings WHERE setting = 'windows_s')"""
_ALL_SLICES = """CREATE TEMP TABLE shown_slices AS
SELECT row_number() OVER () AS choice, *
FROM (SELECT DISTINCT slice, slice_value, workload, model, pool, route FROM goodput WHERE slice <> 'finest')
WHERE slice_value IS NULL OR slice IN (SELECT value FROM common_groupings WHERE setting = 'slices.by')"""
_WINDOWS_OF_LAKES = """SELECT lake, string_agg(value, ', ' ORDER BY value::INTEGER)
FROM lake_groupings WHERE setting = 'windows_s' GROUP BY lake ORDER BY lake"""
_WARNINGS = (
    *("unlike_groupings", "unlike_settings", "unknown_settings"),
    *("shared_sources", "shared_replicas"),
)


def check_gates(connection: duckdb.DuckDBPyConnection) -> None:
    """Accepted by one lake's gates and by another's are not to be added up. Raises FederationUnlike."""
    unlike = connection.execute(sql_file("unlike_gates").text).fetchall()
    if unlike:
        raise FederationUnlike([(workload, term, values) for workload, term, values in unlike])


def add_up(connection: duckdb.DuckDBPyConnection) -> int:
    """Make the table of all lakes' windows, of those lengths and slices that every lake computes; its rows.

    Raises FederationApart.
    """
    for name in ("lake_groupings", "common_groupings"):
        compute(connection, name)
    connection.execute(_ALL_PERIODS)
    if _rows(connection, "goodput") and not _rows(connection, "shown_periods"):
        raise FederationApart(connection.execute(_WINDOWS_OF_LAKES).fetchall())
    connection.execute(_ALL_SLICES)
    for name in ("period_windows", "period_accepted", "published_until"):
        compute(connection, name)
    connection.execute(f'CREATE TABLE "{TOTALS}" AS {sql_file(TOTALS).text}')
    connection.execute(f'COMMENT ON TABLE "{TOTALS}" IS {quoted(sql_file(TOTALS).header["description"])}')
    return _rows(connection, TOTALS)


def warn(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Add what makes sums wrong, or leaves windows out of them, to the warnings; their messages."""
    messages: list[str] = []
    for name in _WARNINGS:
        compute(connection, name)
        connection.execute(f'INSERT INTO warnings BY NAME SELECT * FROM "{name}"')  # noqa: S608
        messages += (message for (message,) in connection.execute(f'SELECT message FROM "{name}"').fetchall())  # noqa: S608
    return messages


def _rows(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    ((rows,),) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()  # noqa: S608
    return int(rows)
