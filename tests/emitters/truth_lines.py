"""The truth beside a capture, and which call a record of the capture belongs to."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SLACK_NS = 150_000_000  # calls are made one after another with a longer pause between them


@dataclass(frozen=True)
class Line:
    """One call of the model as it really was; names and units as in truth.jsonl."""

    told: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        """A fact of it; None where the line has none."""
        return self.told.get(name)

    @property
    def ttft_s(self) -> float | None:
        """Start to first content, of a stream that was answered."""
        if self.outcome != "ok" or self.first_ns is None:
            return None
        return float(self.first_ns - self.start_ns) / 1e9

    @property
    def tpot_s(self) -> float | None:
        """First content to end, for each token behind the first."""
        if self.ttft_s is None or self.output_tokens is None:
            return None
        return float(self.end_ns - self.first_ns) / 1e9 / (self.output_tokens - 1)


def lines(folder: Path) -> list[Line]:
    """The truth of a capture, in order of time."""
    found = [Line(json.loads(text)) for text in (folder / "truth.jsonl").read_text().splitlines()]
    return sorted(found, key=lambda line: int(line.start_ns))


def call_of(calls: list[Line], start_ns: int, end_ns: int) -> Line | None:
    """The call that shares most of a record's time, else the nearest in time; None where none is near."""
    best = max(calls, key=lambda call: _shared_ns(call, start_ns, end_ns))
    return best if _shared_ns(best, start_ns, end_ns) > -_SLACK_NS else None


def _shared_ns(call: Line, start_ns: int, end_ns: int) -> int:
    return min(int(call.end_ns), end_ns) - max(int(call.start_ns), start_ns)
