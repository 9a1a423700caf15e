"""Great Expectations over all partitions, and its Data Docs as a folder of pages."""

import socket
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from contract_rows import write
from goodput.cli.contract_pages import write_contract_pages
from goodput.cli.main import app
from goodput.errors import ContractsBroken, NotDataDocs, PagesUnwritable
from goodput.plumbing.catalog import Part
from goodput.plumbing.expectations.data_docs import write_data_docs
from goodput.plumbing.expectations.validation import expectations_results
from goodput.plumbing.lake import Lake
from goodput.plumbing.workspace import Silence
from published import run_at
from test_rebuild import SETTINGS


def test_results_of_each_layout_and_their_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("writing Data Docs opened a socket")

    parts_folder = tmp_path / "parts"
    parts_folder.mkdir()
    parts = {
        "2026-11-20T09": [write(parts_folder, "requests", {}), write(parts_folder, "requests", {"attempts": 0})],
        "2026-11-20T10": [
            write(parts_folder, "requests", {}, reshape=lambda rows: rows.drop_columns(["delivering_attempt_id"]))
        ],
    }
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    results = expectations_results("requests", parts)
    assert [result.success for result in results] == [False, False]
    broken = [{item.expectation_config["meta"]["check"] for item in r.results if not item.success} for r in results]
    assert broken[0] == {"attempts_out_of_range", "key"}
    assert broken[1] >= {"columns", "delivering_attempt_id_missing"}

    index = write_data_docs(tmp_path / "docs", results)
    assert index == tmp_path / "docs" / "index.html"
    assert "requests" in index.read_text()
    pages = list((tmp_path / "docs" / "validations").rglob("*.html"))
    assert len(pages) == 2
    assert any("every row keeps attempts" in page.read_text() for page in pages)


def test_nothing_to_validate() -> None:
    assert expectations_results("requests", {}) == []
    assert expectations_results("requests", {"2026-11-20T09": []}) == []


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a lake in which three calls are published; tests read it."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "landing").mkdir()
    (folder / "landing/rows.csv").write_text(
        "id,start,end,ttft,outcome\n" + "".join(f"a{n},17951652{n}0,17951652{n}5,0.5,ok\n" for n in range(3))
    )
    (folder / "goodput.toml").write_text(SETTINGS)
    run_at(folder / "goodput.toml")
    return folder / "goodput.toml"


def verify(config: Path, folder: Path) -> Result:
    return CliRunner().invoke(app, ["verify", "--config", str(config), "--data-docs", str(folder)])


def test_pages_of_what_a_lake_holds(lake: Path, tmp_path: Path) -> None:
    done = verify(lake, tmp_path / "docs")
    assert done.exit_code == 0, done.output
    first = {page.relative_to(tmp_path / "docs/validations").parts[0] for page in pages_in(tmp_path / "docs")}
    assert {"requests", "attempts", "goodput", "waste", "warnings"} <= first
    assert not first & {"serving_records", "id_hours"}  # what no audit looks at, and what no user sees
    before = {path.name for path in pages_in(tmp_path / "docs")}
    assert verify(lake, tmp_path / "docs").exit_code == 0
    assert len(pages_in(tmp_path / "docs")) == len(before)  # those of the first time are gone
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]
    assert sorted(path.name for path in lake.parent.iterdir()) == ["goodput.toml", "lake", "landing"]


def test_what_breaks_its_contract_is_named_once_its_page_is_written(tmp_path: Path) -> None:
    broken = write(tmp_path, "requests", {"attempts": 0})
    part = Part("2026-11-20T09", str(broken), "inputs", "content", 1, 1)
    with pytest.raises(ContractsBroken) as raised:
        write_contract_pages(tmp_path / "docs", Lake(tmp_path / "lake"), [("requests", part)], Silence())
    assert "requests: attempts_out_of_range\n" in str(raised.value)
    assert raised.value.exit_code == 1
    assert len(pages_in(tmp_path / "docs")) == 1


@pytest.mark.parametrize("present", [["notes.txt"], ["index.html"], ["index.html", "static", "photo.png"]])
def test_other_files_are_never_replaced(lake: Path, tmp_path: Path, present: list[str]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in present:
        (folder / name).write_text("mine")
    with pytest.raises(NotDataDocs):
        verify_raising(lake, folder)
    assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(present, "mine")


def test_a_folder_that_cannot_be_written_to(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PagesUnwritable, match="file"):
        verify_raising(lake, tmp_path / "file")
    with pytest.raises(PagesUnwritable, match="file/docs"):
        verify_raising(lake, tmp_path / "file/docs")


def verify_raising(config: Path, folder: Path) -> None:
    done = verify(config, folder)
    assert done.exception
    raise done.exception


def pages_in(folder: Path) -> list[Path]:
    return sorted((folder / "validations").rglob("*.html"))
