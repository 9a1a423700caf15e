"""Faults of known truth in the demo's fleet, and what is reported of them: after how long, and of which cause."""

import gc
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from goodput.monitor.evaluate import Evaluation, Evidence
from goodput.settings.model import Settings
from goodput.simulate.fleet.fleet import Fleet, Served
from lakes import rows_of
from monitor.fleet import DAY_S, START, Fault, Story, arrivals, faults, fleet
from monitor.fleet_files import run_through
from monitor.fleet_rows import operations, relations
from monitor.line import Line

Event = dict[str, Any]
_NOTHING = {"kind": "", "occurred_at": START.isoformat()}
MONTH = Story(chat_per_hour=130, rag_per_hour=560, days=28, long_prompt_tokens=6000)
BUSY = Story(chat_per_hour=130, rag_per_hour=560, long_prompt_tokens=6000)  # 368 of rag in each hour: a p99 of its own


@dataclass(frozen=True)
class Page:
    """A page that began to fire: when, in seconds of the story, and the operation that it names."""

    rule: str
    metric: str
    pool: str
    at_s: float
    cause: str
    cause_s: float
    likely: bool  # else it is only the last operation that the alarm knows

    def is_of(self, fault: Fault) -> bool:
        """Whether it came while the fault was there, or within a day of its end, on its pool."""
        return self.pool == fault.pool and fault.onset_s < self.at_s <= fault.mended_s + DAY_S

    def names(self, fault: Fault) -> bool:
        """Whether it names the very operation that the fault began with, if that began with one."""
        return fault.operation is None or (self.cause == fault.operation and abs(self.cause_s - fault.onset_s) < 1)


def pages_of(events: Sequence[Event]) -> list[Page]:
    """Every page of a trend, a bound or an objective, reported or suppressed, by when it began."""
    found = {}
    for event in events:
        is_reported = event["severity"] == "page" or event["kind"] == "absence"
        if is_reported and event["transition"] == "firing" and event["metric"]:
            facts = json.loads(event["explanation"])
            done = facts.get("likely_cause") or facts.get("last_operation") or _NOTHING
            at_s = _seconds(event["starts_at"])
            found[event["alarm_id"], at_s] = Page(
                event["rule"],
                event["metric"],
                _pool(event),
                at_s,
                done["kind"],
                _seconds(datetime.fromisoformat(done["occurred_at"])),
                "likely_cause" in facts,
            )
    return sorted(found.values(), key=lambda page: page.at_s)


def served_in(story: Story) -> Served:
    """What the fleet of a story served."""
    asked = arrivals(story)
    gc.disable()  # it would look through hundreds of thousands of objects that all stay
    try:
        return Fleet(fleet(story)).run(asked)
    finally:
        gc.enable()


def judged(story: Story, served: Served, step_s: int) -> list[Event]:
    """Events of one evaluation at the end of the story, by rows reckoned from what was served."""
    settings = Settings.model_validate({"windows_s": [300, 900, 3600], "alarms": {"window_s": step_s}})
    evidence = Evidence(relations(served, step_s), settings, operations=operations(fleet(story)))
    return Evaluation(evidence, START + timedelta(days=story.days)).new_events([])


def fleet_lines() -> Iterator[Line]:
    """The faults through the whole pipeline with windows of an hour, then of 15 minutes by the rows alone."""
    served = served_in(BUSY)
    with run_through(BUSY, served) as workspace:
        events = rows_of(workspace.lake, "alarm_events")
    within_h = {"p99_ttft_s": 10, "kv_usage_ratio": 12, "hit_ratio": 9, "pass_ratio": 36, "goodput_ratio": 3}
    yield from _told(BUSY, pages_of(events), "goodput run", within_h)
    yield from a_month(within_h)
    quarters = pages_of(judged(BUSY, served, 900))
    yield from _told(BUSY, quarters, "15 minutes", {"kv_usage_ratio": 16, "hit_ratio": 12})


def a_month(within_h: dict[str, float]) -> Iterator[Line]:
    """The month: each fault is found in time, and of all that it disturbs one page is delivered."""
    with run_through(MONTH, served_in(MONTH)) as workspace:
        events = rows_of(workspace.lake, "alarm_events")
    pages = pages_of(events)
    yield from _told(MONTH, pages, "a month", within_h)
    delivered = list(_delivered(MONTH, events))
    found = [_fault_of(event) for event in delivered]
    of_each = [found.count(fault) for fault in faults(MONTH)]
    figure = f"{len(delivered)}, of each fault {', '.join(map(str, of_each))}"
    kept = of_each == [1] * len(of_each) and len(delivered) == len(of_each)
    yield Line("pages that are delivered in a month", figure, "one of each fault, no other", kept)


def _delivered(story: Story, events: Sequence[Event]) -> Iterator[Event]:
    """Pages and silences that whoever runs hourly is notified of; what is old when it is first read is `backfill`."""
    for event in events:
        is_reported = event["severity"] == "page" or event["kind"] == "absence"
        if is_reported and event["metric"] and event["transition"] == "firing":
            in_time = _seconds(event["starts_at"]) <= story.days * DAY_S  # when it is over all pools fall silent
            if in_time and event["suppressed"] in {None, "backfill"}:
                yield event


def _fault_of(event: Event) -> Fault | None:
    """What an event is of: the last that had begun, of faults of one pool that follow each other within a day."""
    return max(
        (fault for fault in faults(MONTH) if _is_in(event, fault)), key=lambda fault: fault.onset_s, default=None
    )


def _is_in(event: Event, fault: Fault) -> bool:
    return _pool(event) == fault.pool and fault.onset_s < _seconds(event["starts_at"]) <= fault.mended_s + DAY_S


def _pool(event: Event) -> str:
    """A series that has no pool has a workload, each of which has a pool of its name."""
    return str(event["pool"] or event["workload"])


def _told(story: Story, pages: Sequence[Page], where: str, within_h: dict[str, float]) -> Iterator[Line]:
    of_faults = faults(story)
    pages = [page for page in pages if page.at_s <= story.days * DAY_S]  # when it is over all pools fall silent
    for fault in of_faults:
        mine = [page for page in pages if page.metric == fault.metric and page.is_of(fault)]
        most_h = within_h.get(fault.metric)
        if most_h is None:
            continue
        what = f"{fault.name} since {START + timedelta(seconds=fault.onset_s):%a %H:%M} ({where})"
        promised = f"{fault.metric} <= {most_h:g} h, {fault.operation}"
        if not mine:
            yield Line(what, "no page", promised, False)
            continue
        first = mine[0]
        delay_h = (first.at_s - fault.onset_s) / 3600
        paged_at = START + timedelta(seconds=first.at_s)
        figure = f"{delay_h:.1f} h, at {paged_at:%a %H:%M}: {first.cause or 'nothing'} of {first.pool}"
        likely = first.likely or fault.operation is None
        yield Line(what, figure, promised, delay_h <= most_h and likely and first.names(fault))
    wrong = [p for p in pages if not any(p.is_of(fault) and p.names(fault) for fault in of_faults)]
    shown = ", ".join(f"{page.rule} of {page.pool}" for page in wrong)
    figure = f"{len(wrong)} of {len(pages)}{': ' + shown if shown else ', the others are of the faults and name them'}"
    yield Line(f"pages of anything else in {story.days} days ({where})", figure, "0", not wrong)


def _seconds(at: datetime) -> float:
    return (at - START).total_seconds()
