"""Which settings file a lake was last published by, so that a question need not check the same file again.

A question needs to know of the settings where the lake is. To check all of them takes longer than most answers, so of a
file that a run has found sound, byte for byte, nothing is checked anew.
"""

import json
from pathlib import Path

from goodput.plumbing.cache_file import read_cache
from goodput.plumbing.files import write_atomically
from goodput.settings.lake_address import DEFAULT_FILE, DEFAULT_LAKE, named, url_of
from goodput.settings.settings_file import read_settings_file

_NOTED = "settings_checked.json"


def note_checked(lake_root: Path, digest: str) -> None:
    """Note the settings file that a lake in a folder is published by. Raises LakeUnwritable."""
    noted = lake_root / _NOTED
    if digest and read_cache(noted, str) != digest:
        write_atomically(noted, lambda temporary: temporary.write_text(json.dumps(digest)))


def lake_of_checked(config: Path | None, lake: Path | None) -> Path | None:
    """The folder of the lake that a question means, where nothing of the settings is left to check; else None.

    `lake` is what the command line names instead of the settings' own. Files of other formats (OpenSLO) that the
    settings name may have changed since, so these are always checked. Raises SettingsError.
    """
    document, digest, _ = read_settings_file(config)
    address = document.get("lake", DEFAULT_LAKE) if lake is None else named(lake)
    if "openslo" in document or not isinstance(address, str) or url_of(address) is not None:
        return None
    root = (config or DEFAULT_FILE).absolute().parent / address
    is_checked = not digest or read_cache(root / _NOTED, str) == digest
    return root if is_checked else None
