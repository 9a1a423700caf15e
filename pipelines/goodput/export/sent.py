"""Which windows a receiver already has, and what they held: a small file in the lake (`exported.json`).

It may be deleted: every window within the lookback is then sent once more. Two processes that export at once may both
send a window, and one of them forget it; nothing is ever taken as sent that was not.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goodput.export.points import Window
from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.files import write_atomically
from goodput.plumbing.fingerprint import fingerprint

FILE = "exported.json"


@dataclass
class SentWindows:
    """What one receiver has: digests of the windows' values, by window."""

    path: Path
    receiver: str
    digests: dict[str, str] = field(default_factory=dict)

    def has(self, window: Window, digest: str) -> bool:
        """Whether the window was sent with these values."""
        return self.digests.get(_key(window)) == digest

    def note(self, windows: Mapping[Window, str], published: Collection[Window]) -> None:
        """Remember these windows as sent, and forget those that are published no more. Raises LakeUnwritable."""
        self.digests |= {_key(window): digest for window, digest in windows.items()}
        known = {_key(window) for window in published}
        self.digests = {key: digest for key, digest in self.digests.items() if key in known}
        text = json.dumps(_read(self.path) | {self.receiver: self.digests}, indent=0, sort_keys=True)
        write_atomically(self.path, lambda file: file.write_text(text, encoding="utf-8"))


def sent_to(lake: Path, endpoint: str) -> SentWindows:
    """What was sent to an endpoint, whose address is kept as a hash: it may be secret."""
    path, receiver = lake / FILE, fingerprint(endpoint)
    return SentWindows(path, receiver, _read(path).get(receiver, {}))


def _key(window: Window) -> str:
    return f"{window.window_s} {window.start:%Y-%m-%dT%H:%M:%SZ}"


def _read(path: Path) -> dict[str, dict[str, str]]:
    """All receivers of the file; of one that cannot be read none, so that everything is sent again."""
    return read_cache(path, dict[str, dict[str, str]]) or {}
