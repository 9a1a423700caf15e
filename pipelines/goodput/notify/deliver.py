"""One round of delivery: bring the outbox up to date, send what is due, publish what became of it."""

from dataclasses import dataclass

from goodput.notify.deliveries import is_written, write_deliveries
from goodput.notify.drain import Drained, Drainer
from goodput.notify.enqueue import enqueue
from goodput.notify.outbox import Outbox, outbox_file
from goodput.notify.senders import Sender
from goodput.plumbing.lake import Lake
from goodput.settings.model import Settings


@dataclass(frozen=True)
class Delivered:
    """What a round did, and what it leaves undelivered."""

    enqueued: int
    drained: Drained
    pending: int
    dead: int


def deliver(lake: Lake, settings: Settings, budget_s: float) -> Delivered:
    """Deliver what is due; attempts are begun for `budget_s` seconds at most. Raises GoodputError."""
    if lake.is_made:
        lake.open()  # or say that this version may not write to it
    with Outbox(outbox_file(lake)) as outbox:
        enqueued = enqueue(lake, settings, outbox)
        senders = {name: Sender(channel, settings.base) for name, channel in settings.channels.items()}
        drained = Drained()
        try:
            drained = Drainer(lake, senders, budget_s).drain()
        finally:
            if enqueued or drained != Drained() or not is_written(lake):
                with outbox.writing():  # one process at a time, and each what the outbox then holds
                    write_deliveries(lake, outbox)
        left = {row["state"]: row["n"] for row in outbox.rows("SELECT state, count(*) AS n FROM deliveries GROUP BY 1")}
    return Delivered(enqueued, drained, left.get("pending", 0), left.get("dead", 0))
