"""`goodput prune`: rows that the settings keep no longer are deleted; what was measured from them stays."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goodput.cli.render import console, table
from goodput.plumbing.workspace import Workspace

if TYPE_CHECKING:
    from goodput.prune import Pruning

_HEADER = ("table", "partitions", "from", "to", "rows", "bytes")
_BEYOND = ("table", "asked from", "kept from", "rows", "why")


def prune_command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and do nothing.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file; ./goodput.toml where it exists.")] = None,
    lake: Annotated[Path | None, typer.Option(help="Lake folder instead of the settings' own.")] = None,
) -> None:
    """Delete rows that the settings keep no longer; what was measured from them stays as it is.

    The table retention of the settings has for how many days, by kind of row or by table; where more is kept than that,
    it is listed with the reason. Older hours are closed: what comes for them later is
    counted as ignored and changes no number. Files are deleted an hour after, by the next run, when no reader of an
    older database holds them.

    Example:
      goodput run && goodput prune --dry-run
      goodput prune
    """
    from goodput.prune import plan_pruning, prune  # noqa: PLC0415  (slow to import)

    workspace = Workspace(config, (), lake)
    workspace.lake.require()
    with workspace.lake.lock():
        pruning = plan_pruning(workspace, datetime.now(UTC))
        out = console()
        lines = [*_lines(pruning)]
        out.print(table(_HEADER, lines, out.width) if lines else _nothing(pruning))
        if pruning.beyond:
            out.print("Kept longer than the settings ask for:")
            out.print(table(_BEYOND, [*_beyond(pruning)], out.width, fold_at=60))
        if dry_run:
            out.print(f"Hours before {pruning.noted.closed_before} would be closed.")
            return
        prune(workspace, pruning)
    out.print(f"Hours before {pruning.noted.closed_before} are closed.")


def _lines(pruning: "Pruning") -> Iterator[tuple[str, int, str, str, int, int]]:
    for name, parts in pruning.going.items():
        partitions = sorted({part.partition for part in parts})
        rows, size_bytes = (sum(values) for values in zip(*((p.rows, p.size_bytes) for p in parts), strict=True))
        yield name, len(partitions), partitions[0], partitions[-1], rows, size_bytes


def _nothing(pruning: "Pruning") -> str:
    return "Nothing goes." if pruning.beyond else "Nothing is older than the settings keep it."


def _beyond(pruning: "Pruning") -> Iterator[tuple[str, str, str, int, str]]:
    for name, (stay, parts) in pruning.beyond.items():
        yield name, stay.asked_from, stay.kept_from or "ever", sum(part.rows for part in parts), stay.why
