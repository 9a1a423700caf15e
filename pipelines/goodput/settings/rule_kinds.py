"""Which kinds of alarm rules there are, and what settings need to know of one. Each kind is a module of one folder.

Settings import no stage: a kind is found by its name, as a plug-in is, and imported only where a rule names it.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Protocol

from goodput.errors import Mistake
from goodput.settings.rule import RULES, Rule


class RuleSettings(Protocol):
    """What settings ask of a kind: its keys, and what is wrong with a well-formed rule of it.

    `model` is Rule, or a subclass with keys of the kind's own; `takes` names the keys of Rule that only some kinds
    take (threshold, above, below) and this one does; `beside` names metrics that it looks at beside the rule's own.
    """

    @property
    def model(self) -> type[Rule]: ...  # noqa: D102

    @property
    def takes(self) -> frozenset[str]: ...  # noqa: D102

    @property
    def beside(self) -> frozenset[str]: ...  # noqa: D102

    def mistakes(self, key: str, rule: Rule) -> Iterator[Mistake]: ...  # noqa: D102


@cache
def rule_settings(kind: str) -> RuleSettings:
    """The kind called `kind`, which is one of `kind_names`."""
    found: RuleSettings = import_module(f"{RULES}.{kind}").KIND
    return found
