"""[telemetry] of goodput.toml: where runs report on themselves. What they read of others is not meant here."""

from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from goodput.settings.channels import Url
from goodput.settings.secret import Secret
from goodput.settings.settings_model import Seconds, SettingsModel, Unusable


class OwnTelemetry(SettingsModel):
    """The OTLP endpoint of a run's own telemetry, and how long a run waits for it at its end.

    Without `endpoint` the standard variables OTEL_* say where it goes, if they say so; `enabled = false` is stronger
    than they are.
    """

    enabled: bool = Field(default=True, strict=True)
    endpoint: Url = None
    bearer_token: Secret | None = None
    run_budget_s: Seconds = 5.0

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        clear = self.endpoint.clear if self.endpoint else None
        if clear is not None:
            parts = urlsplit(clear)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
                raise Unusable("endpoint is no address of a collector", 'such as "http://collector:4318"')
        if self.bearer_token is not None and self.endpoint is None:
            raise Unusable("bearer_token has no endpoint beside it", "the endpoint that it is for")
        return self
