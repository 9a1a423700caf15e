"""A simulated day with all that is needed to emit its telemetry, and whose records are lost on the way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from goodput.simulate.emit.clock import Clock
from goodput.simulate.emit.identity import AttemptIds, Identities
from goodput.simulate.fleet.config import FleetConfig
from goodput.simulate.fleet.fleet import Served
from goodput.simulate.fleet.gateway import Attempt, Exchange
from goodput.simulate.judge import Judgement
from goodput.simulate.story import GAP


@dataclass(frozen=True, slots=True)
class Day:
    """What happened, who is who in the telemetry of it, and how each answer was judged."""

    clock: Clock
    span_s: float
    config: FleetConfig
    served: Served
    ids: Identities
    judgements: Sequence[Judgement | None]

    def attempts(self) -> Iterator[tuple[Exchange, Attempt, AttemptIds]]:
        """Yield every attempt, request by request."""
        for exchange, ids in zip(self.served.exchanges, self.ids.attempts, strict=True):
            for attempt, own in zip(exchange.attempts, ids, strict=True):
                yield exchange, attempt, own

    def engine_reported(self, attempt: Attempt) -> bool:
        """Whether the engine's span arrived: none is written of what was aborted, some are lost on the way."""
        if attempt.job is None or not attempt.engine_completed:
            return False
        replica, begin, end = GAP
        lost = attempt.incarnation.replica == replica and begin <= attempt.job.completed_s / self.span_s < end
        return not lost
