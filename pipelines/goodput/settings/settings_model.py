"""What every part of the settings is made of: strict values, and no key that is not known."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Unusable(ValueError):
    """A value of the right type that cannot be used, and what would be right."""

    def __init__(self, wrong: str, right: str) -> None:
        self.right = right
        super().__init__(wrong)


# Strict: types that TOML distinguishes stay distinct; `true` is no second and "1" no number.
# No longer than any duration that is believed of telemetry (32 years): longer ones overflow calendars and nanoseconds.
Seconds = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False, strict=True)]
Count = Annotated[int, Field(ge=0, le=10**9, strict=True)]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class SettingsModel(BaseModel):
    """A table of goodput.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
