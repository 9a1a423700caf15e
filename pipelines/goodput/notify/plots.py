"""Which alarms a round of delivery draws, what their pictures are called, and where a receiver finds them.

A picture is of one event and drawn once, so that what a message points to stays as it was sent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from goodput.contracts import arrow_schema
from goodput.errors import LakeUnreadable
from goodput.notify.chart import chart_of
from goodput.notify.outbox import Outbox
from goodput.notify.plot import draw
from goodput.notify.retry import NS
from goodput.notify.transition import Transition
from goodput.plumbing.files import write_atomically
from goodput.plumbing.lake import Lake
from goodput.settings.channels import Channel
from goodput.settings.model import Settings

Row = Mapping[str, Any]
_HERE = ("file", "stdout")  # whoever reads these reads this machine's files too
_SINCE_S = 86400.0  # what was notified longer ago is drawn no more
_AT_MOST = 50  # pictures of one round, each of a month of windows at most
_NOTIFIED = """
SELECT e.event_id FROM deliveries AS d JOIN events AS e USING (delivery_id)
WHERE d.state IN ('pending', 'delivered') AND d.kind IN ('transition', 'fallback') AND d.enqueued_ns > :since
    AND d.channel IN (SELECT value FROM json_each(:channels))
GROUP BY e.event_id
ORDER BY max(d.severity = 'page') DESC, min(d.sequence)
"""


@dataclass(frozen=True)
class Plots:
    """Pictures of alarms: their folder, the url that serves it ("": none), and since when the series of each goes."""

    folder: Path = Path()
    url: str = ""
    since: Mapping[str, datetime] = field(default_factory=dict)

    def file(self, event_id: str) -> Path:
        """The picture of an event."""
        return self.folder / f"{event_id}.png"

    def link(self, channel: Channel, transition: Transition) -> str:
        """Where readers of a channel find the picture of a transition; empty: nowhere, or there is none."""
        since = self.since.get(transition.alarm_id)
        if since is None or since >= transition.starts_at or not _shows(channel, self.url):
            return ""
        file = self.file(transition.event_id)
        return f"{self.url.rstrip('/')}/{file.name}" if self.url else str(file)


def _shows(channel: Channel, url: str) -> bool:
    return bool(url) or channel.kind in _HERE


def plots_of(lake: Lake, settings: Settings) -> Plots:
    """The pictures that the lake's series and the settings make possible. Raises LakeUnreadable."""
    folder, url = settings.plots_path, settings.notify.plots_url
    if not any(_shows(channel, url) for channel in settings.channels.values()):
        return Plots(folder, url)
    begins = _read(lake, "alarm_series", ["alarm_id", "window_start"]).group_by("alarm_id")
    rows = begins.aggregate([("window_start", "min")]).to_pylist()
    return Plots(folder, url, {row["alarm_id"]: row["window_start_min"] for row in rows})


def draw_due(lake: Lake, settings: Settings, outbox: Outbox, within_s: float) -> tuple[int, str]:
    """Draw notified events that have no picture yet, pages first, in so many seconds and no more.

    Returns how many were drawn, and why others were not. Raises LakeUnreadable, LakeUnwritable or OutboxUnusable.
    """
    plots = plots_of(lake, settings)
    if not plots.since:
        return 0, ""
    channels = [name for name, channel in settings.channels.items() if _shows(channel, plots.url)]
    asked = {"since": outbox.now_ns() - int(_SINCE_S * NS), "channels": json.dumps(channels)}
    notified = [row["event_id"] for row in outbox.rows(_NOTIFIED, asked)]
    missing = [event_id for event_id in notified if not plots.file(event_id).exists()][:_AT_MOST]
    due = list(_with_series(lake, missing))
    if not due:
        return 0, ""
    pictures, problem = draw([chart_of(event, series) for event, series in due], within_s)
    drawn = [(event["event_id"], png) for (event, _), png in zip(due, pictures, strict=True) if png is not None]
    for event_id, png in drawn:
        write_atomically(plots.file(event_id), partial(Path.write_bytes, data=png))
    return len(drawn), problem


def _with_series(lake: Lake, event_ids: Sequence[str]) -> Iterator[tuple[Row, list[Row]]]:
    """Events in this order, each with the windows of its alarm's series that were over when it occurred."""
    if not event_ids:
        return
    events = {row["event_id"]: row for row in _rows(lake, "alarm_events", "event_id", event_ids)}
    series: dict[str, list[Row]] = {}
    for row in _rows(lake, "alarm_series", "alarm_id", [event["alarm_id"] for event in events.values()]):
        series.setdefault(row["alarm_id"], []).append(row)
    for event in (events[event_id] for event_id in event_ids if event_id in events):
        known = series.get(event["alarm_id"], [])
        seen = [row for row in known if _end(row) <= event["occurred_at"]]
        if seen and seen[0]["window_start"] < event["starts_at"]:
            yield event, seen


def _end(row: Row) -> datetime:
    end: datetime = row["window_start"] + timedelta(seconds=row["window_s"])
    return end


def _rows(lake: Lake, table: str, column: str, wanted: Sequence[str]) -> list[Row]:
    found = _read(lake, table, arrow_schema(table).names)
    rows: list[Row] = found.filter(pc.is_in(found[column], pa.array(wanted, pa.string()))).to_pylist()
    return rows


def _read(lake: Lake, table: str, columns: list[str]) -> pa.Table:
    """Columns of a relation of stage monitor; no rows before its first time."""
    schema = arrow_schema(table)
    parts = [pa.schema([schema.field(name) for name in columns]).empty_table()]
    for path in lake.catalog[table].all_files():
        try:
            parts.append(pq.ParquetFile(path).read(columns))
        except (OSError, pa.ArrowException) as error:
            raise LakeUnreadable(Path(path), str(error)) from error
    return pa.concat_tables(parts, promote_options="permissive")
