"""A published lake with everything that a report shows: a short simulated day."""

from pathlib import Path

import pytest

from goodput.simulate.demo import demo_settings, write_demo
from published import run_at


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings of a lake in which an hour of a fleet is published."""
    root = tmp_path_factory.mktemp("report")
    write_demo(root / "landing", hours=1.0, requests=3000)
    file = root / "goodput.toml"
    file.write_text(demo_settings())
    run_at(file)
    return file
