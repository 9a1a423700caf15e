"""The chart of load: how full the KV cache of each replica was, who waited for it, and what it preempted."""

import altair as alt

from goodput.report.chart import Chart, ChartColumn, Picture, Row, Rows, clock, counted, percent, sentence
from goodput.report.looks import HEAT, replica_heat

_FULL = 0.95  # of the cache: from about there on an engine preempts what runs


def _answer(found: Rows) -> str:
    parts = [part for part in (_fullest(found), _waited(found), _preempted(found)) if part]
    text = "; ".join(parts) or "no reading tells more than that requests ran"
    stale = sorted({row["replica"] for row in found if row["is_stale"]})
    frozen = f" The readings of {', '.join(stale)} stood still while it served, and say nothing." if stale else ""
    return f"{sentence(text)}.{frozen}"


def _fullest(found: Rows) -> str:
    known = [row for row in found if row["kv_usage_ratio"] is not None]
    if not known:
        return ""
    top = _most(known, "kv_usage_ratio")
    text = f"the KV cache was fullest at {top['replica']}, {percent(top['kv_usage_ratio'])}{_when(top)}"
    full = {row["replica"] for row in known if row["kv_usage_ratio"] >= _FULL}
    others = (
        f"; {counted(len(full), 'replica')} of {len({row['replica'] for row in known})} reached {percent(_FULL, 0)}"
    )
    return text + (others if full else "")


def _waited(found: Rows) -> str:
    known = [row for row in found if row["waiting"] is not None]
    if not known:
        return ""
    top = _most(known, "waiting")
    if not top["waiting"]:
        return "nobody was seen to wait"
    return f"most waited at {top['replica']}, {counted(top['waiting'], 'request')} at once{_when(top)}"


def _preempted(found: Rows) -> str:
    known = [row["preemptions"] for row in found if row["preemptions"] is not None]
    return f"{counted(sum(known), 'preemption')} in all" if known else ""


def _most(known: Rows, name: str) -> Row:
    return max(known, key=lambda row: (row[name], -row["at"]))


def _when(row: Row) -> str:
    return f" in the window from {clock(row['at'])} UTC"


def _spec() -> Picture:
    shade = alt.Color(
        "kv_usage_ratio:Q",
        scale=alt.Scale(type="threshold", domain=[0.2, 0.4, 0.6, 0.8], range=HEAT),
        legend=alt.Legend(title="KV cache, fullest", format=".0%", columns=5),
    )
    return replica_heat(
        shade,
        alt.Tooltip("kv_usage_ratio:Q", title="KV cache, fullest", format=".1%"),
        alt.Tooltip("waiting:Q", title="most waiting", format=","),
        alt.Tooltip("running:Q", title="most running", format=","),
        alt.Tooltip("preemptions:Q", title="preemptions", format=","),
    )


CHART = Chart(
    name="replica_fill",
    place=11,
    question="How full were the replicas?",
    answer=_answer,
    empty="Nothing is known of KV caches and queues: engine metrics are needed.",
    spec=_spec,
    draws=("kv_usage_ratio",),
    chosen_by=("pool", "model"),
    columns=(
        ChartColumn("at", "Window from", "time"),
        ChartColumn("replica", "Replica"),
        ChartColumn("pool", "Pool"),
        ChartColumn("kv_usage_ratio", "KV cache, fullest", "share"),
        ChartColumn("waiting", "Most waiting", "count"),
        ChartColumn("running", "Most running", "count"),
        ChartColumn("preemptions", "Preemptions", "count"),
    ),
)
