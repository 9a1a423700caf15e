"""Answers of Prometheus' HTTP API, `query_range` and `query`, to readings; found by their content.

Only answers that name a metric are of use: of an expression such as rate(...) nothing says what it is.
"""

import re

import duckdb
import polars as pl

from goodput.collect.label_sets import label_texts
from goodput.collect.prometheus.histograms import BOUND
from goodput.plumbing.sql_files import connect

_ANSWER = re.compile(rb'\s*\{.*"resultType"\s*:\s*"(?:matrix|vector)"', re.DOTALL)
_IS_BUCKET = pl.col("emitted").str.ends_with("_bucket")
_FAILED = re.compile(rb'\s*\{\s*"status"\s*:\s*"error"\s*,\s*"errorType"')
_RESULT = '[{"metric":"MAP(VARCHAR,VARCHAR)","values":[["VARCHAR"]],"value":["VARCHAR"]}]'
_SHAPE = f'{{"error":"VARCHAR","data":{{"result":{_RESULT}}}}}'


class NoAnswerError(ValueError):
    """What looked like an answer of the API holds none: it reports an error, or breaks off."""


def is_answer(head: bytes) -> bool:
    """Whether a file that begins with these bytes is an answer of the API."""
    return bool(_ANSWER.match(head) or _FAILED.match(head))


def parse(content: str) -> pl.DataFrame:
    """One row per value: line (the series, from 1), position (the value, from 0) and what `take_samples` needs.

    `value` is null and `unreadable` true where a value is no number. Raises NoAnswerError.
    """
    with connect() as connection:
        _load(connection, content)
        connection.execute(
            "CREATE TEMP TABLE series AS SELECT generate_subscripts(answer.data.result, 1)::BIGINT AS line, "
            "unnest(answer.data.result) AS one FROM whole"
        )
        labels = pl.DataFrame(
            connection.sql(
                "SELECT (line - 1)::UINTEGER AS row, unnest(map_keys(one.metric)) AS name, "
                "unnest(map_values(one.metric)) AS value FROM series"
            ).to_arrow_table()
        )
        points = pl.DataFrame(
            connection.sql(
                "SELECT line, position, try_cast(point[1] AS DECIMAL(28, 9)) AS seconds, "
                "(seconds * 1000000000)::BIGINT AS time_ns, point[2] AS text, "
                "try_cast(ltrim(point[2], '+') AS DOUBLE) AS value FROM ("
                "  SELECT line, unnest(points) AS point, unnest(range(len(points)))::INTEGER AS position FROM ("
                '    SELECT line, CASE WHEN one."values" IS NULL THEN [one."value"] ELSE one."values" END AS points '
                "    FROM series)) ORDER BY line, position"
            ).to_arrow_table()
        )
        (count,) = connection.sql("SELECT count(*) FROM series").fetchall()[0]
    name = pl.col("name") == "__name__"
    named = labels.filter(name).select(line=pl.col("row").cast(pl.Int64) + 1, emitted="value")
    bound = (pl.col("name") == "le") & pl.col("row").is_in(named.filter(_IS_BUCKET)["line"].cast(pl.UInt32) - 1)
    bounds = labels.filter(bound).select(
        pl.col("value").str.replace(r"^\+", "").cast(pl.Float64, strict=False).alias(BOUND),
        line=pl.col("row").cast(pl.Int64) + 1,
    )
    texts = label_texts(labels.filter(~name & ~bound), int(count)).to_frame().with_row_index("line", offset=1)
    return (
        points.join(named, on="line", how="left", maintain_order="left")
        .join(texts.with_columns(pl.col("line").cast(pl.Int64)), on="line", how="left", maintain_order="left")
        .join(bounds, on="line", how="left", maintain_order="left")
        .with_columns(
            type=pl.lit(None, pl.String),
            temporality=pl.lit("cumulative"),
            description=pl.lit(None, pl.String),
            start_ns=pl.lit(None, pl.Int64),
            from_zero=pl.lit(None, pl.Boolean),
            unreadable=pl.col("value").is_null() | pl.col("time_ns").is_null(),
        )
        .drop("seconds")
    )


def _load(connection: duckdb.DuckDBPyConnection, content: str) -> None:
    """Make table `whole` of the answer's result."""
    try:
        connection.execute("CREATE TEMP TABLE whole AS SELECT from_json(?::VARCHAR, ?) AS answer", [content, _SHAPE])
    except duckdb.Error as error:
        raise NoAnswerError("is no whole answer of Prometheus' HTTP API") from error
    ((result, message),) = connection.sql("SELECT answer.data.result IS NOT NULL, answer.error FROM whole").fetchall()
    if not result:
        raise NoAnswerError(f"is an error of Prometheus' HTTP API: {message}")
