"""What is not planned because its inputs have no rows: nothing that would have had any, whichever inputs those are."""

from itertools import chain, combinations
from pathlib import Path

import duckdb
import pytest

from goodput.plumbing import compute, graph, shapes
from goodput.plumbing.emptiness import QueryReader, all_of, any_of
from goodput.plumbing.graph import relation
from goodput.plumbing.sql_files import sql_file
from goodput.plumbing.workspace import Workspace
from goodput.run import run
from goodput.simulate.demo import demo_settings, write_demo
from published import ask

X, Y, Z = "xyz"
ROWS = "VALUES (1, 10), (2, 20)"
KINDS = ("gateway", "engine", "quality", "ops", "billing", "rag-app", "batch")  # folders of the demo


def sets(*found: str) -> frozenset[frozenset[str]]:
    """Sets of one-letter relations, each written as a word."""
    return frozenset(map(frozenset, found))


def emptied(sql: str) -> frozenset[frozenset[str]]:
    return QueryReader(graph._is_scalar).emptied(graph._tree("asked", sql)[1][0]["node"])


QUERIES = [
    ("FROM x", sets(X)),
    ("SELECT a + 1 AS b FROM x WHERE a > 1 ORDER BY a LIMIT 1", sets(X)),
    ("FROM x JOIN y USING (a)", sets(X, Y)),
    ("FROM x, y", sets(X, Y)),
    ("FROM x SEMI JOIN y USING (a)", sets(X, Y)),
    ("FROM x LEFT JOIN y USING (a)", sets(X)),
    ("FROM x ANTI JOIN y ON x.a = y.a + 9", sets(X)),
    ("FROM x RIGHT JOIN y USING (a)", sets(Y)),
    ("FROM x FULL JOIN y USING (a)", sets(X + Y)),
    ("FROM x ASOF JOIN y ON x.a >= y.a", sets(X, Y)),
    ("FROM x ASOF LEFT JOIN y ON x.a >= y.a", sets(X)),
    ("FROM x POSITIONAL JOIN y", sets()),
    ("FROM x UNION ALL FROM y", sets(X + Y)),
    ("FROM x UNION ALL BY NAME FROM y", sets(X + Y)),
    ("FROM (FROM x JOIN z USING (a)) UNION FROM (FROM y JOIN z USING (a))", sets(X + Y, Z)),
    ("FROM x EXCEPT (SELECT a + 9, b FROM y)", sets(X)),
    ("FROM x UNION ALL VALUES (3, 4)", sets()),
    ("VALUES (3, 4)", sets()),
    ("SELECT 1 AS one", sets()),
    ("WITH y AS (FROM x) FROM y", sets(X)),
    ("WITH y AS (FROM x), w AS (FROM y JOIN z USING (a)) FROM w", sets(X, Z)),
    ("WITH x AS (FROM y) FROM (WITH x AS (FROM x JOIN z USING (a)) FROM x)", sets(Y, Z)),
    ("WITH RECURSIVE r AS (SELECT a FROM x UNION ALL SELECT a + 1 FROM r WHERE a < 5) FROM r", sets(X)),
    ("WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r JOIN x USING (a)) FROM r", sets()),
    # an aggregate over everything makes a row of none
    ("SELECT count(*) AS n FROM x", sets()),
    ("SELECT 1 + max(a) AS n FROM x", sets()),
    ("SELECT sum_usd(a) AS n FROM x", sets()),
    ("SELECT 1 AS one FROM x ORDER BY count(*)", sets()),
    ("SELECT 1 AS one FROM x HAVING count(*) < 9", sets()),
    ("SELECT 1 AS one FROM x HAVING count(*) > 0", sets(X)),
    ("SELECT max(a) AS n FROM x HAVING count(*) > 0 AND max(a) > 1", sets(X)),
    ("SELECT max(a) AS n FROM x HAVING count(*) > 0 OR max(a) IS NULL", sets()),
    ("SELECT a, count(*) AS n FROM x GROUP BY a", sets(X)),
    ("SELECT a, count(*) AS n FROM x GROUP BY ALL", sets(X)),
    ("SELECT count(*) AS n, max(a) AS most FROM x GROUP BY ALL", sets()),
    ("SELECT count(*) AS n, 1 AS one FROM x GROUP BY ALL", sets()),
    ("SELECT a, count(*) AS n FROM x GROUP BY GROUPING SETS ((a), ())", sets()),
    ("SELECT a, b, count(*) AS n FROM x GROUP BY GROUPING SETS ((a), (b))", sets(X)),
    ("SELECT a, count(*) AS n FROM x GROUP BY ROLLUP (a)", sets()),
    ("SELECT 1 AS one FROM x GROUP BY ()", sets()),
    ("SELECT sum(a) OVER (ORDER BY b) AS n FROM x", sets(X)),
    ("SELECT sum(max(a)) OVER () AS n FROM x", sets()),
    ("SELECT nullif(a, 1) AS n, unnest(range(a)) AS m FROM x", sets(X)),
    ("SELECT list_sum([a]) AS n FROM x", sets(X)),
    ("SELECT (SELECT max(a) FROM y) AS n, a FROM x", sets()),
    ("FROM x UNPIVOT (v FOR n IN (a, b))", sets(X)),
    ("SELECT * FROM (PIVOT x ON a IN (1, 2) USING count(*))", sets()),
    ("SELECT * FROM x, unnest([a]) AS u(v)", sets(X)),
    ("SELECT * FROM unnest([1]) AS u(v), x", sets(X)),
    ("SELECT * FROM x JOIN LATERAL (SELECT count(*) AS n FROM y WHERE y.a = x.a) AS l ON true", sets(X)),
]


@pytest.mark.parametrize(("sql", "expected"), QUERIES, ids=[sql for sql, _ in QUERIES])
def test_what_leaves_a_query_without_rows(sql: str, expected: frozenset[frozenset[str]]) -> None:
    found = emptied(sql)
    assert found == expected
    for without in chain.from_iterable(combinations((X, Y, Z), n) for n in range(4)):
        if any(one <= {*without} for one in found):
            assert rows(sql, without) == 0


@pytest.mark.parametrize("sql", [sql for sql, expected in QUERIES if not expected])
def test_those_that_nothing_empties_have_a_row_of_none(sql: str) -> None:
    is_counted_as_able_to = any(words in sql for words in ("POSITIONAL", "PIVOT", "(SELECT max(a) FROM y)"))
    assert is_counted_as_able_to or rows(sql, (X, Y, Z)) > 0


def rows(sql: str, without: tuple[str, ...]) -> int:
    """How many rows a query has where some relations have none."""
    with duckdb.connect() as connection:
        connection.execute(sql_file("macros").text)
        for name in (X, Y, Z):
            limit = 0 if name in without else 2
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM ({ROWS}) AS t(a, b) LIMIT {limit}")
        return len(connection.sql(sql).fetchall())


def test_relations_of_joins_and_unions() -> None:
    assert any_of(sets(X), sets(X + Y), sets(Z)) == sets(X, Z)
    assert all_of(sets(X, Y), sets(Z)) == sets(X + Z, Y + Z)
    assert all_of(sets(X), sets()) == sets()
    eight = [frozenset({frozenset({f"x{n}"}), frozenset({f"y{n}"})}) for n in range(8)]
    assert len(all_of(*eight)) == 16  # of 256: fewer are known


class Planned:
    """Plans each relation that a run does not: it has no row, and the columns that it was made with."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def create(self, connection: duckdb.DuckDBPyConnection, node: str, name: str) -> bool:
        is_made = create_as_it_is(connection, node, name)
        if is_made:
            made = connection.sql(f'FROM "{name}"')
            connection.execute(f'DROP TABLE "{name}"')
            assert compute.compute(connection, name) in (0, None), name
            planned = connection.sql(f'FROM "{name}"')
            assert not planned.fetchall(), name
            assert (made.columns, made.types) == (planned.columns, planned.types), name
            self.names.add(name)
        return is_made


create_as_it_is = shapes.create


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Telemetry of a small fleet, with everything that a report shows."""
    folder = tmp_path_factory.mktemp("fleet")
    write_demo(folder / "landing", hours=1.0, requests=400)
    return folder / "landing"


@pytest.mark.parametrize(
    "kept", [KINDS, (), *([kind] for kind in KINDS), ("rag-app", "billing"), ("gateway", "quality")]
)
def test_what_a_run_does_not_plan_has_no_rows(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: tuple[str, ...]
) -> None:
    (tmp_path / "landing").mkdir()
    for kind in kept:
        (tmp_path / "landing" / kind).symlink_to(fleet / kind)
    (tmp_path / "goodput.toml").write_text(demo_settings())
    planned = Planned()
    monkeypatch.setattr(shapes, "create", planned.create)
    run(Workspace(tmp_path / "goodput.toml"))
    assert ask(Workspace(tmp_path / "goodput.toml"), "FROM blocked_partitions").rows() == []
    if not kept:
        assert len(planned.names) > 50


def test_each_relation_of_a_fleet_is_emptied_by_what_empties_it(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: set[str] = set()
    as_it_is = compute.compute

    def check(connection: duckdb.DuckDBPyConnection, name: str) -> int | None:
        count = as_it_is(connection, name)
        for one in relation(name).emptied:
            without = ", ".join(f'"{read}" AS (SELECT * FROM temp."{read}" LIMIT 0)' for read in sorted(one))
            found = connection.sql(f"WITH {without} SELECT count(*) FROM ({sql_file(name).text})").fetchall()
            assert found == [(0,)], (name, one)
            if count:
                checked.add(name)
        return count

    (tmp_path / "landing").symlink_to(fleet)
    (tmp_path / "goodput.toml").write_text(demo_settings())
    monkeypatch.setattr(compute, "compute", check)
    run(Workspace(tmp_path / "goodput.toml"))
    assert len(checked) > 100
