"""A database that an older version published lacks relations or columns, and says how it gets them."""

import duckdb
import pytest

from goodput.ask.kept import kept_from, without_requests
from goodput.errors import PublishedByOlder


def test_a_database_without_the_relation_is_named_as_an_older_versions() -> None:
    with duckdb.connect() as older:
        with pytest.raises(PublishedByOlder, match="`goodput run` publishes it anew"):
            kept_from(older, "windows")
        with pytest.raises(PublishedByOlder):
            without_requests(older, None)
