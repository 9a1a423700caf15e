"""Where a secret of the settings is read from; reading it is `plumbing.secrets`' work."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from goodput.settings.settings_model import SettingsModel, Unusable

WHERE = '{ env = "NAME" } or { file = "PATH" }; { clear = "..." } if it is to stand in this file'


class Secret(SettingsModel):
    """Where a secret is read from each time that it is needed: exactly one of these."""

    env: str | None = None
    file: Path | None = None
    clear: str | None = Field(default=None, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _not_in_clear(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise Unusable("a secret stands in the settings in clear", WHERE)
        return value

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if sum(place is not None for place in (self.env, self.file, self.clear)) != 1:
            raise Unusable("does not name where the secret is read from", WHERE)
        return self
