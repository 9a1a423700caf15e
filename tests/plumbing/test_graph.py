"""The graph of relations, from their SQL: what each reads, calls and means, and in which order they are computed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from goodput.contracts import contract_names
from goodput.errors import RelationCycle, SqlMissing, SqlNotUnique, SqlUnreadable
from goodput.plumbing import graph, sql_files
from goodput.plumbing.graph import closure, inputs_of, relation

MACROS = """
-- description: Macros of these tests
CREATE OR REPLACE TEMP MACRO half(x) AS x / 2;
-- A half of a half.
CREATE OR REPLACE TEMP MACRO quarter(x, scale := 1.0) AS half(half(x)) * scale;
CREATE OR REPLACE TEMP MACRO unused(x) AS x;
"""


class Folder:
    """A folder of SQL files in the place of sql/."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("macros", MACROS)

    def write(self, name: str, text: str) -> None:
        (self.path / f"{name}.sql").parent.mkdir(parents=True, exist_ok=True)
        (self.path / f"{name}.sql").write_text(text)
        forget()


def forget() -> None:
    of_graph = (graph.relation, graph._macros, graph._is_scalar)
    for cached in (sql_files.sql_file, sql_files.sql_names, sql_files._paths, *of_graph):
        cached.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.setattr(sql_files, "project_folder", lambda _: tmp_path)
    yield Folder(tmp_path)
    forget()


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("SELECT 1 AS x", set()),
        ("FROM a JOIN b USING (k) LEFT JOIN c ON true, d AS e", {"a", "b", "c", "d"}),
        ("SELECT (SELECT max(x) FROM a) FROM b WHERE k IN (FROM c) AND EXISTS (FROM d WHERE d.k = b.k)", set("abcd")),
        ("SELECT * FROM a UNION ALL BY NAME SELECT * FROM b EXCEPT FROM c", {"a", "b", "c"}),
        ("SELECT x FROM range(3) AS r(x), unnest([1, 2]) AS u(y), read_parquet('a.parquet')", set()),
        ("SELECT t.x FROM a AS t JOIN LATERAL (SELECT t.x + b.y AS z FROM b) AS l ON true", {"a", "b"}),
        ("SELECT * FROM a ORDER BY (SELECT max(x) FROM b)", {"a", "b"}),
        ("SELECT * FROM A JOIN \"b\" USING (k)", {"a", "b"}),
        # what a WITH clause names is no relation: not after it, and not inside
        ("WITH a AS (SELECT * FROM b), c AS MATERIALIZED (FROM a) SELECT * FROM C JOIN A USING (k)", {"b"}),
        ("WITH a AS (WITH n AS (FROM b) FROM n) SELECT * FROM a, n", {"b", "n"}),
        ("SELECT * FROM (WITH a AS (FROM b) FROM a) AS s JOIN a USING (k)", {"a", "b"}),
        ("WITH a AS (FROM b) SELECT * FROM c WHERE k IN (WITH c AS (FROM a) FROM c)", {"b", "c"}),
        # it hides a relation of its name from where it stands on; its own SQL still reads that relation
        ("WITH a AS (SELECT * FROM a WHERE x > 0) FROM a", {"a"}),
        ("WITH a AS (FROM b), b AS (FROM c) FROM a JOIN b USING (k)", {"b", "c"}),
        ("WITH a AS (FROM b) FROM main.a", {"a", "b"}),
        # unless it is recursive: from its second half it reads itself
        ("WITH RECURSIVE a AS (SELECT 1 AS x FROM b UNION ALL FROM a JOIN c USING (x)) FROM a", {"b", "c"}),
    ],
)  # fmt: skip
def test_relations_that_a_query_reads(folder: Folder, sql: str, reads: set[str]) -> None:
    folder.write("asked", sql)
    assert relation("asked").reads == reads


def test_macros_that_a_query_calls_directly_or_through_another(folder: Folder) -> None:
    folder.write("asked", "SELECT QUARTER(x), sum(y) FILTER (WHERE half > 0) FROM quarter")
    assert relation("asked").macros == {"quarter", "half"}
    folder.write("asked", "SELECT half AS unused FROM unused")
    assert relation("asked").macros == set()


ASKED = "SELECT quarter(x) AS q, count(*) AS n FROM a WHERE name <> '-- no comment' GROUP BY ALL"


@pytest.mark.parametrize(
    "same",
    [
        f"-- description: another one\n-- reads: a\n{ASKED}",
        ASKED.replace(", ", "\n,").replace(" FROM", "\n\n  FROM\t"),
        "select quarter(x) as q, COUNT(*) as n /* all */ from a -- a\nwhere name <> '-- no comment' group by all",
    ],
)
def test_comments_layout_and_case_of_keywords_mean_nothing(folder: Folder, same: str) -> None:
    folder.write("asked", ASKED)
    meaning = relation("asked").meaning
    folder.write("asked", same)
    assert relation("asked").meaning == meaning


@pytest.mark.parametrize(
    ("was", "is_now"),
    [
        ("count(*)", "count(n)"),
        ("a WHERE", "b WHERE"),
        ("no comment", "comment"),
        ("AS n", "AS m"),
        ("quarter", "half"),
    ],
)
def test_another_statement_means_something_else(folder: Folder, was: str, is_now: str) -> None:
    folder.write("asked", ASKED)
    meaning = relation("asked").meaning
    folder.write("asked", ASKED.replace(was, is_now))
    assert relation("asked").meaning != meaning


@pytest.mark.parametrize(
    ("was", "is_now", "changes"),
    [
        ("x / 2", "x / 3", True),  # of `half`, which `quarter` calls
        ("scale := 1.0", "scale := 2.0", True),
        ("half(half(x)) * scale", "half(half(scale)) * x", True),
        ("AS x;", "AS x + 1;", False),  # of `unused`
        ("A half of a half", "A quarter", False),
        ("AS half(half(x))", "AS -- twice\n    half( half(x) )", False),
    ],
)
def test_a_macro_is_part_of_what_its_callers_mean(folder: Folder, was: str, is_now: str, changes: bool) -> None:
    folder.write("asked", ASKED)
    meaning = relation("asked").meaning
    assert was in MACROS
    folder.write("macros", MACROS.replace(was, is_now))
    assert (relation("asked").meaning != meaning) is changes


def test_relations_come_after_what_they_read(folder: Folder) -> None:
    # hours <- stored <- steps <- bricks -> options, and windows reads hours, steps and options
    folder.write("steps/bricks", "FROM landed JOIN options ON true")
    folder.write("steps/steps", "FROM bricks")
    folder.write("stored", "FROM steps")
    folder.write("windows", "FROM stored JOIN steps USING (k) JOIN options ON true")
    lake = {"landed", "stored", "windows"}
    assert closure(["stored"], lake) == ("bricks", "steps", "stored")
    assert inputs_of(["stored"], lake) == {"landed", "options"}
    # a table of the lake is read, not computed again, but what lies before it is shared by nobody
    assert closure(["windows"], lake) == ("bricks", "steps", "windows")
    assert inputs_of(["windows"], lake) == {"landed", "options", "stored"}
    # computed together, the one reads the other
    assert closure(["windows", "stored"], lake) == ("bricks", "steps", "stored", "windows")
    assert inputs_of(["windows", "stored"], lake) == {"landed", "options"}
    assert closure([], lake) == ()


def test_relations_that_read_each_other_have_no_order(folder: Folder) -> None:
    folder.write("a", "FROM b")
    folder.write("b", "FROM c")
    folder.write("c", "FROM b")
    with pytest.raises(RelationCycle, match="b -> c -> b"):
        closure(["a"], ())
    assert closure(["a"], {"b"}) == ("a",)  # what is stored was computed before


def test_what_cannot_be_read_says_so(folder: Folder) -> None:
    folder.write("wrong", "SELEC 1")
    with pytest.raises(SqlUnreadable, match=r"wrong\.sql.*SELEC"):
        relation("wrong")
    folder.write("writes", "CREATE TABLE x AS SELECT 1")
    with pytest.raises(SqlUnreadable, match=r"writes\.sql"):
        relation("writes")
    with pytest.raises(SqlMissing, match=r"no file is called absent\.sql"):
        relation("absent")
    folder.write("join/twice", "SELECT 1")
    folder.write("measure/twice", "SELECT 2")
    with pytest.raises(SqlNotUnique, match=r"join/twice\.sql\n.*measure/twice\.sql"):
        relation("twice")


def test_macros_of_another_form_are_refused(folder: Folder) -> None:
    folder.write("asked", "SELECT 1")
    folder.write("macros", "CREATE FUNCTION f(x) AS x;")
    with pytest.raises(SqlUnreadable, match=r"macros\.sql.*CREATE FUNCTION f"):
        relation("asked")


def test_the_order_of_the_ledger_is_that_of_its_money() -> None:
    stored = set(contract_names())
    ordered = closure(["cost_ledger"], stored)
    assert ordered[-1] == "cost_ledger"
    assert ordered.index("model_weights") < ordered.index("ledger_pieces") < ordered.index("charged_pieces")
    assert not set(ordered[:-1]) & stored
    tables = inputs_of(["cost_ledger"], stored) & stored
    assert tables == {"attempts", "cost_records", "known_replicas", "replica_samples", "requests", "token_prices"}


def test_what_is_joined_together_is_computed_from_landed_records_alone() -> None:
    stored = set(contract_names())
    joined = ("attempts", "requests", "session_hours", "quality_labels")
    assert inputs_of(joined, stored) & stored == {
        "emitter_facts",
        "label_records",
        "replica_names",
        "serving_records",
        "span_links",
    }
    assert inputs_of(("replica_names",), stored) & stored == {"serving_records", "span_links", "sample_records"}
    ordered = closure(joined, stored)
    assert ordered.index("requests") < ordered.index("session_hours")


def test_every_file_of_the_house_parses_and_none_reads_in_a_circle() -> None:
    assert set(closure(sorted(sql_files.sql_names()), ())) == sql_files.sql_names()
