"""What is found in a landing zone, who reads it, and what makes a file itself."""

import hashlib
import os
import socket
from pathlib import Path

import pytest

from collect.discovered import Discovery, discover
from goodput.collect.landing import Beginnings, identify
from goodput.collect.listing import list_landing
from goodput.collect.received import LandedFile
from goodput.errors import LandingMissing, SourceRefused
from goodput.settings.model import Settings

COLUMNS = {"started_at": {"column": "t", "unit": "epoch_s"}}


def source(path: str, **more: object) -> dict[str, object]:
    return {"format": "csv", "path": path, "columns": COLUMNS, **more}


def settings(base: Path, landing: tuple[str, ...] = ("landing",), **sources: object) -> Settings:
    made = Settings.model_validate({"landing": landing, "sources": sources})
    return made.model_copy(update={"base": base})


def put(path: Path, content: bytes = b"t\n1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def readers(found: Discovery) -> dict[str, str]:
    return {file.relative_path: file.reader for file in found.files}


def test_finds_files_sorted_and_leaves_hidden_and_unfinished_ones_alone(tmp_path: Path) -> None:
    kept = ("z.jsonl", "a/b.pb", "a/c/d.csv")
    left = (".hidden", ".git/config", "a/x.tmp", "a/x.partial", "a/x.csv~")
    for name in (*kept, *left):
        put(tmp_path / "landing" / name)
    found = discover(settings(tmp_path))
    assert [file.relative_path for file in found.files] == ["a/b.pb", "a/c/d.csv", "z.jsonl"]
    assert found.refused == []


def test_every_missing_landing_path_is_named(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(LandingMissing) as error:
        discover(settings(tmp_path, ("here", "gone", "lost")))
    assert error.value.paths == (tmp_path / "gone", tmp_path / "lost")


def test_a_landing_path_may_be_a_file_and_overlap_with_another(tmp_path: Path) -> None:
    put(tmp_path / "landing/sub/a.csv")
    found = discover(settings(tmp_path, ("landing/sub/a.csv", "landing", "landing/sub")))
    assert [(file.relative_path, file.landing) for file in found.files] == [("a.csv", tmp_path / "landing/sub/a.csv")]


def test_the_lake_is_no_landing_zone(tmp_path: Path) -> None:
    put(tmp_path / "lake/conformed/x.parquet")
    put(tmp_path / "a.jsonl")
    assert list(readers(discover(settings(tmp_path, (".",))))) == ["a.jsonl"]


@pytest.mark.parametrize(
    ("glob", "matched"),
    [
        ("*.csv", {"a.csv", "deep/b.csv", "deep/er/c.csv"}),
        ("deep/*.csv", {"deep/b.csv"}),
        ("**/*.csv", {"a.csv", "deep/b.csv", "deep/er/c.csv"}),
        ("deep/**", {"deep/b.csv", "deep/er/c.csv", "deep/er/d.log"}),
        ("deep/**/c.csv", {"deep/er/c.csv"}),
        ("*/er/?.csv", {"deep/er/c.csv"}),
    ],
)
def test_globs(tmp_path: Path, glob: str, matched: set[str]) -> None:
    for name in ("a.csv", "deep/b.csv", "deep/er/c.csv", "deep/er/d.log"):
        put(tmp_path / "landing" / name)
    found = readers(discover(settings(tmp_path, s=source(glob))))
    assert {name for name, reader in found.items() if reader == "s"} == matched
    assert set(found.values()) <= {"s", "unclaimed"}


def test_named_groups_of_the_path_are_captured(tmp_path: Path) -> None:
    put(tmp_path / "landing/run7/ps_stack_output_0.5.csv")
    pattern = r"run(?P<run>\d+)/(?P<route>.+)_output_(?P<rps>[0-9.]+)\.csv(?P<zip>\.gz)?"
    found = discover(settings(tmp_path, bench=source("*.csv", path_pattern=pattern)))
    assert found.files[0].captures == {"run": "7", "route": "ps_stack", "rps": "0.5"}


@pytest.mark.parametrize(
    ("pattern", "captures"),
    [
        (r"(?P<route>.+)_output_(?P<rps>[0-9.]+)\.csv", {"route": "chat", "rps": "3"}),  # of the name alone
        (r"^(?P<route>.+)_output_", {"route": "chat"}),
        (r"team=(?P<team>.+)", {"team": "blue"}),  # of a folder
        (r"(?P<run>[^/]+)/team=(?P<team>[^/]+)/", {"run": "run_output_1", "team": "blue"}),
    ],
)
def test_a_group_does_not_reach_over_folders(tmp_path: Path, pattern: str, captures: dict[str, str]) -> None:
    put(tmp_path / "landing/run_output_1/team=blue/chat_output_3.csv")
    found = discover(settings(tmp_path, bench=source("*.csv", path_pattern=pattern)))
    assert found.files[0].captures == captures


def test_a_pattern_that_a_later_python_may_read_otherwise_is_read_without_a_word(tmp_path: Path) -> None:
    """Warnings are errors in tests: Python's FutureWarning of `[[` would end both, reading settings and files."""
    put(tmp_path / "landing/[x.csv")
    pattern = r"(?P<sign>[[x])x\.csv"  # a bracket, or an x
    found = discover(settings(tmp_path, bench=source("*.csv", path_pattern=pattern)))
    assert found.files[0].captures == {"sign": "["}


def test_a_path_that_the_glob_but_not_the_pattern_matches_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "landing/odd.csv")
    found = discover(settings(tmp_path, bench=source("*.csv", path_pattern=r"_output_(?P<rps>\d+)")))
    [(file, reason)] = found.refused
    assert (file.relative_path, file.reader, found.files) == ("odd.csv", "bench", [])
    assert "'*.csv'" in reason
    assert r"'_output_(?P<rps>\\d+)'" in reason


def test_a_file_that_two_sources_claim_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "landing/x.csv")
    found = discover(settings(tmp_path, b=source("*.csv"), a=source("x.*")))
    [(_, reason)] = found.refused
    assert "a, b" in reason
    assert found.files == []


def test_links_that_leave_the_landing_path_are_refused(tmp_path: Path) -> None:
    secret = put(tmp_path / "secret/passwords.csv")
    inside = put(tmp_path / "landing/inside.csv")
    (tmp_path / "landing/file_link.csv").symlink_to(secret)
    (tmp_path / "landing/folder_link").symlink_to(secret.parent)
    (tmp_path / "landing/broken.csv").symlink_to(tmp_path / "landing/nothing")
    (tmp_path / "landing/good_link.csv").symlink_to(inside)
    (tmp_path / "landing/loop").symlink_to(tmp_path / "landing")
    (tmp_path / "landing/knot").symlink_to(tmp_path / "landing/knot")
    found = discover(settings(tmp_path))
    assert [file.relative_path for file in found.files] == ["good_link.csv", "inside.csv"]
    reasons = {file.relative_path: reason for file, reason in found.refused}
    assert set(reasons) == {"broken.csv", "file_link.csv", "folder_link", "knot"}
    assert "out of the landing path" in reasons["file_link.csv"]
    assert "out of the landing path" in reasons["folder_link"]
    assert "nowhere" in reasons["broken.csv"]
    assert "nowhere" in reasons["knot"]


def test_pipes_and_sockets_are_refused_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "landing").mkdir()
    os.mkfifo(tmp_path / "landing/pipe.jsonl")
    monkeypatch.chdir(tmp_path / "landing")  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        found = discover(settings(tmp_path))
    assert [file.relative_path for file, _ in found.refused] == ["pipe.jsonl", "sock"]
    assert all("no regular file" in reason for _, reason in found.refused)


def test_identity_hashes_content_and_known_prefixes(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000  # larger than one read
    path = put(tmp_path / "landing/a.jsonl", content)

    def digest(size: int) -> str:
        return hashlib.sha256(content[:size]).hexdigest()[:32]

    head = digest(4096)
    sizes = (1, 100, 4095, 4096, 3_000_000, len(content), len(content) + 1)
    known = Beginnings.of([*((head, size) for size in sizes), ("of another file", 5_000)])
    found = identify(LandedFile(path, path.parent, "unclaimed"), settings(tmp_path), known)

    assert found.content_hash == digest(len(content))
    assert found.size_bytes == len(content)
    assert found.prefix_hashes == {size: digest(size) for size in sizes[:6]}
    assert found.head_hash == head


def test_one_file_under_two_names_is_one_source_unless_the_name_gives_columns(tmp_path: Path) -> None:
    made = settings(tmp_path, s=source("*.csv"))
    one, two = put(tmp_path / "landing/1.csv"), put(tmp_path / "landing/2.csv")

    def source_id(path: Path, reader: str, **captures: str) -> str:
        return identify(LandedFile(path, path.parent, reader, captures), made).source_id

    assert source_id(one, "s") == source_id(two, "s")
    assert source_id(one, "unclaimed") == source_id(two, "unclaimed")
    assert source_id(one, "s") != source_id(one, "unclaimed")
    assert source_id(one, "s", route="a") != source_id(two, "s", route="b")
    assert source_id(one, "s", offered_rps="1") != source_id(two, "s", offered_rps="2")


def test_another_way_of_reading_makes_another_source(tmp_path: Path) -> None:
    path = put(tmp_path / "landing/1.csv")

    def source_id(reader: str, made: Settings) -> str:
        return identify(LandedFile(path, path.parent, reader), made).source_id

    plain = settings(tmp_path, s=source("*.csv"))
    mapped = settings(tmp_path, s=source("*.csv", constants={"pool": "p"}))
    attributes = plain.model_copy(update={"attributes": plain.attributes.model_copy(update={"pool": ("x",)})})
    matching = Settings.model_validate({"workloads": {"w": {"match": {"attributes": {"tier": "gold"}}}}})
    assert source_id("s", plain) != source_id("s", mapped)
    assert source_id("unclaimed", plain) == source_id("unclaimed", mapped)
    leaving = Settings.model_validate({"leave_out": {"synthetic": {"attributes": {"tier": "test"}}}})
    assert len({source_id("unclaimed", made) for made in (plain, attributes, matching, leaving)}) == 4


def test_a_file_that_is_gone_when_it_is_hashed_is_refused(tmp_path: Path) -> None:
    file = LandedFile(tmp_path / "gone.csv", tmp_path, "unclaimed")
    with pytest.raises(SourceRefused, match=r"gone\.csv: refused: cannot be read"):
        identify(file, settings(tmp_path))


def test_the_head_of_a_file_shorter_than_one_is_all_of_it(tmp_path: Path) -> None:
    path = put(tmp_path / "landing/a.jsonl", b"x" * 100)
    found = identify(LandedFile(path, path.parent, "unclaimed"), settings(tmp_path), Beginnings.of([("any", 7)]))
    assert found.head_hash == found.content_hash
    assert found.prefix_hashes == {7: hashlib.sha256(b"x" * 7).hexdigest()[:32]}


def test_a_file_whose_name_is_no_utf8_is_refused_alone(tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "good.jsonl").write_bytes(b"{}\n")
    with open(os.fsencode(landing) + b"/\xffna\xefme.jsonl", "wb") as file:
        file.write(b"{}\n")
    listing = list_landing(settings(tmp_path))
    assert listing.files["path"].to_list() == ["good.jsonl"]
    ((refused, reason),) = listing.refused
    assert (refused.relative_path, reason) == ("\\xffna\\xefme.jsonl", "has a name that is not UTF-8: rename it")
