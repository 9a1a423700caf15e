"""The table of emitters in docs/telemetry.md is what their own bytes give."""

import gzip
import re

import pytest

from emitters import matrix

pytestmark = pytest.mark.only("requests", "attempts")

_MACHINE = re.compile(rb"/(root|home|tmp|work|Users)/\w")


@pytest.mark.parametrize("name", matrix.emitters())
def test_the_page_has_what_the_bytes_give(name: str) -> None:
    assert matrix.row(name) in matrix.committed()


def test_the_page_has_each_emitter_once() -> None:
    assert [row.split(" | ")[0].removeprefix("| ") for row in matrix.committed()] == matrix.emitters()


@pytest.mark.parametrize("name", matrix.emitters())
def test_captures_name_no_machine(name: str) -> None:
    for path in (matrix.DATA / name).glob("telemetry.*"):
        assert not _MACHINE.findall(gzip.decompress(path.read_bytes()))
