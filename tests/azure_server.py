"""A real server of Azure's blob protocol for tests: Azurite, Microsoft's own emulator, where it is installed."""

import base64
import hashlib
import hmac
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.error import HTTPError, URLError

# Every emulator has this account and this key: they are no secret.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_PATIENCE_S = 60.0


def program() -> str | None:
    """Azurite's program for blobs; None where it is not installed."""
    return shutil.which("azurite-blob")


@contextmanager
def azure_server(azurite: str, folder: Path, container: str) -> Iterator[dict[str, str]]:
    """What a client needs in its environment to reach a container of it, while it runs over a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "azurite.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(azurite, "--blobPort", str(port), "--location", str(folder / "data")),
                *("--silent", "--disableTelemetry", "--skipApiVersionCheck"),
            ],
            stdout=log,
            stderr=log,
        )
    endpoint = f"http://127.0.0.1:{port}"
    try:
        _create_container(endpoint, container, process)
        yield {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": endpoint,
            "AZURE_STORAGE_ACCOUNT_NAME": _ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": _KEY,
        }
    finally:
        process.kill()
        process.wait()


def _create_container(endpoint: str, container: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(_creation_of(endpoint, container), timeout=5).close()
        except (URLError, OSError) as error:
            if isinstance(error, HTTPError):
                raise
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("azurite does not answer")


def _creation_of(endpoint: str, container: str) -> urllib.request.Request:
    """A request signed as the protocol's "Shared Key" asks: the client of the product creates no containers."""
    headers = {"x-ms-date": format_datetime(datetime.now(UTC), usegmt=True), "x-ms-version": "2021-08-06"}
    signed = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in sorted(headers.items()))]
    signed += [f"/{_ACCOUNT}/{_ACCOUNT}/{container}", "restype:container"]
    digest = hmac.new(base64.b64decode(_KEY), "\n".join(signed).encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}"
    return urllib.request.Request(f"{endpoint}/{_ACCOUNT}/{container}?restype=container", method="PUT", headers=headers)
