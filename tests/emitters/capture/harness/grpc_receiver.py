"""Receives traces by OTLP over gRPC, for emitters that know no other way, and keeps the bodies as they come."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

from .ports import free_port


class GrpcReceiver(TraceServiceServicer):
    """Listens on the loopback; what comes is added to `bodies`."""

    def __init__(self, bodies: list[bytes]) -> None:
        self._bodies = bodies
        self.port = free_port()
        server = grpc.server(ThreadPoolExecutor(2))
        add_TraceServiceServicer_to_server(self, server)
        server.add_insecure_port(f"127.0.0.1:{self.port}")
        server.start()
        self._server = server

    def Export(self, request: Any, context: Any) -> ExportTraceServiceResponse:  # noqa: N802 (gRPC's name)
        self._bodies.append(request.SerializeToString())
        return ExportTraceServiceResponse()
