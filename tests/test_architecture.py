"""The tree is the data's path: who may import whom, and that each module says what it is."""

import ast
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from test_rebuild import SETTINGS

PACKAGE = Path(__file__).parent.parent / "pipelines/goodput"
STAGES = ("collect", "conform", "join", "measure", "monitor", "notify")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


@cache
def imported(path: Path) -> set[str]:
    """Full names of all that a module imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module}
    return found


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def stage_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def test_a_class_has_a_name_of_its_own() -> None:
    classes = [
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    assert {name for name, times in Counter(classes).items() if times > 1} == set()


@pytest.mark.parametrize("path", [p for p in MODULES if stage_of(p) in STAGES], ids=named)
def test_a_stage_never_imports_a_later_one(path: Path) -> None:
    later = STAGES[STAGES.index(stage_of(path)) + 1 :]
    assert not {name for name in imported(path) for stage in later if name.startswith(f"goodput.{stage}")}


@pytest.mark.parametrize("path", [p for p in MODULES if stage_of(p) in STAGES], ids=named)
def test_no_stage_knows_who_fills_the_landing_zone(path: Path) -> None:
    assert not {name for name in imported(path) if name.startswith(("goodput.receive", "goodput.simulate"))}


@pytest.mark.parametrize("path", [p for p in MODULES if stage_of(p) == "plumbing"], ids=named)
def test_plumbing_imports_no_stage(path: Path) -> None:
    assert not {name for name in imported(path) for stage in STAGES if name.startswith(f"goodput.{stage}")}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_what_is_named_after_dagster_imports_it(path: Path) -> None:
    if not named(path).startswith("plumbing/dagster_") and named(path) != "definitions.py":
        assert not {name for name in imported(path) if name.split(".")[0] == "dagster"}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_its_own_package_imports_great_expectations(path: Path) -> None:
    if not named(path).startswith("plumbing/expectations/"):
        assert not {name for name in imported(path) if name.split(".")[0] == "great_expectations"}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_its_own_package_speaks_to_an_object_store(path: Path) -> None:
    if not named(path).startswith("plumbing/object_store/"):
        assert not {name for name in imported(path) if name.split(".")[0] == "obstore"}
        reaches = {name for name in imported(path) if name.startswith("goodput.plumbing.object_store")}
        assert not reaches or named(path) == "plumbing/store.py"  # where the settings name such a lake


@pytest.mark.parametrize("path", [p for p in MODULES if stage_of(p) in STAGES], ids=named)
def test_no_stage_knows_how_the_plan_is_run(path: Path) -> None:
    plumbing = ("goodput.plumbing.dagster_", "goodput.plumbing.plan")
    names = (
        "alarms",
        "cli",
        "definitions",
        "erase",
        "lineage",
        "nodes",
        "prune",
        "rebuild",
        "remake",
        "run",
        "runners",
        "steps",
        "telemetry",
    )
    above = tuple(f"goodput.{name}" for name in names)
    assert not {name for name in imported(path) if name.startswith((*plumbing, *above))}


@pytest.mark.parametrize("path", [p for p in MODULES if stage_of(p) != "cli"], ids=named)
def test_nothing_imports_commands(path: Path) -> None:
    """What is asked of the published database is in ask/, for commands, pages and models alike."""
    assert not {name for name in imported(path) if name.startswith("goodput.cli")}


@pytest.mark.parametrize("path", [p for p in MODULES if stage_of(p) == "ask"], ids=named)
def test_who_asks_is_unknown_to_answers(path: Path) -> None:
    above = ("cli", "mcp_server", "report", "serve", *STAGES)
    assert not {name for name in imported(path) if name.startswith(tuple(f"goodput.{room}" for room in above))}


@pytest.mark.parametrize(
    "path", [p for p in MODULES if stage_of(p) in {"settings", "contracts.py", "errors.py"}], ids=named
)
def test_settings_rest_on_contracts_alone(path: Path) -> None:
    below = ("goodput.errors", "goodput.contracts", "goodput.globs", "goodput.project_files", "goodput.settings")
    assert not {name for name in imported(path) if name.startswith("goodput.") and not name.startswith(below)}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_each_module_says_what_it_is(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text()))
    assert said
    assert len(said.split()) >= 5


def test_empty_packages() -> None:
    assert not [path for path in PACKAGE.rglob("__init__.py") if path.read_text() and "tabular" not in path.parts]


def test_asking_imports_nothing_that_takes_long() -> None:
    modules = "query, tables, compare, explain, sources, alarms, init"
    script = (
        f"import sys; from goodput.cli import main, {modules}; from goodput.notify import deliver; "
        "print([m for m in ('dagster', 'great_expectations', 'polars', 'altair', 'vl_convert') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


RUN = """
import sys
from pathlib import Path
from goodput.plumbing.workspace import Workspace
from goodput.run import run
ran = run(Workspace(Path("goodput.toml")))
parts = ("dagster", "great_expectations", "altair", "vl_convert", "opentelemetry", "requests")
slow = [m for m in parts if m in sys.modules]
slow += [m for m in ("ray", "goodput.runners.pool", "goodput.runners.processes") if m in sys.modules]
print(ran.ingested.read, ran.hours_computed > 0, slow)
"""


def test_a_run_imports_no_orchestrator_and_no_check_suite(tmp_path: Path) -> None:
    (tmp_path / "goodput.toml").write_text(SETTINGS)
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing/rows.csv").write_text("id,start,end,ttft,outcome\na,1795165200,1795165210,0.5,ok\n")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    environment.pop("DAGSTER_HOME", None)
    command = [sys.executable, "-c", RUN]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
    assert said.stdout.strip() == "1 True []"
