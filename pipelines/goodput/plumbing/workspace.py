"""What every asset works on: settings, lake and what receives progress. The one resource of the definitions."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from goodput.plumbing.lake import Lake
from goodput.plumbing.runner import Runner
from goodput.plumbing.store import store_of
from goodput.plumbing.telemetry import Silent, Telemetry
from goodput.settings.load import load_settings
from goodput.settings.model import Settings

Item = TypeVar("Item")


class Progress(Protocol):
    """Receives how far long work has come."""

    def track(self, items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
        """Pass the items on, showing how many of `total` are done."""
        ...

    def measure(self, description: str, total: int) -> Callable[[int], None]:
        """Begin something of `total` units; call the result with each number of units done."""
        ...


class Silence:
    """Progress that nobody watches."""

    def track(self, items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
        """Pass the items on."""
        yield from items

    def measure(self, description: str, total: int) -> Callable[[int], None]:
        """Show nothing."""
        return lambda _: None


@dataclass
class Workspace:
    """Settings, lake, progress and own telemetry of a run; the settings file is read when they are first asked for."""

    config: Path | None = None
    landing: tuple[Path, ...] = ()
    lake_path: Path | None = None
    progress: Progress = field(default_factory=Silence)
    telemetry: Telemetry = field(default_factory=Silent)
    workers: int | None = None  # processes instead of the settings' own; 1: this one alone
    runner: Runner | None = None  # who computes for it; None: this process

    @cached_property
    def settings(self) -> Settings:
        """Settings of the file with what the command line overrides. Raises SettingsError."""
        return load_settings(self.config, landing=self.landing, lake=self.lake_path)

    @cached_property
    def lake(self) -> Lake:
        """The lake that the settings name."""
        return lake_of(self.settings)


def lake_of(settings: Settings) -> Lake:
    """The lake that settings name. Raises ExtraMissing, StoreFailed, CacheOfAnotherLake."""
    return Lake(settings.lake_path, store_of(settings))
