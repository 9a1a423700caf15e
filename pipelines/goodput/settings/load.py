"""Reads goodput.toml into Settings, or lists every mistake in it with its key and what would be right."""

import tomllib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from goodput.errors import Mistake, SettingsError
from goodput.settings.model import Settings

DEFAULT_FILE = Path("goodput.toml")


def load_settings(path: Path | None = None, *, landing: Sequence[Path] = (), lake: Path | None = None) -> Settings:
    """Settings of the file at `path` (default ./goodput.toml where it exists), with what the command line overrides.

    Raises SettingsError with all mistakes of the file, unreadable TOML included.
    """
    file = path or DEFAULT_FILE
    document = _read(file) if path is not None or file.exists() else {}
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        raise SettingsError(file, [_mistake(detail) for detail in error.errors()]) from None
    if wrong := list(_source_mistakes(settings)):
        raise SettingsError(file, wrong)
    overrides: dict[str, Any] = {"base": file.absolute().parent}
    if landing:
        overrides["landing"] = tuple(str(item.absolute()) for item in landing)
    if lake is not None:
        overrides["lake"] = str(lake.absolute())
    return settings.model_copy(update=overrides)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        right = "a readable TOML file; `goodput init` writes one"
        raise SettingsError(file, [Mistake(str(file), error.strerror or str(error), right)]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(file, [Mistake("TOML", str(error), "valid TOML in UTF-8")]) from error


def _source_mistakes(settings: Settings) -> Iterator[Mistake]:
    if settings.sources:
        # Reads the contracts, which a question to the database should not wait for.
        from goodput.settings.columns import mapping_mistakes  # noqa: PLC0415

        for name, source in settings.sources.items():
            yield from mapping_mistakes(name, source)


def _mistake(detail: ErrorDetails) -> Mistake:
    key = ".".join(str(part) for part in detail["loc"] if part != "[key]") or "settings"
    context = detail.get("ctx", {})
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = sorted(_fields_at(detail["loc"][:-1]))
        return Mistake(key, "no such key", ", ".join(get_close_matches(str(detail["loc"][-1]), known, 3) or known))
    if kind == "missing":
        return Mistake(key, "is missing", "give it a value; `goodput init` shows an example")
    wrong = f"{detail['input']!r} is not usable"
    if kind == "literal_error":
        return Mistake(key, wrong, str(context["expected"]))
    if kind == "value_error":
        return Mistake(key, str(context["error"]), "see the example that `goodput init` writes")
    return Mistake(key, wrong, detail["msg"].replace("Input should be ", ""))


def _fields_at(location: Sequence[int | str]) -> Iterator[str]:
    """Field names of the settings part at a location: walked along the data, since tables are keyed by user names."""
    part: Any = Settings
    for step in location:
        annotation = part.model_fields[step].annotation if _is_part(part) and step in part.model_fields else part
        part = next((item for item in _parts_in(annotation) if _is_part(item)), annotation)
    if _is_part(part):
        yield from part.model_fields


def _is_part(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)


def _parts_in(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _parts_in(inner)
