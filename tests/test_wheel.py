"""A wheel carries sql/, schemas/ and pages of docs/ inside: what is installed elsewhere needs no checkout."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from end_to_end.test_known_answers import BENCH_SETTINGS

CHECKOUT = Path(__file__).parent.parent
RUN = "from goodput.cli.main import main; main()"
PAGES = "import goodput.project_files as f; print(*sorted(p.name for p in f.project_folder('docs').iterdir()))"
WHERE = "import goodput.project_files as f; print(f.project_folder('sql'))"


def test_an_installed_wheel_runs_and_answers(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(CHECKOUT)]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("goodput-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)], check=True)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(CHECKOUT / "tests/data/bench", elsewhere / "landing", ignore=shutil.ignore_patterns("*.md"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONWARNINGS": "ignore"}

    def said(*arguments: str, code: str = RUN) -> str:
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert Path(said(code=WHERE).strip()).is_relative_to(tmp_path / "site")
    assert said(code=PAGES).split() == ["glossary.md", "questions.md", "semantics.md"]
    (elsewhere / "goodput.toml").write_text(BENCH_SETTINGS)
    said("run")
    question = "select sum(accepted)::int as accepted from goodput where slice = 'overall' and window_s = 86400"
    assert said("query", question, "--format", "csv").split() == ["accepted", "6"]
