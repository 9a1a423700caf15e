"""The demo: a day of an LLM serving fleet as telemetry files, the truth behind them, and its settings."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Final

import numpy as np

from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.day import Day
from goodput.simulate.emit.identity import identify
from goodput.simulate.emit.landing import otlp_files, write_files
from goodput.simulate.fleet.fleet import Fleet
from goodput.simulate.judge import judge
from goodput.simulate.story import REQUESTS_PER_HOUR, demo_fleet
from goodput.simulate.truth.truth import Truth, truth_of
from goodput.simulate.workloads import demo_arrivals

TRUTH: Final = "truth"
_DAY: Final = datetime(2026, 11, 20, tzinfo=UTC)
_BEGINS_AT_H: Final = 9
_ARRIVING: Final = 0.99  # the last answers, too, end within the span

_SETTINGS: Final = """\
# Settings of the demo fleet: what an accepted answer is, per workload.
landing = ["landing"]   # files and folders with telemetry, relative to this file
lake = "lake"           # where tables are kept

[attributes]            # which span or resource attribute carries what
replica = ["k8s.pod.name"]
pool = ["llm.pool"]
route = ["llm.route"]
tenant = ["tenant.id"]

[slices]
by = ["tenant", "workload_tenant"]  # whose answers: goodput and cost of each tenant too, of all and by workload

[workloads.batch]       # items in bulk at night, on the engines of chat
match = { route = "batch" }
completion_window_s = 120.0   # any time within two minutes will do

[workloads.batch.quality]
evaluators = ["valid_record"]

[workloads.chat]        # short interactive turns on llama-3.1-8b
match = { pool = "chat" }
ttft_s = 1.5            # first token within 1.5 s of the user's first try
tpot_s = 0.06           # then a token every 60 ms
retry_budget = 1        # one retry is forgiven

[workloads.chat.quality]
evaluators = ["helpfulness"]

[workloads.rag]         # grounded answers on llama-3.1-70b
match = { pool = "rag" }
ttft_s = 4.0
e2e_s = 25.0            # the whole answer within 25 s
retry_budget = 1

[workloads.rag.quality]
evaluators = ["groundedness"]
min_score = 0.7         # a score from here on passes

[sources.salt_rotations]      # what no system announces: a log of the fleet's own
format = "jsonl"
path = "ops/salt_rotations.jsonl"
table = "ops_events"
[sources.salt_rotations.columns]
kind = "event"
occurred_at = { column = "at", unit = "iso8601" }
pool = "pool"
"""


def write_demo(
    landing: Path,
    *,
    seed: int = 7,
    hours: float = 24.0,
    requests: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Truth:
    """Simulate `hours` of a fleet that gets about `requests` requests, and write its telemetry into `landing`.

    However long, it is one whole day: night, peak, and the operations in between. Without `requests` it is as
    busy as a day of 100,000. The files depend on the arguments alone: same arguments, same bytes. The truth goes to
    the folder `truth` beside the landing folder, never into it. `on_progress` is called with percent done and 100.
    Raises ValueError when `hours` or `requests` is not positive.
    """
    expected = REQUESTS_PER_HOUR * hours if requests is None else float(requests)
    if hours <= 0 or expected <= 0:
        raise ValueError(f"hours and requests must be positive, got {hours} and {requests}")
    with _no_search_for_cycles():
        return _write(landing, seed, hours * 3600.0, expected, on_progress or _silent)


def _write(landing: Path, seed: int, span_s: float, requests: float, advance: Callable[[int, int], None]) -> Truth:
    traffic_rng, fleet_rng, judge_rng, ids_rng, files_rng = np.random.default_rng(seed).spawn(5)
    config = demo_fleet(span_s, int(fleet_rng.integers(2**32)))
    served = Fleet(config).run(demo_arrivals(traffic_rng, _ARRIVING * span_s, requests))
    judgements = judge(served.exchanges, judge_rng)
    day = Day(
        Clock.from_start(demo_start(span_s / 3600.0)), span_s, config, served, identify(served, ids_rng), judgements
    )
    advance(20, 100)
    files = otlp_files(day, files_rng)
    exports = sum(len(file.exports) for file in files)
    write_files(landing, day, files, files_rng, lambda done: advance(20 + 75 * done // exports, 100))
    truth = truth_of(day, files)
    truth.write(landing.resolve().parent / TRUTH)
    advance(100, 100)
    return truth


def demo_start(hours: float) -> datetime:
    """Return when a demo of so many hours begins: at nine, or as early as it must to end with a day of the past."""
    return _DAY + timedelta(hours=min(_BEGINS_AT_H, 24 - ceil(hours)))


def demo_settings() -> str:
    """Return the text of the settings file that goes with `write_demo`, for the folder above `landing`."""
    return _SETTINGS


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Pause the garbage collector: a day is millions of objects that stay, and looking through them takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _silent(_done: int, _total: int) -> None:
    """Show no progress."""
