"""A published lake with everything that a report shows: a short simulated day."""

from pathlib import Path

import pytest

from published import demo_hour


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a lake in which an hour of a fleet is published."""
    return demo_hour(tmp_path_factory)
