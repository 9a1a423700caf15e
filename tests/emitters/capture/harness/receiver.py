"""Receives OTLP over HTTP as protobuf and keeps the bodies as they come; it needs nothing but Python."""

import gzip
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SIGNALS = ("traces", "logs", "metrics")


class Receiver:
    """Listens on the loopback; `bodies` has what came, by signal."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[bytes]] = defaultdict(list)
        handler = type("Handler", (_Handler,), {"bodies": self.bodies})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens: any path that ends with /v1/<signal> is that signal's."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    bodies: dict[str, list[bytes]]

    def log_message(self, format: str, *args: Any) -> None:
        """Write no access log."""

    def do_POST(self) -> None:
        body = self._chunked() if "content-length" not in self.headers else self.rfile.read(self._length())
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        signal = self.path.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
        is_known = signal in SIGNALS and "protobuf" in self.headers.get("content-type", "")
        if is_known:
            self.bodies[signal].append(body)
        self.send_response(200 if is_known else 404)
        self.send_header("content-length", "0")
        self.end_headers()

    def _length(self) -> int:
        return int(self.headers["content-length"])

    def _chunked(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body
