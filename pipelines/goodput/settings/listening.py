"""What can be set of every command that listens: by which certificate, and how many connections at once."""

from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from goodput.settings.settings_model import Names, SettingsModel, Unusable


class Listening(SettingsModel):
    """Connections in all and of one address, and the certificate that is shown."""

    max_connections: int = Field(default=1000, gt=0, strict=True)
    max_connections_per_peer: int = Field(default=200, gt=0, strict=True)
    tls_certificate: Path | None = None
    tls_key: Path | None = None

    @model_validator(mode="after")
    def _certificate_with_its_key(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise Unusable("TLS takes a certificate and its key", "both tls_certificate and tls_key, or neither")
        return self


class Serve(Listening):
    """Whom `goodput serve` answers: by which certificate, and the names by which readers call this machine."""

    hosts: Names = ()

    @field_validator("hosts")
    @classmethod
    def _are_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not name or set(name) & set("/:*@ "):
                raise Unusable(f"{name!r} is no name of a machine", "a name as it stands in addresses, without port")
        return value
