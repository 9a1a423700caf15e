"""A copy of the package with its sql/ and schemas/, so that a benchmark can run `goodput` with a SQL file changed."""

import compileall
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.child import Ended, run

_HERE = Path(__file__).resolve().parent.parent
_GOODPUT = str(Path(sys.executable).with_name("goodput"))


class Checkout:
    """The package, copied into a folder of settings, landing zone and lake, and compiled ahead."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        leave = shutil.ignore_patterns("__pycache__")
        for name in ("pipelines", "sql", "schemas"):
            shutil.copytree(_HERE / name, folder / name, ignore=leave)
        compileall.compile_dir(folder / "pipelines", quiet=1, workers=1)

    def goodput(self, *arguments: str) -> Ended:
        """Run a `goodput` command of the copy to its end; raises CalledProcessError where it fails."""
        path = os.pathsep.join(filter(None, [str(self._folder / "pipelines"), os.environ.get("PYTHONPATH")]))
        return run([_GOODPUT, *arguments], self._folder, {"PYTHONPATH": path})

    def ask(self, sql: str) -> Any:
        """The one value that a query of the published database gives."""
        with duckdb.connect(str(self._folder / "lake/goodput.duckdb"), read_only=True) as connection:
            return connection.sql(sql).fetchall()[0][0]

    def change_comment(self, sql: str) -> None:
        """Add words to the first line of a SQL file, which is a comment."""
        (path,) = (self._folder / "sql").rglob(f"{sql}.sql")
        header, _, rest = path.read_text(encoding="utf-8").partition("\n")
        assert header.startswith("--"), f"{path} begins with no comment"
        path.write_text(f"{header} (changed)\n{rest}", encoding="utf-8")
