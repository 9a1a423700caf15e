"""Landing zones by what they are called now, wherever the folder of the settings was before."""

from pathlib import Path

import polars as pl
import pytest

from goodput.join.options import _in_present_zones
from goodput.settings.model import Settings


@pytest.mark.parametrize(
    ("entries", "before", "after"),
    [
        (["landing"], "/old/landing", "/new/landing"),
        (["landing"], "/older/still/landing", "/new/landing"),
        (["eu/landing", "landing"], "/old/eu/landing", "/new/eu/landing"),
        (["landing", "eu/landing"], "/old/eu/landing", "/new/eu/landing"),
        (["landing"], "/new/team/landing", "/new/team/landing"),  # another zone of the same settings, once
        (["landing"], "/old/other", "/old/other"),
        (["/data/landing"], "/old/landing", "/old/landing"),
    ],
)
def test_a_zone_is_known_by_its_entry_in_the_settings(entries: list[str], before: str, after: str) -> None:
    settings = Settings(landing=tuple(entries)).model_copy(update={"base": Path("/new")})
    places = pl.DataFrame({"landing": [before, settings.landing_names[0]], "path": ["a", "b"]})
    found = _in_present_zones(places, settings)
    assert found["landing"].to_list() == [after, settings.landing_names[0]]
