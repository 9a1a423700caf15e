"""A receiver in a thread of this process, listening at a port of its own."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest

from goodput.receive.own_telemetry import reporting
from goodput.receive.server import ReceiverAddress, Service, bound, folder_for
from goodput.settings.model import Settings
from receive.sender import Sender, eventually


@dataclass
class Receiver:
    port: int
    landing: Path
    grpc_port: int = 0
    said: list[str] = field(default_factory=list)
    clients: ExitStack = field(default_factory=ExitStack)

    def connect(self) -> Sender:
        return self.clients.enter_context(Sender(self.port))


Receive = Callable[..., Receiver]


@contextmanager
def receiving(
    landing: Path,
    token: str | None = None,
    *,
    grpc: bool = False,
    telemetry: Mapping[str, object] = MappingProxyType({}),
    interval_s: float = 60.0,
    **limits: object,
) -> Iterator[Receiver]:
    settings = Settings.model_validate({"landing": [str(landing)], "receive": limits, "telemetry": {**telemetry}})
    with bound(ReceiverAddress("127.0.0.1", 0)) as listener, folder_for(settings) as folder:
        receiver = Receiver(listener.getsockname()[1], landing)
        service = Service(settings, folder, token, receiver.said.append)

        def serve() -> None:
            with reporting(settings, service.intake, interval_s):
                asyncio.run(service.run(listener, "127.0.0.1", 0 if grpc else None))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            if grpc:
                assert eventually(lambda: any("gRPC" in line for line in receiver.said))
                (line,) = (line for line in receiver.said if "gRPC" in line)
                receiver.grpc_port = int(line.rpartition(":")[2])
            yield receiver
        finally:
            receiver.clients.close()
            service.stop()
            thread.join()


@pytest.fixture
def receive(tmp_path: Path) -> Iterator[Receive]:
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(receiving(tmp_path / "landing", **given))


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """One receiver for the tests that only ask it something; bodies of up to 4096 bytes."""
    with receiving(tmp_path_factory.mktemp("landing"), max_body_bytes=4096) as running:
        yield running
