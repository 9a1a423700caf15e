"""Landing zones in object stores as `landing` names them: where they lie, and which folders hold which hours."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from goodput.errors import SettingsError
from goodput.settings.bucket_zones import BucketZone, bucket_zone
from goodput.settings.load import load_settings


def test_an_address_is_told_from_a_folder_and_its_folders_by_time_from_both() -> None:
    assert bucket_zone("landing") is None
    assert bucket_zone("/srv/%Y") is None
    assert bucket_zone("s3://b") == BucketZone("s3://b", None)
    assert bucket_zone("gs://b/p/") == BucketZone("gs://b/p", None)
    assert bucket_zone("s3://b/p/%Y/%m/%d/%H") == BucketZone("s3://b/p", "%Y/%m/%d/%H")
    assert bucket_zone("az://b/%Y%m%d") == BucketZone("az://b", "%Y%m%d")
    assert bucket_zone("s3://b/p/day=%Y-%m-%d/hour=%H/minute=%M") == BucketZone("s3://b/p", "day=%Y-%m-%d/hour=%H")


def test_folders_are_of_every_hour_and_each_is_named_once() -> None:
    since, until = datetime(2026, 2, 28, 22, 30, tzinfo=UTC), datetime(2026, 3, 1, 1, tzinfo=UTC)
    assert BucketZone("s3://b", "%m/%d/%H").folders(since, until) == ["02/28/22", "02/28/23", "03/01/00"]
    assert BucketZone("s3://b", "%m/%d").folders(since, until) == ["02/28", "03/01"]


@pytest.mark.parametrize("landing", ["s3://b/%Y/%m", "s3://b/%H", "s3://b/%Y/%m/%d/%S", "s3://b/100%"])
def test_folders_by_other_times_are_a_mistake_with_its_key(landing: str, tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(f'landing = ["{landing}"]\n')
    with pytest.raises(SettingsError, match=r"landing(.|\n)*s3://bucket/prefix/%Y/%m/%d/%H"):
        load_settings(tmp_path / "goodput.toml")
