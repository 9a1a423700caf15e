"""Of which columns SQL computes a column: forms of SQL one by one, then tables of the pipeline, spelt out by hand."""

import pytest

from goodput.contracts import contract
from goodput.nodes import NODES
from goodput.plumbing.column_lineage import column_lineage
from goodput.plumbing.graph import _tree
from goodput.plumbing.lineage_columns import UNKNOWN, ColumnOrigins
from goodput.plumbing.lineage_scopes import outputs

KNOWN = {"t": "a b c", "u": "a d"}
BY_TABLE = {table: node for node in NODES for table in node.tables}


def columns_of(relation: str) -> ColumnOrigins:
    if relation not in KNOWN:
        return ColumnOrigins(rest=UNKNOWN)
    return ColumnOrigins({name: frozenset({(relation, name)}) for name in KNOWN[relation].split()})


def made(sql: str) -> dict[str, str | None]:
    """Each column of a query with what it is made of: "t.a u.d"; None where that is not known."""
    _, (statement,) = _tree("asked", sql)
    columns = outputs(statement["node"], columns_of)
    assert columns.rest is None
    return {
        name: None if of & UNKNOWN else " ".join(sorted(f"{table}.{column}" for table, column in of))
        for name, of in columns.named.items()
    }


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a, b + c AS s, 1 AS one, count(*) AS n FROM t", {"a": "t.a", "s": "t.b t.c", "one": "", "n": ""}),
        ("SELECT T.A, t.b AS A2 FROM t", {"a": "t.a", "a2": "t.b"}),
        ("FROM t", {"a": "t.a", "b": "t.b", "c": "t.c"}),
        ("SELECT * EXCLUDE (a) REPLACE (b + c AS b) FROM t", {"b": "t.b t.c", "c": "t.c"}),
        ("SELECT x.*, y.d FROM t AS x JOIN u AS y ON x.a = y.a", {"a": "t.a", "b": "t.b", "c": "t.c", "d": "u.d"}),
        # a column of USING is either side's, and is there once
        ("SELECT * FROM t FULL JOIN u USING (a)", {"a": "t.a u.a", "b": "t.b", "c": "t.c", "d": "u.d"}),
        ("SELECT t.a FROM t JOIN u USING (a) WHERE u.d > 1", {"a": "t.a"}),
        ("SELECT sum(b) FILTER (WHERE c > 0) AS s FROM t GROUP BY a", {"s": "t.b t.c"}),
        ("SELECT sum(b) OVER (PARTITION BY a ORDER BY c) AS s FROM t", {"s": "t.a t.b t.c"}),
        ("SELECT sum(COLUMNS('^[bc]')) FROM t", {"b": "t.b", "c": "t.c"}),
        ("SELECT COLUMNS(* EXCLUDE (b)) FROM t", {"a": "t.a", "c": "t.c"}),
        # a column of the list before it, unless a source has one of that name
        (
            "SELECT a + b AS s, s * c AS p, b AS a, a AS q FROM t",
            {"s": "t.a t.b", "p": "t.a t.b t.c", "a": "t.b", "q": "t.a"},
        ),
        (
            "WITH x AS (SELECT a AS k, b FROM t), y AS (SELECT k FROM x) SELECT k, b FROM y JOIN x USING (k)",
            {"k": "t.a", "b": "t.b"},
        ),
        ("WITH t AS (SELECT d AS a FROM u) SELECT a FROM t", {"a": "u.d"}),
        ("SELECT a, b FROM t UNION ALL SELECT d, a FROM u", {"a": "t.a u.d", "b": "t.b u.a"}),
        ("SELECT a, b FROM t UNION ALL BY NAME SELECT d AS b, a FROM u", {"a": "t.a u.a", "b": "t.b u.d"}),
        (
            "WITH RECURSIVE r AS (SELECT a AS x, b AS y FROM t UNION ALL SELECT y, d FROM r JOIN u ON x = u.a) FROM r",
            {"x": "t.a t.b u.d", "y": "t.b u.d"},
        ),
        ("SELECT (SELECT max(d) FROM u WHERE u.a = t.b) AS m FROM t", {"m": "u.d"}),
        ("SELECT (SELECT max(u.d + t.b) FROM u) AS m FROM t", {"m": "t.b u.d"}),
        (
            "SELECT EXISTS (FROM u WHERE u.a = t.b) AS e, a IN (SELECT d FROM u) AS i FROM t",
            {"e": "t.b u.a", "i": "t.a u.d"},
        ),
        ("SELECT list_transform(b, lambda a: a + c) AS l FROM t", {"l": "t.b t.c"}),
        ("SELECT {'k': a, 'l': b} AS s FROM t", {"s": "t.a t.b"}),
        ("SELECT s.k.l AS z FROM (SELECT {'k': a} AS s FROM t)", {"z": "t.a"}),
        ("SELECT v, b FROM t, unnest(t.c) AS x(v)", {"v": "t.c", "b": "t.b"}),
        ("SELECT p, q FROM (VALUES (1, 2)) AS v(p, q)", {"p": "", "q": ""}),
        ("SELECT * FROM t UNPIVOT (v FOR k IN (a, b))", {"c": "t.c", "k": "", "v": "t.a t.b"}),
        ("SELECT count(t) AS n FROM t", {"n": "t.a t.b t.c"}),
    ],
)
def test_a_column_is_made_of_those_in_its_expression(sql: str, expected: dict[str, str]) -> None:
    assert made(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM t, elsewhere",
        "SELECT x + a AS x FROM t JOIN elsewhere USING (a)",
        "SELECT x FROM read_parquet('f.parquet')",
        "SELECT x FROM main.t",
        "SELECT (SELECT x FROM elsewhere) AS x FROM t",
        "SELECT CASE WHEN e.y THEN t.a END AS x FROM t, elsewhere AS e",
        "SELECT max(x) AS x FROM t PIVOT (sum(c) FOR b IN (1, 2) GROUP BY a)",
        "WITH y AS (FROM elsewhere) SELECT a, x FROM t, y",
    ],
)
def test_what_cannot_be_resolved_is_not_guessed(sql: str) -> None:
    assert made(sql)["x"] is None


def lineage(table: str, column: str) -> str:
    found = column_lineage(BY_TABLE[table], table).get(column, ())
    return " ".join(f"{of}.{name}" for of, name in found)


def test_columns_of_the_pipeline_come_from_where_their_sql_takes_them() -> None:
    """Read off the SQL by hand: sql/join/quality_labels, ops_events, sql/measure/coverage.sql, gate_failures, waste."""
    assert lineage("quality_labels", "label_id") == "label_records.label_id"
    assert lineage("quality_labels", "passed") == "label_records.label label_records.passed label_records.score"
    assert lineage("ops_events", "kind") == "event_records.kind"
    assert lineage("goodput", "cost_usd") == "waste.usd"
    assert lineage("session_labels", "passed") == "session_label_records.passed"
    gates = [column.name for column in contract("requests").columns if column.name.startswith("pass_")]
    failing = lineage("gate_failures", "failing").split()
    assert {f"requests.{gate}" for gate in gates} == {name for name in failing if name.startswith("requests.pass_")}


def test_what_python_makes_has_no_lineage_and_nothing_is_of_a_column_that_is_not_there() -> None:
    assert column_lineage(BY_TABLE["restatements"], "restatements") == {}
    assert "knee_rps" not in column_lineage(BY_TABLE["frontier"], "frontier"), "fitted by Python"
    assert "computed_at" not in column_lineage(BY_TABLE["goodput"], "goodput")
    known = 0
    for table, node in BY_TABLE.items():
        columns = {column.name for column in contract(table).columns}
        for column, made_of in column_lineage(node, table).items():
            known += 1
            assert column in columns
            assert made_of
            for of, name in made_of:
                assert of in node.inputs or of in node.tables, (table, column, of)
                assert name in {one.name for one in contract(of).columns}, (table, column, of, name)
    assert known > 500
