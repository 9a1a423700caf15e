"""Options that every command shares which asks the published database."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings; without it ./goodput.toml where that exists."),
]
LakeRoot = Annotated[
    Path | None,
    typer.Option("--lake", metavar="FOLDER", help="The lake to ask, instead of the one in the settings."),
]
