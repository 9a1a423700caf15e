"""The chart of parts: whether one route, model or pool of a workload serves it worse than another at the same time."""

import shlex

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Row, Rows, counted, dollars, percent, sentence
from goodput.report.looks import BLUE, MUTED, ORANGE, rows

_NAMED = 3  # pairs in the sentence; the chart has all
_TWO_LINES = "[split(datum.label, ' beside ')[0], 'beside ' + split(datum.label, ' beside ')[1]]"
_SHARE, _PRICE = "p", "p_usd"
_BY_CHANCE = 0.05


def _answer(found: Rows) -> str:
    questions = 2 * len(found)
    sure = [row for row in found if _is_sure(row, _SHARE, questions) or _is_sure(row, _PRICE, questions)]
    if not sure:
        nearest = min(found, key=_least_chance)
        return (
            f"No difference that chance does not explain; nearest comes {_both(nearest, questions)}.\n{_given(nearest)}"
        )
    sure.sort(key=_least_chance)
    sentences = [f"{sentence(_both(row, questions))}.{_worth(row, questions)}" for row in sure[:_NAMED]]
    more = [f"{counted(len(sure) - _NAMED, 'pair')} more that differ in the numbers."] if len(sure) > _NAMED else []
    return "\n".join([*sentences, *more, _given(sure[0])])


def _least_chance(row: Row) -> tuple[float, float]:
    """Of share and price the surer difference; where both are beyond any doubt, the larger one of shares is first."""
    return min(_chance(row, _SHARE), _chance(row, _PRICE)), -abs(row["gap"])


def _chance(row: Row, of: str) -> float:
    """How often chance alone makes a difference as large; always where none is known."""
    return 1 if row[of] is None else float(row[of])


def _is_sure(row: Row, of: str, questions: int) -> bool:
    """Whether chance does not explain a difference, of so many that are asked after at once (Bonferroni)."""
    return _chance(row, of) * questions < _BY_CHANCE


def _is_first_worse(row: Row, questions: int) -> bool:
    """Whether the first of a pair is the worse one: by what was accepted, unless the price alone tells them apart."""
    if _is_sure(row, _PRICE, questions) and not _is_sure(row, _SHARE, questions):
        return bool(row["gap_usd"] > 0)
    return bool(row["gap"] < 0)


def _worse_first(row: Row, questions: int) -> tuple[str, str, tuple[float, float], tuple[float | None, float | None]]:
    """Names of a pair, shares accepted and prices, those of the worse one first."""
    ordered = slice(None) if _is_first_worse(row, questions) else slice(None, None, -1)
    worse, better = (row["name"], row["beside"])[ordered]
    return (
        worse,
        better,
        (row["ratio"], row["other_ratio"])[ordered],
        (row["price_usd"], row["other_price_usd"])[ordered],
    )


def _both(row: Row, questions: int) -> str:
    worse, better, shares, prices = _worse_first(row, questions)
    apart = f"{100 * (shares[1] - shares[0]):.1f} points apart{_ends(shares[1] - shares[0], row['gap_half'])}"
    text = (
        f"{row['divided_by']} {worse} of workload {row['workload']} had {percent(shares[0])} of its requests accepted, "
        f"{better} {percent(shares[1])}: {apart}{_doubt(row, _SHARE, questions)}"
    )
    by = f"; by {counted(row['windows'], 'window')} that both served"
    if row["gap_usd_half"] is None or None in prices:
        return text + by
    more = (prices[0] or 0) - (prices[1] or 0)
    low, high = (dollars(abs(more) + sign * row["gap_usd_half"]) for sign in (-1, 1))
    price = f"{dollars(prices[0])}, beside {dollars(prices[1])}: {dollars(abs(more))} {'less' if more < 0 else 'more'}"
    return f"{text}; an accepted answer cost {price} ({low} to {high}){_doubt(row, _PRICE, questions)}{by}"


def _ends(gap: float, half: float) -> str:
    return f" ({100 * (gap - half):.1f} to {100 * (gap + half):.1f})"


def _doubt(row: Row, of: str, questions: int) -> str:
    return "" if _is_sure(row, of, questions) else ", which may be chance"


def _worth(row: Row, questions: int) -> str:
    """What the worse of a pair would have had, had it done as well as the other: answers, no dollars off the bill."""
    if not _is_sure(row, _SHARE, questions):
        return ""
    offered = row["offered" if _is_first_worse(row, questions) else "other_offered"]
    worse, better, *_ = _worse_first(row, questions)
    gap, half = abs(row["gap"]) * offered, row["gap_half"] * offered
    more = f"about {gap:,.0f} more of its answers ({max(0, gap - half):,.0f} to {gap + half:,.0f}) would count"
    return f" Had {worse} done as well as {better}, {more}; the bill falls only where replicas go.{_when_busy(row)}"


def _when_busy(row: Row) -> str:
    """Whether it holds when there is most to do."""
    if row["busy_gap"] is None or row["quiet_gap"] is None:
        return ""
    sign = -1 if row["gap"] < 0 else 1
    busy, quiet = (100 * sign * row[f"{name}_gap"] for name in ("busy", "quiet"))
    return f" In the busiest third of these windows they were {busy:.1f} points apart, in the others {quiet:.1f}."


def _given(row: Row) -> str:
    sides = " ".join(shlex.quote(text) for text in (row["divided_by"], row["name"], row["beside"]))
    return (
        "What they were given may differ: "
        f"`goodput compare --by {sides} --workload {shlex.quote(row['workload'])}` sets prompts and answers of one "
        "length beside each other. What is lost here is among the losses above, not beside them; whether the better "
        "one stays so with more of the traffic, only a trial tells."
    )


def _spec() -> Picture:
    base = (
        alt.Chart(rows())
        .transform_calculate(
            pair="datum.workload + ': ' + datum.name + ' beside ' + datum.beside",
            low="datum.gap - datum.gap_half",
            high="datum.gap + datum.gap_half",
            side="datum.low > 0 || datum.high < 0 ? 'beyond chance' : 'may be chance'",
        )
        .encode(alt.Y("pair:N", title=None, axis=alt.Axis(labelLimit=180, labelExpr=_TWO_LINES)))
    )
    shade = alt.Color(
        "side:N",
        scale=alt.Scale(domain=["beyond chance", "may be chance"], range=[ORANGE, BLUE]),
        legend=alt.Legend(columns=1),
    )
    tooltip = [
        alt.Tooltip("pair:N", title="of workload"),
        alt.Tooltip("gap:Q", title="difference", format="+.1%"),
        alt.Tooltip("low:Q", title="95 % from", format="+.1%"),
        alt.Tooltip("high:Q", title="to", format="+.1%"),
        alt.Tooltip("price_usd:Q", title="per accepted", format="$.3~g"),
        alt.Tooltip("other_price_usd:Q", title="beside", format="$.3~g"),
    ]
    axis = alt.Axis(title="share accepted, difference", format="+.0%", tickCount=5)
    ends = base.mark_rule(strokeWidth=2).encode(alt.X("low:Q", axis=axis), alt.X2("high:Q"), shade)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(alt.X("gap:Q", axis=axis), shade, tooltip=tooltip)
    zero = alt.Chart(rows()).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(alt.X(datum=0))
    return alt.layer(zero, ends, points).properties(height=alt.Step(40))


CHART = Chart(
    name="parts_apart",
    place=9,
    question="Does one route, model or pool do worse than another?",
    answer=_answer,
    empty="No workload was served by two routes, models or pools in the same windows, six or more of them. "
    "Telemetry names them, or `attributes` of the settings says where.",
    spec=_spec,
    draws=("gap_half",),
    chosen_by=("workload",),
    is_wide=True,
    columns=(
        ChartColumn("workload", "Workload"),
        ChartColumn("divided_by", "By"),
        ChartColumn("name", "Name"),
        ChartColumn("beside", "Beside"),
        ChartColumn("windows", "Windows of both", "count"),
        ChartColumn("ratio", "Accepted", "share"),
        ChartColumn("other_ratio", "Beside", "share"),
        ChartColumn("gap", "Difference", "share"),
        ChartColumn("gap_half", "95 %, half", "share"),
        ChartColumn("price_usd", "Per accepted", "usd"),
        ChartColumn("other_price_usd", "Beside", "usd"),
        ChartColumn("gap_usd", "Difference", "usd"),
        ChartColumn("gap_usd_half", "95 %, half", "usd"),
    ),
)
