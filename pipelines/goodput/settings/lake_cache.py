"""[lake_cache] of goodput.toml: the folder on this machine of a lake in an object store."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from goodput.errors import Mistake
from goodput.settings.settings_model import SettingsModel

SCHEMES = ("s3", "gs", "az")  # of addresses of object stores


class LakeCache(SettingsModel):
    """Where the parts lie that were used last, and how many bytes of them beside those that a run uses."""

    folder: str = "lake-cache"
    max_bytes: Annotated[int, Field(gt=0, strict=True)] = 20 * 10**9


def url_of(lake: str) -> str | None:
    """The address of a lake in an object store; None of a lake in a folder."""
    return lake.rstrip("/") if lake.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)) else None


def named(path: Path) -> str:
    """What the command line means by a path: an address, of which it has lost a slash, or a folder."""
    first, *rest = path.parts
    return (
        f"{first}//{'/'.join(rest)}" if first.rstrip(":") in SCHEMES and first.endswith(":") else str(path.absolute())
    )


def lake_mistakes(lake: str, channels: Collection[str]) -> Iterator[Mistake]:
    """What does not go with a lake in an object store."""
    if url_of(lake) is not None and channels:
        wrong = f"alarms are sent once as an outbox on one machine remembers them, and any machine may run {lake}"
        yield Mistake("channels", wrong, "a lake in a folder, or no channel and what asks for `alarms` as published")
