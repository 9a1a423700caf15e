"""What holds for every test."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _no_instance_of_dagster() -> Iterator[None]:
    """A run of a test is reported to no instance of this machine."""
    before = os.environ.pop("DAGSTER_HOME", None)
    yield
    if before is not None:
        os.environ["DAGSTER_HOME"] = before
