"""The chart of alarms: what fired, from when to when, and of what nobody was notified."""

from collections import Counter

import altair as alt

from goodput.ask.alarm_evidence import NONE_YET
from goodput.report.chart import Chart, ChartColumn, Picture, Rows, clock, counted
from goodput.report.looks import ORANGE, RED, rows, time

_SEVERITIES = ["page", "ticket"]


def _answer(found: Rows) -> str:
    firing = [row for row in found if row["is_firing"]]
    if firing:
        oldest = min(firing, key=lambda row: row["at"])
        since = clock(oldest["at"])
        many = f"{counted(len(firing), 'alarm')} firing now{_held_back(firing)}"
        return f"{many}, the oldest since {since} UTC: {oldest['summary']}"
    last = max(found, key=lambda row: row["at"])
    many = f"{counted(len(found), 'alarm')} fired, none does now{_held_back(found)}"
    return f"{many}. Last at {clock(last['at'])} UTC: {last['summary']}"


def _held_back(found: Rows) -> str:
    """Of how many nobody was notified, and why; empty where somebody was of each."""
    why = Counter(row["suppressed"] for row in found if row["suppressed"] is not None)
    if not why:
        return ""
    held = why.total()
    of_them = "it" if held == len(found) == 1 else "any of them" if held == len(found) else f"{held} of them"
    kinds = ", ".join(f"{number} {kind.replace('_', ' ')}" for kind, number in sorted(why.items()))
    return f" (nobody was notified of {of_them}: {kinds})"


def _spec() -> Picture:
    made: Picture = (
        alt.Chart(rows())
        .mark_bar(height={"band": 0.6}, cornerRadius=2)
        .encode(
            time(),
            alt.X2("until_at:T"),
            alt.Y("rule:N", title=None),
            alt.Color("severity:N", scale=alt.Scale(domain=_SEVERITIES, range=[RED, ORANGE])),
            opacity=alt.condition("datum.suppressed === null", alt.value(1), alt.value(0.45)),
            tooltip=[
                alt.Tooltip("summary:N", title="alarm"),
                alt.Tooltip("at:T", title="from", format="%d %b %H:%M"),
                alt.Tooltip("until_at:T", title="to", format="%d %b %H:%M"),
                alt.Tooltip("suppressed:N", title="held back"),
                alt.Tooltip("value:Q", format=".4~g"),
                alt.Tooltip("usual:Q", format=".4~g"),
            ],
        )
        .properties(height=alt.Step(26))
    )
    return made


CHART = Chart(
    name="alarm_spans",
    place=19,
    question="What is alarming, since when?",
    answer=_answer,
    empty="Nothing fired in this period, which does not say that all is well: a bound is watched from the first hour "
    "that telemetry has from end to end, a trend from a week of such hours. `goodput alarms` says what was watched.",
    missing=("alarms_unwatched", NONE_YET),
    spec=_spec,
    leads_to="alarm",
    chosen_by=("workload", "pool"),
    none_is_all=True,
    columns=(
        ChartColumn("at", "From", "time"),
        ChartColumn("until_at", "To", "time"),
        ChartColumn("severity", "Severity"),
        ChartColumn("rule", "Rule"),
        ChartColumn("suppressed", "Held back"),
        ChartColumn("summary", "Alarm"),
        ChartColumn("value", "Value", "number"),
        ChartColumn("usual", "Usual", "number"),
    ),
)
