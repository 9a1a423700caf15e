"""The chart of load: how much a replica can bear before answers fail their gates."""

import math

import altair as alt

from goodput.report.chart import FEWEST, Chart, Column, Picture, Row, Rows, counted
from goodput.report.looks import SERIES, rows, share_axis

HEADROOM = 1.2  # as in recommended_replicas (docs/semantics.md#frontier)
_NAMED = 5  # in the sentence; the chart has all


def _answer(found: Rows) -> str:
    names = sorted({row["name"] for row in found})
    parts = [_of_one([row for row in found if row["name"] == name]) for name in names[:_NAMED]]
    more = [f"{len(names) - _NAMED} more are in the numbers"] if len(names) > _NAMED else []
    return ". ".join([*parts, *more]) + ". By the gates on p99 and the promised share, over the last 7 days."


def _of_one(found: Rows) -> str:
    """How much one pool or route bears; without a knee no load is known at which its gates held."""
    row, heaviest = found[0], max(one["load_rps"] for one in found)
    if row["knee_censored"]:
        return f"{row['name']}: no load up to {heaviest:.2g} requests/s a replica has shown its limit"
    if row["knee_rps"] is None:
        sustained = sum(bool(one["is_sustained"]) for one in found)
        if not sustained:
            least = min(one["load_rps"] for one in found)
            loads = f"from {least:.2g} to {heaviest:.2g} requests/s a replica"
            return f"{row['name']}: its gates held at no load seen, {loads}, so that its limit is not known"
        kept = f"{counted(sustained, 'load')} of {len(found)} seen, up to {heaviest:.2g}"
        return f"{row['name']}: its limit is not known; {kept}, kept its gates"
    low, high = row["knee_ci_low_rps"], row["knee_ci_high_rps"]
    ends = f" ({low:.2g} to {high:.2g})" if low is not None and high is not None else ""
    needed, had = row["recommended_replicas"], row["most_replicas"]
    range_of = _range_of(row)
    beside = f", where it had {had}" if had is not None else ""
    advice = (
        f"; its peak of {row['peak_rps']:.2g} requests/s needs {needed} such replicas{range_of}{beside}, 20 % headroom "
        "included; below the peak fewer do"
        if needed is not None
        else ""
    )
    limit = f"{row['knee_rps']:.2g} requests/s a replica{ends}"
    judged = [one["is_sustained"] for one in found if one["load_rps"] <= row["knee_rps"]]
    if not any(judged):
        few = f"none up to it had the {FEWEST} requests with which a load is judged"
        shown = few if all(kept is None for kept in judged) else "none up to it that was judged kept the gates"
        words = f"its limit is about {limit} by the curve through all loads; {shown}"
        return f"{row['name']}: {words}{_heavier(found)}{advice}"
    return f"{row['name']}: well served up to {limit}{_heavier(found)}{advice}"


def _range_of(row: Row) -> str:
    """How many replicas the ends of the limit's interval ask for."""
    low, high, peak = row["knee_ci_low_rps"], row["knee_ci_high_rps"], row["peak_rps"]
    if low is None or high is None or row["recommended_replicas"] is None:
        return ""
    fewest, most = (math.ceil(peak / end * HEADROOM - 1e-9) for end in (high, low))
    return f" ({fewest} to {most})" if fewest < most else ""


def _heavier(found: Rows) -> str:
    """How many heavier loads kept the gates, where some did: a load of too few requests is not judged."""
    beyond = [one["is_sustained"] for one in found if one["load_rps"] > one["knee_rps"]]
    judged = [kept for kept in beyond if kept is not None]
    return f", though {sum(judged)} of {counted(len(judged), 'heavier load')} kept the gates" if any(judged) else ""


def _spec() -> Picture:
    chart = alt.Chart(rows())
    load = alt.X("load_rps:Q", axis=alt.Axis(title="arrivals per second and replica", format="~f", tickCount=6))
    share = alt.Y("ratio:Q", axis=share_axis(), scale=alt.Scale(domain=[0, 1]))
    shade = alt.Color("name:N", scale=alt.Scale(range=SERIES))
    ends = chart.mark_rule(opacity=0.5).encode(load, alt.Y("low:Q"), alt.Y2("high:Q"), color=shade)
    points = chart.mark_line(point={"size": 30}).encode(
        load,
        share,
        shade,
        alt.StrokeDash("name:N", legend=None),
        tooltip=[
            "name:N",
            alt.Tooltip("load_rps:Q", title="load", format=".3~g"),
            alt.Tooltip("ratio:Q", title="accepted", format=".1%"),
            alt.Tooltip("windows:Q", title="windows"),
        ],
    )
    knee = (
        chart.transform_filter("isValid(datum.knee_rps)")
        .transform_aggregate(knee="max(knee_rps)", groupby=["name"])
        .encode(alt.X("knee:Q"), tooltip=["name:N", alt.Tooltip("knee:Q", format=".3~g")])
    )
    lines = knee.mark_rule(strokeDash=[4, 3]).encode(color=shade)
    names = knee.mark_text(align="left", baseline="bottom", dx=4).encode(
        alt.Y(value=196), alt.Text("knee:N", format=".2~g"), shade
    )
    return alt.layer(ends, points, lines, names).properties(height=200)


CHART = Chart(
    name="load_curves",
    place=12,
    question="How much can a replica bear?",
    answer=_answer,
    empty="Too few windows to say what load a replica bears: names of replicas and some days are needed.",
    spec=_spec,
    chosen_by=("divided_by", "pool", "route"),
    none_is_all=True,
    columns=(
        Column("name", "Pool or route"),
        Column("load_rps", "Load, requests/s a replica", "number"),
        Column("windows", "Windows", "count"),
        Column("ratio", "Accepted", "share"),
        Column("low", "95 % from", "share"),
        Column("high", "to", "share"),
        Column("is_sustained", "Kept its gates", "flag"),
        Column("knee_rps", "Limit", "number"),
        Column("knee_ci_low_rps", "95 % from", "number"),
        Column("knee_ci_high_rps", "to", "number"),
    ),
)
