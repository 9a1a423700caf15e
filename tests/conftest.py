"""What holds for every test."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _no_instance_of_dagster_and_no_collector() -> Iterator[None]:
    """A run of a test is reported to no instance of Dagster and to no collector of this machine."""
    names = [name for name in os.environ if name == "DAGSTER_HOME" or name.startswith("OTEL_")]
    before = {name: os.environ.pop(name) for name in names}
    yield
    os.environ.update(before)
