"""The certificate that a receiver shows, and its key, as files of the settings."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from goodput.errors import CertificateUnusable
from goodput.settings.model import Settings


@dataclass(frozen=True)
class Tls:
    """Files of a certificate with its chain, and of its key."""

    certificate: Path
    key: Path


def tls_of(settings: Settings) -> Tls | None:
    """The certificate of the settings, which was tried; None where they name none. Raises CertificateUnusable."""
    certificate, key = settings.receive.tls_certificate, settings.receive.tls_key
    if certificate is None or key is None:
        return None
    tls = Tls(settings.base / certificate, settings.base / key)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key)
    except OSError as error:  # those of ssl are such too
        raise CertificateUnusable(tls.certificate, tls.key, error.strerror or type(error).__name__) from error
    return tls
