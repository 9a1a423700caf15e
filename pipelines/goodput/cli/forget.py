"""`goodput forget`: a landed file taken back, as if it had never been read."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from goodput.cli.render import console, table
from goodput.errors import SourceLies, SourceUnknown
from goodput.plumbing.workspace import Workspace


def forget(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="As `goodput sources` shows them.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be taken back, and do nothing.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file; ./goodput.toml where it exists.")] = None,
    lake: Annotated[Path | None, typer.Option(help="Lake folder instead of the settings' own.")] = None,
) -> None:
    """Take back source files that should not have been read: their rows leave the lake.

    Move them out of the landing zone first. The next run restates every window and bill that they were part of, and
    `restatements` has what it was before. Rows that another file holds too count from that one on.

    Example: goodput forget bills/wrong-account.csv && goodput run
    """
    from goodput.conform.copies import copies_of  # noqa: PLC0415  (slow to import)
    from goodput.conform.withdraw import withdraw  # noqa: PLC0415
    from goodput.plumbing.garbage import note_replaced  # noqa: PLC0415

    workspace = Workspace(config, (), lake)
    workspace.lake.require()
    with workspace.lake.lock():
        rows = _chosen(workspace, files)
        out = console()
        out.print(table(("file", "rows read", "source"), [(path, read, name) for name, path, read in rows], out.width))
        copies = copies_of(workspace.lake, [name for name, _, _ in rows])
        if copies:
            out.print("Other files have rows of theirs too, which count from there on. To take these back, forget:")
            out.print(table(("file", "rows of these", "source"), _copied(workspace, copies), out.width))
        if dry_run:
            return
        note_replaced(workspace.lake, withdraw(workspace.lake, [name for name, _, _ in rows]))
    out.print(f"{len(rows)} source(s) are forgotten; the next `goodput run` restates what they were part of.")


def _copied(workspace: Workspace, copies: Mapping[str, int]) -> list[tuple[str, int, str]]:
    from goodput.plumbing import source_ledger  # noqa: PLC0415  (slow to import)

    known = source_ledger.read_frame(workspace.lake, ["source_id", "path"])
    paths = dict(known.select("source_id", "path").iter_rows())
    return sorted((paths.get(name, "?"), rows, name) for name, rows in copies.items())


def _chosen(workspace: Workspace, files: list[str]) -> list[tuple[str, str, int]]:
    """Id, path and rows of the sources of these paths. Raises SourceUnknown, SourceLies."""
    import polars as pl  # noqa: PLC0415  (slow to import)

    from goodput.collect.listing import list_landing  # noqa: PLC0415
    from goodput.plumbing import source_ledger  # noqa: PLC0415
    from goodput.plumbing.row_table import read_rows  # noqa: PLC0415

    known = source_ledger.read_frame(workspace.lake, ["source_id", "path", "rows_read"]).sort("path", "source_id")
    unknown = sorted({*files} - {*known["path"]})
    if unknown:
        near = [match for name in unknown for match in get_close_matches(name, known["path"].to_list(), 3)]
        raise SourceUnknown(unknown, near)
    chosen = known.filter(known["path"].is_in(files))
    listed = list_landing(workspace.settings).files
    seen, place = read_rows(workspace.lake, "landed_files"), ["landing", "path"]
    unseen = listed.join(seen, on=place, how="anti")  # such as all of a landing zone that was moved
    lying = pl.concat([seen.join(listed, on=place, how="semi"), seen.join(unseen, on="path", how="semi")])
    still = lying.filter(lying["source_id"].is_in(chosen["source_id"].implode()))
    if still.height:
        raise SourceLies(still["path"].unique().sort().to_list())
    return list(chosen.iter_rows())
