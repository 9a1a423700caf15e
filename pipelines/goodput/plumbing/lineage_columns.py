"""What the columns of a relation are made of, and of two laid one below the other. A struct counts as a whole."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Deps = frozenset[tuple[str, str]]  # (relation, column)
NOTHING: Deps = frozenset()
UNKNOWN: Deps = frozenset({("", "")})


@dataclass(frozen=True)
class ColumnOrigins:
    """The columns of a relation by name, in order; `rest` is what any other column is made of, None: there is none."""

    named: Mapping[str, Deps] = field(default_factory=dict)
    rest: Deps | None = None

    def get(self, name: str) -> Deps | None:
        """What a column is made of; None where there is no such column."""
        return self.named.get(name, self.rest)

    @property
    def all(self) -> Deps:
        """What a whole row is made of."""
        return union([*self.named.values(), self.rest or NOTHING])

    def called(self, names: Sequence[str]) -> "ColumnOrigins":
        """The same with other names for its first columns."""
        if not names:
            return self
        if self.rest is not None and len(self.named) < len(names):
            return ColumnOrigins({name.lower(): self.rest for name in names}, self.rest)
        new = {old: name.lower() for old, name in zip(self.named, names, strict=False)}
        return ColumnOrigins({new.get(old, old): deps for old, deps in self.named.items()}, self.rest)


def by_name(left: ColumnOrigins, right: ColumnOrigins) -> ColumnOrigins:
    """The columns of two relations laid one below the other by their names."""
    names = dict.fromkeys([*left.named, *right.named])
    rest = None if left.rest is None and right.rest is None else (left.rest or NOTHING) | (right.rest or NOTHING)
    return ColumnOrigins({name: (left.get(name) or NOTHING) | (right.get(name) or NOTHING) for name in names}, rest)


def by_position(left: ColumnOrigins, right: ColumnOrigins) -> ColumnOrigins:
    """The same by their places."""
    if left.rest is not None or right.rest is not None:
        return ColumnOrigins(rest=UNKNOWN)
    pairs = zip(left.named.items(), right.named.values(), strict=False)
    return ColumnOrigins({name: deps | others for (name, deps), others in pairs})


def union(found: Iterable[Deps]) -> Deps:
    """All of them together."""
    return NOTHING.union(*found)
