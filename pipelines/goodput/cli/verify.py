"""`goodput verify`: whether the lake holds what was written to it, and what a computation of it gives again."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from goodput.cli.contract_pages import write_contract_pages
from goodput.cli.progress import on_terminal
from goodput.cli.render import console, table
from goodput.errors import LakeDamaged, LakeUnreadable, LakeUnwritable, StoreFailed, StoreRefused, UsageError
from goodput.plumbing.workspace import Workspace

if TYPE_CHECKING:
    from goodput.plumbing.catalog import Part
    from goodput.plumbing.lake import Lake
    from goodput.plumbing.verify import Damage
    from goodput.remake import Remaking


def verify(  # noqa: PLR0913, PLR0917  (typer makes an option of each)
    sample: Annotated[float, typer.Option(metavar="SHARE", help="Look at a random share of the parts alone.")] = 1.0,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Compute the partitions again too, and compare; this takes its time.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Take damaged parts out, so that the next run makes them again."),
    ] = False,
    data_docs: Annotated[
        Path | None,
        typer.Option(
            "--data-docs", metavar="FOLDER", help="Check rows against their contracts too, and write pages of it."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file; ./goodput.toml where it exists.")] = None,
    lake: Annotated[Path | None, typer.Option(help="Lake folder instead of the settings' own.")] = None,
) -> None:
    """Compare every part of the lake with the checksum that was taken when it was written.

    Exit code 1 where a part is missing, damaged, differs from its recomputation, or breaks the contract of its table.
    The pages of --data-docs are Great Expectations' Data Docs; FOLDER/index.html lists them.

    Example:
      goodput verify
      goodput verify --sample 0.05 --recompute
      goodput verify --repair && goodput run
      goodput verify --data-docs data-docs
    """
    if not 0 < sample <= 1:
        raise UsageError(f"--sample {sample} is no share: give more than 0 and at most 1.")
    from goodput.plumbing.garbage import note_replaced  # noqa: PLC0415
    from goodput.plumbing.verify import parts_of, sampled  # noqa: PLC0415
    from goodput.remake import remaking, take_out  # noqa: PLC0415  (slow to import)

    if data_docs is not None:
        _check_folder(data_docs)

    with on_terminal(Console(stderr=True)) as progress:
        workspace = Workspace(config, (), lake, progress)
        workspace.lake.require()
        with ExitStack() as held:
            _lock(workspace.lake, held, writes=repair or recompute)
            parts = sampled(parts_of(workspace.lake), sample)
            found = _damages(workspace, parts, sample, recompute=recompute)
            lost = workspace.lake.store.damaged_files()
            fates = remaking(workspace.lake, found)
            if repair:
                note_replaced(workspace.lake, take_out(workspace.lake, fates))
            if data_docs is not None and not found:
                write_contract_pages(data_docs, workspace.lake, parts, progress)
    if found:
        _print(found, fates)
    if lost:
        raise LakeUnreadable(workspace.lake.root / lost[0], "its object in the store is missing or damaged")
    if found:
        raise LakeDamaged(due=len(fates.due), lost=len(fates.lost), is_repaired=repair)


def _lock(lake: "Lake", held: ExitStack, *, writes: bool) -> None:
    """Hold the lake; one that may only be read is looked at without. Raises LakeBusy, LakeUnwritable (if `writes`)."""
    try:
        held.enter_context(lake.lock())
    except (LakeUnwritable, StoreFailed, StoreRefused):
        if writes:
            raise


def _check_folder(folder: Path) -> None:
    """Before what takes its time. Raises NotDataDocs and PagesUnwritable."""
    from goodput.plumbing.expectations.data_docs import check_data_docs  # noqa: PLC0415

    check_data_docs(folder)


def _damages(
    workspace: Workspace, parts: "list[tuple[str, Part]]", sample: float, *, recompute: bool
) -> "list[Damage]":
    from goodput.plumbing.verify import damages  # noqa: PLC0415

    looked_at = workspace.progress.track(parts, "verifying", len(parts))
    found = list(damages(looked_at, workspace.lake.store))
    size_bytes = sum(part.size_bytes for _, part in parts)
    out = console()
    out.print(f"{len(parts):,} part(s), {size_bytes / 1e6:,.1f} MB: {len(found)} damaged")
    if recompute and not found:
        found = _differing(workspace, sample)
    return found


def _differing(workspace: Workspace, sample: float) -> "list[Damage]":
    from goodput.nodes import NODES  # noqa: PLC0415  (slow to import)
    from goodput.plumbing.node import Context  # noqa: PLC0415
    from goodput.plumbing.recompute import comparable, differing  # noqa: PLC0415
    from goodput.plumbing.verify import sampled  # noqa: PLC0415

    context = Context(workspace.lake, workspace.settings)
    chosen = sampled(comparable(context, NODES), sample)
    found = list(differing(context, workspace.progress.track(chosen, "recomputing", len(chosen))))
    console().print(f"{len(chosen):,} partition(s) computed again: {len(found)} part(s) differ")
    return found


def _print(found: "list[Damage]", fates: "Remaking") -> None:
    out = console()
    why_lost = dict(fates.lost)
    rows = [
        (damage.table, damage.part.partition, damage.reason, why_lost.get(damage, ""), damage.part.path)
        for damage in found
    ]
    out.print(table(("table", "partition", "part", "cannot be made again", "file"), rows, out.width))
