"""Every name that a dialect maps to is a column of its table, or one that its own module works with."""

import re
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from goodput.collect import dialects
from goodput.collect.dialect import Dialect
from goodput.contracts import arrow_schema


def declared() -> list[tuple[str, Dialect]]:
    """All dialects, with the text of their modules."""
    modules = [import_module(found.name) for found in walk_packages(dialects.__path__, f"{dialects.__name__}.")]
    texts = [(Path(module.__file__ or "").read_text(encoding="utf-8"), module) for module in modules]
    return [(text, item) for text, module in texts for item in vars(module).values() if isinstance(item, Dialect)]


@pytest.mark.parametrize(("text", "dialect"), [pytest.param(*one, id=one[1].name) for one in declared()])
def test_no_name_is_misspelt(text: str, dialect: Dialect) -> None:
    """One that nothing reads would be dropped without a word."""
    others = [field.canonical for field in dialect.fields if field.canonical not in arrow_schema(dialect.table).names]
    assert [name for name in others if len(re.findall(rf"\b{name}\b", text)) < 2] == []
