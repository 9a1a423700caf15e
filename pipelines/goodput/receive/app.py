"""The OTLP/HTTP endpoint as an ASGI application: which request is answered how.

Sockets and signals are the server's; what is taken in is the intake's to say.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from goodput.listen.door import BUSY_RETRY_AFTER_S
from goodput.listen.token import given_token
from goodput.receive.encoding import CONTENT_TYPES, PATHS, Encoding, Kind
from goodput.receive.intake import Intake
from goodput.receive.refusal import RequestRefused
from goodput.receive.request import ClientGone, Receive, Request, Send

HEALTH = "/health"
Headers = list[tuple[bytes, bytes]]
_CLOSE = (b"connection", b"close")


class OtlpReceiver:
    """POST /v1/traces, /v1/metrics and /v1/logs, and Langfuse's path of traces; GET /health.

    A message is acknowledged once it is on disk. A token may come as that of `Bearer` or, since SDKs of Langfuse send
    nothing else, as the password of `Basic`, which is their secret key.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        request = Request(scope, receive)
        encoding = request.encoding or Encoding.JSON
        headers: Headers = []
        try:
            try:
                status, body = 200, await self._answer(request)
            except ClientGone:
                raise
            except Exception as error:
                status, body = self._refusal(error, encoding, headers)
                if not await request.drain():
                    headers.append(_CLOSE)
            except asyncio.CancelledError:  # the server stops and has waited long enough
                stopping = RequestRefused(503, "the receiver is stopping", BUSY_RETRY_AFTER_S)
                status, body = self._refusal(stopping, encoding, headers)
                headers.append(_CLOSE)
        except ClientGone:
            return
        headers.append((b"content-type", encoding.content_type.encode()))
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, error: Exception, encoding: Encoding, headers: Headers) -> tuple[int, bytes]:
        refused = self._intake.refuse(error)
        headers += _headers_of(refused)
        return refused.status, refused.body(encoding)

    async def _answer(self, request: Request) -> bytes:
        if request.path == HEALTH and request.method in ("GET", "HEAD"):
            return b'{"status":"ok"}'
        signal = PATHS.get(request.path)
        if signal is None:
            raise RequestRefused(404, f"no such path; there are {', '.join(PATHS)} and {HEALTH}")
        if request.method != "POST":
            raise RequestRefused(405, f"{request.path} takes POST")
        self._intake.admit(given_token(request.header("authorization")))
        if request.encoding is None:
            raise RequestRefused(415, f"the content type has to be one of {', '.join(CONTENT_TYPES)}")
        with self._intake.reserve() as held:
            gzipped = request.gzipped
            body = await request.body(self._intake.max_body_bytes, held)
            await self._intake.take_in(Kind(signal, request.encoding), body, held, gzipped=gzipped)
        return request.encoding.empty


def _headers_of(refused: RequestRefused) -> Headers:
    headers: Headers = []
    if refused.retry_after_s is not None:
        headers.append((b"retry-after", str(refused.retry_after_s).encode()))
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.status == 405:
        headers.append((b"allow", b"POST"))
    return headers
