"""Files of the landing zone: when a new one begins, and what a failed write leaves behind."""

import os
import shutil
import subprocess
from collections.abc import Callable
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


def _edit(file: Path, away: Path) -> None:
    subprocess.run(["sed", "-i", "s/nothing/else/", file], check=True)  # a new file under the same name
    shutil.copy(file, away)


def _delete(file: Path, away: Path) -> None:
    shutil.copy(file, away)
    file.unlink()


def _delete_folder(file: Path, away: Path) -> None:
    shutil.copy(file, away)
    shutil.rmtree(file.parent)


def _move_folder(file: Path, away: Path) -> None:
    file.parent.rename(away / "folder")


def _put_another_in_its_place(file: Path, away: Path) -> None:
    file.rename(away / file.name)
    file.write_bytes(b"of another\n")


TAKEN = [_edit, _delete, _delete_folder, shutil.move, _move_folder, _put_another_in_its_place]


def lines_below(folder: Path) -> list[bytes]:
    return sorted(line for path in folder.rglob("*") if path.is_file() for line in path.read_bytes().splitlines())


@pytest.mark.parametrize("taken", TAKEN)
def test_nothing_is_appended_to_a_file_that_was_taken_away(
    tmp_path: Path, taken: Callable[[Path, Path], object]
) -> None:
    folder, away = tmp_path / "landing" / "otlp", tmp_path / "away"
    away.mkdir()
    written = LandingFiles(folder, 10**6, 60)
    written.append(TRACES, [b"first\n"])
    (file,) = folder.iterdir()
    taken(file, away)
    written.append(TRACES, [b"second\n"])
    written.append(TRACES, [b"third\n"])
    written.close()
    assert {b"second", b"third"} <= {*lines_below(folder)}
    assert lines_below(away) == [b"first"]
    assert written.files_made == 2


@pytest.mark.parametrize("taken", TAKEN)
def test_a_message_whose_file_is_taken_away_under_its_fsync_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: Callable[[Path, Path], object]
) -> None:
    folder, away = tmp_path / "landing" / "otlp", tmp_path / "away"
    away.mkdir()
    written = LandingFiles(folder, 10**6, 60)
    written.append(TRACES, [b"first\n"])
    (file,) = folder.iterdir()
    fsync, waiting = os.fsync, [file]

    def while_it_is_taken(descriptor: int) -> None:
        if waiting:
            taken(waiting.pop(), away)
        fsync(descriptor)

    monkeypatch.setattr(files.os, "fsync", while_it_is_taken)
    written.append(TRACES, [b"second\n"])
    written.close()
    assert b"second" in lines_below(folder)
    assert b"first" in lines_below(away)


def test_a_file_that_is_always_taken_away_is_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, fsync = tmp_path / "otlp", os.fsync
    written = LandingFiles(folder, 10**6, 60)

    def while_all_are_deleted(descriptor: int) -> None:
        fsync(descriptor)
        for path in folder.glob("*"):
            path.unlink()

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", while_all_are_deleted)
        with pytest.raises(OSError, match="moved or deleted"):
            written.append(TRACES, [b"lost\n"])
    written.append(TRACES, [b"later\n"])
    written.close()
    assert lines_below(folder) == [b"later"]


def test_a_file_that_was_emptied_is_written_on_and_a_failed_write_leaves_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = LandingFiles(tmp_path, 10**6, 60)
    written.append(TRACES, [b"a long first message\n"])
    (file,) = tmp_path.iterdir()
    os.truncate(file, 0)
    written.append(TRACES, [b"second\n"])

    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", failing)
        with pytest.raises(OSError, match="Input/output"):
            written.append(TRACES, [b"lost\n"])
    written.close()
    assert contents(tmp_path) == [b"second\n"]
