"""Every name that a dialect maps to is a column of its table, or one that its own module works with."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from goodput.collect import dialects
from goodput.collect.dialect import Dialect
from goodput.contracts import arrow_schema


def declared() -> dict[str, Dialect]:
    """All dialects, by the module that makes them and their name."""
    found: dict[int, tuple[str, Dialect]] = {}
    for module in walk_packages(dialects.__path__, f"{dialects.__name__}."):
        for item in vars(import_module(module.name)).values():
            if isinstance(item, Dialect) and not module.name.endswith(".registry"):
                found.setdefault(id(item), (f"{module.name}:{item.name}", item))
    return dict(found.values())


TEXTS = [path.read_text(encoding="utf-8") for path in Path(dialects.__path__[0]).rglob("*.py")]


@pytest.mark.parametrize("dialect", [pytest.param(item, id=name) for name, item in declared().items()])
def test_no_name_is_misspelt(dialect: Dialect) -> None:
    """One that nothing reads would be dropped without a word."""
    others = [field.canonical for field in dialect.fields if field.canonical not in arrow_schema(dialect.table).names]
    assert [name for name in others if max(len(re.findall(rf"\b{name}\b", text)) for text in TEXTS) < 2] == []
