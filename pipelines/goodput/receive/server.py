"""Runs the endpoint: where it listens, where it writes, and how it ends. How requests are answered is the app's."""

import asyncio
import fcntl
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from goodput.errors import AddressUnusable, LandingUnwritable, OpenToAnyone, ReceiverBusy
from goodput.receive.app import OtlpEndpoint
from goodput.receive.commit import GroupCommit
from goodput.receive.files import LandingFiles, sync_folder
from goodput.settings.model import Settings

FOLDER = "otlp"
_MAX_CONNECTIONS = 1000
_BACKLOG = 1024
_KEEP_ALIVE_S = 75  # longer than SDKs wait between two exports
_SWEEP_S = 90
_GRACE_S = 10


@dataclass(frozen=True)
class Address:
    """Where to listen and whom to let in; without a token only this machine, unless `insecure`."""

    host: str
    port: int
    token: str | None = None
    insecure: bool = False


def receive(settings: Settings, address: Address, report: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; what was acknowledged is on disk at every moment.

    Raises OpenToAnyone, AddressUnusable, LandingUnwritable or ReceiverBusy before anything is received.
    """
    with bound(address) as listener, folder_for(settings) as folder:
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, lambda *_: None)  # the server handles them, then raises them again: the end is clean
        host, port = listener.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        report(f"receiving OTLP over HTTP at {url}, writing to {folder}")
        report(f"senders set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_ENDPOINT={url}")
        asyncio.run(Service(settings, folder, address.token, report).run(listener))


class Service:
    """The endpoint, its files and its server, for one run."""

    def __init__(self, settings: Settings, folder: Path, token: str | None, report: Callable[[str], None]) -> None:
        self._report = report
        self._files = LandingFiles(folder, settings.receive.rotate_bytes, settings.receive.rotate_s)
        self._commit = GroupCommit(self._files)
        self._app = OtlpEndpoint(settings, self._commit, token, report)
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            http="h11",  # bounds the size of headers
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MAX_CONNECTIONS,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_notify=_SWEEP_S,
        )
        self._server = uvicorn.Server(config)
        config.callback_notify = Sweep(self._server)

    async def run(self, listener: socket.socket) -> None:
        """Answer requests at a bound socket until asked to stop; then report what was received."""
        try:
            await self._server.serve(sockets=[listener])
        finally:
            await self._commit.close()
            self._report(f"stopped: {self._app.tally}; {self._files.files_made} file(s) written")

    def stop(self) -> None:
        """Let the requests that are under way end, then the run."""
        self._server.should_exit = True


class Sweep:
    """Closes connections on which no request has begun from one sweep to the next: nothing else ends those."""

    def __init__(self, server: uvicorn.Server) -> None:
        self._server = server
        self._idle: dict[H11Protocol, RequestResponseCycle | None] = {}

    async def __call__(self) -> None:
        """Look at every connection once."""
        idle: dict[H11Protocol, RequestResponseCycle | None] = {}
        for connection in self._server.server_state.connections:
            if not isinstance(connection, H11Protocol):
                continue
            last: RequestResponseCycle | None = connection.cycle
            if last is not None and not last.response_complete:
                continue
            if connection in self._idle and self._idle[connection] is last:
                connection.transport.close()
            else:
                idle[connection] = last
        self._idle = idle


@contextmanager
def bound(address: Address) -> Iterator[socket.socket]:
    """A listening socket. Raises AddressUnusable; OpenToAnyone where it would take telemetry from everyone."""
    with closing(_listener(address)) as listener:
        yield listener


def _listener(address: Address) -> socket.socket:
    try:
        # The protocol has to be named: asyncio switches Nagle's delays off only where it is.
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        if not (ipaddress.ip_address(where[0]).is_loopback or address.token or address.insecure):
            raise OpenToAnyone(address.host)
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(where)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise AddressUnusable(address.host, address.port, error) from error
    return listener


@contextmanager
def folder_for(settings: Settings) -> Iterator[Path]:
    """The folder `otlp` in the landing zone, held for this process. Raises LandingUnwritable or ReceiverBusy."""
    landing = _landing(settings)
    folder = landing / FOLDER
    lock = folder / ".receive.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(landing)
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
    """The first landing path that is a folder; where there is none, the first that can become one."""
    paths = settings.landing_paths
    return next((path for path in paths if path.is_dir()), next((p for p in paths if not p.exists()), paths[0]))
