"""The HTTP server of an application: its limits, its certificate and how it ends. What is answered is the app's."""

import asyncio
import signal
import socket
from functools import partial
from typing import Any

import uvicorn

from goodput.listen.door import HEADERS_S, Door, GuardedProtocol
from goodput.listen.tls import Tls

GRACE_S = 10
_KEEP_ALIVE_S = 75  # longer than SDKs wait between two exports


def end_cleanly() -> None:
    """Have SIGTERM and SIGINT end a server as any other end: it handles them, then raises them again."""
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: None)


class HttpServer:
    """Answers at a bound socket until it is told to stop, or the process is."""

    def __init__(self, app: Any, door: Door, tls: Tls | None) -> None:
        self._tls = tls
        config = uvicorn.Config(
            app,
            interface="asgi3",
            http=partial(GuardedProtocol, door),  # type: ignore[arg-type]  # h11 bounds the size of headers
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
            ssl_certfile=tls.certificate if tls else None,
            ssl_keyfile=tls.key if tls else None,
        )
        self._server = uvicorn.Server(config)

    async def serve(self, listener: socket.socket) -> None:
        """Answer requests until asked to stop."""
        if self._tls:
            loop = asyncio.get_running_loop()
            create = partial(loop.create_server, ssl_handshake_timeout=HEADERS_S)
            loop.create_server = create  # type: ignore[method-assign]  # uvicorn waits a minute for a handshake
        await self._server.serve(sockets=[listener])

    def stop(self) -> None:
        """Let the requests that are under way end, then the server."""
        self._server.should_exit = True
