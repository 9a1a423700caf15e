"""Rows that the settings leave out by their attributes: synthetic traffic, smoke tests, a canary's shadow.

What a dialect leaves out by itself stands in the dialect; counting what was left out is the reader's work.
"""

from collections.abc import Callable, Mapping

import polars as pl

from goodput.collect.dialect import Ignore
from goodput.globs import regular
from goodput.settings.model import LeaveOut


def configured(rules: Mapping[str, LeaveOut], text: Callable[[str], pl.Expr]) -> tuple[Ignore, ...]:
    """One rule `left_out:NAME` per name; it holds where each of its attributes matches. `text` gives an attribute."""
    return tuple(
        Ignore(
            f"left_out:{name}",
            pl.all_horizontal(text(key).str.contains(regular(globs)) for key, globs in rule.attributes.items()),
        )
        for name, rule in rules.items()
    )
