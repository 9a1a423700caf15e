"""`goodput federate`: one database over several lakes."""

import os
from pathlib import Path
from typing import Annotated

import typer

from goodput.cli.render import console, table
from goodput.errors import FederatedIntoStore, LakesUnnamed
from goodput.settings.lake_address import named, url_of

_NAMED = 20  # characters; a name stands in every row


def federate_command(
    lakes: Annotated[
        list[str], typer.Argument(metavar="[NAME=]LAKE...", help="Lakes: folders, or addresses; NAME is what rows say.")
    ],
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="Where the database is written.")] = Path(
        "federated"
    ),
) -> None:
    """Put what several lakes have published into one database: the rows of each, and the windows of all.

    Relations have the column `lake`; federated_goodput adds up the windows of all. Requests and attempts stay where
    they are: ask their lake. Write it anew after the lakes have run.

    Example:
      goodput federate eu=/srv/eu/lake us=s3://telemetry-us/goodput --into federated
      goodput query --lake federated "select lake, goodput_ratio from goodput where slice = 'overall'"
    """
    from goodput.federation import federate  # noqa: PLC0415  (slow to import)

    if url_of(named(into)):
        raise FederatedIntoStore(named(into))
    found = federate(_named(lakes), into)
    out = console()
    out.print(table(("relation", "rows"), [(name, rows) for name, rows in found.rows.items() if rows], out.width))
    for warning in found.warnings:
        out.print(f"Warning: {warning}.", markup=False)
    out.print(f"Ask it: goodput query --lake {into} ...", markup=False, soft_wrap=True)


def _named(lakes: list[str]) -> dict[str, str]:
    """Lakes by name: as given, else as the folder is called, or the one above `lake`. Raises LakesUnnamed."""
    found: dict[str, str] = {}
    wrong = []
    for given in lakes:
        name, is_named, lake = given.partition("=")
        if not is_named or "/" in name:
            name, lake = _called(given), given
        if name in found or not name or len(name) > _NAMED:
            wrong.append(given)
        found[name] = lake
    if wrong:
        raise LakesUnnamed(wrong, _NAMED)
    return found


def _called(lake: str) -> str:
    url = url_of(lake)
    folder = url.partition("://")[2] if url else os.path.abspath(lake)  # keeps the name of a symbolic link
    above, last = ["", "", *(part for part in Path(folder).parts if part != "/")][-2:]
    return above if last == "lake" and above else last
