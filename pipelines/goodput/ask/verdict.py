"""A comparison in words: which side is better, by what, and what would decide where nothing differs."""

from collections.abc import Mapping, Sequence, Set

from goodput.ask.cells import significant
from goodput.ask.database import Row

_DECIDING = ("goodput_ratio", "cost_per_accepted_usd")
_BESIDE = {"idle_usd": "idle time", "overhead_usd": "overhead", "unattributed_usd": "unattributed money"}
_COUNTS = 0.1  # of what drives costs apart: a smaller part is not named as a cause
_HOUR_S, _DAY_S = 3600.0, 86400.0


def verdict(metrics: Sequence[Row], slices: Sequence[Row], sides: Mapping[str, Row], names: tuple[str, str]) -> str:
    """Which side is better, if one is, and in which slices of length the answer is another.

    It asks after each deciding measure and after the slices at once: see docs/semantics.md#comparison.
    """
    by_name = {row["metric"]: row for row in metrics}
    deciding = [by_name[name] for name in _DECIDING if name in by_name]
    questions = [row["shows_among"] for row in deciding if row["difference"] is not None]
    questions += [max(row["shows_among"] for row in slices)] if slices else []
    left = undecided_among(questions)
    decided = {row["metric"] for row in deciding if (row["shows_among"] or 0) > left}
    causes = {row["metric"]: _beside(row, by_name, sides) if row["metric"] in decided else [] for row in deciding}
    beside = [cause for cause in causes.values() if cause]
    better = {row["better"] for row in deciding if row["metric"] in decided and not causes[row["metric"]]}
    if len(better) == 1:
        (side,) = better
        parts = [f"{side} is better ({names['AB'.index(side)]})"]
    elif better:
        parts = ["neither is better in all: a trade-off"]
    else:
        parts = ["not distinguishable" + "".join(f" but for {_listed(cause)}" for cause in beside)]
    parts += [_described(row) + _by(causes[row["metric"]]) + _unsure(row, decided, len(questions)) for row in deciding]
    worse = [row for row in slices if row["shows_among"] > left and {row["better"]} != better]
    if worse:
        most = max(worse, key=lambda row: abs(row["difference"]))
        where = f"{most['dimension']} {most['from_tokens']}..{most['to_tokens']}"
        parts.append(f"yet slices differ, most of all {where}: {_described(most)}")
    return "Verdict: " + "; ".join(parts) + "."


def undecided_among(questions: Sequence[int]) -> int:
    """How many questions stay open, given for each among how many its answer still shows: those (Holm 1979)."""
    left = len(questions)
    for shows_among in sorted(questions, reverse=True):
        if shows_among < left:
            break
        left -= 1
    return left


def undecided(metrics: Sequence[Row], sides: Mapping[str, Row]) -> list[str]:
    """A line for each deciding measure that is not distinguishable: what would make the present difference so."""
    lasted_s = max(side["time_s"] for side in sides.values())
    unjudged = sum(side["unjudged"] for side in sides.values())
    return [line for row in metrics if (line := _open(row, lasted_s, unjudged))]


def drifting(drift: Row) -> str | None:
    """A line where sides lie in different times and neighbouring windows fare alike (docs/semantics.md#comparison)."""
    if not drift["drifts"]:
        return None
    return (
        f"Neighbouring windows of a side fare alike (correlation {significant(drift['alike'], 2)}): something lasts"
        " longer than a window, such as the time of day or a disruption. That is in the differences, and not in their"
        " intervals. Compare the same hours of several days, or two routes side by side."
    )


def _open(row: Row, lasted_s: float, unjudged: int) -> str | None:
    if row["alike_within"] is not None:
        return f"{row['metric']}: the sides are alike to within {significant(row['alike_within'], 3)}"
    times = row["times_as_long"]
    if times is not None:
        ways = [f"{_rounded_up(row['more_labels']):,} more labels"] if row["more_labels"] else []
        ways.append(f"{significant(times, 2)} times as long ({_duration(times * lasted_s)} of such traffic)")
        gap = significant(abs(row["difference"]), 3)
        return f"{row['metric']}: a true difference of {gap} shows in four of five cases with about {' or '.join(ways)}"
    if unjudged and not _differs(row) and row["metric"] in _DECIDING and row["difference"] is not None:
        return f"{row['metric']}: open as long as {unjudged:,} requests are of workloads without a sample of labels"
    return None


def _rounded_up(count: int) -> int:
    """To two digits: how many it takes is an estimate."""
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit


def _duration(seconds: float) -> str:
    unit_s, unit = (_DAY_S, "days") if seconds >= _DAY_S else (_HOUR_S, "hours")
    return f"{significant(seconds / unit_s, 2)} {unit}"


def _differs(row: Row) -> bool:
    return row["better"] in {"A", "B"}


def _beside(row: Row, by_name: Mapping[str, Row], sides: Mapping[str, Row]) -> list[str]:
    """What besides its requests makes a side's cost differ, most first: it does not decide between the sides."""
    direct = by_name.get(f"direct_{row['metric']}", row)
    if not _differs(row) or direct["better"] == row["better"]:
        return []
    dearer = -1 if row["better"] == "B" else 1
    apart = {name: dearer * (_each(sides["B"], part) - _each(sides["A"], part)) for part, name in _BESIDE.items()}
    least = _COUNTS * sum(max(0.0, usd) for usd in apart.values())
    return sorted((name for name, usd in apart.items() if usd > least), key=lambda name: -apart[name])


def _each(side: Row, part: str) -> float:
    return float(side[part] / side["estimate"])


def _by(causes: list[str]) -> str:
    if not causes:
        return ""
    return f", by {_listed(causes)}, " + (
        "which goes with the load" if causes == ["idle time"] else "not by its requests"
    )


def _unsure(row: Row, decided: Set[str], questions: int) -> str:
    if not _differs(row) or row["metric"] in decided:
        return ""
    return f", which decides nothing: of {questions} questions asked at once chance may answer one so"


def _listed(causes: list[str]) -> str:
    return " and ".join(causes)


def _described(row: Row) -> str:
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    if not _differs(row):
        return f"{row['metric']} not distinguishable"
    return f"{row['metric']} B - A {significant(row['difference'])} ({significant(low)} .. {significant(high)})"
