"""The demo: an hour of a small LLM serving fleet as OTLP files, the truth behind them, and its settings."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.random import Generator
from opentelemetry.trace import SpanContext

from goodput.simulate.emit import Clock, Emitter
from goodput.simulate.fleet import simulate
from goodput.simulate.gateway import Exchange
from goodput.simulate.judge import Judgement, judge
from goodput.simulate.landing import landing_files, write_files
from goodput.simulate.processes import engine_process, gateway_process, judge_process, own_sdk_settings
from goodput.simulate.story import REPLICAS
from goodput.simulate.truth import Truth, attempts_frame, files_frame, requests_frame

DEMO_START: Final = datetime(2026, 11, 20, 9, tzinfo=UTC)
TRUTH_FILE: Final = "truth.parquet"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_SETTINGS: Final = """\
# Settings of the demo fleet: what an accepted answer is, per workload.
landing = ["landing"]   # files and folders with telemetry, relative to this file
lake = "lake"           # where tables are kept

[attributes]            # which span or resource attribute carries what
replica = ["k8s.pod.name"]
pool = ["llm.pool"]
route = ["llm.route"]
tenant = ["tenant.id"]

[workloads.chat]        # short interactive turns on llama-3.1-8b
match = { pool = "chat" }
ttft_s = 0.8            # first token within 0.8 s of the user's first try
tpot_s = 0.06           # then a token every 60 ms
retry_budget = 1        # one retry is forgiven

[workloads.chat.quality]
evaluators = ["helpfulness"]

[workloads.rag]         # grounded answers on llama-3.1-70b
match = { pool = "rag" }
ttft_s = 2.5
e2e_s = 20.0            # the whole answer within 20 s
retry_budget = 1

[workloads.rag.quality]
evaluators = ["groundedness"]
min_score = 0.7         # a score from here on passes
"""


def write_demo(
    landing: Path,
    *,
    seed: int = 7,
    start: datetime | None = None,
    hours: float = 1.0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Truth:
    """Simulate `hours` of fleet time from `start` and write its telemetry into `landing`.

    The files depend on the arguments alone: same seed, start and hours, same bytes. The truth goes to
    `truth.parquet` beside the landing folder, never into it. `on_progress` is called with percent done and
    100. Raises ValueError when `start` has no time zone or `hours` is not positive.
    """
    start = DEMO_START if start is None else start
    if start.tzinfo is None or hours <= 0:
        raise ValueError(f"start needs a time zone and hours must be positive, got {start} and {hours}")
    tell = on_progress or _silent
    traffic_rng, gateway_rng, judge_rng, ids_rng, resend_rng = np.random.default_rng(seed).spawn(5)
    exchanges = simulate(traffic_rng, gateway_rng, hours * 3600.0)
    judgements = judge(exchanges, judge_rng)
    emitter = _emitter(start, ids_rng)
    clients = _report(emitter, exchanges, judgements, lambda done: tell(50 * done // len(exchanges), 100))
    emitter.report_health(hours * 3600.0)
    files = landing_files(emitter, resend_rng)
    exports = sum(len(file.exports) for file in files)
    write_files(landing, files, lambda done: tell(50 + 50 * done // exports, 100))
    truth = Truth(
        requests=requests_frame(exchanges, judgements, clients, emitter.clock),
        attempts=attempts_frame(exchanges, clients, emitter.clock),
        files=files_frame([(file.path, file.records, file.resent) for file in files]),
    )
    truth.requests.write_parquet(landing.resolve().parent / TRUTH_FILE)
    return truth


def demo_settings() -> str:
    """Return the text of the settings file that goes with `write_demo`, for the folder above `landing`."""
    return _SETTINGS


def _emitter(start: datetime, rng: Generator) -> Emitter:
    gateway_rng, *engine_rngs = rng.spawn(1 + len(REPLICAS))
    with own_sdk_settings():
        return Emitter(
            clock=Clock((start - _EPOCH) // timedelta(microseconds=1) * 1000),
            gateway=gateway_process(gateway_rng),
            engines={
                spec.name: engine_process(spec, engine_rng)
                for spec, engine_rng in zip(REPLICAS, engine_rngs, strict=True)
            },
            judge=judge_process(),
        )


def _report(
    emitter: Emitter,
    exchanges: Sequence[Exchange],
    judgements: Sequence[Judgement | None],
    on_exchange: Callable[[int], None],
) -> list[list[SpanContext]]:
    """Emit everything that is said about the requests; return the client spans of each."""
    clients = []
    for done, (exchange, judgement) in enumerate(zip(exchanges, judgements, strict=True), start=1):
        spans = emitter.report_exchange(exchange)
        if judgement is not None and judgement.labelled:
            emitter.report_label(exchange, spans[-1], judgement)
        clients.append(spans)
        on_exchange(done)
    return clients


def _silent(_done: int, _total: int) -> None:
    """Show no progress."""
