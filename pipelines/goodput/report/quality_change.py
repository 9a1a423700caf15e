"""What judges said before and after operations, in words: shares of what they judged, never what made them another.

Which windows are compared, and how sure the shares are, is sql/report/operation_quality.sql.
"""

from collections.abc import Callable

from goodput.report.chart import Row, Rows, percent, within

_NAMED = 3  # of the operations; the numbers have all


def quality_changes(found: Rows, named: Callable[[Row], str]) -> str:
    """Around which operations judged quality surely differs; where none does, the one that comes nearest."""
    judged = sorted((row for row in found if row["judge"] is not None), key=lambda row: -(row["times_reach"] or 0))
    if not judged:
        return ""
    apart = [row for row in judged if row["is_apart"]]
    nearby = "; ".join(f"{_shares(row)} at the {named(row)}" for row in (apart or judged)[: _NAMED if apart else 1])
    if not apart:
        nearest = f"the nearest is {nearby}, which may be chance{_caution(judged[:1])}"
        return (
            f"\nNo operation surely changed judged quality; {nearest}: more labels would tell (`goodput labels plan`)."
        )
    more = f"; and {len(apart) - _NAMED} more" if len(apart) > _NAMED else ""
    return f"\nJudged quality was another before and after, whatever the cause: {nearby}{more}{_caution(apart)}."


def _shares(row: Row) -> str:
    before, after = (
        f"{percent(row[f'{side}_ratio'])}{within(row[f'{side}_low'], row[f'{side}_high'])}"
        for side in ("before", "after")
    )
    return f"{row['judge']}, from {before} to {after}"


def _caution(rows: Rows) -> str:
    return "" if all(row["is_final"] for row in rows) else " (labels may still come)"
