"""Where a receiver listens and writes, and which connections it keeps."""

from pathlib import Path

import pytest

from goodput.errors import AddressUnusable, LandingUnwritable, OpenToAnyone, ReceiverBusy
from goodput.receive.server import ReceiverAddress, bound, folder_for
from goodput.settings.model import Settings


def test_an_address_in_use_is_said() -> None:
    with bound(ReceiverAddress("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with (
            pytest.raises(AddressUnusable, match=f"port {port}: Address already in use"),
            bound(ReceiverAddress("127.0.0.1", port)),
        ):
            pass


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_beyond_this_machine_a_token_is_asked_for_or_the_risk_taken(host: str) -> None:
    with pytest.raises(OpenToAnyone, match="--token-file"), bound(ReceiverAddress(host, 0)):
        pass
    for address in (ReceiverAddress(host, 0, token="s3cret"), ReceiverAddress(host, 0, insecure=True)):
        with bound(address) as listener:
            assert listener.getsockname()[0] == host


def test_the_first_landing_path_that_is_a_folder_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    paths = {"landing": [str(tmp_path / name) for name in ("file", "missing", "folder")]}
    with folder_for(Settings.model_validate(paths)) as folder:
        assert folder == tmp_path / "folder" / "otlp"


def test_a_landing_path_that_can_hold_no_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(LandingUnwritable, match="file/otlp: cannot write: Not a directory"),
        folder_for(Settings(landing=(str(tmp_path / "file"),))),
    ):
        pass


def test_two_receivers_share_no_folder(tmp_path: Path) -> None:
    settings = Settings(landing=(str(tmp_path / "new"),))
    with folder_for(settings) as folder:
        assert folder == tmp_path / "new" / "otlp"
        with pytest.raises(ReceiverBusy, match="another `goodput receive` is writing"), folder_for(settings):
            pass
    with folder_for(settings):
        pass
