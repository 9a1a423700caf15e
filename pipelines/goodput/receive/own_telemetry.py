"""What the receiver reports of itself: each minute is a trace, from a thread beside those that answer.

Numbers alone, nothing of who sent what. How it leaves is telemetry's to know.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from goodput.plumbing.telemetry import INTERVAL_S, Telemetry, WorkSpan
from goodput.receive.intake import Intake, Tally
from goodput.settings.model import Settings
from goodput.telemetry.traced import tracing
from goodput.telemetry.wanted import wanted


@contextmanager
def reporting(settings: Settings, intake: Intake, interval_s: float = INTERVAL_S) -> Iterator[None]:
    """Report what an intake takes in while the block lasts, and the rest at its end; nothing where nobody wants it."""
    if not wanted(settings.telemetry, os.environ):
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_report, args=(settings, intake, interval_s, over), name="telemetry")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _report(settings: Settings, intake: Intake, interval_s: float, over: threading.Event) -> None:
    before, is_over = Tally(), False
    while not is_over:
        with tracing(settings, "goodput receive") as (telemetry, span):
            is_over = over.wait(interval_s)
            now = intake.tally.copy()
            _report_between(telemetry, span, before, now)
            if intake.is_failing:
                span.fail("LandingUnwritable")
                telemetry.record("landing.unwritable", "the landing zone cannot be written to", "error")
            before = now


def _report_between(telemetry: Telemetry, span: WorkSpan, before: Tally, now: Tally) -> None:
    accepted, refused = now.accepted - before.accepted, now.refused - before.refused
    span.note(accepted=accepted, refused=refused.total())
    for outcome, requests in (("accepted", accepted), ("refused", refused.total())):
        telemetry.put("goodput.received.requests", requests, outcome=outcome)
    for signal, records in now.records.items():
        telemetry.put("goodput.received.records", records - before.records[signal], signal=signal)
    telemetry.put("goodput.received.bytes", now.body_bytes - before.body_bytes)
    if accepted:
        telemetry.put("goodput.received.duration", (now.storing_s - before.storing_s) / accepted)
    for status, requests in sorted(refused.items()):
        text = f"{requests} request(s) were refused with {status}"
        telemetry.record("request.refused", text, "warning", status=status, requests=requests)
