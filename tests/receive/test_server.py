"""Where a receiver listens and writes, and which connections it keeps."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from goodput.errors import AddressUnusable, LandingUnwritable, OpenToAnyone, ReceiverBusy
from goodput.receive.server import Address, Sweep, bound, folder_for
from goodput.settings.model import Settings


async def _swept() -> tuple[bytes, bytes]:
    """What the client of a silent connection and that of a slow request read after two sweeps."""
    may_answer = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await may_answer.wait()
        await send({"type": "http.response.start", "status": 204, "headers": [(b"connection", b"close")]})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(slow, http="h11", interface="asgi3", lifespan="off", log_config=None)
    server, listener = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    silent, silent_writer = await asyncio.open_connection(*listener.getsockname())
    asking, asking_writer = await asyncio.open_connection(*listener.getsockname())
    asking_writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    while (len(server.server_state.connections), len(server.server_state.tasks)) != (2, 1):
        await asyncio.sleep(0.01)
    sweep = Sweep(server)
    await sweep()
    await asyncio.sleep(0.05)
    assert not silent.at_eof()
    await sweep()
    ended = await asyncio.wait_for(silent.read(), 5)
    may_answer.set()
    answered = await asyncio.wait_for(asking.read(), 5)
    for writer in (silent_writer, asking_writer):
        writer.close()
    server.should_exit = True
    await running
    return ended, answered.partition(b"\r\n")[0]


def test_only_idle_connections_are_closed() -> None:
    assert asyncio.run(_swept()) == (b"", b"HTTP/1.1 204 No Content")


def test_an_address_in_use_is_said() -> None:
    with bound(Address("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with (
            pytest.raises(AddressUnusable, match=f"port {port}: Address already in use"),
            bound(Address("127.0.0.1", port)),
        ):
            pass


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_beyond_this_machine_a_token_is_asked_for_or_the_risk_taken(host: str) -> None:
    with pytest.raises(OpenToAnyone, match="--token-file"), bound(Address(host, 0)):
        pass
    for address in (Address(host, 0, token="s3cret"), Address(host, 0, insecure=True)):
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
