"""Ports of gateways that a capture starts on the loopback."""

import socket
import time

_PATIENCE_S = 60


def free_port() -> int:
    """A port at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait_until_open(port: int) -> None:
    """Return when something accepts connections at the port."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens at port {port}")
