"""Runs the endpoint: where it listens, where it writes, and how it ends. How requests are answered is the app's."""

import asyncio
import fcntl
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.collect.listing import RECEIVER_LOCK
from goodput.errors import AddressUnusable, LandingUnwritable, ReceiverBusy
from goodput.listen import address as listen
from goodput.listen.door import Door
from goodput.listen.http_server import GRACE_S, HttpServer, end_cleanly
from goodput.listen.tls import tls_of
from goodput.listen.token import RECEIVE_TOKEN
from goodput.receive.app import OtlpReceiver
from goodput.receive.commit import GroupCommit
from goodput.receive.files import LandingFiles, make_folder
from goodput.receive.intake import Intake
from goodput.receive.own_telemetry import reporting
from goodput.settings.model import Settings

if TYPE_CHECKING:
    from goodput.receive.grpc_endpoint import GrpcEndpoint

FOLDER = "otlp"


@dataclass(frozen=True)
class ReceiverAddress(listen.Address):
    """Where to listen for both protocols; `grpc_port` is None where HTTP is all."""

    grpc_port: int | None = None


def receive(settings: Settings, address: ReceiverAddress, report: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; what was acknowledged is on disk at every moment.

    Raises OpenToAnyone, AddressUnusable, CertificateUnusable, LandingUnwritable or ReceiverBusy before anything is
    received.
    """
    with bound(address) as listener, folder_for(settings) as folder:
        end_cleanly()
        service = Service(settings, folder, address.token, report)
        service.announce(listener)
        with reporting(settings, service.intake):
            asyncio.run(service.run(listener, address.host, address.grpc_port))


class Service:
    """The endpoints, their files and their servers, for one run."""

    def __init__(self, settings: Settings, folder: Path, token: str | None, report: Callable[[str], None]) -> None:
        self._report = report
        self._folder = folder
        self._limits = settings.receive
        self._tls = tls_of("receive", settings.receive, settings.base)
        self._files = LandingFiles(folder, settings.receive.rotate_bytes, settings.receive.rotate_s)
        self._commit = GroupCommit(self._files)
        self.intake = Intake(settings, self._commit, token, report)
        self._server = HttpServer(OtlpReceiver(self.intake), Door(settings.receive), self._tls)

    async def run(self, listener: socket.socket, host: str = "127.0.0.1", grpc_port: int | None = None) -> None:
        """Answer requests at a bound socket, and over gRPC at a port, until asked to stop; then report what came.

        Raises AddressUnusable.
        """
        grpc_server = await self._grpc(host, grpc_port)
        try:
            await self._server.serve(listener)
        finally:
            if grpc_server:
                await grpc_server.stop(GRACE_S)
            await self._commit.close()
            self._report(f"stopped: {self.intake.tally}; {self._files.files_made} file(s) written")

    def stop(self) -> None:
        """Let the requests that are under way end, then the run."""
        self._server.stop()

    async def _grpc(self, host: str, port: int | None) -> "GrpcEndpoint | None":
        if port is None:
            return None
        from goodput.receive.grpc_endpoint import GrpcEndpoint  # noqa: PLC0415  (slow to import)

        endpoint = GrpcEndpoint(self.intake, self._limits)
        address = f"[{host}]" if ":" in host else host
        try:
            bound_port = endpoint.listen(f"{address}:{port}", self._tls)
        except OSError as error:
            raise AddressUnusable(host, port, error) from error
        await endpoint.start()
        url = f"{self._scheme}://{address}:{bound_port}"
        self._report(f"receiving OTLP over gRPC at {url}: OTEL_EXPORTER_OTLP_ENDPOINT={url}")
        return endpoint

    def announce(self, listener: socket.socket) -> None:
        """Report where senders of HTTP find it."""
        url = listen.url_of(listener, is_tls=self._tls is not None)
        self._report(f"receiving OTLP over HTTP at {url}, writing to {self._folder}")
        self._report(f"senders set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_ENDPOINT={url}")

    @property
    def _scheme(self) -> str:
        return "https" if self._tls else "http"


def bound(address: ReceiverAddress) -> AbstractContextManager[socket.socket]:
    """A listening socket. Raises AddressUnusable; OpenToAnyone where it would take telemetry from everyone."""
    return listen.bound(address, "send telemetry", RECEIVE_TOKEN)


@contextmanager
def folder_for(settings: Settings) -> Iterator[Path]:
    """The folder `otlp` in the landing zone, held for this process. Raises LandingUnwritable or ReceiverBusy."""
    folder = _landing(settings) / FOLDER
    lock = folder / RECEIVER_LOCK
    try:
        make_folder(folder)
        handle = lock.open("w")
    except OSError as error:
        raise LandingUnwritable(folder, error) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ReceiverBusy(folder) from error
        except OSError as error:
            raise LandingUnwritable(lock, error) from error
        yield folder


def _landing(settings: Settings) -> Path:
    """The first landing path that is a folder; where there is none, the first that can become one.

    Raises LandingUnwritable where all of `landing` lies in object stores.
    """
    paths = settings.landing_paths
    if not paths:  # objects are only read
        raise LandingUnwritable(Path(settings.landing_names[0]), OSError("it is no folder"))
    return next((path for path in paths if path.is_dir()), next((p for p in paths if not p.exists()), paths[0]))
