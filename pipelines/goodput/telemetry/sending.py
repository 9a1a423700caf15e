"""How own telemetry leaves: the SDK's OTLP exporters over sessions that keep to the rules of this house.

An address is judged as for channels, one's own network allowed; redirects, proxies and .netrc are not followed; why
sending failed is remembered in words that name neither path, header nor answer.
"""

import logging
from functools import cache
from typing import Any, TypeVar

import requests
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from goodput.errors import TargetRefused
from goodput.notify.address import shown, target
from goodput.plumbing.interrupt import causes
from goodput.telemetry.wanted import Signal

Exporter = TypeVar("Exporter", OTLPSpanExporter, OTLPMetricExporter, OTLPLogExporter)


class _BoundedSession(requests.Session):
    """Connects only to what may be reached, and remembers how the last attempt ended."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.problem = ""
        self.rejected = 0

    def request(self, method: str, url: str | bytes, *args: Any, **options: Any) -> requests.Response:
        """One attempt; raises what the network, or the address, does."""
        url = url if isinstance(url, str) else url.decode()
        self.problem = f"{_named(url)}: no answer"  # so far
        try:
            _judge(url)
            response = super().request(method, url, *args, **options)
        except (TargetRefused, OSError) as error:
            self.problem = f"{_named(url)}: {_plain(error)}"
            raise
        moved = " (redirects are not followed: give the final url)" if response.is_redirect else ""
        wrong = moved or not response.ok
        self.problem = f"{_named(url)}: answered {response.status_code}{moved}" if wrong else ""
        if not wrong:
            self.rejected += _rejected(response)
        return response


class Sending:
    """The exporters of one run, each with a session of its own."""

    def __init__(self, endpoint: str | None, bearer_token: str | None) -> None:
        _hush()
        self._endpoint = endpoint
        self._headers = {"authorization": f"Bearer {bearer_token}"} if bearer_token else {}
        self._sessions: list[_BoundedSession] = []
        self._exporters: list[OTLPSpanExporter | OTLPMetricExporter | OTLPLogExporter] = []

    @property
    def problem(self) -> str:
        """Why something was not sent, as far as is known; empty where all went well."""
        return next((session.problem for session in self._sessions if session.problem), "")

    @property
    def rejected(self) -> int:
        """How many spans, points or records receivers took a request without."""
        return sum(session.rejected for session in self._sessions)

    def spans(self) -> OTLPSpanExporter:
        """Sends spans."""
        return self._kept(OTLPSpanExporter(self._url("traces"), headers=self._headers, session=self._session()))

    def metrics(self, max_points: int | None = None, timeout_s: float | None = None) -> OTLPMetricExporter:
        """Sends metrics, at most `max_points` in a request, trying for `timeout_s` at most (else as variables say)."""
        return self._kept(
            OTLPMetricExporter(
                self._url("metrics"),
                headers=self._headers,
                session=self._session(),
                timeout=timeout_s,
                max_export_batch_size=max_points,
            )
        )

    def logs(self) -> OTLPLogExporter:
        """Sends records."""
        return self._kept(OTLPLogExporter(self._url("logs"), headers=self._headers, session=self._session()))

    def stop(self) -> None:
        """Try nothing again that has failed."""
        for exporter in self._exporters:
            exporter.shutdown()

    def _kept(self, exporter: Exporter) -> Exporter:
        self._exporters.append(exporter)
        return exporter

    def _url(self, signal: Signal) -> str | None:
        """The address of a signal; None where the variables say it."""
        return self._endpoint and f"{self._endpoint.rstrip('/')}/v1/{signal}"

    def _session(self) -> requests.Session:
        self._sessions.append(_BoundedSession())
        return self._sessions[-1]


@cache
def _hush() -> None:
    """Keep what the SDK logs of sending to itself: it names headers and whole addresses. Its end is logged once."""
    sdk_logger = logging.getLogger("opentelemetry")
    sdk_logger.propagate = False
    sdk_logger.addHandler(logging.NullHandler())


def _judge(url: str) -> None:
    try:
        target(url, allow_private=True)
    except OSError as error:
        raise requests.ConnectionError(error) from error  # a name that cannot be looked up now is tried again


def _rejected(response: requests.Response) -> int:
    """What a receiver says that it left out of a request. The answers to all three signals have it in one place."""
    try:
        answer = ExportMetricsServiceResponse.FromString(response.content)
    except DecodeError:
        return 0
    return answer.partial_success.rejected_data_points


def _named(url: str) -> str:
    try:
        return shown(url)
    except ValueError:
        return "the endpoint"


def _plain(error: Exception) -> str:
    """An error in words: those of the system where it has some, as libraries name the whole address."""
    if isinstance(error, TargetRefused):
        return str(error)
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    texts = (cause.strerror for cause in causes(error) if isinstance(cause, OSError) and cause.strerror)
    return next(texts, type(error).__name__)
