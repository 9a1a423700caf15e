"""`make drill-delivery`: receivers that fail in every way, processes that die between sending and recording, a day's
outage; each alarm is delivered at least once, under one id with one body, in order.

A trial is an outbox with the messages of some alarms, a receiver that fails by chance before it takes anything, and
drainers that die by chance. Waiting is done by the outbox's clock alone.
"""

import argparse
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from goodput.notify.drain import Drainer
from goodput.notify.outbox import Draft
from goodput.notify.senders import Sender, SendResult
from goodput.plumbing.lake import Lake
from goodput.settings.channels import Channel
from notify.alarms import Clock, held
from notify.receiver import Play, Script, receiving, reset
from notify.test_outbox import fill

DAY_S = 86400.0
_TIMEOUT_S = 0.15
_STEP_S = 600.0
_LONGEST_S = 20 * DAY_S  # of the outbox's clock, after which what is not delivered is taken for lost


class Died(BaseException):
    """The process ended here, as by a kill."""


def _garbage(connection: socket.socket) -> None:
    connection.sendall(b"\x16\x03\x01 this is no HTTP at all\r\n\r\n")


def _silent(connection: socket.socket) -> None:
    time.sleep(2 * _TIMEOUT_S)


def _dripping(begin: bytes, drop: bytes) -> Play:
    def play(connection: socket.socket) -> None:
        until = time.monotonic() + 3 * _TIMEOUT_S
        with suppress(OSError):
            connection.sendall(begin)
            while time.monotonic() < until:
                connection.sendall(drop)
                time.sleep(0.02)

    return play


FAILURES: dict[str, int | tuple[int, dict[str, str]] | Play] = {
    "500": 500,
    "503 with Retry-After": (503, {"Retry-After": "120"}),
    "429 with a date": (429, {"Retry-After": "Sat, 21 Nov 2026 12:05:00 GMT"}),
    "redirect": (307, {"Location": "http://127.0.0.1:9/"}),
    "401, a secret that rotates": 401,
    "404, a proxy that restarts": 404,
    "resets the connection": reset,
    "never answers": _silent,
    "drips its headers": _dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
    "drips an error's body": _dripping(b"HTTP/1.1 502 Bad\r\n\r\n", b"x"),
    "speaks no HTTP": _garbage,
    "closes without a word": lambda connection: None,
}


@dataclass(frozen=True)
class Ended:
    """What became of the messages of one or more trials."""

    messages: int = 0
    attempts: int = 0
    failures: int = 0
    deaths: int = 0
    lost: int = 0
    repeated: int = 0
    out_of_order: int = 0
    changed: int = 0

    def __add__(self, other: "Ended") -> "Ended":
        return Ended(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    @property
    def broken(self) -> int:
        """Promises that were not kept; a message that comes twice with its id is within them."""
        return self.lost + self.out_of_order + self.changed


@dataclass(frozen=True)
class Mortal(Sender):
    """A sender whose process dies by chance: before it sends, or after, before anything is recorded."""

    dies: Callable[[], bool] = lambda: False

    def send(self, delivery_id: str, body: bytes, now_ns: int) -> SendResult:
        if self.dies():
            raise Died
        sent = super().send(delivery_id, body, now_ns)
        if self.dies():
            raise Died
        return sent


def drafts(alarms: int, severity: str) -> list[Draft]:
    """Firing, again and resolved of each alarm, in the order in which they happened."""
    return [
        Draft(
            *(f"{alarm}-{step}", "ops", "transition", f"alarm-{alarm}", status, severity, "rule", "something is slow"),
            body=f'{{"alarm":{alarm},"step":{step}}}'.encode(),
            event_ids=(f"event-{alarm}-{step}",),
            alarm_ids=(f"alarm-{alarm}",),
        )
        for step, status in enumerate(("firing", "firing", "resolved"))
        for alarm in range(alarms)
    ]


@contextmanager
def _nobody() -> Iterator[int]:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield port


def _drain(lake: Lake, port: int, clock: Clock, until_s: float, dies: Callable[[], bool]) -> int:
    """Drain again and again until that much of the clock has passed, or nothing waits; how often it died."""
    given = {"kind": "webhook", "url": f"http://127.0.0.1:{port}/", "allow_private": True, "timeout_s": _TIMEOUT_S}
    sender = Mortal(Channel.model_validate(given), Path(), dies=dies)
    deaths = 0
    ends_ns = clock.ns + int(until_s * 1e9)
    while clock.ns < ends_ns and any(state == "pending" for (state,) in held(lake, "state")):
        try:
            Drainer(lake, {"ops": sender}, 60, clock).drain()
        except Died:
            deaths += 1
        clock.forward(_STEP_S)
    return deaths


def trial(seed: int, alarms: int, folder: Path, *, outage_s: float = 0.0, severity: str = "page") -> Ended:
    """One outbox, delivered to a receiver that fails, by processes that die."""
    rng, clock, lake = random.Random(seed), Clock(), Lake(folder / "lake")
    fill(lake, drafts(alarms, severity), clock)
    failures = rng.choices([*FAILURES.values()], k=rng.randrange(alarms, 4 * alarms))
    script = Script(list(failures))
    if outage_s:
        with _nobody() as port:
            _drain(lake, port, clock, outage_s, lambda: False)
    with receiving(script) as port:
        deaths = _drain(lake, port, clock, _LONGEST_S, lambda: rng.random() < 0.1)
    return _judged(script, lake, alarms, deaths, len(failures))


def _judged(script: Script, lake: Lake, alarms: int, deaths: int, failures: int) -> Ended:
    wanted = {draft.delivery_id: draft.body for draft in drafts(alarms, "page")}
    taken = script.ids
    orders = [[int(i.rpartition("-")[2]) for i in taken if i.startswith(f"{alarm}-")] for alarm in range(alarms)]
    return Ended(
        messages=len(wanted),
        attempts=sum(attempts for (attempts,) in held(lake, "attempts")),
        failures=failures,
        deaths=deaths,
        lost=len(wanted.keys() - {*taken}),
        repeated=sum(count - 1 for count in Counter(taken).values()),
        out_of_order=sum(order != sorted(order) for order in orders),
        changed=sum(got.body != wanted[got.headers["webhook-id"]] for got in script.got),
    )


KINDS: dict[str, dict[str, float | str]] = {
    "receiver that fails, processes that die": {},
    "the same after a day's outage, pages": {"outage_s": DAY_S},
    "the same after a day's outage, tickets": {"outage_s": DAY_S, "severity": "ticket"},
}


def main() -> None:
    """Run the trials and print what became of their messages; exit 1 where a promise was not kept."""
    parser = argparse.ArgumentParser(prog="python -m notify.delivery_drill", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="seed of the first trial")
    parser.add_argument("--trials", type=int, default=50, help="of each kind")
    parser.add_argument("--alarms", type=int, default=6)
    asked = parser.parse_args()
    table = Table("trials", *(name.replace("_", " ") for name in Ended.__dataclass_fields__))
    broken = 0
    for kind, given in KINDS.items():
        total = Ended()
        for seed in range(asked.first, asked.first + asked.trials):
            with TemporaryDirectory(prefix="goodput-drill-") as name:
                total += trial(seed, asked.alarms, Path(name), **given)  # type: ignore[arg-type]
        table.add_row(f"{asked.trials} x {kind}", *(str(getattr(total, name)) for name in Ended.__dataclass_fields__))
        broken += total.broken
    Console(width=160).print(table)
    raise SystemExit(broken > 0)


if __name__ == "__main__":
    main()
