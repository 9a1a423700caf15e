"""`goodput rebuild`: a lake of an older version, or a damaged one, made anew from the landing files."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from goodput.cli.progress import on_terminal
from goodput.plumbing.workspace import Workspace


def rebuild(
    config: Annotated[Path | None, typer.Option(help="Settings file; ./goodput.toml where it exists.")] = None,
    lake: Annotated[Path | None, typer.Option(help="Lake folder instead of the settings' own.")] = None,
) -> None:
    """Make a lake of an older version, or a damaged one, anew from the landing files; alarms, deliveries are kept.

    The old lake is kept beside it; delete it once you have looked at the new one.

    Example: goodput rebuild --config goodput.toml
    """
    console = Console(stderr=True)
    with on_terminal(console) as progress:
        workspace = Workspace(config, (), lake, progress)
        workspace.settings  # noqa: B018  (bad settings are reported before the slow imports)
        from goodput.rebuild import rebuild as make_anew  # noqa: PLC0415  (slow to import)

        kept, blocked = make_anew(workspace)
    console.print(f"{workspace.lake.root} is made anew; the old lake is {kept}")
    if blocked:
        raise blocked
