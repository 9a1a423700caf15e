"""Runs the live pages: where they are served, to whom, and until when. What is answered is the app's matter."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager

from goodput.listen import address as listen
from goodput.listen.address import Address
from goodput.listen.door import Door
from goodput.listen.http_server import HttpServer, end_cleanly
from goodput.listen.tls import tls_of
from goodput.listen.token import SERVE_TOKEN
from goodput.plumbing.store import store_of
from goodput.serve.app import application
from goodput.settings.model import Settings


def serve(settings: Settings, address: Address, report: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. Raises OpenToAnyone, AddressUnusable and CertificateUnusable at once."""
    with bound(address) as listener:
        server = server_of(settings, address)
        place = listen.url_of(listener, is_tls=settings.serve.tls_key is not None)
        report(f"serving {settings.lake_url or settings.lake_path} at {place}")
        end_cleanly()
        asyncio.run(server.serve(listener))


def server_of(settings: Settings, address: Address) -> HttpServer:
    """The server of a lake's pages. Raises CertificateUnusable."""
    tls = tls_of("serve", settings.serve, settings.base)
    hosts = (address.host, *settings.serve.hosts)
    site = application(settings.lake_path, address.token, hosts, store=store_of(settings))
    return HttpServer(site, Door(settings.serve), tls)


def bound(address: Address) -> AbstractContextManager[socket.socket]:
    """A listening socket. Raises AddressUnusable; OpenToAnyone where everyone could read."""
    return listen.bound(address, "read what is published", SERVE_TOKEN)
