"""One round of delivery: bring the outbox up to date, send what is due, publish what became of it."""

import time
from dataclasses import dataclass, replace

from goodput.notify.deliveries import is_written, write_deliveries
from goodput.notify.drain import Drained, Drainer
from goodput.notify.enqueue import enqueue
from goodput.notify.outbox import Outbox, outbox_file
from goodput.notify.plots import Plots, draw_due
from goodput.notify.retention import forget
from goodput.notify.senders import Sender
from goodput.plumbing.lake import Lake
from goodput.settings.model import Settings

_PLOTS_S = 10.0  # that alarms wait at most for their pictures


@dataclass(frozen=True)
class Delivered:
    """What a round did, and what it leaves undelivered."""

    enqueued: int
    drained: Drained
    pending: int
    dead: int
    undrawn: str = ""  # why plots are missing

    def then(self, later: "Delivered") -> "Delivered":
        """This round and a later one: what both did, and what the later one leaves."""
        return replace(later, enqueued=self.enqueued + later.enqueued, drained=self.drained + later.drained)


def deliver(lake: Lake, settings: Settings, budget_s: float) -> Delivered:
    """Deliver what is due; attempts are begun for `budget_s` seconds at most. Raises GoodputError."""
    if lake.is_made:
        lake.open()  # or say that this version may not write to it
    with Outbox(outbox_file(lake)) as outbox:
        enqueued = enqueue(lake, settings, outbox)
        senders = {name: Sender(channel, settings.base) for name, channel in settings.channels.items()}
        began = time.monotonic()
        undrawn = _draw(lake, settings, outbox, min(budget_s / 4, _PLOTS_S))
        drained, forgotten = Drained(), 0
        try:
            drained = Drainer(lake, senders, began + budget_s - time.monotonic()).drain()
            with outbox.writing():
                forgotten = forget(outbox, settings.notify.retention_s, Plots(settings.plots_path))
        finally:
            if enqueued or forgotten or drained != Drained() or not is_written(lake):
                with outbox.writing():  # one process at a time, and each what the outbox then holds
                    write_deliveries(lake, outbox)
        left = {row["state"]: row["n"] for row in outbox.rows("SELECT state, count(*) AS n FROM deliveries GROUP BY 1")}
    return Delivered(enqueued, drained, left.get("pending", 0), left.get("dead", 0), undrawn)


def _draw(lake: Lake, settings: Settings, outbox: Outbox, within_s: float) -> str:
    """Draw what is due; why not, where that fails: no alarm waits for its picture."""
    try:
        return draw_due(lake, settings, outbox, within_s)[1]
    except Exception as error:  # drawing is somebody else's code
        return str(error) or type(error).__name__
