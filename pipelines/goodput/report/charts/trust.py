"""The last entry: how far the numbers can be trusted; a table, not a picture."""

from goodput.report.chart import Chart, ChartColumn, Rows, sentence


def _answer(found: Rows) -> str:
    doubtful = [row for row in found if row["is_doubtful"]]
    limits = "; ".join(str(row["limits"]) for row in found if row["limits"] is not None)
    limited = f" What limits these numbers: {limits}." if limits else ""
    if not doubtful:
        summary = "every row read is accounted for, and no warning stands."
        return f"{sentence(summary)}{limited}" if limited else f"Nothing speaks against these numbers: {summary}"
    return (
        f"{len(doubtful)} of {len(found)} facts want a look: "
        + ", ".join(sorted({str(row["name"]).lower() for row in doubtful}))
        + f".{limited}"
    )


CHART = Chart(
    name="trust_facts",
    place=21,
    question="Can this be believed?",
    answer=_answer,
    empty="Nothing has been published yet.",
    chosen_by=(),
    is_wide=True,
    columns=(ChartColumn("name", "What"), ChartColumn("says", "Finding")),
)
