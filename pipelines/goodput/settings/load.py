"""Reads goodput.toml into Settings, or lists every mistake in it with its line, its key and what would be right."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from goodput.errors import Mistake, SettingsError
from goodput.settings.alarm_mistakes import alarm_mistakes
from goodput.settings.dialects import DeclaredDialect, dialect_mistakes
from goodput.settings.key_lines import key_lines
from goodput.settings.lake_address import DEFAULT_FILE, named
from goodput.settings.lake_cache import lake_mistakes
from goodput.settings.mistakes import mistakes_in
from goodput.settings.model import Settings
from goodput.settings.openslo import objectives
from goodput.settings.retention import Retention, retention_mistakes
from goodput.settings.settings_file import read_settings_file
from goodput.settings.settings_model import SettingsModel
from goodput.settings.sources import TableSource, mapping_mistakes

Declared = TypeVar("Declared", bound=SettingsModel)


def load_settings(path: Path | None = None, *, landing: Sequence[Path] = (), lake: Path | None = None) -> Settings:
    """Settings of the file at `path` (default ./goodput.toml where it exists), with what the command line overrides.

    Raises SettingsError with all mistakes of the file, unreadable TOML included.
    """
    file = path or DEFAULT_FILE
    given, digest, text = read_settings_file(path)
    document, slo_wrong = _with_objectives(file, given)
    mapped_wrong = [
        m for name, source in _usable(document, "sources", TableSource) for m in mapping_mistakes(name, source)
    ]
    mapped_wrong += [
        m for name, item in _usable(document, "dialects", DeclaredDialect) for m in dialect_mistakes(name, item)
    ]
    retention = {"retention": document.get("retention", {})}
    for _, item in _usable({"": retention}, "", Retention):
        mapped_wrong += retention_mistakes(item)
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        raise SettingsError(file, [*mistakes_in(error), *mapped_wrong, *slo_wrong], key_lines(text, given)) from None
    wrong = [*mapped_wrong, *slo_wrong, *alarm_mistakes(settings)]
    if wrong:
        raise SettingsError(file, wrong, key_lines(text, given))
    overrides: dict[str, Any] = {"base": file.absolute().parent, "file_digest": digest}
    if landing:
        overrides["landing"] = tuple(map(named, landing))
    if lake is not None:
        overrides["lake"] = named(lake)
    settings = settings.model_copy(update=overrides)
    if wrong := list(lake_mistakes(settings.lake, settings.channels)):
        raise SettingsError(file, wrong, key_lines(text, given))
    return settings


def _with_objectives(file: Path, document: dict[str, Any]) -> tuple[dict[str, Any], list[Mistake]]:
    """The document with the objectives of its OpenSLO files among its own, and what is wrong with those files."""
    named, own = document.get("openslo", []), document.get("slo", {})
    globs = [named] if isinstance(named, str) else named
    if not globs or not isinstance(globs, list) or not all(isinstance(glob, str) for glob in globs):
        return document, []
    found, wrong = objectives(file.absolute().parent, globs)
    twice = [] if not isinstance(own, dict) else sorted(found.keys() & own.keys())
    wrong += [Mistake(f"slo.{name}", "an OpenSLO file has this name too", "another name") for name in twice]
    return (document | {"slo": found | own} if isinstance(own, dict) else document), wrong


def _usable(document: dict[str, Any], table: str, model: type[Declared]) -> Iterator[tuple[str, Declared]]:
    """Declarations of a table that are sound in themselves, so that their columns are judged whatever else is wrong."""
    declared = document.get(table)
    for name, item in declared.items() if isinstance(declared, dict) else ():
        try:
            yield name, model.model_validate(item)
        except ValidationError:
            continue
