"""The chart of paces: whether one replica takes longer for a token than the others that do its work."""

import math
from collections.abc import Iterator
from itertools import groupby

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Row, Rows, clock, counted, dollars
from goodput.report.looks import GRID, ORANGE, RED, SKY, replica_heat

_NAMED = 3  # stretches of time in the sentence; the chart has all
_TIMES = [0.8, 1.25, 1.5]
_SHADES = [SKY, GRID, ORANGE, RED]  # quicker, alike, and slower


def _answer(found: Rows) -> str:
    slow = sorted(_stretches(found), key=lambda of: -sum(row["n_tpot"] * (row["times"] - 1) for row in of))
    usual = [row for row in found if not row["is_slow"]]
    most = max(usual, key=lambda row: row["times"], default=None)
    if not slow:
        assert most is not None  # noqa: S101  (rows are slow or not)
        where = f"{_times(most)} times, {most['replica']} at {clock(most['at'])} UTC"
        return f"No replica took 1.25 times as long for a token as the others of its pool; the most is {where}."
    sentences = [f"{_one(of)}." for of in slow[:_NAMED]]
    more = len(slow) - _NAMED
    if more > 0:
        sentences.append(f"{counted(more, 'stretch', 'stretches')} more {'is' if more == 1 else 'are'} in the numbers.")
    if most is not None and most["times"] > 1:
        sentences.append(f"Apart from that no replica took more than {_times(most)} times as long.")
    return "\n".join([*sentences, "What a replica was given to do may differ too."])


def _times(row: Row) -> str:
    """Cut, not rounded: what is not slow does not read as if it were."""
    return f"{math.floor(100 * row['times'] + 1e-9) / 100:.2f}"


def _stretches(found: Rows) -> Iterator[Rows]:
    """Windows in which a replica was slow, those that follow each other together."""
    ordered = sorted(found, key=lambda row: (row["replica"], row["at"]))
    numbered = [(row["at"] - 1000 * row["window_s"] * nth, row) for nth, row in enumerate(ordered)]
    for key, of in groupby(numbered, key=lambda one: (one[1]["replica"], one[1]["is_slow"], one[0])):
        if key[1]:
            yield [row for _, row in of]


def _one(of: Rows) -> str:
    first, last = of[0], of[-1]
    begin, end = clock(first["at"]), clock(last["at"] + 1000 * last["window_s"])
    pace, times = (_range([row[name] for row in of], digits) for name, digits in (("p50_tpot_s", 3), ("times", 2)))
    answers = counted(sum(row["n_tpot"] for row in of), "answer")
    return (
        f"{first['replica']} was slower than the others of its pool from {begin} to {end} UTC: {pace} s a token, "
        f"{times} times what they took, over {answers}{_late(of)}"
    )


def _range(values: list[float], digits: int) -> str:
    low, high = (f"{value:.{digits}g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _late(of: Rows) -> str:
    """What its answers that came too late cost, beside as many attempts at the others."""
    known = [row for row in of if row["slow_usd"] is not None and row["others_slow_usd"] is not None]
    if not known:
        return ""
    own, others = (sum(row[name] for row in known) for name in ("slow_usd", "others_slow_usd"))
    return (
        f"; its answers that came too late took {dollars(own)}, those of as many tries at the others {dollars(others)}"
    )


def _spec() -> Picture:
    shade = alt.Color(
        "times:Q",
        scale=alt.Scale(type="threshold", domain=_TIMES, range=_SHADES),
        legend=alt.Legend(title="times as long for a token", format=".2~f", columns=4),
    )
    return replica_heat(
        shade,
        alt.Tooltip("p50_tpot_s:Q", title="s a token, median", format=".3~g"),
        alt.Tooltip("others_s:Q", title="the others", format=".3~g"),
        alt.Tooltip("n_tpot:Q", title="answers", format=","),
    )


CHART = Chart(
    name="replica_paces",
    place=10,
    question="Is one replica slower than the others?",
    answer=_answer,
    empty="No two replicas of a pool can be set side by side: names of replicas and pools, first and last token and "
    "output tokens are needed, and at least 20 answers in a window.",
    spec=_spec,
    draws=("times",),
    chosen_by=("pool", "model"),
    columns=(
        ChartColumn("at", "Window from", "time"),
        ChartColumn("replica", "Replica"),
        ChartColumn("pool", "Pool"),
        ChartColumn("p50_tpot_s", "A token, median", "seconds"),
        ChartColumn("others_s", "The others", "seconds"),
        ChartColumn("times", "Times as long", "number"),
        ChartColumn("n_tpot", "Answers", "count"),
        ChartColumn("slow_usd", "Too late there", "usd"),
        ChartColumn("others_slow_usd", "At the others", "usd"),
    ),
)
