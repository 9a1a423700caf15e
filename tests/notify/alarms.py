"""Alarms as stage monitor writes them, for tests: rows of alarm_events, and a lake with settings around them."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from goodput.notify.outbox import Outbox, outbox_file
from goodput.plumbing.catalog import ALL
from goodput.plumbing.lake import Lake
from goodput.settings.load import load_settings
from goodput.settings.model import Settings
from lakes import put

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NS = 1_000_000_000


def event(event_id: str, transition: str = "firing", *, after_h: float = 0, **columns: Any) -> dict[str, Any]:
    """One row of alarm_events: by default p99 of TTFT of pool chat fires at noon, recorded in the same minute."""
    at = NOON + timedelta(hours=after_h)
    return {
        "event_id": event_id,
        "alarm_id": "trend-ttft-chat",
        "transition": transition,
        "rule": "ttft-p99-trend",
        "severity": "page",
        "occurred_at": at,
        "starts_at": NOON,
        "ends_at": at if transition == "resolved" else None,
        "recorded_at": at,
        "suppressed": None,
        "corrects": None,
        "summary": "p99 of ttft of chat is 49 % above its usual 0.6 s",
        "explanation": '{"shape":"ramp","slope_ratio_per_h":0.05,"last_operation":null}',
        "metric": "p99_ttft_s",
        "workload": None,
        "pool": "chat",
        "replica": None,
        "value": 0.894,
        "usual": 0.6,
        "score": 3.1,
        "threshold": 2.8,
        **columns,
    }


def write_events(lake: Lake, rows: Iterable[Mapping[str, Any]]) -> None:
    put(lake, "alarm_events", ALL, rows)


def windows(alarm_id: str, until: datetime, hours: int) -> list[dict[str, Any]]:
    """Rows of alarm_series of so many hours up to `until`: 0.6 s, and twice that from noon on."""
    starts = [until - timedelta(hours=hours - n) for n in range(hours)]
    named = {"alarm_id": alarm_id, "window_s": 3600, "quantity": "p99 TTFT (s)", "usual": 0.6, "bound": 0.75}
    return [
        {**named, "window_start": at, "value": 1.2 if at >= NOON else 0.6, "score": 4.0 if at >= NOON else 0.0}
        for at in starts
    ]


def write_series(lake: Lake, rows: Iterable[Mapping[str, Any]]) -> None:
    put(lake, "alarm_series", ALL, rows)


def caused_by(kind: str, hours_before: float, **more: str) -> str:
    """An explanation that names this as the likely cause, on pool chat, so long before noon."""
    at = (NOON - timedelta(hours=hours_before)).isoformat().replace("+00:00", "Z")
    last = {"kind": "scale_out", "occurred_at": "2026-11-21T11:59:00Z", "pool": None}
    cause = {"kind": kind, "occurred_at": at, "pool": "chat", **more}
    return json.dumps({"last_operation": last, "likely_cause": cause})


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "goodput.toml").write_text(text)
    return load_settings(folder / "goodput.toml")


class Clock:
    """A clock that stands at noon until it is set."""

    def __init__(self) -> None:
        self.ns = int(NOON.timestamp()) * NS

    def __call__(self) -> int:
        return self.ns

    def forward(self, seconds: float) -> None:
        self.ns += int(seconds * NS)


def held(lake: Lake, what: str = "channel, kind, state, status, summary") -> list[tuple[Any, ...]]:
    """Deliveries of the outbox, in order."""
    with Outbox(outbox_file(lake)) as outbox:
        return [tuple(row) for row in outbox.rows(f"SELECT {what} FROM deliveries ORDER BY sequence")]
