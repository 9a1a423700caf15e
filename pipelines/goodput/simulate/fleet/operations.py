"""What operators do to a running fleet: rolling deployments, scale-outs, salt rotations, a replica gone slow."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from goodput.simulate.fleet.config import EngineSpec, Manners, Operation
from goodput.simulate.fleet.events import EventLoop
from goodput.simulate.fleet.gateway import Gateway
from goodput.simulate.fleet.replica import Replica


@dataclass(frozen=True, slots=True)
class Done:
    """The operation of this number as it took effect: on a replica, or (replica empty) on a whole pool."""

    number: int
    at_s: float
    replica: str


class Operator:
    """Carries operations out on the loop and notes what was done when."""

    def __init__(self, loop: EventLoop, pools: dict[str, list[Replica]], gateway: Gateway, manners: Manners) -> None:
        self._loop = loop
        self._pools = pools
        self._gateway = gateway
        self._manners = manners
        self.done: list[Done] = []

    def plan(self, operations: Sequence[Operation]) -> None:
        """Put every operation on the loop."""
        for number, operation in enumerate(operations):
            act = {
                "deployment": self._deploy_next,
                "scale_out": self._scale_out,
                "salt_rotation": self._rotate,
                "slowdown": self._slow_down,
            }[operation.kind]
            self._loop.at(operation.at_s, act, operation, number)

    def _deploy_next(self, operation: Operation, number: int, position: int = 0) -> None:
        """Restart the replica at `position`; the next one waits until it is back."""
        replicas = self._pools[operation.pool]
        if position < len(replicas):
            replicas[position].ready = False
            self._loop.after(self._manners.drain_s, self._restart, operation, number, position)

    def _restart(self, operation: Operation, number: int, position: int) -> None:
        replica = self._pools[operation.pool][position]
        replica.stop()
        spec = operation.engine or replica.engine.spec
        self._loop.after(spec.restart_s, self._come_back, operation, number, position, spec)

    def _come_back(self, operation: Operation, number: int, position: int, spec: EngineSpec) -> None:
        replica = self._pools[operation.pool][position]
        replica.start(spec)
        self._note(number, replica.name)
        self._deploy_next(operation, number, position + 1)

    def _scale_out(self, operation: Operation, number: int) -> None:
        replicas = self._pools[operation.pool]
        spec = operation.engine or replicas[-1].engine.spec
        for position, _ in zip(count(len(replicas)), range(operation.count), strict=False):
            replica = Replica(f"vllm-{operation.pool}-{position}", operation.pool, spec, self._loop)
            replicas.append(replica)
            self._note(number, replica.name)

    def _rotate(self, operation: Operation, number: int) -> None:
        self._gateway.rotate_salt(operation.pool, operation.until_s)
        self._note(number)

    def _slow_down(self, operation: Operation, number: int) -> None:
        slow = next(r for r in self._pools[operation.pool] if r.name == operation.replica)
        slow.engine.change_speed(operation.factor)
        self._loop.at(operation.until_s, slow.engine.change_speed, 1.0 / operation.factor)
        self._note(number, slow.name)

    def _note(self, number: int, replica: str = "") -> None:
        self.done.append(Done(number, self._loop.now_s, replica))
