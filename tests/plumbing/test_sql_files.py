"""The SQL files and the connection that they run on; and fingerprints, which say when to run them again."""

import datetime
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from goodput.plumbing.fingerprint import fingerprint
from goodput.plumbing.graph import relation
from goodput.plumbing.lake import write_parquet
from goodput.plumbing.sql_files import MACROS, connect, macros_of, quoted, read_parts, spilling, sql_file, sql_names

SQL = sorted(path.stem for path in (Path(__file__).parents[2] / "sql").rglob("*.sql"))


@pytest.mark.parametrize("name", SQL)
def test_every_file_says_what_it_gives(name: str) -> None:
    header = sql_file(name).header
    assert len(header["description"]) > 20
    assert name in {"macros", "headline"} or header["grain"]


@pytest.mark.parametrize("name", sorted(sql_names()))
def test_every_header_names_what_its_sql_reads(name: str) -> None:
    assert sql_file(name).header["reads"] == ", ".join(sorted(relation(name).reads))


def test_times_are_utc_and_nanoseconds_are_cut_not_rounded() -> None:
    with connect() as connection:
        at_nanosecond = "SELECT at_utc(t), at_utc(t)::VARCHAR FROM (SELECT 1795165200123456999 AS t)"
        ((at, text),) = connection.sql(at_nanosecond).fetchall()
    assert at == datetime.datetime(2026, 11, 20, 9, 0, 0, 123456, tzinfo=datetime.UTC)
    assert text == "2026-11-20 09:00:00.123456+00"


def test_a_ratio_of_nothing_is_unknown() -> None:
    with connect() as connection:
        assert connection.sql("SELECT ratio(1, 4), ratio(0, 4), ratio(0, 0), ratio(1, NULL)").fetchall() == [
            (0.25, 0.0, None, None)
        ]


def test_parts_are_one_relation_whatever_columns_a_file_lacks(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a=1/part.parquet", pa.table({"x": [1]}))
    write_parquet(tmp_path / "a=2/part.parquet", pa.table({"x": [2], "y": ["b"]}))
    files = [str(tmp_path / f"a={n}/part.parquet") for n in (1, 2)]
    with connect() as connection:
        read_parts(connection, "parts", files, pa.schema([("x", pa.int64()), ("z", pa.float64())]))
        assert connection.sql("SELECT x, y, z FROM parts ORDER BY x").fetchall() == [(1, None, None), (2, "b", None)]
        read_parts(connection, "none", [], pa.schema([("x", pa.int64())]))
        assert connection.sql("SELECT * FROM none").fetchall() == []


def test_text_is_quoted() -> None:
    with connect() as connection:
        assert connection.sql("SELECT " + quoted("it's; --")).fetchall() == [("it's; --",)]


def test_equal_parts_give_equal_fingerprints() -> None:
    assert fingerprint({"a": 1, "b": [2]}, "c") == fingerprint({"b": [2], "a": 1}, "c")
    assert fingerprint(Path("/x"), None) == fingerprint("/x", None)
    different = [fingerprint(*parts) for parts in (("a", "b"), ("ab",), (["a", "b"],), ("b", "a"), ())]
    assert len(set(different)) == 5
    assert all(len(text) == 32 for text in different)


# A join with few rows, one with many, and rows that become several: chunks with two dictionaries meet behind
# them, where DuckDB 2.0.0 stops with an internal error.
TWO_DICTIONARIES = """
    SET preserve_insertion_order = false;
    CREATE TEMP TABLE attempts AS
        SELECT 'id-' || i AS id, 'm' || i % 3 AS model, i % 2 = 0 AS delivered, i AS began_s, i + i % 7 * 100 AS ended_s
        FROM range(300000) AS r(i);
    CREATE TEMP TABLE weights AS SELECT 'm' || i AS model, 1.0 * i AS weight FROM range(3) AS r(i);
    CREATE TEMP TABLE requests AS
        SELECT id, CASE WHEN hash(id) % 3 = 0 THEN 'accepted' ELSE 'slow' END AS verdict FROM attempts WHERE delivered;
    CREATE TEMP TABLE pieces AS
        WITH judged AS (
            SELECT a.*, w.weight, q.verdict
            FROM attempts AS a
            JOIN weights AS w ON w.model IS NOT DISTINCT FROM a.model
            LEFT JOIN requests AS q ON a.delivered AND q.id = a.id
        ),
        stepped AS (SELECT j.*, o.step_s FROM judged AS j CROSS JOIN (SELECT 60 AS step_s) AS o),
        cut AS (SELECT *, unnest(range(began_s // step_s, ended_s // step_s + 1)) AS step FROM stepped)
        SELECT *, step * step_s // 3600 IN (SELECT * FROM range(1000000)) AS wanted
        FROM cut
        WHERE began_s // 3600 - step * step_s // 3600 <= 1;
"""


def test_dictionaries_of_joins_do_not_stop_a_query() -> None:
    with connect() as connection:
        connection.execute(TWO_DICTIONARIES)
        assert connection.sql("SELECT count(*) > 300000 FROM pieces").fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        ("0.00003", "$0.000030"),
        ("0.00188", "$0.0019"),
        ("0.61", "$0.61"),
        ("0", "$0.00"),
        ("1234.5", "$1,234.50"),
        ("-0.5", "-$0.50"),
        ("NULL", None),
    ],
)
def test_dollars_keep_the_digits_that_count(usd: str, text: str | None) -> None:
    with connect() as connection:
        assert connection.sql(f"SELECT dollars({usd}::DOUBLE)").fetchall() == [(text,)]


SPILLING = """
import sys
from contextlib import ExitStack
from pathlib import Path
from goodput.plumbing import sql_files

def spill(connection, folder):
    connection.execute("SET memory_limit = '30MB'")
    connection.execute("SET threads = 1")
    connection.execute("CREATE TEMP TABLE sorted AS SELECT range AS n, hash(range) AS h FROM range(3000000)")
    assert list(folder.iterdir()), "nothing was spilled"

kind, file, ending = sys.argv[1:]
connection = sql_files.connect_alone() if kind == "alone" else sql_files.connect("" if kind == "shared" else file)
folder = Path(connection.execute("SELECT current_setting('temp_directory')").fetchone()[0])
spill(connection, folder)
print(folder, flush=True)
if ending == "error":
    raise SystemError
if ending == "killed":
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["alone", "shared", "file"])
def test_what_a_process_spills_is_its_own_and_gone_with_it(tmp_path: Path, kind: str) -> None:
    folders = []
    for number, ending in enumerate(["well", "error"]):
        command = [sys.executable, "-c", SPILLING, kind, str(tmp_path / f"{number}.duckdb"), ending]
        env = os.environ | {"TMPDIR": str(tmp_path), "TMP": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
        assert (done.returncode == 0) == (ending == "well"), done.stderr
        folders.append(Path(done.stdout.strip()))
    assert len({folder.parent for folder in folders}) == 2
    assert {folder.parent.parent for folder in folders} == {tmp_path}
    assert not list(tmp_path.glob("goodput-spill*")), "left behind"


def test_what_a_killed_process_spilled_goes_with_the_next_and_what_a_live_one_spills_stays(tmp_path: Path) -> None:
    env = os.environ | {"TMPDIR": str(tmp_path), "TMP": str(tmp_path)}
    with ExitStack() as started:
        folders, begun = [], []
        for number in range(2):
            command = [sys.executable, "-c", SPILLING, "alone", str(number), "killed"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env, "cwd": tmp_path}
            process = started.enter_context(subprocess.Popen(command, text=True, **pipes))
            started.callback(process.kill)
            assert process.stdout
            folders.append(Path(process.stdout.readline().strip()))
            begun.append(process)
        dead, live = folders
        begun[0].kill()
        begun[0].wait()
        assert list(dead.iterdir()), "it was killed with nothing there"
        (tmp_path / "goodput-spill-of-an-older-version").mkdir()
        (tmp_path / "goodput-spill-of-an-older-version/kept").touch()
        (tmp_path / "goodput-spill-without-lock").mkdir()
        next_one = [sys.executable, "-c", "from goodput.plumbing.sql_files import connect; connect()"]
        subprocess.run(next_one, env=env, cwd=tmp_path, check=True)
        assert list(live.iterdir())
        found = {path.name for path in tmp_path.glob("goodput-spill-*")}
        assert found == {live.parent.name, "goodput-spill-of-an-older-version"}


def test_no_two_databases_spill_to_one_folder_but_those_that_are_one_file(tmp_path: Path) -> None:
    a, b = (str(tmp_path / f"{name}.duckdb") for name in "ab")
    folders = [spilling(database)["temp_directory"] for database in ("", "", a, b, a)]
    assert len(set(folders)) == 4
    assert folders[2] == folders[4]


@pytest.mark.parametrize("name", ["goodput", "id_occurrences", "waste", "request_tries", "explained_requests"])
def test_the_macros_of_a_relation_are_all_that_it_and_they_call(name: str) -> None:
    bodies = dict(re.findall(r" MACRO (\w+)(\(.*?;)$", sql_file(MACROS).text, re.MULTILINE | re.DOTALL))
    with duckdb.connect() as connection:
        connection.execute(macros_of([name]))
        found = connection.sql("SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal").fetchall()
    made = {row[0] for row in found}
    code = re.sub(r"--.*", "", " ".join([sql_file(name).text, *(bodies[macro] for macro in made)]))
    assert {macro for macro in bodies if re.search(rf"\b{macro}\(", code)} <= made < bodies.keys()
