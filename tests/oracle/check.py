"""One fleet through the product and through the plain computation."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from goodput.plumbing.workspace import Workspace
from oracle import relations, restated
from oracle.compare import Comparison
from oracle.fleet import Fleet
from oracle.truth import Truth
from oracle.write import files, settings, write
from published import run_at


def check(fleet: Fleet, chance: Random | None = None) -> Comparison:
    """Publish a fleet, in any number of files and runs where there is `chance`, and compare every relation."""
    with TemporaryDirectory() as folder:
        if chance is None:
            return compared(run_at(write(fleet, Path(folder))), fleet)
        found = Comparison()
        return compared(arriving(fleet, Path(folder), chance, chance.choice([1, 1, 2]), found), fleet, found)


def arriving(fleet: Fleet, folder: Path, chance: Random, runs: int, found: Comparison) -> Workspace:
    """What is published after `runs` over rows that come in any order and in any number of files.

    What each run but the first says that it restated is compared with what it changed.
    """
    before = None
    settings(fleet, folder)
    parts = sorted(files(fleet, chance).items())
    chance.shuffle(parts)
    for number in range(runs):
        for name, text in parts[number::runs]:
            path = folder / "landing" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        workspace = run_at(folder / "goodput.toml")
        after = restated.published(workspace)
        if before is not None:
            restated.compare(found, before, after)
        before = after
    return workspace


def compared(workspace: Workspace, fleet: Fleet, known: Comparison | None = None) -> Comparison:
    """What a workspace published beside what its fleet amounts to, added to what is `known`."""
    found = known or Comparison()
    truth = Truth(fleet)
    for relation in relations.RELATIONS:
        relation(workspace, truth, found)
    return found
