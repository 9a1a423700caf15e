"""What really happened in the simulated fleet, as the simulation itself knows it, never from its telemetry."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from goodput.simulate.emit.day import Day
from goodput.simulate.emit.landing import LandingFile
from goodput.simulate.truth.attempts import attempts_frame
from goodput.simulate.truth.money import money_frame
from goodput.simulate.truth.operations import operations_frame
from goodput.simulate.truth.replicas import replicas_frame
from goodput.simulate.truth.requests import requests_frame

_FILES: Final[dict[str, Any]] = {"path": pl.String, "records": pl.Int64, "resent": pl.Int64}


@dataclass(frozen=True, slots=True)
class Truth:
    """The truth behind a demo landing folder.

    `requests`: one row per user request (docs/semantics.md#attempts-and-requests). `ttft_s` and `e2e_s` are seconds
    from the first
    arrival; a latency is NULL when no first chunk or no complete answer was delivered, tokens when no complete
    answer was; `quality_passed` is known of every judged workload's answers, labelled or not; `replica` is that of
    the last attempt; `complete`: every span that should exist arrived.
    `attempts`: one row per try with the ids of its client span; engine times and tokens are NULL where no engine got
    so far; `work` in weighted tokens, and of it what was redone and drafted in vain. `replicas`: one row per engine
    process. `operations`: one row per operation with its disruption. `money`: USD by base window, replica and attempt
    (NULL: idle) as money.py has it. `files`: per OTLP file the records in it, resent ones included, and how many of
    them are such repetitions.
    """

    requests: pl.DataFrame
    attempts: pl.DataFrame
    replicas: pl.DataFrame
    operations: pl.DataFrame
    money: pl.DataFrame
    files: pl.DataFrame

    def write(self, folder: Path) -> None:
        """Write each frame to `folder/<name>.parquet`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("requests", "attempts", "replicas", "operations", "money", "files"):
            getattr(self, name).write_parquet(folder / f"{name}.parquet")


def truth_of(day: Day, files: Sequence[LandingFile]) -> Truth:
    """Return the truth behind a day that was written as `files`."""
    attempts = attempts_frame(day)
    requests = requests_frame(day, attempts)
    return Truth(
        requests=requests,
        attempts=attempts,
        replicas=replicas_frame(day),
        operations=operations_frame(day, attempts, requests),
        money=money_frame(day, attempts),
        files=pl.DataFrame([(file.path, file.records, file.resent) for file in files], schema=_FILES, orient="row"),
    )
