"""How far back relations have rows of which older ones were pruned: answers about the time before are without them."""

from datetime import datetime

import duckdb

from goodput.ask.database import rows
from goodput.errors import PublishedByOlder


def kept_from(connection: duckdb.DuckDBPyConnection, holds: str) -> dict[str, datetime]:
    """From when on relations of `windows` or `rows` have all of their rows, where older ones were pruned.

    Raises PublishedByOlder.
    """
    asked = "SELECT relation, kept_from FROM pruned WHERE holds = $holds ORDER BY relation"
    try:
        found = rows(connection, asked, {"holds": holds})
    except duckdb.CatalogException as error:
        raise PublishedByOlder from error
    return {row["relation"]: row["kept_from"] for row in found}


def without_requests(connection: duckdb.DuckDBPyConnection, since: datetime | None) -> str:
    """That requests of the time that is asked for were pruned, in a sentence; nothing where none was."""
    first = kept_from(connection, "rows").get("requests")
    if first is None or (since is not None and since >= first):
        return ""
    return f"Requests that ended before {first:%Y-%m-%dT%H:%M} UTC were pruned: none of them is counted here."
