"""One fleet through the product and through the plain computation."""

from pathlib import Path
from tempfile import TemporaryDirectory

from goodput.plumbing.workspace import Workspace
from oracle import relations
from oracle.compare import Comparison
from oracle.fleet import Fleet
from oracle.truth import Truth
from oracle.write import write
from published import run_at


def check(fleet: Fleet) -> Comparison:
    """Publish a fleet and compare every relation."""
    with TemporaryDirectory() as folder:
        return compared(run_at(write(fleet, Path(folder))), fleet)


def compared(workspace: Workspace, fleet: Fleet) -> Comparison:
    """What a workspace published beside what its fleet amounts to."""
    found = Comparison()
    truth = Truth(fleet)
    for relation in relations.RELATIONS:
        relation(workspace, truth, found)
    return found
