"""`goodput erase`: tenants, users and sessions of whom the lake is to know nothing any more."""

from pathlib import Path
from typing import Annotated

import typer

from goodput.cli.render import console, table
from goodput.errors import ErasedFilesLie
from goodput.plumbing.workspace import Workspace


def erase_command(
    identities: Annotated[
        list[str],
        typer.Argument(metavar="IDENTITY...", help="Ids of tenants, users or sessions, or pseudonyms of them."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show where they are, and do nothing.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file; ./goodput.toml where it exists.")] = None,
    lake: Annotated[Path | None, typer.Option(help="Lake folder instead of the settings' own.")] = None,
) -> None:
    """Erase tenants, users or sessions: their rows stay, and are nobody's any more.

    An identity becomes a random name that nobody knows, the same in every table: no number changes. Files that are read
    again do not bring it back. The exit code is 1 where landing files hold it still; these are listed. With identities
    hashed by the settings give it as it is, or its pseudonym.

    Example:
      goodput erase alice@example.com --dry-run
      goodput erase alice@example.com conversation-17
    """
    from goodput.erase import erase, find, mentions, otherwise_written  # noqa: PLC0415  (slow to import)

    workspace = Workspace(config, (), lake)
    workspace.lake.require()
    out = console()
    with workspace.lake.lock():
        found = find(workspace, identities)
        lines = [*found.rows.items()]
        out.print(table(("table", "rows"), lines, out.width) if lines else "No row has them.")
        for form in otherwise_written(workspace, identities):
            out.print(f"Another id that reads the same is there too, and stays unless it is given: {form!a}")
        if not dry_run:
            erase(workspace, identities, found)
            if workspace.lake.store.url is not None:
                out.print("Other machines empty their copies of the lake when they next run or ask.")
                out.print("Older versions of objects, where the bucket keeps any, are yours to delete.")
        left = {} if dry_run else mentions(workspace.lake, identities)
    if left:
        out.print("Text in which they occur, as part of something else or by chance, is as it was:")
        out.print(table(("where", "rows"), [*left.items()], out.width))
    if found.files and not dry_run:
        raise ErasedFilesLie(found.files)
    for file in found.files:
        out.print(f"in {file}")
