"""Of which columns a parsed query makes each of its own: scopes, stars, joins, CTEs, subqueries as DuckDB means them.

What cannot be resolved is UNKNOWN, and so is all that is made of it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from goodput.plumbing.lineage_columns import NOTHING, UNKNOWN, ColumnOrigins, Deps, by_name, by_position, union

_UNFOLDS = frozenset({"unnest", "generate_series", "range"})  # functions of FROM that make their rows of arguments


ColumnsOf = Callable[[str], ColumnOrigins]
Ctes = Mapping[str, ColumnOrigins]


@dataclass
class _Scope:
    """Where names of an expression are looked up: sources by alias, columns of the list so far, the query around."""

    columns_of: ColumnsOf
    ctes: Ctes
    outer: "_Scope | None" = None
    sources: dict[str, ColumnOrigins] = field(default_factory=dict)
    listed: dict[str, Deps] = field(default_factory=dict)

    def resolve(self, names: Sequence[str]) -> Deps:
        first = names[0]
        if len(names) > 1 and first in self.sources:
            found = self.sources[first].get(names[1])
            return UNKNOWN if found is None else found
        having = [made.named[first] for made in self.sources.values() if first in made.named]
        if having:
            return union(having)
        if first in self.listed:
            return self.listed[first]
        if first in self.sources:
            return self.sources[first].all
        open_ended = [made.rest for made in self.sources.values() if made.rest is not None]
        around = self.outer.resolve(names) if self.outer else UNKNOWN
        if open_ended:  # it may be theirs, or of the query around
            return open_ended[0] if len(open_ended) == 1 and around == UNKNOWN else UNKNOWN
        return around


def outputs(query: Mapping[str, Any], columns_of: ColumnsOf) -> ColumnOrigins:
    """The columns of a query; `columns_of` knows the relations that it reads."""
    return _query(query, _Scope(columns_of, {}))


def _query(node: Mapping[str, Any], around: _Scope) -> ColumnOrigins:
    ctes = dict(around.ctes)
    for common in node.get("cte_map", {}).get("map", ()):
        made = _query(common["value"]["query_node"], _Scope(around.columns_of, ctes, around.outer, around.sources))
        ctes[common["key"].lower()] = made.called(common["value"].get("aliases", ()))
    within = _Scope(around.columns_of, ctes, around)
    match node["type"]:
        case "SELECT_NODE":
            return _select(node, within)
        case "SET_OPERATION_NODE":
            parts = [_query(child, within) for child in node["children"]]
            return reduce(by_name if node["setop_type"] == "UNION_BY_NAME" else by_position, parts)
        case "RECURSIVE_CTE_NODE":
            return _recursive(node, within)
    return ColumnOrigins(rest=UNKNOWN)


def _recursive(node: Mapping[str, Any], within: _Scope) -> ColumnOrigins:
    made, before = _query(node["left"], within), None
    while made != before:
        ctes = {**within.ctes, node["cte_name"].lower(): made}
        made, before = by_position(made, _query(node["right"], _Scope(within.columns_of, ctes, within.outer))), made
    return made


def _select(node: Mapping[str, Any], scope: _Scope) -> ColumnOrigins:
    _read_from(node.get("from_table", {}), scope)
    rest: Deps | None = None
    for number, item in enumerate(node["select_list"]):
        starred = next(_stars(item), None)
        if starred is not None:
            found = _each(item, _star(starred, scope), scope)
        elif item.get("function_name") == "unnest" and "alias" not in item:  # of a struct: a column for each field
            found = ColumnOrigins(rest=_expression(item, scope))
        else:
            found = ColumnOrigins({_name(item, number): _expression(item, scope)})
        rest = found.rest if rest is None else rest | (found.rest or NOTHING)
        for name, deps in found.named.items():
            scope.listed[name] = scope.listed.get(name, NOTHING) | deps
    return ColumnOrigins(dict(scope.listed), rest)


def _name(item: Mapping[str, Any], number: int) -> str:
    last = item["column_names"][-1] if item["class"] == "COLUMN_REF" else f"#{number}"
    return str(item.get("alias") or last).lower()


def _stars(node: Any) -> Iterator[Mapping[str, Any]]:
    """The stars of an expression, those of subqueries left out."""
    if isinstance(node, list):
        for part in node:
            yield from _stars(part)
    elif isinstance(node, dict) and node.get("class") == "STAR":
        yield node
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        for part in node.values():
            yield from _stars(part)


def _each(item: Mapping[str, Any], starred: ColumnOrigins, scope: _Scope) -> ColumnOrigins:
    """An expression over a star: one of its kind, and of the same name, for each column."""
    if item.get("alias"):
        return ColumnOrigins(rest=UNKNOWN)
    named = {name: _expression(item, scope, star=deps) for name, deps in starred.named.items()}
    return ColumnOrigins(named, None if starred.rest is None else _expression(item, scope, star=starred.rest))


def _star(item: Mapping[str, Any], scope: _Scope) -> ColumnOrigins:
    """Columns of `*`, `alias.*` or `COLUMNS(...)`, without those that are excluded, with those that are replaced."""
    if item.keys() - {"class", "type", "relation_name", "exclude_list", "replace_list", "columns", "expr"}:
        return ColumnOrigins(rest=UNKNOWN)
    if chosen := item.get("expr"):
        if chosen["class"] == "STAR":
            return _star(chosen, scope)
        if chosen["class"] != "CONSTANT" or chosen["literal"]["kind"] != "STRING":
            return ColumnOrigins(rest=UNKNOWN)
        every, pattern = _star({"class": "STAR"}, scope), re.compile(chosen["literal"]["text"])
        return ColumnOrigins({name: deps for name, deps in every.named.items() if pattern.search(name)}, every.rest)
    of = item.get("relation_name", "").lower()
    sources = [made for alias, made in scope.sources.items() if of in {"", alias}]
    excluded = {name.lower() for name in item.get("exclude_list", ()) if isinstance(name, str)}
    found: dict[str, Deps] = {}
    for made in sources:
        for name, deps in made.named.items():
            if name not in excluded:
                found[name] = found.get(name, NOTHING) | deps
    for replaced in item.get("replace_list", ()):
        found[replaced["key"].lower()] = _expression(replaced["value"], scope)
    rests = [made.rest for made in sources if made.rest is not None]
    return ColumnOrigins(found, union(rests) if rests else None)


def _expression(node: Any, scope: _Scope, bound: frozenset[str] = frozenset(), *, star: Deps = UNKNOWN) -> Deps:
    """Every column in an expression; parameters of lambdas are `bound`, and `star` is what its star stands for."""
    if not isinstance(node, dict):
        parts = node if isinstance(node, list) else ()
        return union(_expression(part, scope, bound, star=star) for part in parts)
    match node.get("class"):
        case "COLUMN_REF":
            names = [name.lower() for name in node["column_names"]]
            return NOTHING if names[0] in bound else scope.resolve(names)
        case "STAR":
            return star
        case "LAMBDA":
            return _expression(node["expr"], scope, bound | set(_parameters(node["lhs"])), star=star)
        case "SUBQUERY":
            return _expression(node.get("child"), scope, bound) | _subquery(node, scope, bound)
    return union(_expression(part, scope, bound, star=star) for part in node.values())


def _subquery(node: Mapping[str, Any], scope: _Scope, bound: frozenset[str]) -> Deps:
    query = node["subquery"]["node"]
    inner = _Scope(scope.columns_of, scope.ctes, scope, {name: ColumnOrigins({name: NOTHING}) for name in bound})
    if node["subquery_type"] == "EXISTS":  # whether there are rows is decided by what they are filtered by
        if query["type"] != "SELECT_NODE" or query["cte_map"]:
            return UNKNOWN
        _read_from(query.get("from_table", {}), inner)
        return _expression(query.get("where_clause"), inner)
    return _query(query, inner).all


def _parameters(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][0].lower()
        for part in node.values():
            yield from _parameters(part)
    elif isinstance(node, list):
        for part in node:
            yield from _parameters(part)


def _read_from(node: Mapping[str, Any], scope: _Scope) -> None:
    """Add the sources of a FROM to a scope; each sees those before it."""
    kind, names = node.get("type", "EMPTY"), node.get("column_name_alias", ())
    alias = str(node.get("alias", node.get("table_name", ""))).lower() or f"#{len(scope.sources)}"
    match kind:
        case "EMPTY":
            return
        case "JOIN":
            _read_from(node["left"], scope)
            _read_from(node["right"], scope)
            return
        case "BASE_TABLE" if len(node["qualified_name"]["path"]) == 1:
            name = node["table_name"].lower()
            made = scope.ctes[name] if name in scope.ctes else scope.columns_of(name)
        case "SUBQUERY":
            made = _query(node["subquery"]["node"], scope)
        case "EXPRESSION_LIST":
            rows = [[_expression(value, scope) for value in row] for row in node["values"]]
            made = ColumnOrigins(
                {f"col{number}": union(column) for number, column in enumerate(zip(*rows, strict=True))}
            )
        case "PIVOT" if "unpivot_names" in node and len(node["pivots"]) == 1:
            made = _unpivoted(node, scope)
        case "TABLE_FUNCTION" if node["function"]["function_name"].lower() in _UNFOLDS:
            made = ColumnOrigins(rest=_expression(node["function"], scope))
        case _:
            made = ColumnOrigins(rest=UNKNOWN)
    scope.sources[alias] = made.called(names)


def _unpivoted(node: Mapping[str, Any], scope: _Scope) -> ColumnOrigins:
    """Columns laid end to end: one of their values, and one of their names, beside the columns that are left."""
    within = _Scope(scope.columns_of, scope.ctes, scope.outer)
    _read_from(node["source"], within)
    (pivot,) = node["pivots"]
    chosen: dict[str, Deps] = {}
    for entry in pivot["entries"]:
        item = entry.get("star_expr", {})
        if item.get("class") == "STAR":
            chosen |= _star(item, within).named
        elif item.get("class") == "COLUMN_REF":
            chosen[item["column_names"][-1].lower()] = _expression(item, within)
        else:
            return ColumnOrigins(rest=UNKNOWN)
    every = _star({"class": "STAR"}, within)
    left = {name: deps for name, deps in every.named.items() if name not in chosen}
    values = dict.fromkeys((name.lower() for name in node["unpivot_names"]), union(chosen.values()))
    return ColumnOrigins({**left, **dict.fromkeys(pivot["unpivot_names"], NOTHING), **values}, every.rest)
