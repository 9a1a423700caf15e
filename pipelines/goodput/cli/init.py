"""`goodput init`: a settings file to start from."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from goodput.ask.formats import destination
from goodput.errors import FileExists
from goodput.settings.lake_address import DEFAULT_FILE


def init(
    path: Annotated[Path, typer.Argument(help="The file to write, or the folder to write it in.")] = DEFAULT_FILE,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a goodput.toml with every setting explained and its default shown.

    Example:
      goodput init
      goodput init fleet/goodput.toml
    """
    file = path / DEFAULT_FILE if path.is_dir() else path
    if file.exists() and not force:
        raise FileExists(file)
    with destination(file) as stream:
        stream.write(template().encode())
    typer.echo(f"{file} is written. Say in it where telemetry lands and what is good enough; then: goodput run")


def template() -> str:
    """The text of the settings file that `goodput init` writes."""
    return resources.files("goodput.settings").joinpath("template.toml").read_text(encoding="utf-8")
