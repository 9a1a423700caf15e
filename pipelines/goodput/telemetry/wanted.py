"""Which signals of its own a run sends: what the settings and the standard OTEL_* variables say, by default none.

The SDK, which takes long to import, is not asked: most runs have no endpoint.
"""

from collections.abc import Mapping
from typing import Literal

from goodput.settings.telemetry import OwnTelemetry

Signal = Literal["traces", "metrics", "logs"]
SIGNALS: tuple[Signal, ...] = ("traces", "metrics", "logs")
PROTOCOL = "http/protobuf"
_EXPORTER = "otlp"


def wanted(settings: OwnTelemetry, environ: Mapping[str, str]) -> frozenset[Signal]:
    """The signals for which there is an endpoint, and an exporter that is ours."""
    if not settings.enabled or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return frozenset()
    return frozenset(signal for signal in SIGNALS if _is_wanted(signal, settings, environ))


def unspoken(settings: OwnTelemetry, environ: Mapping[str, str], signals: frozenset[Signal]) -> str:
    """The protocol that the variables ask for and that is not spoken here, of a signal that is wanted; else nothing."""
    if settings.endpoint is not None:
        return ""
    asked = {
        environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        for signal in signals
    }
    return next(iter(sorted({name.strip() for name in asked if name} - {PROTOCOL})), "")


def _is_wanted(signal: Signal, settings: OwnTelemetry, environ: Mapping[str, str]) -> bool:
    exporters = environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip()
    if exporters:
        is_ours = _EXPORTER in (name.strip() for name in exporters.split(","))
        return is_ours  # asked for by name, it has an endpoint by default
    variables = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
    return settings.endpoint is not None or any(environ.get(name) for name in variables)
