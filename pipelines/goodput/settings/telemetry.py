"""[telemetry] and [export] of goodput.toml: where runs report on themselves, and where the published numbers go.

What runs read of others is not meant here.
"""

from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from goodput.settings.channels import Url
from goodput.settings.secret import Secret
from goodput.settings.settings_model import Seconds, SettingsModel, Unusable


class OtlpEndpoint(SettingsModel):
    """An OTLP endpoint (HTTP, protobuf), and how long a run waits for it."""

    endpoint: Url = None
    bearer_token: Secret | None = None
    run_budget_s: Seconds = 5.0

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        clear = self.endpoint.clear if self.endpoint else None
        if clear is not None and not is_endpoint(clear):
            raise Unusable("endpoint is no address of a collector", 'such as "http://collector:4318"')
        if self.bearer_token is not None and self.endpoint is None:
            raise Unusable("bearer_token has no endpoint beside it", "the endpoint that it is for")
        return self


class OwnTelemetry(OtlpEndpoint):
    """Where a run's own telemetry goes.

    Without `endpoint` the standard variables OTEL_* say where it goes, if they say so; `enabled = false` is stronger
    than they are.
    """

    enabled: bool = Field(default=True, strict=True)


class Export(OtlpEndpoint):
    """Where each run sends the windows that it published, once each: those that ended within `lookback_s`.

    Nothing is sent without `endpoint`, whatever the standard variables say.
    """

    lookback_s: Seconds = 2 * 86400.0


def is_endpoint(url: str) -> bool:
    """Whether a url can be an OTLP endpoint over HTTP."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query
    except ValueError:
        return False
