"""A published lake to be asked, and a client that asks it."""

from pathlib import Path

import pytest

from mcp_lake import Ask, asker, publish


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a published lake that no test changes."""
    return publish(tmp_path_factory.mktemp("asked"))


@pytest.fixture
def ask(config: Path) -> Ask:
    """Calls a tool of a server with the usual limits."""
    return asker(config)
