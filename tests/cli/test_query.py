"""`goodput query`: what is read stays exact, what is shown stays readable, what is refused says why."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from goodput.ask.renamed import RENAMED
from goodput.cli.render import table
from goodput.contracts import contract, contract_names

Run = Callable[..., Any]
WINDOWS = "select window_start, accepted, goodput_rps, goodput_ratio from goodput order by window_start"


def test_a_table_is_rounded_aligned_and_in_utc(goodput: Run) -> None:
    lines = goodput("query", WINDOWS).stdout.splitlines()
    assert [line.rstrip() for line in lines] == [
        "window_start          accepted  goodput_rps  goodput_ratio",
        "──────────────────────────────────────────────────────────",
        "2026-11-20T09:00:00Z        70       0.2333            0.7",
        "2026-11-20T09:05:00Z        75         0.25              -",
        "2 rows",
    ]


def test_an_old_name_is_refused_with_the_new_one(goodput: Run) -> None:
    failed = goodput("query", "select slow_drift_delay_s from alarm_power, goodput")
    assert failed.returncode == 1
    assert "slow_drift_delay_s is no column any more: ask for drift_2pct_delay_s." in failed.stderr


def test_old_names_are_no_names_and_new_ones_are() -> None:
    columns = {column.name for name in contract_names() for column in contract(name).columns}
    assert not columns & RENAMED.keys()
    assert {new.split()[0] for new in RENAMED.values()} <= columns


def test_csv_is_exact_and_rfc_4180(goodput: Run) -> None:
    asked = (
        "select goodput_rps, goodput_ratio, 'a \"b\",c' as text, [1.5, null] as many, true as yes from goodput limit 2"
    )
    raw = goodput("query", asked, "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(raw))) == [
        ["goodput_rps", "goodput_ratio", "text", "many", "yes"],
        ["0.23333333333333334", "0.7", 'a "b",c', "[1.5,null]", "true"],
        ["0.25", "", 'a "b",c', "[1.5,null]", "true"],
    ]


FORMULAS = ("=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", " =1", "\t=1", "\r=1", "\n=1", "＝1", "=HYPERLINK(0)")
NO_FORMULAS = ("-5", "+1.5e-3", "-", "a=1", "1-2", "'=1", "chat", "", "mail@example", "é")


@pytest.mark.parametrize("text", FORMULAS)
def test_text_that_a_spreadsheet_would_run_is_text_in_csv_and_itself_elsewhere(goodput: Run, text: str) -> None:
    literal = "'" + text.replace("'", "''") + "'"
    asked = f"select {literal} as v, {literal}::enum({literal}) as e, -5 as n, [{literal}] as l"
    raw = goodput("query", asked, "--format", "csv").stdout
    _, (value, of_enum, number, nested) = csv.reader(io.StringIO(raw, newline=""))
    assert (value, of_enum, number) == (f"'{text}", f"'{text}", "-5")
    assert nested.startswith('["')
    assert json.loads(goodput("query", asked, "--format", "json").stdout)[0]["v"] == text


@pytest.mark.parametrize("text", NO_FORMULAS)
def test_other_text_is_in_csv_as_it_is(goodput: Run, text: str) -> None:
    literal = text.replace("'", "''")
    raw = goodput("query", f"select '{literal}' as v, 1 as n", "--format", "csv").stdout
    assert raw.endswith(",1\n")
    assert list(csv.reader(io.StringIO(raw, newline="")))[1] == [text, "1"]


def test_a_name_of_a_column_is_no_formula_either(goodput: Run) -> None:
    """PIVOT makes names of values."""
    raw = goodput("query", "pivot (select '=1+1' as route, 1 as n) on route using sum(n)", "--format", "csv").stdout
    assert raw == "'=1+1\n1\n"


def test_csv_lines_end_by_a_line_feed_alone(lake: Path) -> None:
    """To cut, sort and a shell a carriage return would be data."""
    command = [sys.executable, "-c", "from goodput.cli.main import main; main()", "query", "select 1 as n", "--lake"]
    raw = subprocess.run([*command, str(lake), "--format", "csv"], capture_output=True, check=True).stdout
    assert raw == b"n\n1\n"


def test_json_is_one_array_with_null_for_what_json_lacks(goodput: Run) -> None:
    asked = (
        "select window_start as at_, goodput_rps as rps, goodput_ratio as ratio, 'nan'::double as a, "
        "['inf'::double, 1] as b, 0.10::decimal(5,2) as c, 2::hugeint ** 70 as d, {'k': window_start} as e from goodput"
    )
    assert json.loads(goodput("query", asked, "--format", "json").stdout)[0] == {
        "at_": "2026-11-20T09:00:00Z",
        "rps": 70 / 300,
        "ratio": 0.7,
        "a": None,
        "b": [None, 1.0],
        "c": 0.1,
        "d": 2.0**70,
        "e": {"k": "2026-11-20T09:00:00Z"},
    }


def test_json_of_no_rows_is_an_empty_array(goodput: Run) -> None:
    assert json.loads(goodput("query", "from goodput where false", "--format", "json").stdout) == []


def test_json_keeps_columns_of_the_same_name_apart(goodput: Run) -> None:
    answer = goodput("query", "select 1 as n, 2 as n, 3 as n_1", "--format", "json").stdout
    assert json.loads(answer) == [{"n": 1, "n_1": 2, "n_1_1": 3}]


def test_many_rows_come_whole_through_every_batch(goodput: Run) -> None:
    answer = json.loads(goodput("query", "select range as n from range(25000)", "--format", "json").stdout)
    assert [row["n"] for row in answer] == list(range(25000))


def test_parquet_goes_to_the_named_file_with_its_types(goodput: Run, tmp_path: Path) -> None:
    assert goodput("query", WINDOWS, "--output", "windows.parquet").returncode == 0
    read = pq.read_table(tmp_path / "windows.parquet")
    assert read.column("accepted").to_pylist() == [70, 75]
    assert str(read.schema.field("window_start").type) == "timestamp[us, tz=UTC]"
    assert [path.name for path in tmp_path.iterdir()] == ["windows.parquet"]


def test_parquet_goes_to_standard_output_where_that_is_no_terminal(lake: Path) -> None:
    program = "from goodput.cli.main import main; main()"
    command = [sys.executable, "-c", program, "query", "select 7 as n", "--format", "parquet", "--lake", str(lake)]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    assert pq.read_table(io.BytesIO(raw)).to_pylist() == [{"n": 7}]


def test_the_end_of_the_output_file_names_the_format(goodput: Run, tmp_path: Path) -> None:
    goodput("query", "select 1 as n", "--output", "one.json")
    assert json.loads((tmp_path / "one.json").read_text()) == [{"n": 1}]
    goodput("query", "select 1 as n", "--output", "one.txt")
    assert (tmp_path / "one.txt").read_text().splitlines() == ["n", "─", "1", "1 row"]


def test_a_failed_question_leaves_no_file_and_keeps_the_old_one(goodput: Run, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("kept")
    failed = goodput("query", "select error('no') from range(1)", "--output", "old.csv")
    assert failed.returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "kept"


def test_an_output_that_cannot_be_written_is_said(goodput: Run) -> None:
    failed = goodput("query", "select 1", "--output", "missing/one.csv")
    assert failed.returncode == 1
    assert failed.stderr.startswith("missing/one.csv: cannot write: No such file or directory.")


def test_a_device_as_output_is_written_to_not_replaced(goodput: Run) -> None:
    assert goodput("query", "select 1", "--output", "/dev/null").returncode == 0
    assert not Path("/dev/null").is_file()


def test_sql_is_read_from_standard_input(goodput: Run) -> None:
    answer = goodput(
        "query", "-", "--format", "csv", text="select 1 as n; -- the last statement answers\nselect 2 as m;"
    )
    assert answer.stdout == "m\n2\n"


def test_the_row_cap_of_a_table_is_said(goodput: Run) -> None:
    capped = goodput("query", "from range(1001)").stdout.splitlines()
    assert len(capped) == 1000 + 4
    assert capped[-2:] == [
        "1000 rows",
        "There are more: only the first 1000 are shown. Raise --max-rows, or use --format csv.",
    ]
    assert goodput("query", "from range(1000)").stdout.splitlines()[-1] == "1000 rows"
    assert "only the first 2 are shown" in goodput("query", "from range(3)", "--max-rows", "2").stdout


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select nosuch from requests", 'Referenced column "nosuch" not found'),
        ("selec 1", "syntax error"),
        ("drop table goodput", "only SELECT is answered"),
        ("", "There is no SQL in this question."),
    ],
)
def test_a_refused_question_says_why_and_ends_with_1(goodput: Run, sql: str, expected: str) -> None:
    failed = goodput("query", sql)
    assert failed.returncode == 1
    assert expected in failed.stderr
    assert "`goodput tables` lists the relations" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert failed.stdout == ""


def test_nothing_published_is_said_and_ends_with_2(goodput: Run, tmp_path: Path) -> None:
    failed = goodput("query", "select 1", "--lake", str(tmp_path / "none"), ask=False)
    assert failed.returncode == 2
    assert "Run `goodput run` first." in failed.stderr


def test_the_lake_of_the_settings_is_asked(goodput: Run, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(f'lake = "{os.path.relpath(lake, tmp_path)}"\n')
    assert goodput("query", "select 1 as n", "--format", "csv", ask=False).stdout == "n\n1\n"
    (tmp_path / "goodput.toml").rename(tmp_path / "other.toml")
    named = goodput("query", "select 1 as n", "--format", "csv", "--config", "other.toml", ask=False)
    assert named.stdout == "n\n1\n"


@pytest.mark.parametrize("written", ["table", "csv", "json"])
def test_a_reader_that_leaves_early_ends_it_quietly(lake: Path, written: str) -> None:
    program = "from goodput.cli.main import main; main()"
    asked = ["query", "select range, repeat('x', 200) from range(20000)", "--format", written]
    command = [sys.executable, "-c", program, *asked, "--max-rows", "5000", "--lake", str(lake)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 0


def test_what_telemetry_says_cannot_steer_the_terminal(goodput: Run) -> None:
    shown = goodput("query", "select request_key from requests where request_key like '%evil%'").stdout
    assert "[red]evil\\x1b[2J" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("written", ["csv", "json"])
def test_nor_do_other_formats_where_they_are_read_on_one(lake: Path, written: str) -> None:
    program = "from goodput.cli.main import main; main()"
    asked = "select request_key, '\u202e' as turned from requests where request_key like '%evil%'"
    command = [sys.executable, "-c", program, "query", asked, "--format", written, "--lake", str(lake)]
    ours, theirs = os.openpty()
    with subprocess.Popen(command, stdout=theirs) as running:
        os.close(theirs)
        read = b""
        with suppress(OSError):  # as a terminal says that its other end is closed
            while piece := os.read(ours, 4096):
                read += piece
        assert running.wait(60) == 0
    assert b"evil" in read
    assert not {"\x1b", "\u202e"} & set(read.decode())


def test_numbers_stand_right_and_nothing_is_cut_where_there_is_room() -> None:
    assert _drawn(["word", "n"], [("a", 1), (None, 22)], 20) == ["word   n", "────────", "a      1", "-     22"]


def test_a_table_folds_its_text_to_fit() -> None:
    lines = _drawn(["n", "text"], [(1, "word " * 12)], 40)
    assert max(len(line) for line in lines) <= 40
    assert "".join(lines).count("word") == 12


def test_what_is_too_wide_for_a_table_stands_as_blocks() -> None:
    assert _drawn(["first_column", "second_column"], [("a", 1), ("b", None)], 20) == [
        "row 1",
        "first_column   a",
        "second_column  1",
        "row 2",
        "first_column   b",
        "second_column  -",
    ]


def _drawn(names: list[str], rows: list[tuple[object, ...]], width: int) -> list[str]:
    out = Console(file=io.StringIO(), width=width, color_system=None)
    out.print(table(names, rows, width))
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{file}' (format csv)",
        "select 1; copy (select 1) to '{file}'",
        "explain analyze copy (select 1) to '{file}'",
        "/* EXPLAIN */ explain (analyze) copy (select 1) to '{file}'",
        "attach '{file}' as other",
        "export database '{file}'",
        "set memory_limit = '1 GB'",
    ],
)
def test_a_question_writes_no_file_and_changes_no_setting(goodput: Run, tmp_path: Path, sql: str) -> None:
    kept = tmp_path / "kept.csv"
    kept.write_text("kept")
    failed = goodput("query", sql.format(file=kept))
    assert failed.returncode == 1
    assert "only SELECT is answered" in failed.stderr
    assert kept.read_text() == "kept"


@pytest.mark.parametrize("sql", ["describe requests", "explain select 1", "summarize workloads", "values (1)"])
def test_questions_of_other_words_are_answered(goodput: Run, sql: str) -> None:
    assert goodput("query", sql).returncode == 0
