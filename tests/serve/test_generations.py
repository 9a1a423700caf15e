"""The published database while it is replaced: each answer of one generation, and nothing but the lake in reach."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import polars as pl
import pytest

from goodput.errors import NotPublished, QueryFailed, TookTooLong
from goodput.serve.generations import Generations


def database(lake: Path, number: int, rows: int = 50_000) -> Path:
    """A database of which every row of two tables has the same number."""
    file = lake / f"next-{number}"
    with duckdb.connect(file) as connection:
        for table in ("one", "two"):
            connection.execute(f"CREATE TABLE {table} AS SELECT {number} AS n FROM range({rows})")
    return file


def asked(sql: str) -> Callable[[duckdb.DuckDBPyConnection, str], list[tuple[object, ...]]]:
    return lambda connection, _: connection.execute(sql).fetchall()


def test_each_answer_is_of_one_generation_while_others_are_published(tmp_path: Path) -> None:
    """Hundreds of questions of two statements each, while the file is replaced twenty times."""
    os.replace(database(tmp_path, 0), tmp_path / "goodput.duckdb")
    generations = Generations(tmp_path)
    answers: list[tuple[str, list[tuple[object, ...]]]] = []
    broken: list[BaseException] = []
    over = threading.Event()

    def question(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, list[tuple[object, ...]]]:
        sql = "SELECT min(n), max(n), count(*) FROM {}"
        return name, [*asked(sql.format("one"))(connection, name), *asked(sql.format("two"))(connection, name)]

    def reader() -> None:
        while not over.is_set():
            try:
                answers.append(generations.ask(question))
            except BaseException as error:
                broken.append(error)

    threads = [threading.Thread(target=reader) for _ in range(4)]
    for thread in threads:
        thread.start()
    publish(tmp_path, answers)
    over.set()
    for thread in threads:
        thread.join()
    assert broken == []
    assert len(answers) > 300
    numbers: dict[str, set[object]] = {}
    for name, (one, two) in answers:
        assert one == two == (one[0], one[0], 50_000)
        numbers.setdefault(name, set()).add(one[0])
    assert all(len(found) == 1 for found in numbers.values())
    assert len(numbers) == 21
    assert generations.ask(question)[1][0][0] == 20


def publish(folder: Path, answers: Sequence[object]) -> None:
    """Twenty generations after that which is there, each once twenty more questions were answered."""
    for number in range(21):
        if number:
            os.replace(database(folder, number), folder / "goodput.duckdb")
        before = len(answers)
        end_s = time.monotonic() + 20
        while len(answers) < before + 20 and time.monotonic() < end_s:
            time.sleep(0.01)


@pytest.mark.parametrize(
    "reach",
    [
        "COPY (SELECT 1) TO '{outside}/written.csv'",
        "SELECT * FROM read_text('{outside}/secret.txt')",
        "SELECT * FROM read_text('{lake}/../secret.txt')",
        "SELECT * FROM read_text('{lake}/erased.json')",
        "SELECT * FROM read_text('{lake}/joined/../erased.json')",
        "SELECT * FROM glob('{outside}/*')",
        "ATTACH '{outside}/other.db'",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "CREATE TABLE t (n INTEGER)",
        "INSERT INTO one VALUES (1)",
        "DROP TABLE one",
        "INSTALL httpfs",
        "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
    ],
)
def test_nothing_is_written_and_nothing_beside_the_lake_is_read(tmp_path: Path, reach: str) -> None:
    lake = tmp_path / "lake"
    (lake / "joined").mkdir(parents=True)
    (lake / "erased.json").write_text("[]")
    (tmp_path / "secret.txt").write_text("secret")
    (lake / "joined/inside.txt").write_text("inside")
    os.replace(database(lake, 0, rows=1), lake / "goodput.duckdb")
    generations = Generations(lake)
    inside = f"SELECT content FROM read_text('{lake}/joined/inside.txt')"
    assert generations.ask(asked(inside)) == [("inside",)]
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(QueryFailed):
        generations.ask(asked(reach.format(outside=tmp_path, lake=lake)))
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    os.replace(database(tmp_path, 0, rows=1), tmp_path / "goodput.duckdb")
    generations = Generations(tmp_path, question_s=0.5)
    began_s = time.monotonic()
    with pytest.raises(TookTooLong, match=r"stopped after 0\.5 s"):
        generations.ask(
            asked("SELECT count(*) FROM range(10_000_000_000) AS a, range(1000) AS b WHERE a.range % 7 = b.range")
        )
    assert time.monotonic() - began_s < 10
    assert generations.ask(asked("SELECT n FROM one")) == [(0,)]


def test_a_generation_whose_files_are_taken_away_is_followed_by_the_next(tmp_path: Path) -> None:
    """As `goodput erase` does, which deletes parts at once; a question that fails for it is asked anew."""
    os.replace(database(tmp_path, 0, rows=1), tmp_path / "goodput.duckdb")
    (tmp_path / "joined").mkdir()
    parts = [tmp_path / f"joined/part-{number}.parquet" for number in (0, 1)]
    for number, part in enumerate(parts):
        pl.DataFrame({"n": [number]}).write_parquet(part)
    generations = Generations(tmp_path)

    def question(connection: duckdb.DuckDBPyConnection, _: str) -> object:
        ((number,),) = connection.execute("SELECT n FROM one").fetchall()
        if parts[0].exists():  # it goes just as it is wanted
            parts[0].unlink()
            os.replace(database(tmp_path, 1, rows=1), tmp_path / "goodput.duckdb")
        return connection.execute(f"SELECT n FROM read_parquet(['{parts[number]}'])").fetchall()

    assert generations.ask(question) == [(1,)]


def test_nothing_published_yet_is_said_until_something_is(tmp_path: Path) -> None:
    generations = Generations(tmp_path)
    with pytest.raises(NotPublished, match="nothing is published yet"):
        generations.ask(asked("SELECT 1"))
    os.replace(database(tmp_path, 7, rows=1), tmp_path / "goodput.duckdb")
    assert generations.ask(asked("SELECT n FROM one")) == [(7,)]


def test_a_file_that_is_no_database_is_said_and_passes(tmp_path: Path) -> None:
    (tmp_path / "goodput.duckdb").write_text("no database at all" * 1000)
    generations = Generations(tmp_path)
    with pytest.raises(QueryFailed):
        generations.ask(asked("SELECT 1"))
    os.replace(database(tmp_path, 7, rows=1), tmp_path / "goodput.duckdb")
    assert generations.ask(asked("SELECT n FROM one")) == [(7,)]


def test_a_lake_whose_name_has_quotes_and_spaces(tmp_path: Path) -> None:
    lake = tmp_path / 'it\'s a "lake", 100 %'
    lake.mkdir()
    shutil.move(database(lake, 3, rows=1), lake / "goodput.duckdb")
    assert Generations(lake).ask(asked("SELECT n FROM one")) == [(3,)]
