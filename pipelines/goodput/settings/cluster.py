"""[cluster] of goodput.toml: who computes partitions."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from goodput.settings.settings_model import SettingsModel, Unusable


def _address(value: str) -> str:
    if value != "auto" and not re.fullmatch(r"[^\s/:]+:[0-9]{1,5}", value):
        raise Unusable(f"{value!r} is no address of a Ray cluster", '"auto", or host and port such as "head:6379"')
    return value


class Cluster(SettingsModel):
    """Processes of this machine, or a Ray cluster: "auto", or its address; how much one of them joins at once.

    See docs/scale.md.
    """

    workers: int = Field(default=1, ge=1, le=1024, strict=True)
    ray: Annotated[str, AfterValidator(_address)] | None = None
    shard_records: Annotated[int, Field(ge=1000, strict=True)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.workers > 1 and self.ray is not None:
            raise Unusable("workers are of this machine, and ray names a cluster", "one of the two")
        return self
