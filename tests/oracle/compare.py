"""What a run published beside what was computed, number by number."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from math import isclose
from typing import Any

from goodput.plumbing.workspace import Workspace
from oracle.fleet import Row
from published import ask

RELATIVE = 1e-9
ABSOLUTE = 1e-12
OF_ENDS = 1e-8  # an interval's: where labels leave little open, it is the root of a difference of nearly equal numbers
OF_ERRORS = 1e-11  # dollars are added up to 1e-18, the squares of their errors to 1e-22
OF_SECONDS = 1e-10  # those of a slice are parts of many, each added up to 1e-12
OF_SHARES = 1e-8  # in windows that may cost a billionth of a dollar


@dataclass(frozen=True)
class Within:
    """Any number from one to another."""

    least: Any
    most: Any


@dataclass
class Difference:
    """A published value that is not the computed one."""

    relation: str
    key: Any
    column: str
    published: Any
    computed: Any


@dataclass
class Comparison:
    """How many values were compared, by relation and column, and those that differ."""

    compared: dict[tuple[str, str], int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def rows(self, relation: str, published: Mapping[Any, Row], computed: Mapping[Any, Row]) -> None:
        """Compare rows by key: the same keys, and every column that is computed."""
        for key in published.keys() - computed.keys():
            self.differences.append(Difference(relation, key, "row", "there", None))
        for key in computed.keys() - published.keys():
            self.differences.append(Difference(relation, key, "row", None, "there"))
        for key in computed.keys() & published.keys():
            for column, value in computed[key].items():
                self.value(relation, key, column, published[key][column], value)

    def value(self, relation: str, key: Any, column: str, published: Any, computed: Any) -> None:
        """Compare one value; a set of values holds each that would be right."""
        place = (relation, column)
        self.compared[place] = self.compared.get(place, 0) + 1
        if not same(published, computed, _absolute(column), OF_ENDS if "_ci_" in column else RELATIVE):
            self.differences.append(Difference(relation, key, column, published, computed))


def _absolute(column: str) -> float:
    if column.startswith("share_"):
        return OF_SHARES
    return OF_ERRORS if "error_usd" in column else OF_SECONDS if column == "gpu_s" else ABSOLUTE


def same(published: Any, computed: Any, absolute: float = ABSOLUTE, relative: float = RELATIVE) -> bool:
    """Equal, numbers to 1e-9 where nothing else is asked."""
    if isinstance(computed, Within):
        return published is not None and _from(computed.least, published) and _from(published, computed.most)
    if isinstance(computed, set):
        return published in computed or (published is None and not computed)
    if isinstance(published, bool) or isinstance(computed, bool) or None in (published, computed):
        return published is computed
    if isinstance(computed, int | float | Fraction) and isinstance(published, int | float):
        return isclose(published, float(computed), rel_tol=relative, abs_tol=absolute)
    return bool(published == computed)


def _from(least: Any, value: Any) -> bool:
    """Whether a value is at least another, but for rounding."""
    return float(value) >= float(least) or isclose(float(value), float(least), rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def rows(workspace: Workspace, sql: str) -> list[Row]:
    """Rows of the published database."""
    return ask(workspace, sql).to_dicts()


def keyed(found: Iterable[Row], *names: str) -> dict[Any, Row]:
    """Rows by the values of some columns; a single one stands alone."""
    return {row[names[0]] if len(names) == 1 else tuple(row[name] for name in names): row for row in found}


def microseconds(ns: int | None) -> int | None:
    """Nanoseconds cut to microseconds, as published times are."""
    return None if ns is None else ns // 1000


def epoch_us(at: datetime | None) -> int | None:
    """A published time in Unix microseconds."""
    return None if at is None else round(at.timestamp() * 1e6)
