"""The chart of judges: what share of the answers each evaluator passes."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Rows, counted, percent, within
from goodput.report.looks import BLUE, MUTED, rows


def _answer(found: Rows) -> str:
    known = [row for row in found if row["ratio"] is not None]
    if not known:
        return "Nobody drew the judged answers at random: their share says nothing of all answers."
    worst = min(known, key=lambda row: row["ratio"])
    ends = within(worst["low"], worst["high"])
    models = {row["model"] for row in found if row["workload"] == worst["workload"]}
    by_model = f" by {worst['model'] or 'an unknown model'}" if len(models) > 1 else ""
    return (
        f"Lowest: {worst['evaluator']} passes {percent(worst['ratio'])}{ends} of the answers "
        f"of {worst['workload']}{by_model}, by {counted(worst['judged'], 'judgement')} of "
        f"{counted(worst['answered'], 'answer')}."
    )


def _spec() -> Picture:
    base = (
        alt.Chart(rows())
        .transform_calculate(name="datum.workload + ' ' + datum.evaluator")
        .encode(
            alt.Y("name:N", title=None, sort=alt.EncodingSortField("ratio", op="min"), axis=alt.Axis(labelLimit=220))
        )
    )
    share = alt.X(
        "ratio:Q",
        axis=alt.Axis(title="share of answers that pass", format="~%", tickCount=5),
        scale=alt.Scale(zero=False, padding=12),
    )
    ends = base.mark_rule(color=MUTED, strokeWidth=2).encode(alt.X("low:Q"), alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=70, color=BLUE, opacity=1).encode(
        share,
        tooltip=[
            "workload:N",
            "model:N",
            "evaluator:N",
            alt.Tooltip("ratio:Q", title="pass", format=".1%"),
            alt.Tooltip("judged:Q", format=","),
            alt.Tooltip("answered:Q", format=","),
        ],
    )
    return alt.layer(ends, points).properties(height=alt.Step(26))


CHART = Chart(
    name="judged_answers",
    place=18,
    question="How good were the answers?",
    answer=_answer,
    empty="No label of this period joined an answer: `goodput labels plan` says what to judge.",
    spec=_spec,
    draws=("ratio",),
    chosen_by=("workload", "model"),
    columns=(
        ChartColumn("workload", "Workload"),
        ChartColumn("model", "Model"),
        ChartColumn("evaluator", "Evaluator"),
        ChartColumn("answered", "Answers", "count"),
        ChartColumn("judged", "Judged", "count"),
        ChartColumn("passed", "Passed", "count"),
        ChartColumn("ratio", "Share that passes", "share"),
        ChartColumn("low", "95 % from", "share"),
        ChartColumn("high", "to", "share"),
    ),
)
