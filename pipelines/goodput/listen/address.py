"""Where a command listens: an address, whom it lets in, and the socket. What is answered there is the command's."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from goodput.errors import AddressUnusable, OpenToAnyone

_BACKLOG = 1024


@dataclass(frozen=True)
class Address:
    """Where to listen and whom to let in; without a token only this machine, unless `insecure`."""

    host: str
    port: int
    token: str | None = None
    insecure: bool = False


@contextmanager
def bound(address: Address, could: str, variable: str) -> Iterator[socket.socket]:
    """A listening socket.

    Raises AddressUnusable; OpenToAnyone, which says what everyone `could` do, and the variable for a token.
    """
    with closing(_listener(address, could, variable)) as listener:
        yield listener


def url_of(listener: socket.socket, *, is_tls: bool) -> str:
    """The address of a listening socket as a URL."""
    host, port = listener.getsockname()[:2]
    scheme = "https" if is_tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _listener(address: Address, could: str, variable: str) -> socket.socket:
    try:
        # The protocol has to be named: asyncio switches Nagle's delays off only where it is.
        family, kind, protocol, _, where = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
        )[0]
        if not (ipaddress.ip_address(where[0]).is_loopback or address.token or address.insecure):
            raise OpenToAnyone(address.host, could, variable)
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
