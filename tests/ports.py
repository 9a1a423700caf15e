"""Ports of servers that tests start on the loopback."""

import socket


def free_port() -> int:
    """A port at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
