"""Runs capture scripts, each with the packages that its header pins (PEP 723) in an environment of its own.

`python tests/emitters/capture/run.py emit_openai_v2.py ...`; any other runner of such scripts does as well.
"""

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

_HERE = Path(__file__).parent


def requirements(script: Path) -> list[str]:
    """The packages that a script's header names."""
    header = script.read_text().split("# /// script\n")[1].split("# ///\n")[0]
    text = "".join(line.removeprefix("#").removeprefix(" ") + "\n" for line in header.splitlines())
    return list(tomllib.loads(text)["dependencies"])


def run(script: Path) -> None:
    """Make the environment, run the script in it, remove it."""
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        python = str(Path(place) / "bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements(script)], check=True)
        subprocess.run([python, str(script)], check=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.name for path in _HERE.glob("emit_*.py")):
        run(_HERE / Path(name).name)
