"""The certificate that a server shows, and its key, as files of the settings."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from goodput.errors import CertificateUnusable
from goodput.settings.listening import Listening


@dataclass(frozen=True)
class Tls:
    """Files of a certificate with its chain, and of its key."""

    certificate: Path
    key: Path


def tls_of(section: str, listening: Listening, base: Path) -> Tls | None:
    """The certificate that a section of the settings names, which was tried; None where it names none.

    Paths are relative to `base`. Raises CertificateUnusable.
    """
    if listening.tls_certificate is None or listening.tls_key is None:
        return None
    tls = Tls(base / listening.tls_certificate, base / listening.tls_key)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key)
    except OSError as error:  # those of ssl are such too
        raise CertificateUnusable(section, tls.certificate, tls.key, error.strerror or type(error).__name__) from error
    return tls
