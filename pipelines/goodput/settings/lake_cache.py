"""[lake_cache] of goodput.toml: the folder on this machine of a lake in an object store."""

from collections.abc import Collection, Iterator
from typing import Annotated

from pydantic import Field

from goodput.errors import Mistake
from goodput.settings.lake_address import url_of
from goodput.settings.settings_model import SettingsModel


class LakeCache(SettingsModel):
    """Where the parts lie that were used last, and how many bytes of them beside those that a run uses."""

    folder: str = "lake-cache"
    max_bytes: Annotated[int, Field(gt=0, strict=True)] = 20 * 10**9


def lake_mistakes(lake: str, channels: Collection[str]) -> Iterator[Mistake]:
    """What does not go with a lake in an object store."""
    if url_of(lake) is not None and channels:
        wrong = f"alarms are sent once as an outbox on one machine remembers them, and any machine may run {lake}"
        yield Mistake("channels", wrong, "a lake in a folder, or no channel and what asks for `alarms` as published")
