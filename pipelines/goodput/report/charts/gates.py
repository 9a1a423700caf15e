"""The chart of gates: which one stands in the way."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Rows, counted
from goodput.report.looks import COUNTS, MUTED, ORANGE, rows


def _answer(found: Rows) -> str:
    binding = max(found, key=lambda row: row["only_failing"])
    if not binding["only_failing"]:
        return "No request failed one gate alone: to loosen a single gate would accept none more."
    text = (
        f"The gate {binding['gate']} alone stands between {counted(binding['only_failing'], 'request')} and acceptance;"
        f" {counted(binding['failing'], 'request')} of {binding['gated']:,} failed it."
    )
    quality = next((row for row in found if row["gate"] == "quality"), None)
    if quality is not None and quality["gated"] < max(row["gated"] for row in found):
        text += f" Of quality only the {counted(quality['gated'], 'answer')} that were judged count."
    return text


def _spec() -> Picture:
    made: Picture = (
        alt.Chart(rows())
        .transform_fold(["only_failing", "with_others"], as_=["kind", "requests"])
        .transform_calculate(how="datum.kind == 'only_failing' ? 'this gate alone' : 'and others too'")
        .mark_bar(height={"band": 0.7})
        .encode(
            alt.Y("gate:N", title=None, sort="-x"),
            alt.X("requests:Q", axis=alt.Axis(title="requests that failed it", format=COUNTS, tickCount=5)),
            alt.Color("how:N", scale=alt.Scale(domain=["this gate alone", "and others too"], range=[ORANGE, MUTED])),
            alt.Order("kind:N"),
            tooltip=["gate:N", alt.Tooltip("how:N", title="failed"), alt.Tooltip("requests:Q", format=",")],
        )
        .properties(height=alt.Step(26))
    )
    return made


CHART = Chart(
    name="gate_totals",
    place=3,
    question="Which gate stands in the way?",
    answer=_answer,
    empty="No request of this period failed a gate.",
    spec=_spec,
    leads_to="gate",
    columns=(
        ChartColumn("gate", "Gate"),
        ChartColumn("gated", "Measured", "count"),
        ChartColumn("failing", "Failed it", "count"),
        ChartColumn("only_failing", "Failed it alone", "count"),
    ),
)
