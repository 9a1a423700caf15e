"""The chart of caches: how much of its input each replica found in its own."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Rows, percent
from goodput.report.looks import HEAT, replica_heat


def _answer(found: Rows) -> str:
    by_replica: dict[str, list[float]] = {}
    for row in found:
        if row["hit_ratio"] is not None and row["looked_up_tokens"]:
            tokens = by_replica.setdefault(row["replica"], [0.0, 0.0])
            tokens[0] += row["hit_ratio"] * row["looked_up_tokens"]
            tokens[1] += row["looked_up_tokens"]
    if not by_replica:
        return "No replica looked anything up in its cache."
    ratios = {replica: hit / looked_up for replica, (hit, looked_up) in by_replica.items()}
    cold, warm = min(ratios, key=lambda name: ratios[name]), max(ratios, key=lambda name: ratios[name])
    hit, looked_up = (sum(tokens[part] for tokens in by_replica.values()) for part in (0, 1))
    text = f"{percent(hit / looked_up)} of the input tokens were found in a cache"
    if ratios[cold] == ratios[warm]:
        return f"{text}."
    return f"{text}: from {percent(ratios[cold])} at {cold} to {percent(ratios[warm])} at {warm}."


def _spec() -> Picture:
    shade = alt.Color(
        "hit_ratio:Q",
        scale=alt.Scale(type="threshold", domain=[0.2, 0.4, 0.6, 0.8], range=HEAT),
        legend=alt.Legend(title="input found in cache", format=".0%", columns=5),
    )
    return replica_heat(
        shade,
        alt.Tooltip("hit_ratio:Q", title="found in cache", format=".1%"),
        alt.Tooltip("looked_up_tokens:Q", title="tokens looked up", format=","),
    )


CHART = Chart(
    name="replica_hits",
    place=14,
    question="Whose cache is cold?",
    answer=_answer,
    empty="Nothing is known of caches: engine metrics (hits and queries), or cached tokens in traces, are needed.",
    spec=_spec,
    draws=("hit_ratio",),
    chosen_by=("pool", "model"),
    columns=(
        ChartColumn("at", "Window from", "time"),
        ChartColumn("replica", "Replica"),
        ChartColumn("pool", "Pool"),
        ChartColumn("hit_ratio", "Found in cache", "share"),
        ChartColumn("looked_up_tokens", "Tokens looked up", "count"),
        ChartColumn("attempts", "Attempts", "count"),
    ),
)
