"""Pages of requests, of alarms and of what went wrong, as HTML in which every text of telemetry is escaped."""

from datetime import timedelta
from functools import cache
from pathlib import Path

import jinja2

from goodput.ask.alarm_evidence import EVENT_COLUMNS, LIST_COLUMNS, AlarmEvidence, held_back, list_line
from goodput.ask.cells import is_number, plain, shown
from goodput.ask.database import Row
from goodput.ask.explained import described, sections, sole_gate
from goodput.ask.gates import gates, headline
from goodput.ask.request_record import RequestRecord
from goodput.report.chart import counted
from goodput.report.page import digest, style
from goodput.serve.answers import Requests
from goodput.serve.request_filter import CHOICES, KNOWN, RequestFilter, alarm_link, request_link

_ASSETS = Path(__file__).parent / "assets"
_COLUMNS = (
    *("ended_at", "request_key", "verdict", "workload", "model", "pool", "route", "replica"),
    *("ttft_s", "tpot_s", "e2e_s", "retry_count", "output_tokens", "cost_usd"),
)
ASK_EVERY_S = 10.0  # a page asks so often whether a run has published
_BEFORE = timedelta(hours=1)  # an alarm fires at the end of its window


def requests_page(asked: RequestFilter, answer: Requests, generation: str) -> str:
    """The requests that are asked for, with a form that asks for others."""
    older = (
        RequestFilter(asked.from_at, asked.until_at, asked.chosen, answer.next_page).link()
        if answer.next_page
        else None
    )
    attributes = tuple(name for name in asked.chosen if name not in CHOICES)
    total = sum(row["requests"] for row in answer.verdicts)
    return _written(
        "requests.html",
        asked=asked,
        answer=answer,
        total=total,
        older=older,
        columns=_COLUMNS,
        choices=CHOICES + attributes,
        known=KNOWN,
        generation=generation,
    )


def request_page(record: RequestRecord, generation: str) -> str:
    """Why a request has its verdict."""
    return _written(
        "request.html",
        generation=generation,
        verdict=record.request["verdict"],
        headline=headline(record, gates(record)),
        sole=sole_gate(record),
        described=described(record.request),
        sections=sections(record),
    )


def alarms_page(found: list[Row], counts: str, generation: str, *, every: bool) -> str:
    """The alarms, what fires first."""
    return _written(
        "alarms.html",
        generation=generation,
        found=[list_line(row) for row in found],
        counts=counts,
        every=every,
        columns=LIST_COLUMNS,
    )


def alarm_page(found: AlarmEvidence, generation: str, *, is_drawn: bool) -> str:
    """One alarm and all that speaks for it."""
    row = found.alarm
    return _written(
        "alarm.html",
        generation=generation,
        alarm=row,
        held_back=held_back(row),
        picture=f"{alarm_link(row['alarm_id'])}/series.png" if is_drawn else None,
        requests=_requests_of(row),
        facts=found.facts,
        sql=found.sql,
        events=[tuple(event.values()) for event in found.events],
        event_columns=EVENT_COLUMNS,
    )


def message_page(title: str, text: str, again_s: int | None = None) -> str:
    """What is wrong, and what to do; it looks again by itself where that may pass."""
    return _written("message.html", title=title, text="\n".join(map(plain, text.splitlines())), again_s=again_s)


def policy() -> str:
    """What these pages may load and run: their style, pictures of this server, and to ask it for newer numbers."""
    run = f"script-src {digest(_script())}; connect-src 'self'"
    allowed = f"style-src {digest(_style())}; {run}; img-src 'self'; form-action 'self'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; frame-ancestors 'none'"


def _requests_of(alarm: Row) -> str | None:
    """The requests of an alarm: of its workload and pool, while it fired."""
    if alarm["starts_at"] is None:
        return None
    until_at = alarm["ends_at"] or alarm["evaluated_at"] or alarm["starts_at"]
    chosen = {name: alarm[name] for name in ("workload", "pool") if alarm[name] is not None}
    return RequestFilter(alarm["starts_at"] - _BEFORE, max(until_at, alarm["starts_at"]), chosen).link()


def _written(template: str, **shows: object) -> str:
    shell = {"again_s": None, "generation": None, "ask_every_s": ASK_EVERY_S, "style": _style(), "script": _script()}
    return _templates().get_template(template).render(shell | shows)


@cache
def _style() -> str:
    return style() + (_ASSETS / "serve.css").read_text(encoding="utf-8")


@cache
def _script() -> str:
    return (_ASSETS / "follow.js").read_text(encoding="utf-8")


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(_ASSETS)
    found = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    found.filters |= {"shown": shown, "request_link": request_link, "alarm_link": alarm_link, "counted_as": counted}
    found.tests["counted"] = is_number
    return found
