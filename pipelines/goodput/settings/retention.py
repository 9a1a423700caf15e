"""[retention] of goodput.toml: for how many days the lake keeps rows that windows were measured from."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from goodput.settings.settings_model import SettingsModel, Unusable

Days = Annotated[int, Field(ge=1, strict=True)]


class Retention(SettingsModel):
    """Days by kind of row; without a number all are kept. `goodput prune` deletes, nothing else does.

    `records_days`: what was received; `samples_days`: readings of replicas; `requests_days`: what was joined of both.
    What is measured is kept (docs/operations.md#what-is-kept-and-for-how-long).
    """

    records_days: Days | None = None
    samples_days: Days | None = None
    requests_days: Days | None = None

    @model_validator(mode="after")
    def _records_go_first(self) -> Self:
        if self.requests_days is not None and (self.records_days is None or self.records_days > self.requests_days):
            raise Unusable(
                "records would outlive the requests that they are of", "records_days, of at most as many days"
            )
        return self
