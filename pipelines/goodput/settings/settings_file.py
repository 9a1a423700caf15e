"""A settings file as it lies there, before anything in it is checked."""

import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from goodput.errors import Mistake, SettingsError
from goodput.settings.lake_address import DEFAULT_FILE


class SettingsFile(NamedTuple):
    """What a settings file says, unchecked, the digest of its bytes, and its text; empty where there is none."""

    document: dict[str, Any]
    digest: str
    text: str


def read_settings_file(path: Path | None) -> SettingsFile:
    """The file at `path`, or the default one where it exists. Raises SettingsError for what is no readable TOML."""
    file = path or DEFAULT_FILE
    if path is None and not file.exists():
        return SettingsFile({}, "", "")
    try:
        content = file.read_bytes()
    except OSError as error:
        right = "a readable TOML file; `goodput init` writes one"
        raise SettingsError(file, [Mistake(str(file), error.strerror or str(error), right)]) from error
    try:
        text = content.decode("utf-8-sig")  # editors of Windows begin a file with a mark
        return SettingsFile(tomllib.loads(text), sha256(content).hexdigest(), text)
    except RecursionError as error:
        raise _no_toml(file, "lists or tables nest too deeply") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _no_toml(file, f"no UTF-8 at line {line}") from error
    except ValueError as error:  # also of a number of thousands of digits
        raise _no_toml(file, str(error)) from error


def _no_toml(file: Path, wrong: str) -> SettingsError:
    return SettingsError(file, [Mistake("TOML", wrong, "valid TOML in UTF-8")])
