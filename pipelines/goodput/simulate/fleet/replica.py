"""A place in a pool where engine processes run one after another, and what is known of each of them."""

from dataclasses import dataclass, field

from goodput.simulate.fleet.config import EngineSpec
from goodput.simulate.fleet.engine import Engine
from goodput.simulate.fleet.events import NEVER, EventLoop
from goodput.simulate.fleet.job import Sample


@dataclass(slots=True, eq=False)
class Incarnation:
    """One engine process from start to end; `ended_s` is NEVER while it runs."""

    replica: str
    pool: str
    number: int
    engine: Engine
    started_s: float
    ended_s: float = NEVER
    samples: list[Sample] = field(default_factory=list)


class Replica:
    """A named pod; it takes requests while it is `ready`."""

    def __init__(self, name: str, pool: str, spec: EngineSpec, loop: EventLoop) -> None:
        self.name = name
        self.pool = pool
        self.ready = True
        self.incarnations: list[Incarnation] = []
        self._loop = loop
        self._spec = spec
        self.current = self._incarnate()

    @property
    def engine(self) -> Engine:
        """The process that serves now, or served last."""
        return self.current.engine

    def stop(self) -> None:
        """End the process; what it was doing is lost."""
        self.ready = False
        self.current.ended_s = self._loop.now_s
        self.current.engine.kill()

    def start(self, spec: EngineSpec | None = None) -> None:
        """Begin a new process, with an empty cache and warming up, that takes requests at once."""
        self._spec = spec or self._spec
        self.current = self._incarnate()
        self.ready = True
        self.engine.change_speed(self._spec.warm_up_factor)
        self._loop.after(self._spec.warm_up_s, self.engine.change_speed, 1.0 / self._spec.warm_up_factor)

    def sample(self) -> None:
        """Scrape the process, if one runs."""
        if self.current.ended_s == NEVER:
            self.current.samples.append(self.engine.sample())

    def _incarnate(self) -> Incarnation:
        engine = Engine(self._spec, self._loop)
        self.incarnations.append(
            Incarnation(self.name, self.pool, len(self.incarnations), engine, started_s=self._loop.now_s)
        )
        return self.incarnations[-1]
