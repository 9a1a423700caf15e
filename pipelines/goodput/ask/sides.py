"""The two sides of a comparison, and its bounds, from the words of whoever asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from goodput.ask.cells import iso
from goodput.ask.when import instant
from goodput.errors import UsageError

UNKNOWN = "unknown"  # as the tables call what was not reported
REVISION = "model_revision"  # what `revised_rows` knows of a request besides its columns
_FROM_FIRST_TO_LAST = """
SELECT
    unnest(['A', 'B']) AS side,
    getvariable('since')::TIMESTAMPTZ AS from_at, getvariable('until')::TIMESTAMPTZ AS until_at, false AS is_bounded
"""
_WITHIN_BOUNDS = """
SELECT 'A' AS side, getvariable('since')::TIMESTAMPTZ AS from_at, getvariable('side_a') AS until_at, true AS is_bounded
UNION ALL
SELECT 'B', getvariable('side_b'), getvariable('until')::TIMESTAMPTZ, true
"""
# of what nobody deployed the time is that of its requests
_WHILE_DEPLOYED = """
SELECT
    s.side,
    greatest(d.from_at, getvariable('since')::TIMESTAMPTZ) AS from_at,
    least(d.until_at, getvariable('until')::TIMESTAMPTZ) AS until_at,
    d.revision IS NOT NULL AS is_bounded
FROM (SELECT unnest(['A', 'B']) AS side, unnest([getvariable('side_a'), getvariable('side_b')]) AS revision) AS s
LEFT JOIN deployed_revisions AS d ON d.revision = s.revision
"""
_AT_BOUNDS = """
SELECT
    unnest([getvariable('since'), getvariable('until')])::TIMESTAMPTZ AS at,
    NULL::VARCHAR AS pool, NULL::VARCHAR AS replica
"""
_AT_BOUNDS_OF_PERIODS = """
SELECT
    unnest([getvariable('since'), getvariable('side_a'), getvariable('side_b'), getvariable('until')]) AS at,
    NULL::VARCHAR AS pool, NULL::VARCHAR AS replica
"""
_AT_DEPLOYMENTS = """
SELECT from_at AS at, pool, replica FROM deployed_revisions
UNION ALL
SELECT unnest([getvariable('since'), getvariable('until')])::TIMESTAMPTZ, NULL, NULL
"""


@dataclass(frozen=True)
class Sides:
    """How requests fall to side A or B: an SQL expression with parameters, and what the sides are called.

    `spans`: SQL of the time of each side, in the shape of `side_spans`. `cuts`: SQL of the moments at which it may
    begin or end, in that of `side_cuts`.
    """

    expression: str
    spans: str
    cuts: str
    parameters: Mapping[str, object]
    names: tuple[str, str]
    column: str | None = None


def within(since: str | None, until: str | None) -> dict[str, datetime | None]:
    """The bounds of what is compared, as times. Raises UsageError."""
    begin, end = _time("--since", since), _time("--until", until)
    if begin is not None and end is not None and end <= begin:
        raise UsageError(f"--until {iso(end)} is not after --since {iso(begin)}: nothing lies between.")
    return {"since": begin, "until": end}


def named_sides(values: list[str], by: str | None, earlier: str | None, later: str | None) -> Sides:
    """The two sides that the words of a user name: values of a column, or before and after times. Raises UsageError."""
    before, after = _time("--before", earlier), _time("--after", later)
    if by is not None and before is None and after is None and len(values) == 2:
        if values[0] == values[1]:
            raise UsageError(f"Both sides are {by} {values[0]}: name two values.")
        return between_values(by, values[0], values[1])
    if by is None and before is not None and after is not None and not values:
        if after < before:
            raise UsageError(f"--after {after:%Y-%m-%dT%H:%M:%S} lies before --before: the sides would overlap.")
        return between_periods(before, after)
    raise UsageError("Name two sides: --by COLUMN A B, or --before TIME --after TIME.")


def _time(option: str, text: str | None) -> datetime | None:
    return None if text is None else instant(option, text)


def between_values(column: str, a: str, b: str) -> Sides:
    """Sides by the value of a column of `requests`, or by `model_revision`: what was last deployed there.

    `unknown` is what a request that reports no value has; money that belongs to no request has it for all.
    """
    value = f"{quoted(column)}::VARCHAR"
    is_unknown = f"({quoted(column)} IS NULL AND bucket IS NULL)"
    cases = (
        f"CASE WHEN {value} = getvariable('side_a') OR {is_unknown} AND getvariable('side_a') = '{UNKNOWN}' THEN 'A' "
        f"WHEN {value} = getvariable('side_b') OR {is_unknown} AND getvariable('side_b') = '{UNKNOWN}' THEN 'B' END"
    )
    timed = (_WHILE_DEPLOYED, _AT_DEPLOYMENTS) if column == REVISION else (_FROM_FIRST_TO_LAST, _AT_BOUNDS)
    return Sides(cases, *timed, {"side_a": a, "side_b": b}, (f"{column} {a}", f"{column} {b}"), column)


def quoted(column: str) -> str:
    """A column's name as SQL takes it, whatever is in it."""
    return '"' + column.replace('"', '""') + '"'


def between_periods(before: datetime, after: datetime) -> Sides:
    """Sides by when requests ended: A before one time, B from another on."""
    cases = "CASE WHEN ended_at < getvariable('side_a') THEN 'A' WHEN ended_at >= getvariable('side_b') THEN 'B' END"
    names = (f"before {before:%Y-%m-%dT%H:%M:%SZ}", f"from {after:%Y-%m-%dT%H:%M:%SZ} on")
    return Sides(cases, _WITHIN_BOUNDS, _AT_BOUNDS_OF_PERIODS, {"side_a": before, "side_b": after}, names)
