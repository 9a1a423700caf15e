"""SQL of a model is answered by a process of its own, bounded in memory and killed once its time is over.

DuckDB sees an interrupt only between two chunks of rows, and counts neither the bytes of one value in the making nor
those that Python makes of it.
"""

import json
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb

from goodput.errors import GoodputError, QuestionRefused, TookTooLong, TookTooMuch
from goodput.mcp_server.answers import fitted, text
from goodput.mcp_server.asking import AnswerLimits, Asker
from goodput.mcp_server.mending import check, refused
from goodput.plumbing.sql_files import Config

MEMORY_BYTES = 2 * 2**30  # of the process
_BOUNDS: Config = {"memory_limit": "1GiB", "threads": 4}  # it writes to disk beyond; each thread takes 8 MiB
STARTS_S = 5.0  # what the process may take beside the question


def answered_apart(asker: Asker, sql: str) -> dict[str, Any]:
    """The answer as plain JSON, of at most the rows and bytes of the asker's limits.

    Raises QuestionRefused, TookTooLong, TookTooMuch.
    """
    places = [None if place is None else str(place) for place in (asker.config, asker.lake)]
    question = json.dumps([*places, asdict(asker.limits), sql])
    command = [sys.executable, "-m", "goodput.mcp_server.apart"]
    limit_s = asker.limits.seconds + STARTS_S
    try:
        ended = subprocess.run(command, input=question.encode(), capture_output=True, timeout=limit_s, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise TookTooLong(asker.limits.seconds) from error
    try:
        answer, why_not = json.loads(ended.stdout)
    except ValueError as error:  # it died
        raise TookTooMuch(MEMORY_BYTES) from error
    if why_not is not None:
        raise QuestionRefused(why_not)
    return dict(answer)


def _main() -> None:
    """Answer the question on standard input: on standard output the answer and null, or null and why there is none."""
    with suppress(ValueError, OSError):  # a stricter limit may be set already
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    config, lake, limits, sql = json.load(sys.stdin)
    asker = Asker(config and Path(config), lake and Path(lake), AnswerLimits(**limits))
    try:
        written = f"[{_answer(asker, sql)}, null]"
    except GoodputError as error:
        written = json.dumps([None, str(error)])
    except MemoryError:
        written = json.dumps([None, str(TookTooMuch(MEMORY_BYTES))])
    sys.stdout.buffer.write(written.encode())


def _answer(asker: Asker, sql: str) -> str:
    with asker.connection(confined=True, bounds=_BOUNDS) as connection:
        return text(fitted(_found(connection, sql, asker.limits.rows), asker.limits.bytes))


def _found(connection: duckdb.DuckDBPyConnection, sql: str, rows: int) -> dict[str, Any]:
    check(connection, sql)
    try:
        connection.execute(sql)
        names = [column[0] for column in connection.description]
        found = connection.fetchmany(rows + 1)
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise refused(connection, sql, error) from error
    cut = f"There are more: only the first {rows} rows are here. Aggregate, filter, or use LIMIT and OFFSET."
    return {"columns": names, "rows": found[:rows], "cut": cut if len(found) > rows else None}


if __name__ == "__main__":
    _main()
