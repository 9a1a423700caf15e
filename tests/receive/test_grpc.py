"""OTLP over gRPC, as the specification has it: the same promise, limits and refusals as over HTTP."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import MetricsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from goodput.receive import grpc_endpoint
from receive.conftest import Receive, Receiver
from receive.sender import eventually, landed, span_ids, spans
from receive.test_door import certificate

__all__ = ["certificate"]
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
BEARER = (("authorization", "Bearer s3cret"),)


@contextmanager
def calling(receiver: Receiver) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        yield channel


def refusal(call: Any) -> tuple[grpc.StatusCode, Status]:
    """Code and google.rpc.Status that a call ends with."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    trailers = dict(caught.value.trailing_metadata())
    return caught.value.code(), Status.FromString(trailers.get("grpc-status-details-bin", b""))


def retry_s(status: Status) -> int | None:
    for detail in status.details:
        info = RetryInfo()
        if detail.Unpack(info):
            return int(info.retry_delay.seconds)
    return None


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_what_stubs_of_the_specification_send_is_read_back(receive: Receive, compression: grpc.Compression) -> None:
    receiver = receive(grpc=True, token="s3cret")
    message = spans(1000)
    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5, event_name="gen_ai.evaluation.result")
    metrics = ExportMetricsServiceRequest()
    metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="requests")
    metric.sum.data_points.add(as_int=1, time_unix_nano=5)
    with calling(receiver) as channel:
        for stub, request in (
            (TraceServiceStub(channel), message),
            (LogsServiceStub(channel), logs),
            (MetricsServiceStub(channel), metrics),
        ):
            answer = stub.Export(request, metadata=BEARER, compression=compression, timeout=10)
            assert not answer.HasField("partial_success")
    read = landed(receiver.landing)
    sent = message.resource_spans[0].scope_spans[0].spans
    assert sorted(span_ids(read)) == sorted(span.span_id.hex() for span in sent)
    assert [row["event_name"] for outcome in read for row in outcome.logs] == ["gen_ai.evaluation.result"]
    assert sum(outcome.metric_points for outcome in read) == 1


@pytest.mark.parametrize(
    "given", [(), (("authorization", "Bearer wrong"),), (("authorization", "s3cret"),), (("authorization", "Bearer"),)]
)
def test_without_the_token_nothing_is_taken(receive: Receive, given: Any) -> None:
    receiver = receive(grpc=True, token="s3cret")
    with calling(receiver) as channel:
        code, status = refusal(lambda: TraceServiceStub(channel).Export(spans(1), metadata=given, timeout=10))
    assert (code, status.code) == (grpc.StatusCode.UNAUTHENTICATED, 16)
    assert retry_s(status) is None
    assert not landed(receiver.landing)


def test_a_message_of_another_kind_is_an_invalid_argument(receive: Receive) -> None:
    receiver = receive(grpc=True)
    with calling(receiver) as channel:
        export = channel.unary_unary(EXPORT)
        code, status = refusal(lambda: export(b"\xff\xff no protobuf", timeout=10))
        assert (code, retry_s(status)) == (grpc.StatusCode.INVALID_ARGUMENT, None)
        assert status.details[0].Unpack(BadRequest())
        assert export(b"", timeout=10) == b"", "an empty message is welcome"
        with pytest.raises(grpc.RpcError) as unknown:
            channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Import")(b"", timeout=10)
    assert unknown.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert not landed(receiver.landing)


def test_more_than_the_rate_is_told_when_to_come_again(receive: Receive) -> None:
    receiver = receive(grpc=True, max_requests_per_s=1.0)
    with calling(receiver) as channel:
        stub = TraceServiceStub(channel)
        stub.Export(spans(1), timeout=10)
        code, status = refusal(lambda: stub.Export(spans(1), timeout=10))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert retry_s(status) == 1


def test_a_large_message_is_refused_and_a_bomb_is_not_unpacked(receive: Receive) -> None:
    receiver = receive(grpc=True, max_body_bytes=100_000, max_pending_bytes=1_000_000)
    with calling(receiver) as channel:
        stub = TraceServiceStub(channel)
        code, status = refusal(lambda: stub.Export(spans(1, "x" * 200_000), timeout=10))
        assert (code, retry_s(status)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, None)
        bomb = spans(1, "x" * 50_000_000)
        with pytest.raises(grpc.RpcError) as caught:
            stub.Export(bomb, compression=grpc.Compression.Gzip, timeout=20)
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        stub.Export(spans(1), timeout=10)
    assert len(span_ids(landed(receiver.landing))) == 1


def test_where_the_disk_fails_senders_try_again(receive: Receive, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    receiver = receive(grpc=True)
    with calling(receiver) as channel:
        stub = TraceServiceStub(channel)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            code, status = refusal(lambda: stub.Export(spans(1), timeout=10))
        assert (code, retry_s(status)) == (grpc.StatusCode.UNAVAILABLE, 2)
        stub.Export(spans(2), timeout=10)
    assert len(span_ids(landed(receiver.landing))) == 2


def test_nothing_is_acknowledged_before_it_is_on_disk(receive: Receive, monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = receive(grpc=True)
    may_sync, fsync = threading.Event(), os.fsync
    with calling(receiver) as channel, monkeypatch.context() as patched:
        stub = TraceServiceStub(channel)
        stub.Export(spans(1), timeout=10)
        patched.setattr(os, "fsync", lambda file: (may_sync.wait(10), fsync(file))[1])
        answer = stub.Export.future(spans(1), timeout=10)
        time.sleep(0.5)
        assert not answer.done()
        may_sync.set()
        answer.result(10)


def test_exports_without_end_hold_up_nobody_for_long(receive: Receive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that never send their message are ended, and beyond so many at once others are asked to wait."""
    monkeypatch.setattr(grpc_endpoint, "_MOST_AT_ONCE", 20)
    monkeypatch.setattr(grpc_endpoint, "BODY_TIMEOUT_S", 1.0)
    receiver = receive(grpc=True)
    over = threading.Event()

    def never() -> Iterator[bytes]:
        over.wait(20)
        yield b""

    with calling(receiver) as slow, calling(receiver) as channel:
        hanging = [slow.stream_unary(EXPORT).future(never(), timeout=20) for _ in range(20)]
        time.sleep(0.3)
        code, status = refusal(lambda: TraceServiceStub(channel).Export(spans(1), timeout=10))
        assert (code, retry_s(status)) == (grpc.StatusCode.UNAVAILABLE, 1)
        assert eventually(lambda: all(call.done() for call in hanging))
        assert {call.code() for call in hanging} == {grpc.StatusCode.UNAVAILABLE}
        TraceServiceStub(channel).Export(spans(1), timeout=10)
        over.set()


@contextmanager
def from_elsewhere(port: int, address: str) -> Iterator[int]:
    """A port whose connections reach another one from an address."""

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)

    def connect(near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", port), source_address=(address, 0)) as far:
            threading.Thread(target=carry, args=(far, near), daemon=True).start()
            carry(near, far)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=connect, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]


def test_many_exports_of_one_address_leave_room_for_others(receive: Receive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_endpoint, "BODY_TIMEOUT_S", 2.0)
    receiver = receive(grpc=True, max_connections_per_peer=3)
    over = threading.Event()

    def never() -> Iterator[bytes]:
        over.wait(20)
        yield b""

    with (
        calling(receiver) as slow,
        calling(receiver) as beside,
        from_elsewhere(receiver.grpc_port, "127.0.0.2") as port,
        grpc.insecure_channel(f"127.0.0.1:{port}") as other,
    ):
        hanging = [slow.stream_unary(EXPORT).future(never(), timeout=20) for _ in range(3)]
        time.sleep(0.3)
        code, status = refusal(lambda: TraceServiceStub(beside).Export(spans(1), timeout=10))
        assert (code, retry_s(status)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, 1)
        assert status.message == "more than 3 exports of one address are under way (max_connections_per_peer)"
        TraceServiceStub(other).Export(spans(1), timeout=10)
        assert not any(call.done() for call in hanging)
        assert eventually(lambda: all(call.done() for call in hanging))
        TraceServiceStub(beside).Export(spans(1), timeout=10)
        over.set()


def test_over_tls_it_is_the_same(receive: Receive, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    receiver = receive(grpc=True, tls_certificate=str(cert), tls_key=str(key))
    credentials = grpc.ssl_channel_credentials(cert.read_bytes())
    with grpc.secure_channel(f"localhost:{receiver.grpc_port}", credentials) as channel:
        TraceServiceStub(channel).Export(spans(1), timeout=10)
    assert len(landed(receiver.landing)) == 1


MAIN = [sys.executable, "-c", "from goodput.cli.main import main; main()", "receive", "--port", "0", "--grpc-port", "0"]


def _started(landing: Path) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen([*MAIN, "--landing", str(landing)], stderr=subprocess.PIPE, text=True, cwd=landing)
    assert process.stderr
    line = next(line for line in process.stderr if "gRPC" in line)
    return process, int(line.rpartition(":")[2])


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    process, port = _started(tmp_path)
    acknowledged: list[str] = []

    def load() -> None:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = TraceServiceStub(channel)
            try:
                while True:
                    batch = spans(5)
                    stub.Export(batch, timeout=5)
                    acknowledged.extend(span.span_id.hex() for span in batch.resource_spans[0].scope_spans[0].spans)
            except grpc.RpcError:
                return

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: len(acknowledged) > 500, 20)
    process.kill()
    for thread in threads:
        thread.join()
    process.communicate()
    assert set(acknowledged) <= set(span_ids(landed(tmp_path)))


def test_an_export_under_way_is_finished_before_a_clean_end(tmp_path: Path) -> None:
    process, port = _started(tmp_path)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = TraceServiceStub(channel)
        stub.Export(spans(1), timeout=10)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "1 request(s) accepted (1 spans" in said


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    process, port = _started(tmp_path)
    (tmp_path / "other").mkdir()
    command = [*MAIN[:-1], str(port), "--landing", str(tmp_path / "other")]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    process.kill()
    process.communicate()
    assert second.returncode == 2
    assert f"port {port}" in second.stderr


def test_the_exporter_of_the_sdk_is_the_same_service() -> None:
    """What the SDK's exporter calls is what the stubs above call."""
    assert set(grpc_endpoint.SERVICES) == {
        message.DESCRIPTOR.file.package + "." + name
        for message, name in (
            (ExportTraceServiceRequest, "TraceService"),
            (ExportMetricsServiceRequest, "MetricsService"),
            (ExportLogsServiceRequest, "LogsService"),
        )
    }
