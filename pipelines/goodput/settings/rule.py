"""One rule of [alarms] in goodput.toml: the keys that all kinds have, and the names of the kinds that there are.

Settings import no stage: the kinds are the modules of a folder, none of which is imported to know its name.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Literal

from pydantic import Field, field_validator

from goodput.settings.metrics import Worse
from goodput.settings.settings_model import Names, SettingsModel, Unusable

RULES = "goodput.monitor.rules"
Severity = Literal["page", "ticket"]


class Rule(SettingsModel):
    """One rule of a kind: a trend against the series' own baseline, an absolute bound, absence, ...

    `match` holds globs for labels other than workload, pool and replica; a series without a label has the empty word.
    """

    kind: str = "trend"
    metric: str | None = None
    severity: Severity = "ticket"
    enabled: bool = True
    threshold: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    worse: Worse | None = None
    above: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    below: float | None = Field(default=None, allow_inf_nan=False, strict=True)
    for_windows: Annotated[int, Field(ge=1, le=168, strict=True)] = 2
    clear_windows: Annotated[int, Field(ge=1, le=168, strict=True)] = 3
    workload: Names = ()
    pool: Names = ()
    replica: Names = ()
    match: dict[str, Names] = Field(default_factory=dict)

    @property
    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Globs by the label that each is of."""
        return {"workload": self.workload, "pool": self.pool, "replica": self.replica} | self.match

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, value: str) -> str:
        if value not in kind_names():
            raise Unusable(f"{value!r} is not usable", ", ".join(kind_names()))
        return value


@cache
def kind_names() -> tuple[str, ...]:
    """Names of all kinds in alphabetical order; none of them is imported."""
    return tuple(sorted(module.name for module in iter_modules(import_module(RULES).__path__)))
