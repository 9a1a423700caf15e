"""Which inputs leave a relation without rows when they have none, from its parsed SQL: it then needs no planning.

What is not known for certain counts as able to have rows. Running the SQL does not belong here.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

Emptied = frozenset[frozenset[str]]  # where all relations of one of the sets have no rows, there are none

NEVER: Emptied = frozenset()
_MOST_SETS = 16  # the rest is left out: fewer statements are known to be without rows
_Node = Mapping[str, Any]


def any_of(*found: Emptied) -> Emptied:
    """What a join of them is without rows for: where one side has none."""
    return _fewest(frozenset().union(*found))


def all_of(*found: Emptied) -> Emptied:
    """What a union of them is without rows for: where none has any."""
    return _fewest({frozenset().union(*chosen) for chosen in product(*found)})


def _fewest(found: Collection[frozenset[str]]) -> Emptied:
    smallest = [one for one in found if not any(other < one for other in found)]
    return frozenset(sorted(smallest, key=lambda one: (len(one), sorted(one)))[:_MOST_SETS])


@dataclass(frozen=True)
class QueryReader:
    """Reads parsed queries. `is_scalar`: whether a function is known to give a value for each row, and no aggregate."""

    is_scalar: Callable[[str], bool]

    def emptied(self, node: _Node, outer: Mapping[str, Emptied] | None = None) -> Emptied:
        """What leaves the query `node` without rows; `outer`: the same of the CTEs that it sees."""
        ctes = dict(outer or {})
        for common in node.get("cte_map", {}).get("map", ()):
            ctes[common["key"].lower()] = self.emptied(common["value"]["query_node"], ctes)
        match node["type"]:
            case "SELECT_NODE":
                return self._source(node["from_table"], ctes) if self._keeps_none(node) else NEVER
            case "SET_OPERATION_NODE":
                return self._set_operation(node, ctes)
            case "RECURSIVE_CTE_NODE":  # nothing to begin with, nothing to go on from
                return self.emptied(node["left"], ctes)
        return NEVER

    def _set_operation(self, node: _Node, ctes: Mapping[str, Emptied]) -> Emptied:
        children = [self.emptied(child, ctes) for child in node["children"]]
        match node["setop_type"]:
            case "UNION" | "UNION_BY_NAME":
                return all_of(*children)
            case "EXCEPT":
                return children[0]
        return NEVER

    def _source(self, node: _Node, ctes: Mapping[str, Emptied]) -> Emptied:
        match node["type"]:
            case "BASE_TABLE":
                name = node["table_name"].lower()
                if "schema_name" in node or "catalog_name" in node:
                    return NEVER
                return ctes.get(name, frozenset({frozenset({name})}))
            case "SUBQUERY":
                return self.emptied(node["subquery"]["node"], ctes)
            case "PIVOT":  # that it is an UNPIVOT: rows of rows
                return self._source(node["source"], ctes) if "unpivot_names" in node else NEVER
            case "JOIN" if node["ref_type"] in ("REGULAR", "CROSS", "ASOF"):
                return self._join(node, ctes)
        return NEVER

    def _join(self, node: _Node, ctes: Mapping[str, Emptied]) -> Emptied:
        left, right = self._source(node["left"], ctes), self._source(node["right"], ctes)
        match node["join_type"]:
            case "INNER" | "SEMI":
                return any_of(left, right)
            case "LEFT" | "ANTI":
                return left
            case "RIGHT":
                return right
            case "OUTER" | "FULL":
                return all_of(left, right)
        return NEVER

    def _keeps_none(self, node: _Node) -> bool:
        """Whether a SELECT makes no row of none: an aggregate over everything makes one."""
        if "group_sets" in node:
            return all(node["group_sets"])
        if node.get("aggregate_handling") == "FORCE_AGGREGATES":  # GROUP BY ALL: by what is no aggregate
            return any(self._is_plain(item) for item in node["select_list"])
        if "having" in node:
            return _wants_rows(node["having"])
        asked = [node["select_list"], node.get("qualify"), node.get("modifiers")]
        return all(self.is_scalar(name) for name in _functions(asked))

    def _is_plain(self, item: _Node) -> bool:
        """Whether a column of the result is one to group by, and no constant."""
        classes = {part["class"] for part in _parts(item) if "class" in part}
        has_column = bool(classes & {"COLUMN_REF", "STAR"})
        return has_column and "WINDOW" not in classes and all(self.is_scalar(name) for name in _functions(item))


def _wants_rows(condition: _Node) -> bool:
    """Whether a condition is `count(*) > 0`, or that and more."""
    if condition["type"] == "CONJUNCTION_AND":
        return any(_wants_rows(part) for part in condition["children"])
    if condition["type"] != "COMPARE_GREATERTHAN":
        return False
    left, right = condition["left"], condition["right"]
    is_count = left.get("function_name") == "count_star"
    return bool(is_count and right.get("literal", {}).get("text") == "0")


def _functions(node: Any) -> Iterator[str]:
    """Names of the functions that an expression calls; those over a window of rows are none of them."""
    for part in _parts(node):
        if "function_name" in part and part.get("class") != "WINDOW":
            yield part["function_name"].lower()


def _parts(node: Any) -> Iterator[_Node]:
    """All nodes of a tree, in no order that counts."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
