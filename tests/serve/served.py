"""Live pages in a thread of this process, asked over HTTP."""

import asyncio
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from goodput.listen.address import Address
from goodput.serve.server import bound, server_of
from goodput.settings.model import Settings


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str
    body: bytes


@dataclass(frozen=True)
class Served:
    """Pages at a port of this machine."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Headers with underscores for hyphens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            given = connection.getresponse()
            body = given.read()
        finally:
            connection.close()
        answered = {name.lower(): value for name, value in given.getheaders()}
        is_text = not answered.get("content-type", "").startswith("image/")
        return Answer(given.status, answered, body.decode() if is_text else "", body)


@contextmanager
def serving(lake: Path, token: str | None = None, **serve: object) -> Iterator[Served]:
    settings = Settings.model_validate({"lake": str(lake), "serve": serve})
    with bound(Address("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1], token)
        server = server_of(settings, address)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(listener)))
        thread.start()
        try:
            yield Served(address.port)
        finally:
            server.stop()
            thread.join()
