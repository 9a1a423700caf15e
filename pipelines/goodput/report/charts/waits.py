"""The chart of what a hit saves: the first token by how much of the prompt was found in a cache."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Row, Rows
from goodput.report.looks import SERIES, rows

_BANDS = ["none", "to 25 %", "to 50 %", "to 75 %", "to 100 %"]


def _answer(found: Rows) -> str:
    """Of the pool with most answers: the least and the most cached band."""
    answers: dict[str, int] = {}
    for row in found:
        answers[row["pool"]] = answers.get(row["pool"], 0) + row["n_ttft"]
    busiest = max(answers, key=lambda pool: answers[pool])
    bands = sorted((row for row in found if row["pool"] == busiest), key=lambda row: row["cached_up_to_ratio"])
    first, last = bands[0], bands[-1]
    if first is last:
        return f"All prompts of {busiest} fared alike: {_cached(first)}."
    return (
        f"Half of the answers of {busiest} began within {first['p50_ttft_s']:.2g} s where {_cached(first)}, and within "
        f"{last['p50_ttft_s']:.2g} s where {_cached(last)}. Such prompts differ in length too."
    )


def _cached(row: Row) -> str:
    if not row["cached_up_to_ratio"]:
        return "nothing was cached"
    return f"{100 * row['cached_above_ratio']:.0f} to {100 * row['cached_up_to_ratio']:.0f} % of the prompt was cached"


def _spec() -> Picture:
    made: Picture = (
        alt.Chart(rows())
        .mark_bar()
        .encode(
            alt.X("band:N", sort=_BANDS, axis=alt.Axis(title="share of the prompt that was cached", labelAngle=0)),
            alt.XOffset("pool:N"),
            alt.Y("p50_ttft_s:Q", axis=alt.Axis(title="median seconds to first token", tickCount=5, format="~f")),
            alt.Color("pool:N", scale=alt.Scale(range=SERIES)),
            tooltip=[
                "pool:N",
                "model:N",
                alt.Tooltip("band:N", title="cached"),
                alt.Tooltip("p50_ttft_s:Q", title="median", format=".3~g"),
                alt.Tooltip("p95_ttft_s:Q", title="p95", format=".3~g"),
                alt.Tooltip("n_ttft:Q", title="answers", format=","),
            ],
        )
        .properties(height=200)
    )
    return made


CHART = Chart(
    name="hit_waits",
    place=15,
    question="What does a cache hit save?",
    answer=_answer,
    empty="No attempt says how much of its prompt was cached: traces with cached input tokens are needed.",
    spec=_spec,
    chosen_by=("pool", "model"),
    columns=(
        ChartColumn("pool", "Pool"),
        ChartColumn("model", "Model"),
        ChartColumn("band", "Cached"),
        ChartColumn("n_ttft", "Answers", "count"),
        ChartColumn("p50_ttft_s", "Median", "seconds"),
        ChartColumn("p95_ttft_s", "p95", "seconds"),
    ),
)
