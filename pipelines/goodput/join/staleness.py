"""Which hours have to be joined again: those whose inputs, settings or SQL are not what their part was made from.

The comparison belongs here; the joining itself does not.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from goodput.plumbing.contracts import contract
from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.hours import HOUR_NS, epoch_hour, neighbours
from goodput.plumbing.lake import Lake
from goodput.plumbing.ledger import LedgerEntry, observed
from goodput.plumbing.sql_files import sql_file
from goodput.settings.model import Settings

RELATIONS = (
    "record_copies",
    "unique_records",
    "record_choices",
    "record_parents",
    "record_matches",
    "record_chains",
    "attempt_facts",
    "attempt_requests",
    "request_facts",
    "quality_labels",
    "requests",
    "session_hours",
    "attempts",
    "source_rows",
)
TABLES = ("attempts", "requests", "session_hours", "quality_labels", "source_rows")


@dataclass(frozen=True)
class JoinInputs:
    """Everything that joined hours are computed from, as it lies in the lake now."""

    lake: Lake
    settings: Settings
    ledger: Mapping[str, LedgerEntry]
    made: ClassVar = ("joined", TABLES)

    @property
    def reach(self) -> int:
        """How many hours away another attempt of the same request may lie."""
        return math.ceil(self.settings.max_request_lifetime_s / 3600)

    @cached_property
    def parts(self) -> dict[str, dict[str, list[Path]]]:
        """Conformed parts of sources in the ledger, by table and hour; parts of a run that died are not among them."""
        tables = ("serving_records", "span_links", "label_records", "sample_records")
        return {table: self._known(self.lake.parts("conformed", table)) for table in tables}

    def _known(self, found: dict[str, list[Path]]) -> dict[str, list[Path]]:
        kept = {hour: [path for path in paths if path.stem in self.ledger] for hour, paths in found.items()}
        return {hour: paths for hour, paths in kept.items() if paths}

    @cached_property
    def observed(self) -> tuple[int, int]:
        """First and last instant of observed telemetry in Unix nanoseconds."""
        return observed(self.ledger.values()) or (0, 0)

    @cached_property
    def labelled_hours(self) -> dict[str, list[str]]:
        """Label sources that may judge a request of an hour."""
        found: dict[str, list[str]] = {}
        for path in sorted(label_hours_folder(self.lake).glob("*.json")):
            if path.stem in self.ledger:
                for hour in json.loads(path.read_text()):
                    found.setdefault(hour, []).append(path.stem)
        return found

    @cached_property
    def rules(self) -> str:
        """Fingerprint of the settings, SQL and contracts that the join obeys."""
        settings = self.settings.model_dump(
            mode="json", include={"workloads", "latency_origin", "max_request_lifetime_s", "label_lateness_s"}
        )
        texts = [sql_file(name).text for name in ("macros", *RELATIONS)]
        return fingerprint(
            settings,
            texts,
            [str(contract(name)) for name in ("attempts", "requests", "session_hours", "quality_labels")],
        )

    def of_hour(self, hour: str) -> str:
        """Fingerprint of what the joined parts of `hour` must be made from."""
        around = sorted(neighbours([hour], self.reach, self.reach))
        sources = [
            [path.stem for near in around for path in self.parts[table].get(near, [])]
            for table in ("serving_records", "span_links")
        ]
        settled_ns = (epoch_hour(hour) + 1 + self.reach) * HOUR_NS
        return fingerprint(self.rules, sources, self.labelled_hours.get(hour, []), min(self.observed[1], settled_ns))

    def hours(self) -> set[str]:
        """Hours that the serving records call for: a request ends some time after its records do."""
        return neighbours(self.parts["serving_records"], 0, self.reach)


def label_hours_folder(lake: Lake) -> Path:
    """Folder with one file per label source: the hours that it may judge."""
    return lake.root / "joined" / "label_hours"


def files_of(parts: Mapping[str, list[Path]], hours: Iterable[str]) -> list[str]:
    """Paths of the parts of `hours`, in order."""
    return [str(path) for hour in sorted(hours) for path in parts.get(hour, [])]
