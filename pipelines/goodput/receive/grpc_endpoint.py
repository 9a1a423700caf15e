"""The OTLP/gRPC endpoint: the three services' Export, with the same limits and the same promise as over HTTP.

A message is read only after its sender was let in, and answered once it is on disk.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from goodput.collect.otlp.fields import LOGS, METRICS, SPANS, Signal
from goodput.listen.door import BUSY_RETRY_AFTER_S
from goodput.listen.tls import Tls
from goodput.receive.encoding import Encoding, Kind
from goodput.receive.intake import Intake
from goodput.receive.refusal import RequestRefused
from goodput.receive.request import BODY_TIMEOUT_S
from goodput.settings.model import Receive

_PACKAGE = "opentelemetry.proto.collector"
SERVICES: Mapping[str, Signal] = {
    f"{_PACKAGE}.trace.v1.TraceService": SPANS,
    f"{_PACKAGE}.metrics.v1.MetricsService": METRICS,
    f"{_PACKAGE}.logs.v1.LogsService": LOGS,
}
_MOST_AT_ONCE = 256  # exports that are under way, beyond which senders are asked to wait
_HANDSHAKE_MS = 10_000
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS = "grpc-status-details-bin"


class GrpcEndpoint:
    """The server of OTLP/gRPC."""

    def __init__(self, intake: Intake, limits: Receive) -> None:
        self._intake = intake
        self._under_way = Counter[str]()  # exports by peer
        self._most_of_peer = limits.max_connections_per_peer
        options = {
            "grpc.max_receive_message_length": intake.max_body_bytes,
            "grpc.so_reuseport": 0,  # a second receiver at this port has to fail
            "grpc.server_handshake_timeout_ms": _HANDSHAKE_MS,
            "grpc.max_connection_idle_ms": 15 * 60_000,
            "grpc.max_concurrent_streams": 100,
            "grpc.max_metadata_size": 16 * 1024,
            "grpc.http2.max_ping_strikes": 2,
            "grpc.max_allowed_incoming_connections": limits.max_connections,
        }
        self._server = grpc.aio.server(options=list(options.items()))
        self._server.add_generic_rpc_handlers([self._service(name, signal) for name, signal in SERVICES.items()])

    def listen(self, address: str, tls: Tls | None) -> int:
        """The port that it listens at. Raises OSError."""
        try:
            if tls is None:
                return int(self._server.add_insecure_port(address))
            pair = (tls.key.read_bytes(), tls.certificate.read_bytes())
            return int(self._server.add_secure_port(address, grpc.ssl_server_credentials([pair])))
        except RuntimeError as error:
            raise OSError(0, "the address is in use, or not of this machine") from error

    async def start(self) -> None:
        """Begin to answer."""
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Let the exports that are under way end, then stop."""
        await self._server.stop(grace_s)

    def _service(self, name: str, signal: Signal) -> grpc.GenericRpcHandler:
        async def export(messages: AsyncIterator[bytes], context: "grpc.aio.ServicerContext[Any, Any]") -> bytes:
            try:
                await self._take_in(messages, context, Kind(signal, Encoding.PROTOBUF))
            except Exception as error:
                await _refuse(context, self._intake.refuse(error))
            return b""

        # On the wire one message is a stream of one: so it is read when its sender was let in, and not before.
        handler = grpc.stream_unary_rpc_method_handler(export)
        return grpc.method_handlers_generic_handler(name, {"Export": handler})

    async def _take_in(
        self, messages: AsyncIterator[bytes], context: "grpc.aio.ServicerContext[Any, Any]", kind: Kind
    ) -> None:
        with self._counted(_host(context.peer())):
            self._intake.admit(_token_of(context))
            with self._intake.reserve() as held:
                body = await _message(messages)
                held.add(len(body))
                await self._intake.take_in(kind, body, held)

    @contextmanager
    def _counted(self, peer: str) -> Iterator[None]:
        """An export that is under way. Raises RequestRefused where too many are, of its peer or in all."""
        if self._under_way.total() >= _MOST_AT_ONCE:
            raise RequestRefused(503, f"more than {_MOST_AT_ONCE} exports are under way", BUSY_RETRY_AFTER_S)
        if self._under_way[peer] >= self._most_of_peer:
            reason = f"more than {self._most_of_peer} exports of one address are under way (max_connections_per_peer)"
            raise RequestRefused(429, reason, BUSY_RETRY_AFTER_S)
        self._under_way[peer] += 1
        try:
            yield
        finally:
            self._under_way[peer] -= 1
            if not self._under_way[peer]:
                del self._under_way[peer]


async def _message(messages: AsyncIterator[bytes]) -> bytes:
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for message in messages:
                return message
    except TimeoutError:
        message_of = f"the message did not arrive within {BODY_TIMEOUT_S:g} s"
        raise RequestRefused(503, message_of, BUSY_RETRY_AFTER_S) from None
    raise RequestRefused(400, "no message was sent")


def _host(peer: str) -> str:
    """The address of a peer such as `ipv4:10.0.0.1:40112`: its connections have ports of their own."""
    return peer.rpartition(":")[0]


def _token_of(context: "grpc.aio.ServicerContext[Any, Any]") -> bytes:
    given = dict(reversed(list(context.invocation_metadata() or ()))).get("authorization", "")
    scheme, _, token = str(given).partition(" ")
    return token.strip().encode() if scheme.lower() == "bearer" else b""


async def _refuse(context: "grpc.aio.ServicerContext[Any, Any]", refused: RequestRefused) -> None:
    """End the call with the code, and with RetryInfo where trying again helps: without it senders drop the batch."""
    status: Status = refused.as_status()
    if refused.retry_after_s is not None:
        status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=refused.retry_after_s)))
    trailers = ((_DETAILS, status.SerializeToString()),)
    await context.abort(_CODES[status.code], refused.message, trailing_metadata=trailers)
