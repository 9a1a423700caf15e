"""Conditional writes, on a real server and on ones that do not have them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from goodput.errors import StoreFailed, StoreRefused
from goodput.plumbing.object_store.bucket import Bucket
from plumbing.object_store.conftest import wrong_credentials
from s3_server import KEYS, heedless_server

CREATORS, ROUNDS = 6, 20


def test_an_object_is_created_once_and_swapped_by_its_tag(url: str) -> None:
    bucket = Bucket(url)
    first = bucket.create("a", b"1")
    assert first is not None
    assert bucket.create("a", b"2") is None
    second = bucket.swap("a", b"2", first)
    assert second is not None
    assert bucket.swap("a", b"3", first) is None
    found = bucket.read("a")
    assert found is not None
    assert (found.content, found.version.tag) == (b"2", second.tag)
    assert bucket.read("b") is None
    assert bucket.swap("b", b"1", first) is None


def test_what_is_written_is_listed_downloaded_and_deleted(url: str, tmp_path: Path) -> None:
    bucket = Bucket(url)
    bucket.write("a/1", b"x")
    bucket.write("a/2", b"y" * 10**7)
    bucket.write("ab", b"z")
    assert sorted(bucket.tags("a/")) == ["a/1", "a/2"]
    assert bucket.download("a/2", tmp_path / "2")
    assert (tmp_path / "2").read_bytes() == b"y" * 10**7
    assert not bucket.download("a/3", tmp_path / "3")
    bucket.delete(["a/1", "a/3"])
    assert sorted(bucket.tags("a/")) == ["a/2"]


def test_a_store_with_conditional_writes_passes_the_probe_and_keeps_nothing_of_it(url: str) -> None:
    bucket = Bucket(url)
    bucket.probe()
    assert not bucket.tags("")


@pytest.mark.parametrize("header", ["If-None-Match", "If-Match"])
def test_a_store_without_them_is_refused_by_name(header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with heedless_server(header.lower()) as endpoint:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(StoreRefused, match=f"ignores {header}"):
            Bucket("s3://lakes/one").probe()


def test_the_server_of_that_test_passes_where_it_ignores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with heedless_server("nothing") as endpoint:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
            monkeypatch.setenv(name, value)
        Bucket("s3://lakes/one").probe()


def test_wrong_credentials_are_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_credentials(monkeypatch)
    with pytest.raises(StoreFailed, match="credentials"):
        Bucket(url).write("a", b"1")


_CREATE = """
import sys
from goodput.plumbing.object_store.bucket import Bucket
url, name, rounds = sys.argv[1:]
bucket = Bucket(url)
for number in range(int(rounds)):
    if bucket.create(f"race/{number}", name.encode()) is not None:
        print(number)
"""


def test_of_processes_that_create_the_same_object_exactly_one_does(url: str) -> None:
    asked = [sys.executable, "-c", _CREATE, url]
    names = [f"process {number}" for number in range(CREATORS)]
    started = [
        subprocess.Popen([*asked, name, str(ROUNDS)], stdout=subprocess.PIPE, text=True, env=os.environ.copy())
        for name in names
    ]
    said = {name: process.communicate(timeout=120)[0].split() for name, process in zip(names, started, strict=True)}
    winners = [(int(number), name) for name, numbers in said.items() for number in numbers]
    assert sorted(number for number, _ in winners) == list(range(ROUNDS))
    bucket = Bucket(url)
    for number, name in winners:
        found = bucket.read(f"race/{number}")
        assert found is not None
        assert found.content == name.encode()
