"""A mock model server that follows a plan and writes down what it did: one entry for each HTTP request.

It needs nothing but Python. Times are Unix nanoseconds of the wall clock.
"""

import json
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .plan import CHUNKS_BEFORE_CUT, CLIENT_TIMEOUT_S, MODEL, Call
from .wire import TOOL, Api, api_of

_NAMED = re.compile(r"\[\[([\w-]+)\]\]")


@dataclass
class Served:
    """One HTTP request as the mock saw it; `turn` counts the answers that the same call got before."""

    rid: str
    turn: int
    start_ns: int
    streamed: bool
    status: int = 0
    first_ns: int | None = None
    end_ns: int | None = None
    response_id: str | None = None
    with_usage: bool = False
    is_whole: bool = False


@dataclass
class MockModel:
    """The server, from its start to `stop()`; `served` is its truth, in order of arrival."""

    calls: list[Call]
    port: int = 0
    served: list[Served] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listen on the loopback, at a port of the machine's choice unless one is given."""
        self._by_rid = {call.rid: call for call in self.calls}
        self._tries: Counter[tuple[str, int]] = Counter()
        self._answers: Counter[str] = Counter()
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"mock": self})
        self._server = _Server(("127.0.0.1", self.port), handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()

    def begin(self, body: str, streamed: bool) -> tuple[Call, Served, int]:
        """Enter a request; gives its call, its entry and which try of the turn it is, from 1."""
        call = self._by_rid[_NAMED.findall(body)[-1]]
        with self._lock:
            turn = self._answers[call.rid]
            self._tries[call.rid, turn] += 1
            entry = Served(call.rid, turn, time.time_ns(), streamed)
            self.served.append(entry)
            return call, entry, self._tries[call.rid, turn]

    def answered(self, entry: Served) -> None:
        """Note that an answer was sent whole."""
        with self._lock:
            entry.is_whole = True
            self._answers[entry.rid] += 1


def _refusal(call: Call, attempt: int) -> int | None:
    if call.kind == "400":
        return 400
    if call.kind == "500always" or (call.kind == "500" and attempt == 1):
        return 500
    return 429 if call.kind == "429" and attempt == 1 else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that leave."""


class _Handler(BaseHTTPRequestHandler):
    mock: MockModel
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Write no access log."""

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        api = api_of(self.path.split("?")[0])
        if api is None:
            self._json(404, {})
            return
        asked = json.loads(body)
        call, entry, attempt = self.mock.begin(body.decode(), api.streams(self.path, asked))
        try:
            self._answer(api, call, entry, attempt, asked)
        except OSError:  # the client left
            self.close_connection = True
        entry.end_ns = time.time_ns()

    def _answer(self, api: Api, call: Call, entry: Served, attempt: int, asked: dict[str, Any]) -> None:
        refusal = _refusal(call, attempt)
        if refusal:
            time.sleep(0.02)
            entry.status = refusal
            self._json(refusal, api.error(refusal), ("retry-after-ms", "40"))
            return
        if call.kind == "hangalways" or (call.kind == "hang" and attempt == 1):
            time.sleep(3 * CLIENT_TIMEOUT_S)
            self.close_connection = True
            return
        entry.status = 200
        entry.response_id = f"{'msg' if 'messages' in self.path else 'chatcmpl'}-{call.rid}-{entry.turn}-{attempt}"
        entry.with_usage = api.gives_usage(asked)
        asks_tool = call.kind == "tool" and entry.turn == 0 and TOOL in json.dumps(asked.get("tools", []))
        if entry.streamed:
            self._stream(api, call, entry, asks_tool)
        else:
            time.sleep(call.ttft_s + call.tpot_s * (call.output_tokens - 1))
            entry.first_ns = time.time_ns()
            self.mock.answered(entry)
            self._json(200, api.whole(call, entry.response_id, asks_tool))

    def _stream(self, api: Api, call: Call, entry: Served, asks_tool: bool) -> None:
        answer_id = str(entry.response_id)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        due = time.monotonic() + call.ttft_s
        for index in range(call.output_tokens):
            time.sleep(max(0.0, due - time.monotonic()))
            due += call.tpot_s
            if call.kind == "cut" and index == CHUNKS_BEFORE_CUT:
                self.close_connection = True  # no last chunk: the answer is incomplete
                return
            head = api.before(call, answer_id) if index == 0 else b""
            self._chunk(head + api.token(call, answer_id, index))
            entry.first_ns = entry.first_ns or time.time_ns()
        self._chunk(api.after(call, answer_id, asks_tool, entry.with_usage))
        self.wfile.write(b"0\r\n\r\n")
        self.mock.answered(entry)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, status: int, body: dict[str, Any], *headers: tuple[str, str]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
