"""Puts what pydantic found wrong with a file that a user wrote in the user's words. Finding it is the model's work."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from goodput.errors import Mistake
from goodput.settings.model import Settings
from goodput.settings.settings_model import Unusable

_SHOWN = 60  # characters of a value that is not usable
_RIGHT = {
    "missing": "give it a value; `goodput init` shows an example",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list in square brackets",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
}


def mistakes_in(error: ValidationError, model: type[BaseModel] = Settings) -> list[Mistake]:
    """Every mistake that pydantic found in what should be a `model`, in its order."""
    return [_mistake(detail, model) for detail in error.errors()]


def _mistake(detail: ErrorDetails, model: type[BaseModel]) -> Mistake:
    key = ".".join(str(part) for part in detail["loc"] if part != "[key]") or "settings"
    context = detail.get("ctx", {})
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = _known_keys(detail["loc"][:-1], model)
        return Mistake(key, "no such key", ", ".join(get_close_matches(str(detail["loc"][-1]), known, 3) or known))
    if kind == "missing":
        return Mistake(key, "is missing", _RIGHT[kind])
    if isinstance(context.get("error"), Unusable):
        return Mistake(key, str(context["error"]), context["error"].right)
    right = str(context["expected"]) if kind == "literal_error" else _RIGHT.get(kind)
    right = right or detail["msg"].replace("Input should be ", "")
    return Mistake(key, f"{_shown(detail['input'])} is not usable", right)


def _shown(value: object) -> str:
    text = repr(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _known_keys(location: Sequence[int | str], model: type[BaseModel]) -> list[str]:
    """Keys of the part of a model at a location; the keys of a table such as `workloads` are the user's own."""
    at: Any = model
    for step in location:
        if isinstance(step, int):
            continue  # the parts of a list are all alike
        inner = at.model_fields[step].annotation if _is_model(at) else get_args(at)[1]
        at = next(item for item in (inner, *get_args(inner)) if _is_model(item) or get_origin(item) is dict)
    return sorted(field.alias or name for name, field in at.model_fields.items() if not field.exclude)


def _is_model(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)
