"""The documentation as a reader pastes it: its fenced blocks, commands run page by page, and headings' anchors.

`python -m documents PAGE ...` (with tests/ on the path) runs pages and writes what their commands print now into them;
blocks that still match stay as they are, so review the difference before committing it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
ANYTHING = "..."
NOT_RUN = "no-run"
_FENCE = re.compile(r"^```(?P<info>.*)$")
_HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *$")
_BEGIN, _END = "\x1e", "\x1f"
_PAGE_TIMEOUT_S = 300


@dataclass(frozen=True)
class Block:
    """One fenced block: its info string, its lines and the number of its first line in the file, from 1."""

    info: str
    line: int
    lines: tuple[str, ...]

    @property
    def language(self) -> str:
        """The first word of the info string."""
        return (self.info.split() or [""])[0]

    @property
    def is_run(self) -> bool:
        """Whether it is a console block that a test runs."""
        return self.language == "console" and NOT_RUN not in self.info.split()


@dataclass(frozen=True)
class Step:
    """A command of a console block, the lines that the page says it prints, and where those begin in the file."""

    command: str
    expected: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Ran:
    """A command, what it printed and its exit status (None: never reached)."""

    step: Step
    printed: tuple[str, ...] = ()
    status: int | None = None

    @property
    def is_as_expected(self) -> bool:
        """Whether the command succeeded and printed what the page says."""
        return self.status == 0 and agree(self.step.expected, self.printed)


@dataclass
class _Fence:
    info: str
    line: int
    lines: list[str] = field(default_factory=list)


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    fence: _Fence | None = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        found = _FENCE.match(line)
        if fence is None and found:
            fence = _Fence(found["info"].strip(), number + 1)
        elif fence is not None and found:
            yield Block(fence.info, fence.line, tuple(fence.lines))
            fence = None
        elif fence is not None:
            fence.lines.append(line)


def steps(block: Block) -> Iterator[Step]:
    """The commands of a console block: lines after `$ `, continued by lines after `> `."""
    commands: list[tuple[int, list[str]]] = []
    printed: list[list[str]] = []
    for offset, line in enumerate(block.lines):
        if line.startswith("$ "):
            commands.append((offset, [line[2:]]))
            printed.append([])
        elif line.startswith("> ") and not printed[-1]:
            commands[-1][1].append(line[2:])
        else:
            printed[-1].append(line.rstrip())
    for (offset, command), lines in zip(commands, printed, strict=True):
        yield Step("\n".join(command), tuple(lines), block.line + offset + len(command))


def agree(expected: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether the lines are those expected, where a line `...` stands for any lines."""
    if not expected:
        return not printed
    if expected[0] == ANYTHING:
        return any(agree(expected[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and agree(expected[1:], printed[1:])


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    found: set[str] = set()
    inside = False
    for line in page.read_text().splitlines():
        inside ^= bool(_FENCE.match(line))
        heading = None if inside else _HEADING.match(line)
        if heading:
            found.add(re.sub(r"[^\w\- ]", "", heading["text"].lower()).replace(" ", "-"))
    return found


class Desk:
    """A folder that looks like the repository's root after `make demo`, for each page anew."""

    def __init__(self, folder: Path) -> None:
        """Make it: runs `make demo` with this interpreter's environment in place of a new `.venv`."""
        self._folder = folder
        self._root = folder / "made"
        (self._root / ".venv").mkdir(parents=True)
        (self._root / ".venv/bin").symlink_to(Path(sys.prefix) / "bin")
        for name in ("Makefile", "requirements.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, self._root / name)
        (self._root / "dagster_home").mkdir()
        shutil.copy(ROOT / "dagster_home/dagster.yaml", self._root / "dagster_home")
        (self._root / ".venv/ready").touch()
        done = subprocess.run(
            ["make", "--no-print-directory", "--silent", "demo"],
            cwd=self._root, env=_environment(folder), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"make demo ends with {done.returncode}:\n{done.stdout}{done.stderr}")
        self._replay = folder / "bin"
        self._replay.mkdir()
        (folder / "demo.txt").write_text(done.stdout)
        make = self._replay / "make"
        make.write_text(f'#!/bin/sh\n[ "$*" = demo ] && exec cat "{folder / "demo.txt"}"\nexit 2\n')
        make.chmod(0o755)

    @property
    def demo(self) -> Path:
        """The folder of the demo; nothing may write to it."""
        return self._root / "demo"

    def run(self, page: Path) -> list[Ran]:
        """Run the console blocks of a page in one shell, from the root on."""
        todo = [step for block in blocks(page) if block.is_run for step in steps(block)]
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            root = Path(name)
            (root / ".venv").symlink_to(self._root / ".venv")
            shutil.copytree(self.demo, root / "demo")
            script = root / "page.sh"
            script.write_text("\n".join(_marked(number, step) for number, step in enumerate(todo)))
            environment = _environment(root / "home", first=self._replay)
            (root / "home").mkdir()
            done = subprocess.run(
                ["bash", str(script)], cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=_PAGE_TIMEOUT_S, check=False,
            )  # fmt: skip
        return _results(todo, done.stdout)


def _environment(home: Path, first: Path | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    path = os.pathsep.join([*([str(first)] if first else []), "/usr/local/bin", "/usr/bin", "/bin"])
    return {**kept, "PATH": path, "HOME": str(home), "COLUMNS": "200", "LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}


def _marked(number: int, step: Step) -> str:
    return f"printf '{_BEGIN}{number}\\n'\n{step.command}\nprintf '{_END}%d\\n' $?\n"


def _results(todo: Sequence[Step], printed: str) -> list[Ran]:
    pattern = re.compile(f"{_BEGIN}(\\d+)\n(.*?){_END}(\\d+)\n", re.DOTALL)
    found = {int(m[1]): (m[2], int(m[3])) for m in pattern.finditer(printed)}
    return [
        Ran(step, tuple(line.rstrip() for line in found[number][0].splitlines()), found[number][1])
        if number in found
        else Ran(step)
        for number, step in enumerate(todo)
    ]


def rewrite(page: Path, results: Sequence[Ran]) -> int:
    """Put what commands print now in the place of what the page says they do; how many steps differed."""
    lines = page.read_text().splitlines()
    differing = [ran for ran in results if ran.status == 0 and not ran.is_as_expected]
    for ran in reversed(differing):
        begin = ran.step.line - 1
        lines[begin : begin + len(ran.step.expected)] = ran.printed
    page.write_text("\n".join(lines) + "\n")
    return len(differing)


def main(names: Sequence[str]) -> int:
    """Run the named pages (all without names) and rewrite them; 1 where a command failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        for page in [Path(name) for name in names] or PAGES:
            results = desk.run(page)
            bad = [ran for ran in results if ran.status != 0]
            failed += len(bad)
            print(f"{page}: {len(results)} commands, {rewrite(page, results)} print something else now")
            for ran in bad:
                print(f"  line {ran.step.line - 1}: exit {ran.status}: {ran.step.command}", *ran.printed, sep="\n    ")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
