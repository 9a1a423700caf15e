"""Great Expectations over all partitions, and its Data Docs as a folder of pages."""

import socket
from pathlib import Path

import pytest

from contract_rows import write
from goodput.plumbing.expectations.data_docs import write_data_docs
from goodput.plumbing.expectations.validation import expectations_results


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
