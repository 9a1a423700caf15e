"""What a path on the command line means: an address of an object store, or a folder from where one stands."""

from pathlib import Path

import pytest

from goodput.settings.lake_address import named


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (".", "{here}"),
        ("./", "{here}"),
        ("lake", "{here}/lake"),
        ("s3", "{here}/s3"),  # a folder may be called so
        ("/srv/lake", "/srv/lake"),
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("az://container", "az://container"),
    ],
)
def test_an_address_stays_one_and_a_folder_is_named_in_full(
    given: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert named(Path(given)) == meant.format(here=tmp_path)
