"""The chart of load: how much a replica can bear before answers fail their gates, by the gate that fails first."""

import math

from goodput.report.chart import FEWEST, Chart, ChartColumn, Row, Rows, counted, dollars, percent
from goodput.report.load_picture import loads

_NAMED = 5  # in the sentence; the chart has all
_JUDGED = (
    "Judged by each latency gate and by the share accepted, over the last 7 days. The chart shows the one that fails "
    "first; its line pools neighbouring loads so that it never falls."
)


def _answer(found: Rows) -> str:
    names = sorted({row["name"] for row in found})
    parts = [_of_one([row for row in found if row["name"] == name]) for name in names[:_NAMED]]
    more = [f"{len(names) - _NAMED} more are in the numbers"] if len(names) > _NAMED else []
    return "\n".join([*(f"{part}." for part in (*parts, *more)), _JUDGED])


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
            held = f"its gates failed at every load seen, {loads}, so its limit is unknown"
            return f"{row['name']}: {held}{_least(found)}{_vain(row)}"
        kept = f"{counted(sustained, 'load')} of {len(found)} seen, up to {heaviest:.2g}"
        return f"{row['name']}: its limit is not known; {kept}, kept its gates"
    low, high = row["knee_ci_low_rps"], row["knee_ci_high_rps"]
    ends = f" ({low:.2g} to {high:.2g})" if low is not None and high is not None else ""
    needed, had = None if row["is_failed_by_prompts"] else row["recommended_replicas"], row["most_replicas"]
    range_of = _range_of(row)
    beside = f", where it had {had}" if had is not None else ""
    advice = (
        f"; its peak of {row['peak_rps']:.2g} requests/s needs {needed} such replicas{range_of}{beside}, "
        f"{_headroom(row)} included{_more(row)}; below the peak fewer do"
        if needed is not None
        else _vain(row)
    )
    limit = f"{row['knee_rps']:.2g} requests/s a replica{ends}"
    judged = [one["is_sustained"] for one in found if one["load_rps"] <= row["knee_rps"]]
    if not any(judged):
        few = f"none up to it had the {FEWEST} requests that judging takes"
        shown = few if all(kept is None for kept in judged) else "none up to it that was judged kept the gates"
        words = f"its limit is about {limit} by the curve through all loads; {shown}"
        return f"{row['name']}: {words}{_heavier(found)}{_by(row)}{advice}"
    return f"{row['name']}: well served up to {limit}{_heavier(found)}{_by(row)}{advice}"


def _vain(row: Row) -> str:
    if not row["is_failed_by_prompts"]:
        return ""
    share = _share(row["prefill_late_ratio"])
    return (
        f"; yet {share} of its answers have a prompt that alone takes longer than that gate allows: more replicas do "
        "not help these"
    )


def _more(row: Row) -> str:
    """What the replicas that a peak lacks would cost."""
    needed, had, each = row["recommended_replicas"], row["most_replicas"], row["replica_hour_usd"]
    if had is None or each is None or needed <= had:
        return ""
    return f" ({needed - had} more would cost {dollars((needed - had) * each)} an hour)"


def _headroom(row: Row) -> str:
    return f"{percent(row['headroom'] - 1, 0)} headroom"


def _by(row: Row) -> str:
    """By what the limit is judged."""
    if row["knee_gate"] is None:
        return ""
    fails = "are not accepted" if row["knee_gate"] == "goodput" else f"of the answers fail the gate {row['knee_gate']}"
    return f"; from about there on more than {_share(row['bound'])} {fails}"


def _share(ratio: float) -> str:
    return f"{100 * ratio:.2g} %"


def _least(found: Rows) -> str:
    """How far from its bound the share is that fails what the limit would be judged by."""
    failing = [one["fail_ratio"] for one in found if one["fail_ratio"] is not None and one["arrivals"] >= FEWEST]
    if not failing:
        return ""
    row = found[0]
    fails = "were not accepted" if row["knee_gate"] == "goodput" else f"failed the gate {row['knee_gate']}"
    many = f"{_share(min(failing))} to {_share(max(failing))}" if min(failing) < max(failing) else _share(min(failing))
    return f": {many} {fails}, where {_share(row['bound'])} may"


def _range_of(row: Row) -> str:
    """How many replicas the ends of the limit's interval ask for."""
    low, high, peak = row["knee_ci_low_rps"], row["knee_ci_high_rps"], row["peak_rps"]
    if low is None or high is None or row["recommended_replicas"] is None:
        return ""
    fewest, most = (math.ceil(peak / end * row["headroom"] - 1e-9) for end in (high, low))
    return f" ({fewest} to {most})" if fewest < most else ""


def _heavier(found: Rows) -> str:
    """How many heavier loads kept the gates, where some did: a load of too few requests is not judged."""
    beyond = [one["is_sustained"] for one in found if one["load_rps"] > one["knee_rps"]]
    judged = [kept for kept in beyond if kept is not None]
    return f", though {sum(judged)} of {counted(len(judged), 'heavier load')} kept the gates" if any(judged) else ""


CHART = Chart(
    name="load_curves",
    place=16,
    question="How much can a replica bear?",
    answer=_answer,
    empty="Too few undisturbed windows to say what load a replica bears: names of replicas and some days are needed. "
    "Windows around operations count where `in_frontier` of the settings says so.",
    spec=loads,
    draws=("fail_ratio",),
    chosen_by=("divided_by", "pool", "route"),
    none_is_all=True,
    columns=(
        ChartColumn("name", "Pool or route"),
        ChartColumn("load_rps", "Load, requests/s a replica", "number"),
        ChartColumn("windows", "Windows", "count"),
        ChartColumn("arrivals", "Requests", "count"),
        ChartColumn("knee_gate", "Judged by"),
        ChartColumn("fail_ratio", "Fails it", "share"),
        ChartColumn("pooled", "pooled", "share"),
        ChartColumn("bound", "of which may", "share"),
        ChartColumn("ratio", "Accepted", "share"),
        ChartColumn("low", "95 % from", "share"),
        ChartColumn("high", "to", "share"),
        ChartColumn("is_sustained", "Kept its gates", "flag"),
        ChartColumn("knee_rps", "Limit", "number"),
        ChartColumn("knee_ci_low_rps", "95 % from", "number"),
        ChartColumn("knee_ci_high_rps", "to", "number"),
    ),
)
