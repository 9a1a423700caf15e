"""Progress of long work on a terminal; silence everywhere else."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from goodput.plumbing import workspace  # imports pyarrow, for which help must not wait
    from goodput.plumbing.workspace import Item


class _Bars:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def track(self, items: "Iterable[Item]", description: str, total: int) -> "Iterator[Item]":
        """Pass the items on under a bar."""
        yield from self._progress.track(items, total=total, description=description)

    def measure(self, description: str, total: int) -> Callable[[int], None]:
        """A bar of `total` units."""
        task = self._progress.add_task(description, total=total)
        return lambda done: self._progress.advance(task, done)


@contextmanager
def on_terminal(console: Console) -> "Iterator[workspace.Progress]":
    """Bars while the block runs if the console is a terminal, else silence."""
    if not console.is_terminal:
        from goodput.plumbing.workspace import Silence  # noqa: PLC0415

        yield Silence()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bars(progress)
