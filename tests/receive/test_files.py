"""Files of the landing zone: when a new one begins, and what a failed write leaves behind."""

import os
from pathlib import Path

import pytest

from goodput.collect.otlp.fields import LOGS, SPANS
from goodput.receive import files
from goodput.receive.encoding import Encoding, Kind
from goodput.receive.files import LandingFiles

TRACES, LOG_LINES = Kind(SPANS, Encoding.JSON), Kind(LOGS, Encoding.JSON)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_a_new_file_begins_once_the_last_is_large_enough(tmp_path: Path) -> None:
    written = LandingFiles(tmp_path, rotate_bytes=10, rotate_s=60)
    for message in (b"12345\n", b"6789\n", b"a\n"):
        written.append(TRACES, [message])
    written.append(LOG_LINES, [b"b\n", b"c\n"])
    written.close()
    assert contents(tmp_path) == [b"b\nc\n", b"12345\n6789\n", b"a\n"]
    names = [path.name.partition("-")[0] for path in sorted(tmp_path.iterdir())]
    assert names == ["logs", "traces", "traces"]


def test_a_new_file_begins_once_the_last_is_old_enough(tmp_path: Path) -> None:
    clock = Clock()
    written = LandingFiles(tmp_path, rotate_bytes=10**6, rotate_s=60, clock=clock)
    for now_s in (100, 159, 160, 219.9, 220):
        clock.now_s = now_s
        written.append(TRACES, [f"{now_s}\n".encode()])
    written.close()
    assert contents(tmp_path) == [b"100\n159\n", b"160\n219.9\n", b"220\n"]


def test_no_file_of_an_earlier_process_is_touched(tmp_path: Path) -> None:
    for message in (b"torn", b"whole\n"):
        written = LandingFiles(tmp_path, 10**6, 60)
        written.append(TRACES, [message])
        written.close()
    assert contents(tmp_path) == [b"torn", b"whole\n"]


@pytest.mark.parametrize("before", [[], [b"good\n"]])
def test_a_write_that_fails_halfway_leaves_nothing_and_the_next_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: list[bytes]
) -> None:
    written, write = LandingFiles(tmp_path, 10**6, 60), os.write
    for message in before:
        written.append(TRACES, [message])

    def almost_full(descriptor: int, content: bytes) -> int:
        if len(content) < 5:
            raise OSError(28, "No space left on device")
        return write(descriptor, content[:3])

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "write", almost_full)
        with pytest.raises(OSError, match="No space left"):
            written.append(TRACES, [b"lost\n", b"too\n"])
    assert contents(tmp_path) == before
    written.append(TRACES, [b"later\n"])
    written.close()
    assert contents(tmp_path) == [*before, b"later\n"]
    assert written.files_made == len(before) + 1 + (not before)
