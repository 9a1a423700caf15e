"""What has changed since it was last sent goes to the receiver: the state, then windows by their ends.

A window goes once, and again where any of its values was restated. What does not go within the budget goes next time.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from goodput.export.catalog import SOURCES
from goodput.export.otlp import Receiver
from goodput.export.points import Window, choose, points, whole_windows
from goodput.export.sent import SentWindows, sent_to
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.secrets import read_secret
from goodput.plumbing.sql_files import sql_file
from goodput.settings.model import Settings

_AT_ONCE = 20  # windows that are read, sent and remembered together


@dataclass
class Pushed:
    """What became of it; `left` windows wait for the next time, `problem` says why."""

    windows: int = 0
    left: int = 0
    rejected: int = 0
    problem: str = ""


def export(settings: Settings, connection: duckdb.DuckDBPyConnection, since: datetime, budget_s: float) -> Pushed:
    """Send to the endpoint of the settings what it does not have. Raises SecretUnusable and LakeUnwritable."""
    of = settings.export
    assert of.endpoint is not None  # noqa: S101
    endpoint = read_secret("export.endpoint", of.endpoint, settings.base)
    token = read_secret("export.bearer_token", of.bearer_token, settings.base) if of.bearer_token else None
    receiver = Receiver(endpoint, token, budget_s)
    return push(connection, receiver, sent_to(settings.lake_path, endpoint), since, budget_s)


def push(
    connection: duckdb.DuckDBPyConnection, receiver: Receiver, sent: SentWindows, since: datetime, budget_s: float
) -> Pushed:
    """Send the state, and all windows that ended after `since` and are not sent as they are. Raises LakeUnwritable."""
    until = time.monotonic() + budget_s
    published = whole_windows(connection)
    due = _due(connection, [window for window in published if window.end > since], sent)
    pushed = Pushed(left=len(due))
    pushed.problem = receiver.send(points(connection, of_windows=False), until - time.monotonic())
    for some in _chunks(due):
        if not pushed.problem and time.monotonic() >= until:
            pushed.problem = f"{budget_s:g} s are over"
        if pushed.problem:
            break
        choose(connection, list(some))
        pushed.problem = receiver.send(points(connection, of_windows=True), until - time.monotonic())
        if not pushed.problem:
            sent.note(some, published)
            pushed.windows += len(some)
            pushed.left -= len(some)
    pushed.rejected = receiver.rejected
    return pushed


def _chunks(due: Mapping[Window, str]) -> Iterator[Mapping[Window, str]]:
    windows = list(due)
    for begin in range(0, len(windows), _AT_ONCE):
        yield {window: due[window] for window in windows[begin : begin + _AT_ONCE]}


def _due(connection: duckdb.DuckDBPyConnection, windows: Sequence[Window], sent: SentWindows) -> dict[Window, str]:
    """Windows that are not sent as they are, with the digests of their values, by their ends."""
    choose(connection, windows)
    parts: dict[tuple[int, datetime], list[str]] = {}
    for source in SOURCES:
        if source.of_windows:
            rows = f"FROM ({sql_file(source.relation).text}) AS r GROUP BY ALL"
            of = "sum(md5_number_lower(r::VARCHAR)::HUGEINT)"  # whatever the order of its rows
            for window_s, start, digest in connection.execute(f"SELECT window_s, window_start, {of} {rows}").fetchall():
                parts.setdefault((window_s, start), []).append(f"{source.relation} {digest}")
    digests = {window: fingerprint(*parts.get((window.window_s, window.start), [])) for window in windows}
    return {window: digest for window, digest in digests.items() if not sent.has(window, digest)}
